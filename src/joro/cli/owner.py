"""`joro owner`: see who claims a host, and look for the proof."""

from __future__ import annotations

import asyncio

import click

from joro.archive.times import warc_date
from joro.cli.options import collection_option
from joro.clock import Clock, RealClock
from joro.store.claims import Claim, ClaimBook
from joro.store.collection import Collection

#: How long `--follow` rests between two looks at the claims.
REST_S = 5.0


@click.group()
def owner() -> None:
    """Let owners of sites prove it, and order for themselves.

    They begin at the portal's page /owner; the proof is looked for by `joro owner verify`.
    """


@owner.command()
@collection_option
@click.option("--follow", is_flag=True, help="Go on as claims come in, until Ctrl-C.")
def verify(collection: Collection, follow: bool) -> None:
    """Look for the proofs of claims that wait.

    The token may stand in a TXT record of _joro.HOST, in HOST/.well-known/joro-owner.txt or in a meta element
    of the home page. A claim is looked at ten times in a week, then it lapses.

    \b
    joro owner verify -C my-web
    joro owner verify -C my-web --follow     beside the portal
    """
    looked = asyncio.run(_verify(collection, RealClock(), follow))
    if not looked:
        click.echo("no claim is due")


async def _verify(collection: Collection, clock: Clock, follow: bool) -> int:
    from joro.owner import verify as look

    looked = len(await look(collection, clock, _tell))
    while follow:
        await clock.sleep(REST_S)
        looked += len(await look(collection, clock, _tell))
    return looked


@owner.command("list")
@collection_option
def list_claims(collection: Collection) -> None:
    """List every claim, oldest first.

    \b
    joro owner list -C my-web
    """
    claims = ClaimBook(collection.orders, RealClock().now).all()
    for claim in claims:
        _tell(claim)
    if not claims:
        click.echo("none")


def _tell(claim: Claim) -> None:
    now = RealClock().now()
    state = "proved" if claim.is_proved(now) else "waiting" if claim.is_pending(now) else "lapsed"
    date = warc_date(claim.opened)[:16].replace("T", " ")
    click.echo(
        f"{date}  {claim.host}  {state}; {claim.contact or 'no contact'}; {claim.proof or 'not looked at'}"
    )
