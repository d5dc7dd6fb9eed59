"""How is what is known of a server divided among parts of it, and put together again?

In:    the keys of a journal; which part a page belongs to.
Out:   the keys of each part, or of the whole.
Never: loses a page or gives it to two parts. Knows what a server's counts mean: whoever calls counts anew.

Pages wait (`q`) and are visited (`p`) with their URL; what watching remembers of a page (`f`) has only its
mark, and goes where the page goes. What is known of the server as such goes to all parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from joro.store.journal import Keys as Keys
from joro.store.records import PageRecord, RobotsRecord, ServerRecord

#: The part of a page, by its URL.
PartOf = Callable[[str], str]

_decode_page = msgspec.msgpack.Decoder(PageRecord).decode
_decode_robots = msgspec.msgpack.Decoder(RobotsRecord).decode
_decode_server = msgspec.msgpack.Decoder(ServerRecord).decode


def url_in(key: bytes, value: bytes) -> str | None:
    """The URL of a page that waits or was visited; None: it is another kind of key."""
    if key[:1] == b"q":
        return value[9:].decode()
    return _decode_page(value).url if key[:1] == b"p" else None


def urls_of(keys: Iterable[tuple[bytes, bytes | None]]) -> dict[bytes, str]:
    """The pages among the keys, by mark."""
    found = ((key[-8:], url_in(key, value)) for key, value in keys if value is not None)
    return {mark: url for mark, url in found if url is not None}


def sorted_out(keys: Keys, part_of: PartOf, parts: Sequence[str]) -> dict[str, Keys]:
    """The keys of each part. Those that are gone are left out: without an owner nobody has half a journal."""
    parted: dict[str, Keys] = {part: [] for part in parts}
    homes = {mark: part_of(url) for mark, url in urls_of(keys).items()}
    for key, value in keys:
        if value is None:
            continue
        if key[:1] in (b"q", b"p", b"f"):
            parted[homes.get(key[-8:], parts[0])].append((key, value))
        else:
            for part in parts:
                parted[part].append((key, value))
    return parted


def joined(server: str, states: Sequence[Mapping[bytes, bytes]]) -> dict[bytes, bytes]:
    """All parts of a server in one; of what each knows of the server, what politeness asks for."""
    whole = {key: value for state in states for key, value in state.items()}
    name = b"s" + server.encode()
    records = [_decode_server(state[name]) for state in states if name in state]
    rules = [state[b"r" + server.encode()] for state in states if b"r" + server.encode() in state]
    if rules:
        whole[b"r" + server.encode()] = max(rules, key=lambda packed: _decode_robots(packed).time)
    if records:
        whole[name] = msgspec.msgpack.encode(_careful(records))
    return whole


def _careful(records: Sequence[ServerRecord]) -> ServerRecord:
    """The record of whoever was there last, with the longest pause that anybody promised."""
    last = max(records, key=lambda record: record.ended_at)
    return msgspec.structs.replace(
        last,
        ready_at=max(record.ready_at for record in records),
        failures=max(record.failures for record in records),
        throttles=max(record.throttles for record in records),
        validated=min(record.validated for record in records),
        missed=sum(record.missed for record in records),
        run=0,
    )
