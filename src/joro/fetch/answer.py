"""What has come of a response so far?

In:    pieces of it, cut anywhere.
Out:   its head, once that is complete, and which bytes of each piece are its body.
Never: keeps the body; waits; knows a socket.
"""

from __future__ import annotations

from joro.fetch.framing import Framing, Piece, flaw_of, framing_of, head_end, may_be_http, status_of
from joro.fetch.head import fields_of, stays_open

#: All heads of one answer together, interim ones too; libcurl's own limit.
_HEADS_LIMIT_BYTES = 300 * 1024


class Answer:
    """One response, from its first byte on."""

    __slots__ = (
        "_begun",
        "_heads_bytes",
        "_limit",
        "fields",
        "flaw",
        "framing",
        "has_excess",
        "head",
        "status",
    )

    def __init__(self, head_limit_bytes: int) -> None:
        self._limit = head_limit_bytes
        self._begun = bytearray()  # a head whose end has not come
        self._heads_bytes = 0
        self.head = b""
        self.status = 0
        self.fields: dict[str, str] = {}
        self.framing: Framing | None = None  # None: the head is not complete
        self.flaw = ""
        self.has_excess = False  # more came than the response

    @property
    def is_chunked(self) -> bool:
        """Its body carries chunk frames."""
        return self.fields.get("transfer-encoding", "").lower().endswith("chunked")

    @property
    def leaves_open(self) -> bool:
        """Whether the connection is fit for another request."""
        is_whole = self.framing is not None and self.framing.is_done and not self.has_excess
        # Whoever says HTTP/2.0 on a plain connection cannot be trusted with a second request.
        return is_whole and self.head[5:6] == b"1" and stays_open(self.head, self.status, self.fields)

    def receive(self, received: bytearray, size: int) -> Piece:
        """Look at the first `size` bytes of `received`; which of them are body."""
        framing = self.framing
        if framing is not None:
            piece = memoryview(received)[:size]
        else:
            piece = self._receive_head(received, size)
            framing = self.framing
            if framing is None:
                return piece
        taken = framing.take(piece)
        if taken < len(piece):
            self.has_excess = True
            piece = piece[:taken]
        self.flaw = framing.flaw
        return piece

    def end(self) -> None:
        """No more will come: look for a flaw in what is there of a head."""
        if self.framing is None and self._begun:
            self.flaw = self.flaw or flaw_of(self._begun[: self._begun.rfind(b"\n") + 1])

    def _receive_head(self, received: bytearray, size: int) -> memoryview:
        """What follows the final response's head, once that is complete."""
        start = searched = 0
        if self._begun:
            searched = max(0, len(self._begun) - 2)  # of an empty line two bytes may have come
            self._begun += memoryview(received)[:size]
            received, size = self._begun, len(self._begun)
        while (end := head_end(received, searched, size)) >= 0:
            view = memoryview(received)
            self._read_head(bytes(view[start:end]))
            if self.framing is not None or self.flaw:
                return view[end:size]
            start = searched = end
        self._wait(received[start:size])
        return memoryview(b"")

    def _wait(self, begun: bytearray) -> None:
        self._begun = begun
        if not may_be_http(begun):
            self.flaw = "not HTTP"
        elif len(begun) > self._limit or self._heads_bytes + len(begun) > _HEADS_LIMIT_BYTES:
            self.flaw = "head longer than the limit"

    def _read_head(self, head: bytes) -> None:
        status = status_of(head)
        fields = fields_of(head)
        self._heads_bytes += len(head)
        if not status or _is_suspect(head, fields):
            self.flaw = flaw_of(head)
        if len(head) > self._limit or self._heads_bytes > _HEADS_LIMIT_BYTES:
            self.flaw = "head longer than the limit"
        if self.flaw or (status < 200 and status != 101):
            return
        self.framing = framing_of(status, fields)
        if self.framing is None:
            self.flaw = "contradictory Content-Length"
        self.status, self.head, self.fields = status, head, fields


def _is_suspect(head: bytes, fields: dict[str, str]) -> bool:
    """Worth a closer look: a line that is no field, or bytes that have no place in a head."""
    lines = head.count(b"\n")
    return lines != len(fields) + 2 or head.count(b"\r") != head.count(b"\r\n") or b"\0" in head
