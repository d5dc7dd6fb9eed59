from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from joro.archive.cdx import REVISIT
from joro.archive.check import check
from joro.archive.names import Position, warcs
from joro.archive.read import records, response_at
from joro.errors import UsageError
from joro.exporter import copying
from joro.exporter.selection import Selection
from joro.store.collection import Collection
from joro.store.durable import draft_of
from joro.store.orders import EXCLUSION, Order, OrderBook
from tests.exporter.exports import DAY_S, captures, chooser_of, dying_at, exported, filled, pages, taken_down
from tests.index.archived import START


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return filled(tmp_path)


def assert_sound(directory: Path) -> None:
    for name in warcs(directory):
        assert check(directory, name).problems == []
        with (directory / name).open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.raw_stream.read()


def test_an_export_holds_what_the_archive_holds(collection: Collection, tmp_path: Path) -> None:
    state = exported(collection, tmp_path / "out")
    assert (state.copied, state.looked_at, state.is_done) == (7, 8, True)
    ours = {(each.url, each.time): each for each in captures(collection.archive)}
    for theirs in captures(tmp_path / "out"):
        mine = ours[theirs.url, theirs.time]
        assert (theirs.digest, theirs.mime, theirs.status) == (mine.digest, mine.mime, mine.status)
        assert response_at(tmp_path / "out", theirs).body == response_at(collection.archive, mine).body
    assert_sound(tmp_path / "out")


def test_requests_go_with_their_answers(collection: Collection, tmp_path: Path) -> None:
    exported(collection, tmp_path / "out")
    (warc,) = warcs(tmp_path / "out")
    requests = [record for record in records(tmp_path / "out" / warc) if record.type == "request"]
    assert [record.block[:9] for record in requests] == [b"GET /same"]


def test_a_part_is_complete_in_itself(collection: Collection, tmp_path: Path) -> None:
    """The capture that holds the bytes is not in the period, so the first one in it gets them."""
    exported(collection, tmp_path / "out", Selection(host="jp", since=START + DAY_S))
    first, second = captures(tmp_path / "out")
    assert (first.mime, second.mime) == ("text/html", REVISIT)
    assert response_at(tmp_path / "out", second).body == response_at(tmp_path / "out", first).body != b""
    assert_sound(tmp_path / "out")


@pytest.mark.parametrize("killed_at", [1, 3, 5, 7])
def test_an_interrupted_export_goes_on_as_if_nothing_had_happened(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    monkeypatch.setattr(copying, "BATCH", 2)

    with pytest.raises(KeyboardInterrupt):
        exported(collection, tmp_path / "out", progress=dying_at(killed_at))
    state = exported(collection, tmp_path / "out")
    exported(collection, tmp_path / "whole")
    assert (state.copied, state.looked_at) == (7, 8)
    assert state.left_out == {"reserved by its owner": 1}
    assert pages(tmp_path / "out") == pages(tmp_path / "whole")
    assert_sound(tmp_path / "out")


def test_what_was_flushed_but_not_noted_is_cut_off(collection: Collection, tmp_path: Path) -> None:
    exported(collection, tmp_path / "out")
    state = copying.resumed(tmp_path / "out", chooser_of(collection), "warc")
    middle = captures(tmp_path / "out")[2]
    state.is_done, state.copied, state.looked_at = False, 2, 2
    state.after = ("example,b)/gone", START, "~", 0)
    copying.save(tmp_path / "out", state, Position(middle.warc, middle.offset))
    exported(collection, tmp_path / "out")
    exported(collection, tmp_path / "whole")
    assert pages(tmp_path / "out") == pages(tmp_path / "whole")
    assert_sound(tmp_path / "out")


def test_a_finished_export_is_not_made_again(collection: Collection, tmp_path: Path) -> None:
    exported(collection, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    exported(collection, tmp_path / "out")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()} == before


def test_an_export_killed_before_its_first_note_begins_again(collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    draft_of(tmp_path / "out" / copying.STATE).write_bytes(b"{")
    assert exported(collection, tmp_path / "out").copied == 7


def test_the_directory_of_something_else_is_refused(collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError, match="is not empty"):
        exported(collection, tmp_path / "full")
    exported(collection, tmp_path / "out")
    with pytest.raises(UsageError, match="another selection"):
        exported(collection, tmp_path / "out", Selection(host="jp"))
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match="another selection, format or collection"):
        exported(filled(tmp_path / "other"), tmp_path / "out")


@pytest.mark.parametrize("killed_at", [5, 7, None])
def test_what_was_taken_down_since_is_not_in_an_export_that_goes_on(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int | None
) -> None:
    monkeypatch.setattr(copying, "BATCH", 2)
    if killed_at is None:
        exported(collection, tmp_path / "out")
    else:
        with pytest.raises(KeyboardInterrupt):
            exported(collection, tmp_path / "out", progress=dying_at(killed_at))
    assert "b.example" in str(pages(tmp_path / "out"))
    taken_down(collection, "b.example")
    state = exported(collection, tmp_path / "out")
    assert (state.copied, state.is_anew, state.was_done) == (4, True, False)
    assert {url[:16] for url, _ in pages(tmp_path / "out")} == {"http://www.a.jp/"}
    assert_sound(tmp_path / "out")


def test_what_is_taken_down_while_it_is_copied_is_not_in_the_export(
    collection: Collection, tmp_path: Path
) -> None:
    def ordering(looked_at: int, copied: int) -> None:
        if (looked_at, copied) == (7, 6):
            taken_down(collection, "b.example")

    exported(collection, tmp_path / "out", progress=ordering)
    assert {url[:16] for url, _ in pages(tmp_path / "out")} == {"http://www.a.jp/"}


def test_an_order_that_withholds_nothing_leaves_a_finished_export_as_it_is(
    collection: Collection, tmp_path: Path
) -> None:
    exported(collection, tmp_path / "out")
    OrderBook(collection.orders, lambda: START).give(Order(0, EXCLUSION, "host", "b.example", 0.0))
    assert exported(collection, tmp_path / "out").was_done
