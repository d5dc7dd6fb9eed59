"""What has changed on a page between two captures?

In:    a URL and two times.
Out:   both texts side by side, or as one with what was added and removed.
Never: compares markup: what readers see is what counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from joro.parse.html import Tree
from joro.parse.text import main_text, title_of, visible_text, without_soft_breaks
from joro.portal.address import asked_parameter, asked_time, compare_path
from joro.portal.difference import TEXT_LIMIT_CHARS, Row, compared
from joro.portal.look import Look
from joro.portal.opened import Opened, Opener

#: Unchanged lines shown around a change; longer stretches are folded.
CONTEXT = 2


@dataclass(frozen=True)
class Fold:
    """Rows that belong together: to be read, or unchanged and folded away."""

    rows: list[Row]
    is_folded: bool


class Compare:
    """Two captures of a page."""

    def __init__(self, opener: Opener, look: Look) -> None:
        self._opener = opener
        self._look = look

    def show(self, request: Request) -> Response:
        """`url`, `from`, `to`; `view=side` or `inline`; `part=main` or `all`."""
        asked = request.query_params
        url = asked_parameter(request)
        times = sorted(asked_time(asked.get(name, "")) for name in ("from", "to"))
        old, new = (self._opener.at(url, time) for time in times)
        view = "inline" if asked.get("view") == "inline" else "side"
        part = "all" if asked.get("part") == "all" else "main"
        address = compare_path(url, old.capture.time, new.capture.time, view=view, part=part)
        if f"?{request.url.query}" != address[len("/compare") :]:
            return RedirectResponse(address, 302)
        before, after = text_of(old, part), text_of(new, part)
        rows = compared(before, after)
        return self._look.page(
            "compare.html",
            url=url,
            old=old,
            new=new,
            language=new.tree.language if new.is_page else "",
            titles=[_title_of(opened) for opened in (old, new)],
            view=view,
            part=part,
            folds=list(folded(rows)),
            counts={kind: sum(row.kind == kind for row in rows) for kind in ("changed", "added", "removed")},
            is_readable=all(_is_readable(opened) for opened in (old, new)),
            is_cut=max(len(before), len(after)) > TEXT_LIMIT_CHARS,
        )


def text_of(opened: Opened, part: str) -> str:
    """What a capture says: the part the page is about, or all of it; nothing if it is no text."""
    if opened.is_page:
        tree = Tree(without_soft_breaks(opened.text), opened.charset)
        return main_text(tree) if part == "main" else visible_text(tree)
    return opened.text if opened.mime.startswith("text/") else ""


def _title_of(opened: Opened) -> str:
    return title_of(opened.tree) if opened.is_page else ""


def _is_readable(opened: Opened) -> bool:
    return opened.is_page or opened.mime.startswith("text/")


def folded(rows: list[Row]) -> Iterator[Fold]:
    """The rows with long stretches that nobody changed folded away."""
    kept = [False] * len(rows)
    for at, row in enumerate(rows):
        if row.kind != "same":
            for near in range(max(0, at - CONTEXT), min(len(rows), at + CONTEXT + 1)):
                kept[near] = True
    for is_kept, group in groupby(zip(rows, kept, strict=True), key=lambda pair: pair[1]):
        part = [row for row, _ in group]
        yield Fold(part, not is_kept and len(part) > CONTEXT)
