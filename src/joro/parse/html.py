"""Which elements does a page have?

In:    the text of a page, whatever it is.
Out:   a tree to ask for elements and for text.
Never: takes longer, or more memory, than the limits below allow, whatever the page does.

The one place that knows turbohtml's tree: a parser after the HTML Standard, in C, that does not recurse.
One thing no such parser can help: formatting elements left open are copied into every block that
follows, so a page can ask for millions of copies. What `safe` finds too dear is cut. And tables too deep
down kill it: `depth.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import turbohtml
from turbohtml import Element, Namespace, PlainText

from joro.parse.depth import ATTRIBUTE, shallow

__all__ = ["Attributed", "Element", "Elements", "Tree", "line_break", "rendered", "safe"]

#: Longer pages are read up to here. A tree takes 5 (paragraphs), 20 (one long text) or 43 bytes a character
#: (a tag every four): at most 43 MB.
TEXT_LIMIT_CHARS = 1_000_000

#: No text this short is dangerous: the worst we found takes 0.2 s and 300 MB.
SAFE_CHARS = 32_768

#: Copies of elements and attributes a page may ask for: at most 500 MB and 0.4 s.
#: Real pages of 100 KB ask for some 50,000.
COPIES_LIMIT = 4_000_000

#: The parser nests no deeper, so no more elements than this are open at the same time.
_DEPTH_LIMIT = 512

_NAMES = r"b|big|code|em|font|i|s|small|strike|strong|tt|u"
_ATTRIBUTES = re.compile(ATTRIBUTE)
_DEAR_TAG = re.compile(
    rf"<({_NAMES}|a|nobr|body|html)(?=[\t\n\f\r />])((?:[\t\n\f\r /]++|{ATTRIBUTE}|)*+)", re.IGNORECASE
)


def safe(text: str) -> str:
    """The text, or as much of its beginning as a parser can take; without tables where they would kill it."""
    return shallow(_affordable(text))


def _affordable(text: str) -> str:
    """As much of the beginning as a parser can take in bounded time and memory."""
    if len(text) <= SAFE_CHARS:
        return text
    text = text[:TEXT_LIMIT_CHARS]
    copies = _copies(text)
    if copies <= COPIES_LIMIT:
        return text
    return text[: max(SAFE_CHARS, len(text) * COPIES_LIMIT // copies)]


def _copies(text: str) -> int:
    """At most so many copies of elements and attributes will the parser make of this text.

    Of formatting elements spelled alike it keeps three open, of `a` and `nobr` one; every tag may start
    a block they are copied into. Attributes of a further `body` or `html` are added to the first one's,
    each time in a new list.
    """
    elements = attributes = single = merged = 0
    for (name, spelling), times in Counter(_DEAR_TAG.findall(text)).items():
        count = len(_ATTRIBUTES.findall(spelling))
        if name.lower() in ("a", "nobr"):
            single = max(single, 1 + count)
        elif name.lower() in ("body", "html"):
            merged += count
        else:
            elements += min(times, 3)
            attributes += min(times, 3) * count
    return (min(elements, _DEPTH_LIMIT) + attributes + single) * text.count("<") + merged * merged // 8


_STYLE = PlainText(layout="strict", bullet="", table_cell_separator=" ")


def rendered(element: Element, rules: dict[str, list[str]]) -> tuple[str, list[tuple[int, int, str]]]:
    """The text under an element as a browser lays it out, and where in it the elements of `rules` are."""
    return element.to_annotated_text(rules, _STYLE)


def line_break() -> Element:
    """A new <br>."""
    return Element("br")


class Attributed(Protocol):
    """An element, as far as its attributes go."""

    def attr(self, name: str, /) -> str | None:
        """The value of an attribute, None if it has none of that name."""


class Elements(Protocol):
    """A page, as far as it can be asked for elements."""

    def all(self, tag: str) -> Sequence[Attributed]:
        """All elements of one name, in the order of the page."""


class Tree:
    """A parsed page."""

    __slots__ = ("charset", "document", "size")

    def __init__(self, text: str, charset: str = "UTF-8") -> None:
        self.charset = charset
        self.size = len(text)
        self.document = turbohtml.parse(safe(text), positions=False)
        if self.document.find("template") is not None:
            self.document.remove("template")  # nobody sees what is in it: no link, no text

    def all(self, tag: str) -> list[Element]:
        """All elements of one name, in the order of the page."""
        return self.document.find_all(tag)

    def has(self, tag: str, attribute: str) -> bool:
        """Is there an element of that name with that attribute?"""
        return self.document.find(tag, attrs={attribute: True}) is not None

    def select(self, selector: str) -> list[Element]:
        """All elements a CSS selector means."""
        return self.document.select(selector)

    def first(self, tag: str) -> Element | None:
        """The first element of one name that is HTML: an SVG drawing has titles too."""
        for element in self.document.find_all(tag):
            if element.namespace is Namespace.HTML:
                return element
        return None

    @property
    def language(self) -> str:
        """The language the page declares for itself, as written."""
        root = self.document.root
        return (root.attr("lang") or "") if root is not None else ""
