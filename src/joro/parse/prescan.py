"""Which character set does a page declare in its own first bytes?

In:    the beginning of a payload.
Out:   the name of an encoding as the Encoding Standard spells it, or "".
Never: looks further than 1,024 bytes; guesses.

The HTML Standard's "prescan a byte stream to determine its encoding", step by step, for a browser
reads the page that way too. "Out of bytes" in the middle of a tag ends the prescan, as it does there.
"""

from __future__ import annotations

import functools
import re

import turbohtml

#: How far the standard looks.
PRESCAN_BYTES = 1_024

#: "Get an attribute". Possessive throughout: the standard never goes back, and nobody makes us. (Up to 3.11.4
#: Python loses its place where a repeated group fails, unless that may be empty; or where it captures.)
_ATTRIBUTE = rb"""([^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|(?=>)|([^\t\n\f\r >"'][^\t\n\f\r >]*+))
     |(?![\t\n\f\r ]*+=))"""
_ATTRIBUTES = re.compile(_ATTRIBUTE, re.VERBOSE)
_UNCAPTURED = re.sub(rb"\((?!\?)", b"(?:", _ATTRIBUTE)
#: A tag up to its `>`. A quote left open is no attribute, so such a tag is no match: the bytes have run out.
_TAG = re.compile(
    rb"<(?:(meta)(?=[\t\n\f\r /])|/?[a-z][^\t\n\f\r >]*+)(?:[\t\n\f\r /]++|" + _UNCAPTURED + rb"|)*+>",
    re.VERBOSE,
)
_TAG_OPEN = re.compile(rb"</?[a-z]")
_CONTENT_CHARSET = re.compile(
    r"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r ;]+))?""", re.IGNORECASE
)
_XML_ENCODING = re.compile(rb"""encoding[\0-\x20]*=[\0-\x20]*(?:"([^"]*)"|'([^']*)')""")


@functools.lru_cache(maxsize=1_024)
def encoding_of(label: str) -> str:
    """The encoding a label stands for ("sjis" → "Shift_JIS"), "" for a label nobody knows."""
    if not label.isascii():
        return ""
    try:
        return turbohtml.parse(b"", encoding=label.strip("\t\n\f\r ")).encoding or ""
    except (LookupError, ValueError):  # ValueError: a NUL in the label
        return ""


def declared_encoding(payload: bytes) -> str:
    """The encoding a payload declares within its first 1,024 bytes, "" if none."""
    head = payload[:PRESCAN_BYTES]
    if head.startswith(b"<\0?\0x\0"):
        return "UTF-16LE"
    if head.startswith(b"\0<\0?\0x"):
        return "UTF-16BE"
    lower = head.lower()
    # Most pages that declare nothing never say the word: they are spared the walk.
    return (b"charset" in lower and _meta_encoding(lower)) or _xml_encoding(head)


def _meta_encoding(head: bytes) -> str:
    """What the first meta element that declares an encoding says; `head` in lower case."""
    position = head.find(b"<")
    while position >= 0:
        tag = _TAG.match(head, position)
        if tag is None:
            position = _behind(head, position)
        elif tag[1] and (encoding := _encoding_in(tag[0])):
            return encoding
        else:
            position = tag.end()
        position = head.find(b"<", position) if position >= 0 else -1
    return ""


def _behind(head: bytes, position: int) -> int:
    """Where the walk goes on behind a `<` that begins no whole tag; -1 when the bytes have run out."""
    if head.startswith(b"<!--", position):
        return head.find(b"-->", position + 2)
    if _TAG_OPEN.match(head, position):
        return -1
    if head.startswith((b"<!", b"</", b"<?"), position):
        return head.find(b">", position)
    return position + 1


def _encoding_in(meta: bytes) -> str:
    """What one meta element declares: its charset, or its content if it is the pragma for that."""
    if b"charset" not in meta:
        return ""
    attributes: dict[bytes, bytes] = {}
    for name, double, single, plain in _ATTRIBUTES.findall(meta, len("<meta")):
        attributes.setdefault(name, double or single or plain)
    if b"charset" in attributes:
        return _readable(encoding_of(attributes[b"charset"].decode("latin-1")))
    if attributes.get(b"http-equiv", b"") == b"content-type":
        return _readable(encoding_in_content(attributes.get(b"content", b"").decode("latin-1")))
    return ""


def encoding_in_content(content: str) -> str:
    """The encoding in a text like `text/html; charset=euc-jp`, "" if none.

    A quote that is never closed ends the search; a `charset` without `=` does not.
    """
    match = _CONTENT_CHARSET.search(content)
    return encoding_of(match[1] or match[2] or match[3] or "") if match else ""


def _xml_encoding(head: bytes) -> str:
    if not head.startswith(b"<?xml") or b">" not in head:
        return ""
    match = _XML_ENCODING.match(head, max(head.find(b"encoding"), 0))
    label = (match[1] or match[2] or b"") if match else b""
    if not label or min(label) <= 0x20:
        return ""
    encoding = encoding_of(label.decode("latin-1"))
    return "UTF-8" if encoding.startswith("UTF-16") else encoding


def _readable(encoding: str) -> str:
    """Bytes we could read as far as this are no UTF-16; x-user-defined means windows-1252 in a meta."""
    if encoding.startswith("UTF-16"):
        return "UTF-8"
    return "windows-1252" if encoding == "x-user-defined" else encoding
