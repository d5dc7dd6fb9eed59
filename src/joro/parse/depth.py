"""Is a page nested so deep that the parser would lose its way in a table?

In:    the text of a page.
Out:   the same text; if tables may lie too deep in it, with every tag of a table made a div.
Never: calls a page shallow that is not. Takes longer than in proportion to the text.

turbohtml opens no more than 512 elements in one another; further ones are made, but not opened. Its rules for
tables trust that they are: where a row or a cell is missing they close everything, <html> included, and the
next misnested link kills the process (1.15.4: 508 <div>, then `<table><tr></tbody><a><pre><a>`). A template
brings the same rules, without a <table>. So as long as there are tables, nothing may come near 512.

We build no tree to know how deep it gets. We keep a list that has every element the parser has open or will
open again (formatting), in the same order but for formatting; it may have more. A tag takes an element off
only if the parser, should it have that very element open, closes it too: nothing that shields it lies above.
The parts of a table are not in the list; the table counts for them.
"""

from __future__ import annotations

import re
from itertools import islice

#: One attribute of a tag, as the HTML Standard cuts it out.
ATTRIBUTE = (
    r"[^\t\n\f\r />][^\t\n\f\r />=]*+"
    r"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >]*+)|)"""
)

#: A page this deep is too deep. What is left to 512 is for a drawing (99 tags), <html>, <body> and a script.
DEEP = 400

#: A table, its body, its row and its cell.
_TABLE = 4

#: No page with fewer tags is deep.
_FEW = DEEP // _TABLE

#: How far down the list we look for what a tag closes: a page must not make us look through all of it.
_SIGHT = 8

_PARTS = r"table|caption|colgroup|col|tbody|thead|tfoot|tr|td|th"
_TABLES = re.compile(r"<(?:table|template)", re.IGNORECASE | re.ASCII)
_FOREIGN = re.compile(r"<(?:svg|math)", re.IGNORECASE | re.ASCII)
_START = re.compile(r"<[a-z]", re.IGNORECASE | re.ASCII)
_TABLE_TAG = re.compile(rf"<(/?)(?:{_PARTS})(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII)

_END = r"[\t\n\f\r />]"
_REST = rf"(?={_END})(?:[\t\n\f\r /]++|{ATTRIBUTE}|)*+(?:>|\Z)"
_COMMENT = r"<!--(?:-?>|(?:[^-]++|-(?!-!?>)|)*+(?:--!?>|\Z))"
_BOGUS = r"<(?:[!?]|/[^a-z>])[^>]*+"
_RAW = "|".join(
    rf"<{name}{_REST}(?:[^<]++|<(?!/{name}{_END})|)*+"
    for name in ("style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
)
#: Not one with a <script> behind a <!--: such a script does not end with its first end tag.
_SCRIPT = (
    rf"<script{_REST}(?:[^<]++|<(?!/script{_END}|!--)|)*+"
    rf"(?:<!--(?:[^<]++|<(?!/?script{_END})|)*+|)(?=</script{_END}|\Z)"
)
_SHAPES = (
    "animate animatemotion animatetransform circle clippath defs ellipse feblend fecolormatrix fecomposite "
    "feflood fegaussianblur femerge femergenode feoffset filter g line lineargradient marker mask path "
    "pattern polygon polyline radialgradient rect set stop symbol text textpath tspan use"
)
_SHAPE = rf"</?(?:style|image|{_SHAPES.replace(' ', '|')}){_REST}"
_NOTE = "|".join(rf"<{name}{_REST}[^<]*+</{name}{_REST}" for name in ("title", "desc"))
#: Nothing but shapes: whatever is open in it, `</svg>` closes.
_DRAWING = (
    rf"<svg(?={_END})(?:[\t\n\f\r /]++|{ATTRIBUTE}|)*+(?<!/)>"
    rf"(?:[^<]*+(?:{_SHAPE}|{_NOTE}|{_COMMENT})|){{0,99}}+[^<]*+</svg{_REST}"
)
#: An element with nothing but text in it: wherever it is open, its end tag closes it. If it is none (in a
#: comment, perhaps), it opens nothing. Only with attributes that everybody reads alike, and without a `<`: a
#: search ends at the next one.
_CLOSED = re.compile(
    r"<(a|abbr|b|big|button|cite|code|dd|div|dt|em|font|h[1-6]|i|label|li|option|p|s|small|span|strong|sub|sup|tt|u)"
    r"""(?:[\t\n\f\r ]++[^\t\n\f\r "'<>/=]++(?:=(?:"[^"<>]*+"|'[^'<>]*+'|[^\t\n\f\r "'<>=]++))?)*"""
    r"[\t\n\f\r ]*+>[^<]*+</\1>",
    re.IGNORECASE | re.ASCII,
)
#: All that is not text. Names are kept of tags that open or close something.
_TOKEN = re.compile(
    rf"{_COMMENT}|{_BOGUS}|{_RAW}|{_SCRIPT}|{_DRAWING}|<(/?[a-z][^\t\n\f\r />]*+){_REST}",
    re.IGNORECASE | re.ASCII,
)


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
#: Opened by nobody, or counted with <html> and <table>.
_UNCOUNTED = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track "
    "wbr html head body caption colgroup tbody thead tfoot tr td th"
)
#: Behind these, text may be tags and tags text. A shape out of a drawing may be closed from inside of one.
_BLINDING = _names(f"frameset math plaintext script svg template {_SHAPES}")
_CLOSES_P = _names(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer "
    "header hgroup main menu nav ol p search section summary ul h1 h2 h3 h4 h5 h6 pre listing li dd dt hr"
)
#: Their end tags close what was left open in them.
_BLOCKS = (_CLOSES_P - {"hr"}) | {"button", "select", "table"}
_ITEMS = {"li": _names("li"), "dd": _names("dd dt"), "dt": _names("dd dt")}
_P = _names("p")
#: What an end tag, an item, or the end tag of a block reaches through.
_LIGHT = _FORMATTING | _names("span optgroup option rb rp rt rtc")
_LIGHT_OR_P = _FORMATTING | _names("span p")
_UNFINISHED = _LIGHT | _names("p li dd dt")
_CELLS = _names("td th caption")
_MARKED = _names("applet marquee object")
#: What is also counted by itself.
_COUNTED = {
    **dict.fromkeys(_FORMATTING, "format"),
    **dict.fromkeys(_MARKED, "mark"),
    **{"button": "wall", "select": "wall", "table": "table", "form": "form", "p": "p"},
    **{"li": "li", "dd": "dd", "dt": "dd"},
}
_TABLE_TAGS = frozenset(slash + name for name in _PARTS.split("|") for slash in ("", "/"))
_DOUBTFUL = _BLINDING | _TABLE_TAGS | _names("/body /html")
#: Most tags of a page with tables, told apart as they are mostly spelled.
_SKIPPED = _UNCOUNTED - _CELLS - {"hr"} | (_TABLE_TAGS - _CELLS - {"table", "/table"}) | {""}
#: The same for a first guess; of each, nearly all are spelled in one of these ways.
_COMMON = tuple(
    f"<{name}{end}" for name in ("td", "tr", "th", "br", "img", "input", "link", "meta") for end in "> /"
)


def shallow(text: str) -> str:
    """The text, without tables if they might lie too deep."""
    tags = text.count("<")
    if tags < _FEW or _TABLES.search(text) is None or _few_starts(text, tags) or deepest(text) < DEEP:
        return text
    return _TABLE_TAG.sub(r"<\1div", text)


def _few_starts(text: str, tags: int) -> bool:
    """Are there too few start tags for a deep page? Seen at a tenth of the price of `deepest`."""
    starts = tags - text.count("</") - text.count("<!") + (_TABLE - 1) * len(_TABLES.findall(text))
    if starts >= DEEP and _FOREIGN.search(text) is None:  # in drawings and formulas a <td> is like any other
        for spelling in _COMMON:
            starts -= text.count(spelling)
            if starts < DEEP:
                return True
    return starts < DEEP or starts - len(_CLOSED.findall(text)) < DEEP


def deepest(text: str) -> int:
    """At most so many elements are open in one another, <html> and <body> not counted.

    From `DEEP` on, we count no further.
    """
    stack = _Open()
    top = 0
    for index, spelling in enumerate(_TOKEN.findall(text)):
        if spelling in _SKIPPED and not stack.marked():
            continue
        name = spelling.lower() if spelling.isascii() else spelling
        if name in _DOUBTFUL and stack.loses(name):
            return max(
                top, stack.depth() + _at_most(text, next(islice(_TOKEN.finditer(text), index, None)).start())
            )
        if name[:1] == "/":
            stack.end(name[1:])
        elif name in _CELLS:
            stack.seal()
        elif name not in _UNCOUNTED or name == "hr":
            stack.start(name)
            top = max(top, stack.depth())
            if top >= DEEP:
                break
    return top


def _at_most(text: str, position: int) -> int:
    """At most so many elements are opened behind this position, whatever is a tag there."""
    return len(_START.findall(text, position)) + (_TABLE - 1) * len(_TABLES.findall(text, position))


class _Open:
    """The elements that may be open."""

    __slots__ = ("_counts", "_formless", "_names", "_sealed", "_seals")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._counts = dict.fromkeys(_COUNTED.values(), 0)
        self._formless = False
        self._sealed = 0
        self._seals: list[int] = []

    def depth(self) -> int:
        """How many they are.

        Left-over paragraphs and items pile up in the list, but not in the parser: it has no two paragraphs
        open without a wall, no two items without another element between them.
        """
        counts = self._counts
        parts = (_TABLE - 1) * counts["table"]
        depth = len(self._names) + parts
        if depth < _FEW:
            return depth
        others = depth - counts["p"] - counts["format"]
        spare = max(0, counts["p"] - 1 - counts["table"] - parts - counts["wall"] - counts["mark"])
        for item in ("li", "dd"):
            spare += max(0, counts[item] - 1 - (others - counts[item]))
        return depth - spare

    def loses(self, name: str) -> bool:
        """Can we no longer tell what the parser does, from this tag on?

        Within tables, a page that ends may go on under other rules. An object that its cell closes leaves a
        mark behind, and formatting before that mark is not closed.
        """
        if name in _BLINDING:
            return True
        return self.marked() if name in _TABLE_TAGS else self._counts["table"] > 0

    def marked(self) -> bool:
        """Is an object open?"""
        return self._counts["mark"] > 0

    def start(self, name: str) -> None:
        """A start tag."""
        names = self._names
        if name in _CLOSES_P:
            if name in _ITEMS:
                self._drop(_ITEMS[name], _LIGHT_OR_P)
            if self._counts["p"]:
                self._drop(_P, _UNFINISHED)
        if name == "hr" or (name == "option" and names and names[-1] == "option"):
            return
        if name == "table":
            self._seals.append(self._sealed)
        names.append(name)
        if name in _COUNTED:
            self._counts[_COUNTED[name]] += 1

    def seal(self) -> None:
        """A cell starts: until its table ends, no end tag reaches formatting that was open before."""
        self._sealed = len(self._names)

    def end(self, name: str) -> None:
        """An end tag."""
        names = self._names
        if name == "form":
            self._end_form()
        elif names and names[-1] == name:
            if len(names) > self._sealed or name not in _FORMATTING:
                self._take(len(names) - 1)
        elif name in _BLOCKS:
            self._close(name, _UNFINISHED)
        elif name not in _FORMATTING and name not in _MARKED:
            self._close(name, _LIGHT)

    def _end_form(self) -> None:
        """It closes the form that the parser remembers, and makes it forget one that is out of reach."""
        if self._names[-1:] == ["form"] and self._counts["form"] == 1 and not self._formless:
            self._take(len(self._names) - 1)
        else:
            self._formless = True

    def _close(self, name: str, through: frozenset[str]) -> None:
        """Take the last element of that name off, if only such elements lie above it."""
        names = self._names
        for index in range(len(names) - 1, max(-1, len(names) - 1 - _SIGHT), -1):
            if names[index] == name:
                self._take(index)
                return
            if names[index] not in through:
                return

    def _drop(self, closed: frozenset[str], through: frozenset[str]) -> None:
        """Take all elements of these names off, as far as only such elements lie above them."""
        names = self._names
        for index in range(len(names) - 1, max(-1, len(names) - 1 - _SIGHT), -1):
            if names[index] in closed:
                self._take(index)
            elif names[index] not in through:
                return

    def _take(self, index: int) -> None:
        name = self._names.pop(index)
        if name in _COUNTED:
            self._counts[_COUNTED[name]] -= 1
        if name == "table":
            self._sealed = self._seals.pop()
        self._sealed = min(self._sealed, len(self._names))
