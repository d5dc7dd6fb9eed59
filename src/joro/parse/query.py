"""How is the query of a link spelled in a page of another charset?

In:    a link as written, and the charset of the page it stands in.
Out:   the link with its query percent-encoded in that charset.
Never: touches host or path: those are always UTF-8.

The URL Standard's "percent-encode after encoding". A form or a link in a Shift_JIS page sends Shift_JIS,
and the server that made the page expects nothing else.
"""

from __future__ import annotations

import codecs
import functools

#: Python's names where they differ from the standard's by more than "windows-" and "cp".
_CODECS = {
    "Shift_JIS": "cp932",
    "EUC-KR": "cp949",
    "Big5": "big5hkscs",
    "GBK": "gb18030",
    "ISO-8859-8-I": "iso-8859-8",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
}

#: These encode as UTF-8, which is what a URL parser does by itself.
_AS_UTF8 = frozenset({"UTF-8", "UTF-16LE", "UTF-16BE", "replacement", "x-user-defined"})

#: What the standard escapes in a query. A Shift_JIS byte that happens to be "\" stays one.
_ESCAPED = frozenset([*range(0x21), *range(0x7F, 0x100), *b"\"#<>'"])
_ESCAPES = {chr(octet): f"%{octet:02X}" for octet in _ESCAPED}
_TABLE = str.maketrans(_ESCAPES)


def _reference(error: UnicodeError) -> tuple[str, int]:
    """What a charset lacks is sent as a character reference, escaped."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in lacking), error.end


codecs.register_error("joro-query", _reference)


@functools.cache
def query_codec(charset: str) -> str:
    """Python's name for the codec of queries in pages of this charset, "" for UTF-8."""
    if charset in _AS_UTF8:
        return ""
    name = _CODECS.get(charset) or charset.lower().replace("windows-", "cp")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def with_query_in(codec: str, ref: str) -> str:
    """A link with its query, if that needs it, percent-encoded in `codec`."""
    resource, hash_mark, fragment = ref.partition("#")
    path, mark, query = resource.partition("?")
    if query.isascii():
        return ref
    octets = query.encode(codec, "joro-query")
    return path + mark + octets.decode("latin-1").translate(_TABLE) + hash_mark + fragment
