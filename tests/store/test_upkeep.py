from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rocksdict import Rdict

from joro.store.records import PageRecord, Upkeep
from joro.store.rocks import opened
from joro.store.upkeep import recall


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Rdict]:
    database = opened(tmp_path / "pages", read_only=False)
    yield database
    database.close()


def keep(db: Rdict, mark: int, version: int | None) -> None:
    upkeep = Upkeep(version, etag='"x"', history=b"h" * 40) if version is not None else None
    record = PageRecord(f"http://a.example/{mark}", 0, 5.0, "ok", 200, upkeep=upkeep)
    db.put(b"p" + mark.to_bytes(8, "big"), msgspec.msgpack.encode(record))


def test_records_come_in_the_order_asked_for(db: Rdict) -> None:
    keep(db, 2**64 - 1, 1)
    keep(db, 3, None)
    found = recall(db, np.array([3, 4, 2**64 - 1], np.uint64))
    assert [one and one.url[17:] for one in found] == ["3", None, str(2**64 - 1)]


def test_nothing_due_is_nothing_to_recall(db: Rdict) -> None:
    assert recall(db, np.empty(0, np.uint64)) == []


def test_records_of_collections_that_were_never_kept_fresh_still_read() -> None:
    older = msgspec.msgpack.encode(["http://a.example/", 0, 5.0, "ok", 200, 0, 0])
    assert msgspec.msgpack.decode(older, type=PageRecord).upkeep is None


def test_what_keeps_a_page_fresh_survives_the_disk() -> None:
    upkeep = Upkeep(3, 10.0, 60.0, 9.0, 8.0, "body", 2**64 - 1, '"e"', "Thu", 2.5, b"h", 1)
    record = PageRecord("http://a.example/", 0, 5.0, "ok", 200, upkeep=upkeep)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=PageRecord) == record
