import subprocess
import sys
import threading
from pathlib import Path

import pytest

from joro.archive.index import CaptureIndex
from joro.archive.names import open_index, sorted_index, warcs
from joro.archive.read import offsets
from joro.errors import CollectionError
from joro.index.query import search
from joro.index.segment import Reader, place
from joro.indexer import BATCH, Counts, Decision, follow, index_new
from joro.model import Known
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from tests.index.archived import START, answer, archive, collection_in, page


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return collection_in(tmp_path)


def found(collection: Collection, query: str) -> set[str]:
    return {hit.url for hit in search(Reader(place(collection.index)), query, limit=100).hits}


def test_archived_pages_become_searchable(collection: Collection) -> None:
    archive(
        collection,
        page("http://a.jp/", "題名", "日本語の文章です。"),
        page("http://b.example/", "A title", "An English text."),
    )
    counts = index_new(collection)
    assert counts.decisions == {Decision.INDEXED: 2}
    assert counts.searchable == 2
    assert found(collection, "文章") == {"http://a.jp/"}
    assert found(collection, "english") == {"http://b.example/"}
    assert found(collection, "lang:ja 題名") == {"http://a.jp/"}


@pytest.mark.parametrize("codec", ["cp932", "euc_jp", "iso2022_jp", "utf-8"])
def test_pages_are_found_whatever_their_character_set(collection: Collection, codec: str) -> None:
    names = {"cp932": "Shift_JIS", "euc_jp": "EUC-JP", "iso2022_jp": "ISO-2022-JP", "utf-8": "UTF-8"}
    source = f"<meta charset={names[codec]}><title>検索の話</title><p>全文検索エンジンを作る。"
    archive(collection, answer("http://a.jp/", source.encode(codec), content_type="text/html"))
    index_new(collection)
    (hit,) = search(Reader(place(collection.index)), "検索エンジン").hits
    assert (hit.title.text, hit.charset) == ("検索の話", names[codec])


def test_the_second_call_goes_on_where_the_first_stopped(collection: Collection) -> None:
    archive(collection, page("http://a.jp/", "", "first"))
    index_new(collection)
    archive(collection, page("http://b.jp/", "", "second"))
    assert index_new(collection).captures == 1
    assert index_new(collection).captures == 0
    assert found(collection, "first") | found(collection, "second") == {"http://a.jp/", "http://b.jp/"}


def test_the_newest_capture_wins(collection: Collection) -> None:
    archive(
        collection,
        page("http://a.jp/", "", "old words"),
        page("http://a.jp/", "", "new words", time=START + 1),
    )
    index_new(collection)
    archive(collection, page("http://b.jp/", "", "old words"))
    index_new(collection)
    archive(collection, page("http://b.jp/", "", "new words", time=START + 1))
    assert index_new(collection).searchable == 2
    assert found(collection, "old") == set()
    assert found(collection, "new") == {"http://a.jp/", "http://b.jp/"}


def test_an_older_capture_read_later_changes_nothing(collection: Collection) -> None:
    archive(collection, page("http://a.jp/", "", "new", time=START + 9))
    archive(collection, page("http://a.jp/", "", "old"), answer("http://a.jp/", status=404), process=1)
    assert index_new(collection).decisions[Decision.OLDER] == 2
    assert found(collection, "new") == {"http://a.jp/"}


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_is_no_longer_found(collection: Collection, status: int) -> None:
    archive(collection, page("http://a.jp/", "", "words"))
    index_new(collection)
    archive(collection, answer("http://a.jp/", "gone", status=status, time=START + 1))
    counts = index_new(collection)
    assert counts.decisions == {Decision.REMOVED: 1}
    assert counts.searchable == 0


@pytest.mark.parametrize("status", [301, 304, 403, 429, 500, 503])
def test_a_redirect_or_passing_failure_leaves_the_page_searchable(
    collection: Collection, status: int
) -> None:
    archive(
        collection, page("http://a.jp/", "", "words"), answer("http://a.jp/", status=status, time=START + 1)
    )
    index_new(collection)
    assert found(collection, "words") == {"http://a.jp/"}


def test_noindex_is_obeyed_in_page_and_header_and_takes_earlier_versions_out(collection: Collection) -> None:
    archive(collection, page("http://c.jp/", "", "words"))
    index_new(collection)
    archive(
        collection,
        page("http://a.jp/", "", "words", head='<meta name="robots" content="noindex">'),
        answer("http://b.jp/", "<p>words", fields="X-Robots-Tag: noindex\r\n"),
        page("http://c.jp/", "", "words", time=START + 1, head='<meta name="robots" content="none">'),
        page("http://d.jp/", "", "words", head='<meta name="googlebot" content="noindex">'),
    )
    index_new(collection)
    assert found(collection, "words") == {"http://d.jp/"}


def test_what_is_no_html_or_has_no_text_is_left_out(collection: Collection) -> None:
    archive(
        collection,
        answer("http://a.jp/robots.txt", "User-agent: words", content_type="text/plain"),
        answer("http://a.jp/b", "<p>words", content_type="application/xhtml+xml"),
        answer("http://a.jp/c", "<html><body></body></html>"),
        answer("http://a.jp/d", "<p>words", content_type=""),
        answer("http://a.jp/e", "words", content_type=""),
        answer("http://a.jp/f", b""),
    )
    decisions = index_new(collection).decisions
    assert decisions == {Decision.INDEXED: 2, Decision.NOT_HTML: 2, Decision.EMPTY: 2}
    assert found(collection, "words") == {"http://a.jp/b", "http://a.jp/d"}


def test_rebuilding_gives_the_same_from_the_archive_alone(collection: Collection) -> None:
    archive(collection, page("http://a.jp/", "", "one"), page("http://a.jp/", "", "two", time=START + 1))
    index_new(collection)
    assert index_new(collection, rebuild=True).captures == 2
    assert found(collection, "two") == {"http://a.jp/"}


def test_a_lost_or_broken_position_costs_time_and_nothing_else(collection: Collection) -> None:
    archive(collection, page("http://a.jp/", "", "one"))
    index_new(collection)
    (place(collection.index) / "positions.json").write_text("{")
    assert index_new(collection).captures == 1
    assert found(collection, "one") == {"http://a.jp/"}
    assert len(Reader(place(collection.index))) == 1


def test_the_index_of_another_format_is_replaced(collection: Collection) -> None:
    (collection.index / "pages-0").mkdir()
    index_new(collection)
    assert [path.name for path in collection.index.iterdir()] == [place(collection.index).name]


def test_only_one_indexer_works_at_a_time(collection: Collection) -> None:
    with collection.lock("indexer"), pytest.raises(CollectionError, match="another indexer"):
        index_new(collection)


def test_controls_and_direction_marks_do_not_reach_the_index(collection: Collection) -> None:
    archive(collection, page("http://a.jp/", "a\u202eb\x1b[2J\n c", "text"))
    index_new(collection)
    (hit,) = search(Reader(place(collection.index)), "text").hits
    assert hit.title.text == "a b [2J c"


def test_following_picks_up_what_is_archived_meanwhile_and_ends_when_told(collection: Collection) -> None:
    archive(collection, page("http://a.jp/", "", "first"))
    stop = threading.Event()

    def progress(counts: Counts) -> None:
        if counts.searchable == 1 and counts.captures == 1:
            archive(collection, page("http://b.jp/", "", "second"))
        elif counts.searchable == 2:
            stop.set()

    assert follow(collection, stop, progress).searchable == 2
    assert found(collection, "second") == {"http://b.jp/"}


def test_progress_ends_at_the_end_of_the_archive(collection: Collection) -> None:
    archive(collection, *(page(f"http://a.jp/{n}", "", "words") for n in range(10)))
    seen: list[float] = []
    index_new(collection, lambda counts: seen.append(counts.read_bytes / counts.waiting_bytes))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def changed(collection: Collection) -> tuple[object, ...]:
    """What tells one step of a commit from the next: segments, their list, our position."""
    directory = place(collection.index)
    segments = len(list(directory.glob("*.store")))
    times = [path.stat().st_mtime_ns for path in sorted(directory.glob("*.json"))]
    return segments, *times


@pytest.mark.slow
def test_killed_at_any_step_of_a_commit_nothing_is_lost_or_doubled(collection: Collection) -> None:
    """There is enough for three commits; each start is killed one visible step later than the one before."""
    many = BATCH * 2 + 500
    archive(collection, *(page(f"http://a.jp/{n}", f"title {n}", f"word w{n}") for n in range(many)))
    index_new(Collection.create(collection.path / "empty", collection.config))  # loads what a start needs
    command = [sys.executable, "-m", "joro", "index", "-q", "-C", str(collection.path)]
    for steps in range(1, 7):
        process = subprocess.Popen(command)
        for _ in range(steps):
            before = changed(collection)
            while changed(collection) == before and process.poll() is None:
                pass
        process.kill()
        process.wait()
    assert index_new(collection).searchable == many
    reader = Reader(place(collection.index))
    assert search(reader, "word").total == len(reader) == many
    assert found(collection, "w0") == {"http://a.jp/0"}
    assert found(collection, f"w{many - 1}") == {f"http://a.jp/{many - 1}"}


def test_what_an_owner_wants_not_to_be_found_is_not_indexed(collection: Collection) -> None:
    archive(
        collection,
        answer("http://a.example/robots.txt", "Content-Signal: search=no", content_type="text/plain"),
        page("http://a.example/", "Title", "a word"),
        answer("http://b.example/", "<p>a word", fields="Content-Signal: search=no\r\n"),
        page("http://c.example/", "Title", "a word", head="<meta name=robots content=nosnippet>"),
    )
    counts = index_new(collection)
    assert counts.decisions[Decision.NOINDEX] == 2
    (hit,) = search(Reader(place(collection.index)), "word").hits
    assert (hit.url, hit.snippet.text) == ("http://c.example/", "")


def test_what_is_taken_down_is_not_indexed(collection: Collection) -> None:
    OrderBook(collection.orders, lambda: START).give(Order(0, TAKEDOWN, "host", "a.example", START))
    archive(
        collection, page("http://a.example/", "Title", "a word"), page("http://b.example/", "Title", "a word")
    )
    assert index_new(collection).decisions[Decision.TAKEN_DOWN] == 1
    assert [hit.url for hit in search(Reader(place(collection.index)), "word").hits] == ["http://b.example/"]


def joro_index(collection: Collection) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "joro", "index", "-q", "-C", str(collection.path)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_a_warc_that_is_gone_is_told(collection: Collection) -> None:
    archive(collection, page("http://a.jp/1", "", "one"), page("http://a.jp/2", "", "two"))
    (name,) = warcs(collection.archive)
    (collection.archive / name).unlink()
    assert index_new(collection).lost == {name: 2}
    assert joro_index(collection).stderr.startswith(f"{name} is gone; captures in it: 2; see joro archive")


def test_captures_that_cannot_be_read_are_told_and_the_rest_is_indexed(collection: Collection) -> None:
    archive(collection, *(page(f"http://a.jp/{n}", "", "word") for n in range(3)))
    (name,) = warcs(collection.archive)
    path = collection.archive / name
    damage(path, offsets(path)[1])
    told = joro_index(collection).stderr
    assert told.startswith(f"{name}: captures that could not be read: 1; see joro archive check")
    assert found(collection, "word") == {"http://a.jp/0", "http://a.jp/2"}


def damage(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset + 30 : offset + 60] = bytes(30)
    path.write_bytes(content)


def test_a_robots_txt_that_cannot_be_read_keeps_no_page_from_being_found(collection: Collection) -> None:
    archive(collection, answer("http://a.jp/robots.txt", b"", content_type="text/plain"))
    archive(collection, page("http://a.jp/1", "", "word"))
    (path, _) = (collection.archive / name for name in warcs(collection.archive))
    damage(path, offsets(path)[0])
    index_new(collection)
    assert found(collection, "word") == {"http://a.jp/1"}


def test_a_page_as_before_where_what_was_before_cannot_be_read_stops_no_other(collection: Collection) -> None:
    first = page("http://a.jp/1", "", "word")
    archive(collection, first)
    capture = next(iter(CaptureIndex(collection.archive).versions(first.page.url)))
    again = page("http://a.jp/1", "", "word", time=START + 60)
    again.known = Known(capture.time, capture.digest)
    archive(collection, again, page("http://a.jp/2", "", "word"))
    path = collection.archive / capture.warc
    damage(path, capture.offset)
    assert index_new(collection).decisions[Decision.UNREADABLE] == 1
    assert found(collection, "word") == {"http://a.jp/2"}


@pytest.mark.parametrize("left", [0, 2])
def test_captures_behind_the_end_of_a_closed_warc_are_told(collection: Collection, left: int) -> None:
    archive(collection, *(page(f"http://a.jp/{n}", "", "word") for n in range(3)))
    (name,) = warcs(collection.archive)
    path = collection.archive / name
    path.write_bytes(path.read_bytes()[: offsets(path)[left] if left else 0])
    assert index_new(collection).lost == {name: 3 - left}


def test_captures_still_being_written_are_not_missed(collection: Collection) -> None:
    archive(collection, page("http://a.jp/", "", "word"))
    (name,) = warcs(collection.archive)
    path = collection.archive / name
    sorted_index(path).rename(open_index(path))
    path.write_bytes(path.read_bytes()[:-5])
    assert index_new(collection).lost == {}
