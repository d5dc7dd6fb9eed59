"""What is inside a message's gzip, if it is one?

In:    the bytes somebody sent.
Out:   the bytes inside, never more than allowed, a piece at a time.
Never: unpacks further than allowed, however little was sent; takes half a file for a whole one.
Paper: S1 5.1.2: lists and logs travel as gzip.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

from joro.errors import BadMessage

#: A list of a million servers has some 30 MB; a day's log of a robot with 200 lanes some 100.
MOST_BYTES = 256 << 20
#: No piece is longer.
PIECE_BYTES = 1 << 16
#: zlib copies what it has not looked at yet, for every piece and for every gzip in the message.
_MORSEL_BYTES = 1 << 12
_GZIP = 31  # zlib's word for: a gzip header must be there


def pack(inside: bytes) -> bytes:
    """The same gzip for the same bytes: no moment in it."""
    return gzip.compress(inside, compresslevel=6, mtime=0)


def pieces(packed: bytes | memoryview, most_bytes: int = MOST_BYTES) -> Iterator[bytes]:
    """What is inside, a piece at a time; several gzips one after the other are one, as the format has it."""
    stream, size = zlib.decompressobj(_GZIP), 0
    for start in range(0, len(packed), _MORSEL_BYTES):
        left = bytes(packed[start : start + _MORSEL_BYTES])
        while left:
            if stream.eof:
                stream = zlib.decompressobj(_GZIP)
            try:
                piece = stream.decompress(left, PIECE_BYTES)
            except zlib.error as error:
                raise BadMessage(f"the message is no gzip ({error})", remedy="pack it with gzip") from None
            size += len(piece)
            if size > most_bytes:
                raise BadMessage(
                    f"the message unpacks to more than {most_bytes:,} bytes", remedy="send it in parts"
                )
            yield piece
            left = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        raise BadMessage(f"the gzip of {len(packed):,} bytes is cut off", remedy="send all of it again")
