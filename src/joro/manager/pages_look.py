"""How do the control pages look?

In:    the name of a page and what it shows.
Out:   HTML that no browser keeps, every name escaped; times as people say them.
Never: asks the control store for anything.
"""

from __future__ import annotations

from starlette.responses import HTMLResponse

from joro.serving import look


class Look(look.Look):
    """The pages of a manager."""

    def __init__(self, collection_name: str) -> None:
        super().__init__("joro.manager", collection_name, {"count": "{:,}".format}, {"here": "", "leave": ""})

    def page(self, name: str, status: int = 200, **shown: object) -> HTMLResponse:
        page = super().page(name, status, **shown)
        page.headers.update(look.RULES | {"cache-control": "no-store"})
        return page


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
