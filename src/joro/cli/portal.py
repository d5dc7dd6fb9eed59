"""`joro portal`: serve the search page."""

from __future__ import annotations

import webbrowser

import click

from joro.cli.options import collection_option, listening_options
from joro.portal.web import application
from joro.serving.listen import address_of, listening_place, serve
from joro.store.collection import Collection


@click.command()
@collection_option
@listening_options("portal")
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
def portal(collection: Collection, address: str | None, port: int | None, browse: bool, quiet: bool) -> None:
    """Serve the search page until Ctrl-C.

    It shows what is searchable at that moment: `joro index` may run beside it. Only this machine can
    reach it, unless --address says otherwise.

    \b
    joro portal -C my-web --open
    """
    settings = collection.config.portal
    address, port = listening_place(address or settings.address, settings.port if port is None else port)
    page = address_of(address, port)

    def started() -> None:
        if not quiet:
            click.echo(f"{collection.path.resolve().name} is at {page} until Ctrl-C")
        if browse:
            webbrowser.open(page)

    serve(application(collection), address, port, started)
