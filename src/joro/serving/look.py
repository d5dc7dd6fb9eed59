"""How do pages of ours look?

In:    the program whose pages they are, the name of a page and what it shows.
Out:   HTML, everything in it escaped; the style sheet and the icon.
Never: needs JavaScript or anything from outside; asks a collection for anything: that has been done.

A page of a program stands in `frame.html`, and its `style.css` behind `ground.css`: what all of them share.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

#: What browsers are told about our pages: they may do next to nothing.
RULES = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
#: The addresses of the two below carry a version or hardly ever change.
_KEPT = {"cache-control": "max-age=86400"}


class Look:
    """Fills the templates of one program."""

    def __init__(
        self,
        package: str,
        collection_name: str,
        filters: Mapping[str, Callable[..., Any]],
        usual: Mapping[str, object],
    ) -> None:
        self._pages = Environment(
            loader=ChoiceLoader([PackageLoader(package, "pages"), PackageLoader("joro.serving", "pages")]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._usual = usual
        self._style = _content("joro.serving", "ground.css") + b"\n" + _content(package, "style.css")
        self._pages.filters.update(filters)
        self._pages.globals.update(collection=collection_name, style_version=f"{zlib.crc32(self._style):08x}")

    def page(self, name: str, status: int = 200, **shown: object) -> HTMLResponse:
        """A page, with what it `usual`ly shows unless told otherwise."""
        text = self._pages.get_template(name).render({**self._usual, **shown})
        return HTMLResponse(text, status)

    @property
    def routes(self) -> list[Route]:
        return [Route("/style.css", self._show_style), Route("/icon.svg", _show_icon)]

    def _show_style(self, request: Request) -> Response:
        return Response(self._style, media_type="text/css", headers=_KEPT)


def _show_icon(request: Request) -> Response:
    return Response(_content("joro.serving", "icon.svg"), media_type="image/svg+xml", headers=_KEPT)


def _content(package: str, name: str) -> bytes:
    return resources.files(package).joinpath("pages", name).read_bytes()
