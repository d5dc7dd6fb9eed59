"""What is inside a message's gzip, if it is one?

In:    the bytes somebody sent.
Out:   the bytes inside, never more than allowed.
Never: unpacks further than allowed, however little was sent; takes half a file for a whole one.
Paper: S1 5.1.2: lists and logs travel as gzip.
"""

from __future__ import annotations

import gzip
import zlib

from joro.errors import BadMessage

#: A list of a million servers has some 30 MB; a day's log of a robot with 200 lanes some 100.
MOST_BYTES = 256 << 20
_GZIP = 31  # zlib's word for: a gzip header must be there


def pack(inside: bytes) -> bytes:
    """The same gzip for the same bytes: no moment in it."""
    return gzip.compress(inside, compresslevel=6, mtime=0)


def unpack(packed: bytes, most_bytes: int = MOST_BYTES) -> bytes:
    """What is inside; several gzips one after the other are one, as the format has it."""
    pieces: list[bytes] = []
    size = 0
    while packed or not pieces:
        stream = zlib.decompressobj(_GZIP)
        try:
            piece = stream.decompress(packed, most_bytes - size + 1)
        except zlib.error as error:
            raise BadMessage(f"the message is no gzip ({error})", remedy="pack it with gzip") from None
        size += len(piece)
        if size > most_bytes:
            raise BadMessage(
                f"the message unpacks to more than {most_bytes:,} bytes", remedy="send it in parts"
            )
        if not stream.eof:
            raise BadMessage(f"the gzip of {len(packed):,} bytes is cut off", remedy="send all of it again")
        pieces.append(piece)
        packed = stream.unused_data
    return b"".join(pieces)
