"""Where do the addresses in a style sheet lead, once it is replayed?

In:    CSS, of a file, an element or an attribute, and where each address shall lead.
Out:   the same CSS with other addresses.
Never: decides what is safe: what hides from this reader (`\\75rl(…)`) the browser still refuses to load.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from joro.parse.charset import charset_of, decode
from joro.parse.prescan import encoding_of

#: Says where an address, as written, leads to.
Lead = Callable[[str], str]

_STRING = r""""(?:[^"\\\n]++|\\[\s\S]|)*+"|'(?:[^'\\\n]++|\\[\s\S]|)*+'"""
#: CSS ends it where its line ends. Passed over whole, it is read once, whatever quotes it holds.
_UNCLOSED = r""""(?:[^"\\\n]++|\\[\s\S]|)*+|'(?:[^'\\\n]++|\\[\s\S]|)*+"""
_CODE = r"\\[0-9a-fA-F]{1,6}+\s?+"
_SPACE = r"(?:\s++|/\*(?:[^*]++|\*(?!/)|)*+\*/|)*+"
#: What can hold an address, and what can look as if it did: comments, names of namespaces, other strings,
#: broken addresses (up to their bracket, as CSS has it), quotes that are part of a name (`.a\'b`).
#: `image-set` takes bare strings, so that brackets are counted inside it.
_PART = re.compile(
    rf"""/\*(?:[^*]++|\*(?!/)|)*+(?:\*/|)"""
    rf"""|@namespace[^;{{}}]*+"""
    rf"""|(?P<rule>@import{_SPACE})(?P<imported>{_STRING})"""
    rf"""|(?<![\w-])url\(\s*+(?:(?P<quoted>{_STRING})|(?P<bare>(?:[^)"'\\\s(]++|{_CODE}|\\[\s\S]|)*+))\s*+\)"""
    rf"""|(?<![\w-])url\(\s*+(?!["'])(?:[^)\\]++|\\[\s\S]|)*+(?:\)|)"""
    rf"""|(?P<set>image-set\()|(?P<bracket>[()])|(?P<string>{_STRING})|{_UNCLOSED}|\\["'\\]""",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\n)|([\s\S]))")
_CHARSET = re.compile(rb'@charset "([\x21-\x7e]{1,40})";')


def rewritten_css(text: str, lead: Lead) -> str:
    """The style sheet with every address led elsewhere."""
    if "url(" not in text and "@import" not in text and "image-set" not in text:
        lowered = text.lower()
        if not any(word in lowered for word in ("url(", "@import", "image-set(")):
            return text
    depth = 0  # of brackets inside an image-set

    def replaced(part: re.Match[str]) -> str:
        nonlocal depth
        kind = part.lastgroup
        if kind == "imported":
            return f"{part['rule']}{_spelled(lead(_plain(part['imported'][1:-1])))}"
        if kind in ("quoted", "bare"):
            written = part["bare"] if kind == "bare" else part["quoted"][1:-1]
            return f"url({_spelled(lead(_plain(written)))})"
        if kind == "string" and depth == 1:
            return _spelled(lead(_plain(part["string"][1:-1])))
        if kind == "set":
            depth += 1
        elif kind == "bracket" and depth:
            depth += 1 if part["bracket"] == "(" else -1
        return part[0]

    return _PART.sub(replaced, text)


def css_text(content: bytes, content_type: str) -> str:
    """What a style sheet says, by byte order mark, header, its own declaration, or a guess."""
    declared = _CHARSET.match(content)
    if declared and "charset" not in content_type.lower():
        charset = encoding_of(declared[1].decode())
        if charset:
            return decode(content, charset)
    return decode(content, charset_of(content, content_type))


def _plain(written: str) -> str:
    """An address without CSS's escapes."""
    return _ESCAPE.sub(_character, written) if "\\" in written else written


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        number = int(escape[1], 16)
        return chr(number) if 0 < number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
    return escape[3] or ""


def _spelled(address: str) -> str:
    """An address as a CSS string; it cannot end the string, the rule or a <style> around it."""
    return '"' + re.sub(r"[\"\\\n\r\f<]", lambda found: f"%{ord(found[0]):02X}", address) + '"'
