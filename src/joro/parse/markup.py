"""Which tags and texts does an XML document have, however broken it is?

In:    its text, in pieces of any size.
Out:   its tags in order, each with the text before it.
Never: raises; expands or fetches what a DOCTYPE declares: it is skipped unread, so there are no entity
       bombs; reads anything twice; holds more than a piece and the limits below.

Feeds are XML that nobody checked: bare ampersands, `&nbsp;`, tags left open, bytes of another charset, a file
cut in the middle. A real XML parser stops at the first of them, so this one knows tags only, not nesting, and
what nests is for the reader to say. For well-formed documents it finds what expat finds (a test compares the
two). It reads about as fast as expat calls Python back, because `<` cannot stand in a tag: no quote left open
reaches further than the next one, and a reader can `skip` what it does not want.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.entities import html5

#: Text before a tag is kept up to here: URLs, dates and titles are shorter.
TEXT_LIMIT_CHARS = 16_384
#: A tag, or a DOCTYPE, that is not over by then is text.
TAG_LIMIT_CHARS = 65_536

#: Text, and the tag behind it: slash, name and attributes; or a CDATA section; or something else, or the end.
#: Possessive throughout, and no part reaches beyond the next tag: each character is looked at once.
_TOKEN = re.compile(
    r"""((?:[^<]++|<(?=[\s<>="'0-9])|)*+)(?:<(?:(/?)([^\s/>="'<!?][^\s/>="'<]*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|)*+)>"""
    r"""|!\[CDATA\[((?:[^\]]++|\](?!\]>)|)*+)\]\]>|)|\Z)"""
)
_DECLARATION = re.compile(r"<![A-Za-z][^\[>]*+(?:>|\[[^\]]*+\][^>]*+>)")
#: A document has one DOCTYPE; looking for the end of a declaration is dear, so that few are looked at.
_DECLARATIONS = 8
#: Comments, and tags that are none, are passed up to this number: beyond, this is no XML.
ODD_LIMIT = 50_000
#: What is no tag, and how it ends.
_ENDS = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}
_SPACE = re.compile(r"\s*+")
_CLOSED = re.compile(r"\s*+>")
_ATTRIBUTE = re.compile(r"""([^\s=/"'<>]+)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""")
#: Only with its semicolon: `?a=1&copy=2` is a URL that someone forgot to escape.
_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}))|([A-Za-z][A-Za-z0-9]{1,31}));")

#: (text, name, slash, attributes): the text since the tag before, references resolved; the name as written,
#: with its prefix; "/" for an end tag (`<name/>` is two tags); what `attributes` reads.
Tag = tuple[str, str, str, str]


class Markup:
    """Iterate over it once."""

    __slots__ = ("_at", "_declarations", "_endless", "_is_over", "_odd_ones", "_pieces", "_text")

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._text = next(self._pieces, "")
        self._at = 0
        self._is_over = False
        self._odd_ones = 0
        self._declarations = 0
        self._endless: set[str] = set()  # end tags looked for in vain: nobody makes us look again

    def __iter__(self) -> Iterator[Tag]:
        said = ""
        while not self._is_over:
            for token in _TOKEN.finditer(self._text, self._at):
                text, slash, name, attributes, section = token.groups()
                if text:
                    said += resolved(text) if "&" in text else text
                if len(said) > TEXT_LIMIT_CHARS:
                    said = said[:TEXT_LIMIT_CHARS]
                self._at = end = token.end()
                if name is None:
                    said += section if section is not None else self._odd(token.end(1))
                    if section is None:
                        break
                else:
                    yield said, name, slash, attributes
                    said = ""
                    if attributes[-1:] == "/" and not slash:
                        yield said, name, "/", ""
                    if self._at != end:  # skipped
                        break

    def skip(self, name: str) -> None:
        """Go on at the end tag of the element just begun, if that is in sight, but never inside CDATA."""
        end = f"</{name}"
        if end in self._endless:
            return
        at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches anything
        if self._text.startswith("<![CDATA[", at):
            at = self._text.find("]]>", at)
        found = self._text.find(end, at) if at >= 0 else -1
        while found >= 0 and _CLOSED.match(self._text, found + len(end)) is None:  # of a longer name
            found = self._text.find(end, found + 1)
        if found >= 0:
            self._at = found
        else:
            self._endless.add(end)

    def _odd(self, start: int) -> str:
        """Pass what begins at `start` and is no whole tag; the text it stands for."""
        self._odd_ones += 1
        is_short = len(self._text) - start <= TAG_LIMIT_CHARS
        if is_short and self._text.find("<", start + 1) < 0 and self._refill(start):
            return ""  # once more, now that more of it is there
        for opening, end in _ENDS.items():
            if self._text.startswith(opening, start):
                self._at = start + len(opening)
                passed = self._behind(end)
                self._is_over |= self._odd_ones > ODD_LIMIT
                return passed if opening == "<![CDATA[" else ""
        if self._text.startswith("<!", start) and self._declaration(start):
            return ""
        self._is_over = start == len(self._text) or self._odd_ones > ODD_LIMIT
        return "" if self._is_over else "<"

    def _behind(self, mark: str) -> str:
        """Go on behind the next `mark`, or the end; the first part of the text before it."""
        passed = ""
        while (found := self._text.find(mark, self._at)) < 0:
            keep = max(self._at, len(self._text) - len(mark) + 1)
            passed += self._text[self._at : min(keep, self._at + TEXT_LIMIT_CHARS - len(passed))]
            if not self._refill(keep):
                self._is_over = True
                return passed
        passed += self._text[self._at : min(found, self._at + TEXT_LIMIT_CHARS - len(passed))]
        self._at = found + len(mark)
        return passed

    def _declaration(self, start: int) -> bool:
        """Pass a DOCTYPE with all it declares, if it is one and has an end."""
        self._declarations += 1
        if self._declarations > _DECLARATIONS:
            return False
        match = _DECLARATION.match(self._text, start)
        while match is None and len(self._text) - start <= TAG_LIMIT_CHARS and self._refill(start):
            start = 0
            match = _DECLARATION.match(self._text)
        self._at = match.end() if match is not None else start + 1
        return match is not None

    def _refill(self, keep_from: int) -> bool:
        """Forget what was read, take in the next piece; False when there is none."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._text = self._text[keep_from:] + piece
        self._at = 0
        return True


def attributes(written: str) -> dict[str, str]:
    """The attributes of a tag, by name as written; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(written):
        found.setdefault(name, resolved(double or single or bare))
    return found


def resolved(text: str) -> str:
    """Text with its character references resolved, HTML's names too; unknown ones stay as they are."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    if name:
        return html5.get(name + ";", reference[0])
    number = int(hexadecimal, 16) if hexadecimal else int(decimal)
    if number == 0 or 0xD800 <= number < 0xE000 or number > 0x10FFFF:
        return "\ufffd"
    return chr(number)
