"""How do the control pages look?

In:    the name of a page and what it shows.
Out:   HTML, every name escaped; the style sheet and the icon.
Never: needs JavaScript or anything from outside; asks the control store for anything.
"""

from __future__ import annotations

import zlib
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

#: What browsers are told about our pages.
RULES = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_RESOURCES = {"style.css": "text/css", "icon.svg": "image/svg+xml"}


class Look:
    """Fills the templates."""

    def __init__(self, collection_name: str) -> None:
        self._pages = Environment(
            loader=PackageLoader("joro.manager", "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._pages.filters |= {"count": "{:,}".format}
        self._pages.globals |= {
            "collection": collection_name,
            "style_version": f"{zlib.crc32(_content('style.css')):08x}",
        }

    def page(self, name: str, status: int = 200, **shown: object) -> HTMLResponse:
        context = {"here": "", "leave": "", **shown}
        return HTMLResponse(self._pages.get_template(name).render(context), status, RULES)

    @property
    def routes(self) -> list[Route]:
        return [Route(f"/{name}", _resource) for name in _RESOURCES]


def _content(name: str) -> bytes:
    return resources.files("joro.manager").joinpath("pages", name).read_bytes()


def _resource(request: Request) -> Response:
    """The style sheet or the icon; its address carries its version, so it may be kept for long."""
    name = request.url.path.lstrip("/")
    return Response(_content(name), media_type=_RESOURCES[name], headers={"cache-control": "max-age=86400"})


def ago(at: float, now: float) -> str:
    """How long ago, as people say it."""
    return f"{spell(now - at)} ago"


def spell(seconds: float) -> str:
    """A duration in its largest unit or two: 45 s, 12 min, 3 h 20 min, 5 days."""
    seconds = max(0, int(seconds))
    if seconds < 100:
        return f"{seconds} s"
    minutes, hours = seconds // 60, seconds // 3_600
    if minutes < 100:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} days"
