"""What does a request say?

In:    the bytes of a request's head.
Out:   header fields, and whether the visitor's copy still stands.
Never: builds a table of fields: a request is looked at for two or three of them.
"""

from __future__ import annotations

from datetime import datetime
from email.utils import parsedate_to_datetime

from joro.testweb.answer import Answer


def field_value(low: bytes, name: bytes) -> bytes:
    """The value of a header field in a lower-case request head; of `host`, without the port."""
    start = low.find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    end = low.find(b"\r\n", start + 2)
    value = low[start + len(name) + 3 : end if end > 0 else None].strip()
    return value.split(b":", 1)[0] if name == b"host" else value


def absolute(target: bytes) -> tuple[bytes, bytes]:
    """Host and path of a request as proxies get it: GET http://host/path."""
    authority, _, path = target.partition(b"://")[2].partition(b"/")
    return authority.lower().split(b":", 1)[0], b"/" + path


def is_unchanged(answer: Answer, low: bytes) -> bool:
    """Whether the validators sent still hold; If-None-Match wins over If-Modified-Since (RFC 9110)."""
    tags = field_value(low, b"if-none-match")
    if tags:
        return bool(answer.etag) and (tags == b"*" or answer.etag.lower() in tags)
    since = field_value(low, b"if-modified-since")
    if not since or not answer.modified:
        return False
    return since == answer.modified.lower() or _date(since) >= _date(answer.modified)


def _date(value: bytes) -> datetime:
    """A date as HTTP writes it; what cannot be read is long ago."""
    try:
        return parsedate_to_datetime(value.decode("latin-1")).replace(tzinfo=None)
    except ValueError:
        return datetime.min
