"""Which bytes of an archived HTTP message are its payload, and what is their digest?

In:    the block of a record: head and body exactly as received.
Out:   where the head ends, its fields, the body without chunk frames, a digest.
Never: takes off a content encoding; raises because a server sent nonsense.

WARC 1.1 (6.3.2) defines the payload as the body without its transfer encoding, so that two answers
that differ only in where their chunks were cut have one digest.
"""

from __future__ import annotations

import hashlib
import re

from joro.url import from_header

#: A head ends at its first empty line, be its line ends CR LF or (not quite HTTP) LF.
_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})", re.IGNORECASE)
_MIME = re.compile(rb"^content-type[ \t]*:[ \t]*([^\s;,]+)", re.IGNORECASE | re.MULTILINE)
_CHUNKED = re.compile(rb"^transfer-encoding[ \t]*:[^\n]*\bchunked\b", re.IGNORECASE | re.MULTILINE)
_FRAME = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")

#: A body cut into more frames is digested as it is: taking 16 MB of one-byte frames apart would hold
#: up the robot for seconds, and nobody honest sends them.
FRAMES_LIMIT = 20_000


#: Two base 32 digits for every ten bits: five times as fast as `base64.b32encode`.
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [high + low for high in _DIGITS for low in _DIGITS]


def digest(content: bytes | memoryview = b"", *more: bytes | memoryview) -> str:
    """SHA-1 in base 32, the spelling every WARC tool knows, of all pieces together."""
    sha1 = hashlib.sha1(content, usedforsecurity=False)
    for piece in more:
        sha1.update(piece)
    found = sha1.digest()
    return f"sha1:{_base32(found, 0)}{_base32(found, 5)}{_base32(found, 10)}{_base32(found, 15)}"


def _base32(octets: bytes, start: int) -> str:
    """Eight digits for five octets: numbers this small are quick to shift."""
    number = int.from_bytes(octets[start : start + 5], "big")
    high, low = number >> 20, number & 0xFFFFF
    return _PAIRS[high >> 10] + _PAIRS[high & 1023] + _PAIRS[low >> 10] + _PAIRS[low & 1023]


def split(block: bytes) -> tuple[bytes, bytes]:
    """Head (with its empty line) and body; a block without an empty line is all head."""
    end = _HEAD_END.search(block)
    return (block[: end.end()], block[end.end() :]) if end else (block, b"")


def status_of(head: bytes) -> int:
    """The status code, 0 where there is none."""
    match = _STATUS.match(head)
    return int(match[1]) if match else 0


def mime_of(head: bytes) -> str:
    """The media type without parameters, lower case, "" where none is given."""
    match = _MIME.search(head)
    return match[1].decode("latin-1").lower() if match else ""


def header_fields(head: bytes) -> dict[str, str]:
    """Lower-case names; repeated ones joined by ", ", folded lines unfolded, what is no field left out.

    Lines of X-Robots-Tag stay lines: a robot's name in one of them is for the words behind it, there. Of
    several Locations the first counts.
    """
    fields: dict[str, str] = {}
    name = ""
    for line in head.decode("latin-1").split("\n")[1:]:
        if line[:1] in (" ", "\t") and name and line.strip():
            fields[name] += " " + line.strip()
            continue
        key, colon, value = line.partition(":")
        name = key.strip().lower() if colon else ""
        if name in fields and name == "location":
            name = ""
        elif name:
            separator = "\n" if name == "x-robots-tag" else ", "
            fields[name] = fields[name] + separator + value.strip() if name in fields else value.strip()
    if not fields.get("location", "").isascii():
        fields["location"] = from_header(fields["location"])
    return fields


def is_framed(head: bytes, body: bytes) -> bool:
    """Whether the body still carries chunk frames: the head says so, and the first one is there."""
    return bool(b"hunked" in head and _CHUNKED.search(head) and _FRAME.match(body))


def payload_of(head: bytes, body: bytes) -> bytes:
    """The body without chunk frames; one cut off, or framed wrongly, counts as far as it goes."""
    return b"".join(payload_pieces(head, body)) if is_framed(head, body) else body


def payload_pieces(head: bytes, body: bytes) -> list[bytes | memoryview]:
    """The payload where it lies in the body: nothing is copied, and a body may be long."""
    if not is_framed(head, body):
        return [body]
    pieces: list[bytes | memoryview] = []
    whole = memoryview(body)
    place = 0
    while frame := _FRAME.match(body, place):
        size = int(frame[1], 16)
        if size == 0:
            break
        if len(pieces) == FRAMES_LIMIT:
            return [body]
        pieces.append(whole[frame.end() : frame.end() + size])
        place = frame.end() + size
        place += 2 if body.startswith(b"\r\n", place) else body.startswith(b"\n", place)
    return pieces
