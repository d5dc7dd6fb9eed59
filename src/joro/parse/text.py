"""What does a page say to the people who read it?

In:    a parsed page.
Out:   its title; its visible text, one block per line; its main text without menus and footers.
Never: shows what is hidden: scripts, templates, `hidden` elements, choices of a form.

turbohtml renders the text in C, three times faster than a walk in Python. It knows a few blocks less
than browsers do; `_prepare` adds the line breaks, which changes the text of the tree and nothing else.
"""

from __future__ import annotations

import re

from xxhash import xxh3_64_intdigest

from joro.parse.html import Element, Tree, line_break, rendered

TITLE_LIMIT_CHARS = 500

#: Finding the main part takes time that grows with the square of some pages; longer ones are taken whole.
MAIN_LIMIT_CHARS = 300_000

#: Rendered text under these is cut out again. The last one is what `_prepare` has marked.
_MARK = "joro-hidden"
_HIDDEN = (
    "noscript",
    "select",
    "datalist",
    "textarea",
    "iframe",
    "object",
    "canvas",
    "audio",
    "video",
    f"#{_MARK}=1",
)
_RULES = {name: ["hidden"] for name in _HIDDEN}
_TO_MARK = 'svg, math, [hidden], [style*="display:none" i], [style*="display: none" i]'

#: A block inside an inline element, behind which the renderer would not break the line.
_LOST_BREAK = ":is(a, span, font, b, strong, center) > :is(div, p, h1, h2, h3, h4, h5, h6, ul, ol, dl, table)"


def main_digest(tree: Tree) -> int:
    """64 bits for what a page has to say: its main text, without menus and spacing; 0: nothing."""
    text = " ".join(main_text(tree).split())
    return xxh3_64_intdigest(text.encode(errors="replace")) if text else 0


def title_of(tree: Tree) -> str:
    """The title of a page, on one line."""
    element = tree.first("title")
    return one_line(element.text) if element is not None else ""


def one_line(title: str) -> str:
    """A title as it is shown."""
    return " ".join(title.split())[:TITLE_LIMIT_CHARS].rstrip()


def visible_text(tree: Tree) -> str:
    """Everything a reader sees, one block per line, white space folded."""
    _prepare(tree)
    body = tree.first("body")
    return _lines(body) if body is not None else ""


def main_text(tree: Tree) -> str:
    """The text of the part the page is about; all of it where no such part stands out."""
    if tree.size > MAIN_LIMIT_CHARS:
        return visible_text(tree)
    _prepare(tree)
    element = tree.document.main_content() or tree.first("body")
    return _lines(element) if element is not None else ""


#: Lines of a source that end and begin in such characters were broken by an editor in the middle of a text
#: that has no spaces. A browser joins them; a renderer that made a space of it would cut words in two.
_WIDE = r"\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f"
_SOFT_BREAK = re.compile(rf"\n(?:(?<=[{_WIDE}]\n)|(?<=[{_WIDE}]\r\n))[\t ]*+(?=[{_WIDE}])")


def without_soft_breaks(source: str) -> str:
    """The source of a page with the lines of Chinese and Japanese text joined, as browsers show them."""
    if source.isascii() or "<pre" in source or "<PRE" in source:
        return source  # in <pre>, an end of line is one
    return _SOFT_BREAK.sub("", source)


def _prepare(tree: Tree) -> None:
    for element in tree.select(_TO_MARK):
        element.attrs[_MARK] = "1"
    for element in tree.select(_LOST_BREAK):
        element.insert_after(line_break())
    for tag in ("center", "legend", "button"):
        for element in tree.all(tag):
            element.insert_before(line_break())
            element.insert_after(line_break())
    for element in tree.all("ol"):
        element.tag = "ul"  # the renderer would number its parts, and nobody wrote those numbers


def _lines(element: Element) -> str:
    text, spans = rendered(element, _RULES)
    if spans:
        text = _without(text, sorted((start, end) for start, end, _ in spans))
    lines = text.replace("\u00a0", " ").replace("\u3000", " ").replace("\t", " ").split("\n")
    folded = (" ".join(line.split()) if "  " in line else line.strip() for line in lines)
    return "\n".join(filter(None, folded))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text without the spans, which may lie in one another."""
    pieces = []
    position = 0
    for start, end in spans:
        if start > position:
            pieces.append(text[position:start])
        position = max(position, end)
    return " ".join([*pieces, text[position:]])
