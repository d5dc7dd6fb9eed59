"""In which character set is a page written, and what does it say in it?

In:    a payload, and what the server said about it.
Out:   the name of an encoding as the Encoding Standard spells it ("Shift_JIS"), and the text.
Never: fails: bytes that stand for nothing become U+FFFD, exactly where a browser would put it.

In this order: byte order mark, Content-Type, the page's own declaration (`prescan`), and only then a
guess. Python's own euc_jp and iso2022_jp lose hundreds of characters the web uses (①㈱№) and its
cp932 resumes elsewhere after an error; turbohtml's decoders were compared with the standard for all
one- and two-byte sequences and half a million longer ones, and differ in none.
"""

from __future__ import annotations

import functools
import re

import turbohtml
from turbohtml.detect import Detection, detect

from joro.parse.depth import shallow
from joro.parse.prescan import PRESCAN_BYTES, declared_encoding, encoding_in_content, encoding_of

#: Byte order marks beat everything else.
_MARKS = ((b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16LE"), (b"\xfe\xff", "UTF-16BE"))

#: A declaration behind the prescan counts too: a browser starts over when it meets one. It is looked for
#: where heads are, and the parser that looks gets no page big enough to be a bomb.
_LATE_BYTES = 16_384
_LATE_META = re.compile(rb"<meta[\t\n\f\r /][^>]*charset", re.IGNORECASE)

#: What ISO-2022-JP switches with; everything else about it looks like ASCII.
_SWITCH = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")

#: The detector reads text, so it gets text: runs with high bytes in them, up to the next tag. Its cost
#: grows with the length (2,048 bytes: 0.2 ms) and its answers no longer change beyond.
_SAMPLE_BYTES = 2_048
_HIGH_RUN = re.compile(rb"[\x80-\xff][^<>]*")
_UNFINISHED = 4

#: The characters of EUC-JP are half-width kana in Shift_JIS, and the detector takes one for the other where a
#: page has names in other scripts. Of a page read wrongly, one character in forty stands for nothing.
_JAPANESE = ("Shift_JIS", "EUC-JP")
_COMPARED_BYTES = 16_384


def charset_of(payload: bytes, content_type: str = "", url: str = "") -> str:
    """The encoding to read `payload` in; the URL's top-level domain helps where it must be guessed."""
    return (
        _marked(payload)
        or _in_header(content_type)
        or declared_encoding(payload)
        or _declared_late(payload)
        or _guessed(payload, url)
    )


def decode(payload: bytes, charset: str) -> str:
    """The text of a payload, without its byte order mark."""
    if charset == "UTF-8":
        text = payload.decode("utf-8", "replace")  # the same rule as the standard's, and the faster decoder
    else:
        text = payload.decode(f"whatwg-{encoding_of(charset) or 'windows-1252'}")
    return text[1:] if text[:1] == "\ufeff" else text


def _marked(payload: bytes) -> str:
    for mark, encoding in _MARKS:
        if payload.startswith(mark):
            return encoding
    return ""


@functools.lru_cache(maxsize=256)
def _in_header(content_type: str) -> str:
    _, _, parameters = content_type.partition(";")
    return encoding_in_content(parameters.partition(",")[0]) if parameters else ""


def _declared_late(payload: bytes) -> str:
    if len(payload) <= PRESCAN_BYTES or not _LATE_META.search(payload, 0, _LATE_BYTES):
        return ""
    # The parser reads these bytes in whatever encoding it finds. Without the switches of ISO-2022-JP every
    # encoding has its tags where Latin-1 has them, so what is safe in this one is safe.
    text = payload[:_LATE_BYTES].replace(b"\x1b", b" ").decode("latin-1")
    document = turbohtml.parse(shallow(text).encode("latin-1"), positions=False)
    return document.encoding or "" if document.encoding_confidence == "certain" else ""


def _guessed(payload: bytes, url: str) -> str:
    if payload.isascii():
        return "ISO-2022-JP" if _SWITCH.search(payload) else "windows-1252"
    if _is_utf8(payload):
        return "UTF-8"
    sample = b" ".join(_HIGH_RUN.findall(payload, 0, 16 * _SAMPLE_BYTES))[:_SAMPLE_BYTES]
    found = detect(sample or payload[-_SAMPLE_BYTES:], _detection(_tld(url))).encoding or "windows-1252"
    return _more_legible(payload[:_COMPARED_BYTES], found) if found in _JAPANESE else found


def _more_legible(payload: bytes, found: str) -> str:
    """Of the two old ways to write Japanese the one with fewer bytes that stand for nothing."""
    return min((found, *_JAPANESE), key=lambda charset: decode(payload, charset).count("\ufffd"))


def _is_utf8(payload: bytes) -> bool:
    """Valid UTF-8; a character cut off at the very end is forgiven, since bodies are cut."""
    try:
        payload.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start > len(payload) - _UNFINISHED
    return True


_TLD = re.compile(r"^[a-z]+://[^/?#]*?\.([a-z0-9-]+)\.?(?::\d+)?(?:/|$)")


def _tld(url: str) -> str | None:
    match = _TLD.match(url)
    return match[1] if match and not match[1].isdigit() else None


@functools.lru_cache(maxsize=256)
def _detection(tld: str | None) -> Detection:
    return Detection(tld=tld)
