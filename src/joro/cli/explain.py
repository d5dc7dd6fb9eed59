"""`joro explain`: all there is to know about one URL."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import msgspec

from joro.cli.options import collection_option
from joro.clock import RealClock
from joro.discover.seeds import with_scheme
from joro.discover.watch import WORDS
from joro.explainer.explainer import Explanation, LastVisit, duration, moment
from joro.explainer.explainer import explain as explain_url
from joro.model import Outcome
from joro.schedule.figures import ServerFigures
from joro.store.collection import Collection
from joro.url import canonical, readable

#: So many of a page's versions are listed, the newest.
CAPTURES_SHOWN = 5
#: Outcomes for which nothing was sent.
NOT_ASKED = {Outcome.DISALLOWED.value, Outcome.TRAP.value, Outcome.FORBIDDEN_ADDRESS.value}
MARKS = {True: "yes", False: "no", None: "open"}


@click.command()
@click.argument("url")
@collection_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def explain(url: str, collection: Collection, as_json: bool) -> None:
    """Tell how a page was found, what every rule says about it, its visits, and when it is due.

    What search makes of it is told, too: is it a near copy of another page, or does it only say that there
    is no such page? And, where pages are kept fresh, how all pages of its server are.

    Nothing is asked of the network, and robots may be at work meanwhile: what is told is as of their last
    commit. A URL the collection does not know is judged as if it were given as a seed.

    \b
    joro explain -C my-web https://example.org/page
    joro explain -C my-web --json https://example.org/page | jq .decisions
    """
    now = RealClock().now()
    found = explain_url(collection, canonical(with_scheme(url)), now)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(found, now)))


def _lines(found: Explanation, now: float) -> Iterator[str]:
    yield readable(found.url)
    if readable(found.url) != found.url:
        yield f"  written {found.url}"
    yield f"  {_state(found)}"
    if found.chain:
        yield "\nHow it was found"
        yield from _chain(found)
    yield "\nWhat the rules say" if found.chain else "\nWhat the rules would say"
    for decision in found.decisions:
        yield f"  {decision.rule:<10}  {MARKS[decision.passes]:<4}  {decision.reason}"
    yield "\nPoliteness"
    yield from _politeness(found, now)
    yield "\nVisits"
    yield from _visits(found)
    yield "\nSearch"
    yield from _search(found)
    yield "\nNext"
    yield from _keeping(found)
    yield f"  It is {_due(found, now)}."
    if found.server is not None or found.cycle is not None:
        yield "\nIts server"
    if found.server is not None:
        yield from _server(found.server)
    if (cycle := found.cycle) is not None:
        yield (
            f"  It has pages in {', '.join(cycle.languages)} (refresh.languages): all its pages are wished"
            f" at least once in {_days(cycle.days)}."
        )


def _server(server: ServerFigures) -> Iterator[str]:
    pages = "1 page is" if server.pages == 1 else f"{server.pages:,} pages are"
    yield (
        f"  {pages} visited again: {_number(server.wished_per_day)} visits a day are wished, "
        f"{100 * server.utilisation:,.0f} % of what it bears."
    )
    often = f", one every {duration(server.access_interval_s)}" if server.access_interval_s else ""
    yield f"  {_number(server.kept_per_day)} a day are kept{often}."
    yield f"  {server.waiting:,} pages wait, and {server.missed:,} visits were missed as of the last plan."
    if server.change_interval_s is not None and server.freshness is not None:
        yield (
            f"  A usual page changes every {duration(server.change_interval_s)}; "
            f"they are fresh for {100 * server.freshness:.0f} % of the time, as far as is known."
        )


def _keeping(found: Explanation) -> Iterator[str]:
    care, source = found.upkeep, found.source
    if source is not None:
        what = "is" if source.readings else "is to be read as"
        yield f"  It {what} {WORDS[source.kind]}."
    if found.change_interval_s is None or care is None:
        yield "  Its change interval is not estimated yet."
    else:
        seen = f"{care.changes} of {care.visits} visits found it changed"
        yield f"  It changes every {duration(found.change_interval_s)}, as far as is known: {seen}."
    if care is not None and care.interval_s:  # pages taken over have none before their first visit
        yield f"  A visit every {duration(care.interval_s)} is wished."
    if care is not None and care.absences:
        yield f"  It was gone at its {_last(care.absences)}."
    elif care is not None and care.failures:
        yield f"  Its {_last(care.failures)} failed: it is visited less often until it answers."


def _last(visits: int) -> str:
    return "last visit" if visits == 1 else f"last {visits:,} visits"


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} days"


def _number(visits: float) -> str:
    return f"{visits:,.0f}" if visits >= 10 else f"{visits:.2f}"


def _state(found: Explanation) -> str:
    refusal = found.refusal
    if found.state == "unknown":
        verdict = f"would be left out: {refusal.reason}" if refusal else "would be collected"
        return f"Not known; as a seed it {verdict}."
    if found.state == "waiting":
        return "Waits to be visited again." if found.last_visit else "Waits for its first visit."
    assert found.last_visit is not None
    return f"{_closed(found.last_visit)}: {found.last_visit.outcome}."


def _chain(found: Explanation) -> Iterator[str]:
    for step in found.chain:
        arrow = "→ " if step != found.chain[0] else ""
        seed = "  is a seed" if step.url and step.hops == 0 else ""
        yield f"  {arrow}{readable(step.url) if step.url else '(a page not on record)'}{seed}"


def _politeness(found: Explanation, now: float) -> Iterator[str]:
    pause = found.politeness
    yield f"  {pause.server} is left alone for {pause.interval_s:g} s after each visit."
    for reason in pause.reasons:
        yield f"  {reason[0].upper()}{reason[1:]}."
    if pause.window:
        yield f"  Visits begin only {pause.window}."
    yield f"  The next visit may begin {_when(pause.ready_at, now)}."


def _visits(found: Explanation) -> Iterator[str]:
    last = found.last_visit
    if last is None:
        yield "  None yet."
    else:
        status = f", status {last.status}" if last.status else ""
        yield f"  {_closed(last)} on {moment(last.time)}: {last.outcome}{status}."
        shown = found.captures[-CAPTURES_SHOWN:]
        how = "archived and shown" if found.hidden else "archived"
        yield f"  {_versions(len(found.captures))} {how}{':' if shown else '.'}"
        for capture in shown:
            yield f"    {moment(capture.time)}  {capture.status}  {capture.length:,} bytes  {capture.warc}"
    for hidden in found.hidden:
        stays = ", and on disk until joro takedown collect" if hidden.is_to_go else ""
        yield f"  {_versions(hidden.captures)} hidden by {hidden.order}{stays}."


def _versions(number: int) -> str:
    return "1 version is" if number == 1 else f"{number:,} versions are"


def _search(found: Explanation) -> Iterator[str]:
    standing = found.search
    if standing.hidden_by:
        yield f"  Hidden by {standing.hidden_by}."
        return
    searchable = f"Searchable as of {moment(standing.time)}" if standing.time else "Not searchable"
    yield f"  {searchable}."
    if standing.soft_404:
        shown = ", so that results leave it out, unless all are asked for" if standing.time else ""
        yield f"  It looks like a missing page (soft 404){shown}."
    others = "1 page says" if standing.similar == 1 else f"{standing.similar:,} pages say"
    if standing.copy_of:
        yield f"  It is a near copy of {readable(standing.copy_of)}; the two are one result."
    elif standing.similar:
        yield f"  {others} nearly the same, of which this one was known first."


def _closed(last: LastVisit) -> str:
    is_unread = last.outcome == Outcome.UNWANTED.value and not last.status
    return "Left out without a visit" if is_unread or last.outcome in NOT_ASKED else "Visited"


def _due(found: Explanation, now: float) -> str:
    if found.due_at is None:
        return found.due
    return f"due {_when(found.due_at, now)} at the earliest: {found.due}"


def _when(time: float, now: float) -> str:
    return "now" if time <= now else f"on {moment(time)}, in {duration(time - now)}"
