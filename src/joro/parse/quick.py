"""What can be told of a page without making a tree of it?

In:    the payload of a page and its character set.
Out:   its links and the few elements a robot asks for, as the tree would have them; None where only the tree
       can tell: other character sets, formulas, templates, frames, <base>, links between the rows of a table.
Never: guesses. tests/parse/test_quick.py compares both on pages nobody would write.

`scan.c` does it, five to eight times as fast as the tree. It is a part of the compiled core
(docs/decisions/0010-compiled-core.md); without it every page has a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import turbohtml

from joro.parse.html import TEXT_LIMIT_CHARS, Attributed
from joro.url import Joiner

#: (name, attributes)
Written = tuple[str, dict[str, str]]
#: See `scan.pyi`.
Scan = Callable[
    [bytes, str, str, Callable[[str], str | None], Callable[[str], str], list[str] | None],
    tuple[dict[str, bool], list[Written], str | None] | None,
]


def _compiled() -> Scan | None:
    try:
        from joro.parse.scan import scan
    except ImportError:
        return None
    return scan


_scan = _compiled()

#: Their ASCII is ASCII, and pages without a word about it that have nothing else are taken for windows-1252.
_ASCII = "windows-1252"


class Tag:
    """An element as far as its start tag tells."""

    __slots__ = ("_attributes", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self._attributes = attributes

    def attr(self, name: str) -> str | None:
        """The value of an attribute, None if it has none of that name."""
        return self._attributes.get(name)


class Quick:
    """A page that was looked over. Of all elements but <a> it has those that may name another page."""

    __slots__ = ("_tags", "_title", "anchors", "charset", "texts")

    def __init__(
        self, charset: str, anchors: dict[str, bool], tags: list[Written], title: str | None, texts: list[str]
    ) -> None:
        self.charset = charset
        self.anchors = anchors  # URL → may it be followed, in the order of the page
        self.texts = texts  # of its body, as far as anybody sees them; only when asked for
        self._tags = [Tag(name, attributes) for name, attributes in tags]
        self._title = title

    def all(self, tag: str) -> Sequence[Attributed]:
        """All elements of one name, in the order of the page."""
        return [each for each in self._tags if each.name == tag]

    @property
    def title(self) -> str:
        """The text of its title, "" if it has none."""
        source = self._title or ""
        if "&" not in source:
            return source
        element = turbohtml.parse(f"<title>{source}</title>", positions=False).find("title")
        return element.text if element is not None else ""


def quick(payload: bytes, charset: str, to_base: Joiner, *, texts: bool = False) -> Quick | None:
    """Look a page over, if that is enough to know where it points."""
    if _scan is None or len(payload) > TEXT_LIMIT_CHARS:
        return None
    if charset != "UTF-8" and not (charset == _ASCII and payload.isascii()):
        return None
    seen: list[str] | None = [] if texts else None
    found = _scan(payload, to_base.server, to_base.directory, to_base, _value, seen)
    if found is None:
        return None
    return Quick(charset, found[0], found[1], found[2], [_text(one) for one in seen] if seen else [])


def _value(source: str) -> str:
    """The value of an attribute that has entities in its source."""
    quoted = source.replace('"', "&quot;")
    element = turbohtml.parse(f'<p id="{quoted}">', positions=False).find("p")
    return (element.attr("id") or "") if element is not None else ""


def _text(source: str) -> str:
    """A text as its source means it."""
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    return turbohtml.unescape(source) if "&" in source else source
