"""What do we know of the pages that are due?

In:    entries popped from the calendar.
Out:   the pages' records, read in one go.
Never: changes a record or the calendar: the frontier writes both, in one batch.

An entry counts when its page's record names its version. Others are left over from before a signal moved the
page forward, or from before its page was visited at somebody's request; whoever pops them drops them.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray
from rocksdict import Rdict

from joro.store.records import PageRecord

_decode = msgspec.msgpack.Decoder(PageRecord).decode


def recall(db: Rdict, marks: NDArray[np.uint64]) -> list[PageRecord | None]:
    """The records of visited pages by their fingerprints, as of the last commit; None where there is none."""
    raw = marks.astype(">u8").tobytes()
    packed = db.get([b"p" + raw[at : at + 8] for at in range(0, len(raw), 8)])
    return [_decode(one) if one is not None else None for one in packed or ()]
