"""What does a response say before its body?

In:    heads as they came in.
Out:   the head of the final response, its status and fields.
Never: complains: what is no HTTP has no status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from joro.url import from_header

_STATUS = re.compile(rb"HTTP/[0-9.]{1,3}[ \t]+([1-9][0-9]{2})(?=[ \t\r\n])")
_START = re.compile(rb"^HTTP/", re.MULTILINE)
_END = re.compile(rb"\n[ \t]*\r?\n")
_FOLD = re.compile(r"\r?\n[ \t]+(?=[^\s])")


def final_head(received: bytes) -> bytes:
    """The final response's head with its empty line; b"" while that has not come.

    1xx answers before it and trailers after it do not belong.
    """
    if received.endswith(b"\r\n\r\n") and received.count(b"\r\n\r\n") == 1:
        return received
    start = max((found.start() for found in _START.finditer(received)), default=0)
    end = _END.search(received, start)
    return received[start : end.end()] if end else b""


def status_of(head: bytes) -> int | None:
    """The status code; None where there is none."""
    found = _STATUS.match(head)
    return int(found[1]) if found else None


def fields_of(head: bytes) -> dict[str, str]:
    """Lower-case names; repeated ones joined by ", ", folded lines unfolded, what is no field left out.

    Lines of X-Robots-Tag stay lines: a robot's name in one of them is for the words behind it, there. Of
    several Locations the first counts.
    """
    text = head.decode("latin-1")
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub(" ", text)
    lines = [line.partition(":") for line in text.split("\n")[1:-2]]
    fields = {name.strip().lower(): value.strip() for name, colon, value in lines if colon}
    if len(fields) < len(lines):
        fields = _joined(lines)
    if "location" in fields and not text.isascii():
        fields["location"] = from_header(fields["location"])
    return fields


def stays_open(head: bytes, status: int, fields: Mapping[str, str]) -> bool:
    """Does the server leave the connection open after this response? RFC 9112, 9.3."""
    if head[5:7] != b"1.":
        return True  # HTTP/2 and later
    wishes = fields.get("connection", "").lower()
    if "close" in wishes or (head[7:8] == b"0" and "keep-alive" not in wishes):
        return False
    ends_by_itself = "content-length" in fields or "transfer-encoding" in fields
    return ends_by_itself or status in (204, 304)


def _joined(lines: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """Some name came twice, or some line is no field."""
    values: dict[str, list[str]] = {}
    for name, colon, value in lines:
        if colon and name.strip():
            values.setdefault(name.strip().lower(), []).append(value.strip())
    return {name: _as_one(name, several) for name, several in values.items()}


def _as_one(name: str, values: list[str]) -> str:
    if name == "location":
        return values[0]
    return ("\n" if name == "x-robots-tag" else ", ").join(values)
