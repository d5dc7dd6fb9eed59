from pathlib import Path

import pytest

from joro.archive.check import check
from joro.archive.names import warcs
from joro.archive.read import records as our_records
from joro.archive.read import response_at
from joro.clock import FakeClock
from joro.importer.foreign import records
from joro.importer.taking import Taker
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from tests.exporter.exports import captures, exported, filled
from tests.importer.test_foreign import written_by_others
from tests.index.archived import START, collection_in


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return collection_in(tmp_path)


def taken(collection: Collection, *paths: Path) -> Taker:
    taker = Taker(collection, FakeClock(START), "joro")
    for path in paths:
        list(taker.take(records(path)))
    taker.close()
    return taker


def exported_warc(tmp_path: Path) -> tuple[Collection, Path]:
    """An archive of ours, with revisits, and a WARC of it."""
    source = filled(tmp_path / "source")
    exported(source, tmp_path / "out")
    (name,) = warcs(tmp_path / "out")
    return source, tmp_path / "out" / name


def test_captures_of_another_tool_are_ours_afterwards(collection: Collection, tmp_path: Path) -> None:
    assert taken(collection, written_by_others(tmp_path / "x.warc.gz")).taken == 3
    found = captures(collection.archive)
    assert [capture.url for capture in found] == [f"http://a.example/{n}" for n in range(3)]
    assert response_at(collection.archive, found[1]).body == b"<p>page 1"
    assert [check(collection.archive, name).problems for name in warcs(collection.archive)] == [[]]


def test_revisits_keep_what_they_speak_of(collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    source, warc = exported_warc(tmp_path)
    assert taken(collection, warc).taken == 7
    ours = {(each.url, each.time): each for each in captures(source.archive)}
    for theirs in captures(collection.archive):
        mine = ours[theirs.url, theirs.time]
        assert (theirs.digest, theirs.mime, theirs.status) == (mine.digest, mine.mime, mine.status)
        assert response_at(collection.archive, theirs).body == response_at(source.archive, mine).body
    requests = [
        each
        for name in warcs(collection.archive)
        for each in our_records(collection.archive / name)
        if each.type == "request"
    ]
    assert len(requests) == 1


def test_what_is_known_is_not_taken_twice(collection: Collection, tmp_path: Path) -> None:
    warc = written_by_others(tmp_path / "x.warc.gz")
    assert taken(collection, warc, warc).taken == 3
    again = taken(collection, warc)
    assert (again.taken, again.left_out["known already"]) == (0, 3)
    assert len(captures(collection.archive)) == 3


def test_what_is_taken_down_stays_out(collection: Collection, tmp_path: Path) -> None:
    OrderBook(collection.orders, lambda: START).give(Order(0, TAKEDOWN, "url", "http://a.example/1", 0.0))
    taker = taken(collection, written_by_others(tmp_path / "x.warc.gz"))
    assert (taker.taken, taker.left_out["taken down"]) == (2, 1)
