"""What does a server count of its pages, when they are not the pages they were?

In:    the keys of a server, or of a part of one.
Out:   its record, with counts that fit.
Never: touches what politeness remembers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from joro.model import Outcome
from joro.schedule import change, late, prior
from joro.schedule.plan import wish
from joro.store import accounts
from joro.store.records import PageRecord, ServerRecord, Upkeep

_decode_page = msgspec.msgpack.Decoder(PageRecord).decode
_decode_server = msgspec.msgpack.Decoder(ServerRecord).decode


def recounted(server: str, state: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The same keys, and a record of the server that counts them."""
    name = b"s" + server.encode()
    record = _decode_server(state[name]) if name in state else ServerRecord()
    waiting = {key[-8:] for key in state if key[:1] == b"q"}
    pages = {key[-8:]: _decode_page(value) for key, value in state.items() if key[:1] == b"p"}
    record = msgspec.structs.replace(
        record, found=len(waiting | pages.keys()), visited=0, **dict.fromkeys(accounts.OUTCOMES, 0)
    )
    record.due = len(waiting & {mark for mark, page in pages.items() if page.upkeep is not None})
    for mark, page in pages.items():
        if mark not in waiting:
            accounts.count(record, Outcome(page.outcome))
    _count_cares(record, [page.upkeep for page in pages.values() if page.upkeep is not None])
    record.waiting, record.missed_waiting = {}, 0
    for mark in waiting & pages.keys():
        if (care := pages[mark].upkeep) is not None:
            late.came(record.waiting, care.interval_s, care.due)
    return {**state, name: msgspec.msgpack.encode(record)}


def _count_cares(record: ServerRecord, cares: Sequence[Upkeep]) -> None:
    """What keeping its pages fresh takes, and what they say of each other."""
    record.wishes = {}
    for care in cares:
        wish(record.wishes, care.interval_s, care.weight)
    record.languages = dict(Counter(care.language for care in cares if care.language))
    histories = [care.history for care in cares if not care.polled and care.history]
    record.said = (0.0, 0.0)
    if histories:
        weight, total = prior.said(change.unpack(histories)).sum(axis=0).tolist()
        record.said = (max(weight, 0.0), total)
