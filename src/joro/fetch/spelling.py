"""In which spellings may our URLs have what a rule of robots.txt speaks of?

In:    the value of a rule as the file has it, and whether it allows or forbids.
Out:   patterns, one for each spelling under which a canonical URL may have it.
Never: lets an Allow reach further than its own letters, escaped as our URLs are.

RFC 9309, 2.2.2 compares rule and URL in one spelling. A URL we hold has been through `joro.url`: needless
escapes undone, some characters escaped, others left as the page had them. So a rule is put into all of these
when it is read, once, and a page is compared as it stands, every time. Most rules have nothing to spell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joro.url import respell

#: Values that no spelling changes.
_PLAIN = re.compile(rb"[!$&()*+,./0-9:;=?@A-Z_a-z~-]*")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")

#: What a canonical URL has only escaped: anywhere, in its path, in its query.
_ALWAYS = re.compile(r'[\x00-\x20"<>\x7f]')
_IN_PATH = re.compile(r'[\x00-\x20"<>\x7f`{}]')
_IN_QUERY = re.compile(r"[\x00-\x20\"<>\x7f']")
#: What it may have both ways, though nobody means two things by them; and the same escaped.
_EITHER = re.compile(r"[\x00-\x20\"<>\x7f`{}'|^\[\]\\]")
_EITHER_ESCAPED = re.compile("%(?:27|5[B-E]|60|7[B-D])")

#: Stand for an asterisk and a dollar sign that mean themselves, until a pattern is cut up; no URL has them.
_STAR, _DOLLAR = "\ue000", "\ue001"


def spellings(value: bytes, allow: bool) -> set[str]:
    """All patterns that the value of a rule stands for; none for an empty one."""
    if _PLAIN.fullmatch(value):
        return {value.decode()} if value else set()
    upper = _ESCAPE.sub(lambda escape: escape[0].upper(), value)
    written = _NOT_ASCII.sub(lambda octet: b"%%%02X" % octet[0][0], upper).decode()
    if allow:
        return {written, *_in_urls(written)}
    ours = respell(written)
    bare = _EITHER_ESCAPED.sub(lambda escape: chr(int(escape[0][1:], 16)), ours)
    escaped = {_escaped(_ALWAYS, bare), _escaped(_EITHER, bare)}
    found = {written, *_in_urls(ours), *_in_urls(bare), *_in_urls(_with_slashes(ours)), *escaped}
    if "%2A" in written or "%24" in written:
        found |= {each.replace("%2A", _STAR).replace("%24", _DOLLAR) for each in found}
    return found


def literal(piece: str) -> str:
    """A piece of a pattern as URLs have it: asterisks and dollar signs that mean themselves put back."""
    return piece.replace(_STAR, "*").replace(_DOLLAR, "$")


def _in_urls(text: str) -> Iterator[str]:
    """As `joro.url` escapes a path with its query, which may have begun where an asterisk stands."""
    for start in ("?", "*"):
        cut = min((at for at in (text.find("?"), text.find(start)) if at >= 0), default=len(text))
        yield _escaped(_IN_PATH, text[:cut]) + _escaped(_IN_QUERY, text[cut:])


def _with_slashes(text: str) -> str:
    """In a path `joro.url`, like every browser, takes a backslash for a slash."""
    path, mark, query = text.partition("?")
    return path.replace("\\", "/") + mark + query


def _escaped(what: re.Pattern[str], text: str) -> str:
    return what.sub(lambda found: f"%{ord(found[0]):02X}", text)
