from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

from joro.archive.names import sorted_index
from joro.config import Config
from joro.errors import CollectionError, UsageError
from joro.model import DAY_S
from joro.schedule.feasible import Rule
from joro.simulator.log import Book, read, size_of
from joro.store.collection import Collection

LINES = b"""\
#collected on a quiet day
"http://a.example/",120,5000,800,"HTTP/1.0 200 OK"
"http://a.example/2",120,7000,1200,"HTTP/1.0 200 OK
Content-Type: text/html"
"http://b.example:8080/",120,3000,2000,"HTTP/1.0 404 Not Found"
"http://a.example/",120,5000,1000,"HTTP/1.0 200 OK"
"""


def sent(content: bytes, folder: Path) -> Path:
    path = folder / "transfer.log"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"prs.example.200011160900\n" + gzip.compress(LINES), id="as S1 sends it"),
        pytest.param(gzip.compress(LINES[:80]) + gzip.compress(LINES[80:]), id="gzip, in two members"),
        pytest.param(LINES, id="plain lines"),
        pytest.param(LINES.rstrip(), id="last line without an end"),
    ],
)
def test_a_log_of_s1_gives_servers_and_their_download_times(content: bytes, tmp_path: Path) -> None:
    book = read(sent(content, tmp_path))
    assert (book.visits, book.pages, book.unreadable) == (4, 3, 0)
    population = book.population(revisit_s=DAY_S)
    assert population.names == ("http://a.example", "http://b.example:8080")
    assert population.mean_s.tolist() == pytest.approx([1.0, 2.0])
    assert population.longest_s.tolist() == pytest.approx([1.2, 2.0])
    assert population.page_bytes == 5_000


def test_pages_of_a_server_share_its_interval(tmp_path: Path) -> None:
    population = read(sent(LINES, tmp_path)).population(revisit_s=DAY_S)
    assert population.interval_s.tolist() == [DAY_S / 2, DAY_S]


def test_a_page_visited_several_times_keeps_its_own_interval() -> None:
    book = Book()
    for moment in (0.0, 3_600.0, 7_200.0):
        book.note("http://a.example/", 1.0, 10, moment)
    assert book.population(revisit_s=DAY_S).interval_s.tolist() == [3_600.0]


def test_visits_may_be_read_in_any_order() -> None:
    """Captures taken over from others lie in files that are older than their names."""
    book = Book()
    for moment in (7_200.0, 10_800.0, 0.0, 3_600.0):
        book.note("http://a.example/", 1.0, 10, moment)
    assert book.population(revisit_s=DAY_S).interval_s.tolist() == [3_600.0]


def test_a_robots_txt_is_no_page() -> None:
    book = Book()
    book.note("http://a.example/robots.txt", 1.0, 100)
    book.note("http://a.example/about/robots.txt", 1.0, 100)
    assert (book.visits, book.pages) == (1, 1)


def test_lines_that_are_no_visits_are_counted(tmp_path: Path) -> None:
    book = read(sent(LINES + b'"http://a.example/",1\n"no url",1,2,3,"x"\n', tmp_path))
    assert (book.visits, book.unreadable) == (4, 2)


def test_a_line_with_a_time_that_cannot_be_is_no_visit(tmp_path: Path) -> None:
    book = read(sent(LINES + b'"http://a.example/",1,2,' + b"9" * 400 + b',"x"\n', tmp_path))
    assert (book.visits, book.unreadable) == (4, 1)


def test_pages_ask_for_what_their_server_is_visited_for(tmp_path: Path) -> None:
    book = read(sent(LINES, tmp_path))
    population = book.population(revisit_s=DAY_S)
    demand = book.demand(population.names, revisit_s=DAY_S)
    assert (demand.server.tolist(), demand.pages.tolist()) == ([0, 1], [2.0, 1.0])
    loads = demand.loads_per_s(2, Rule.STRETCH, 1.0)
    assert (1 / loads).tolist() == pytest.approx(population.interval_s.tolist())


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LINES * 50))
    packed[60] ^= 0xFF
    with pytest.raises(UsageError, match=r"transfer\.log is damaged"):
        read(sent(bytes(packed), tmp_path))


@pytest.mark.parametrize("left_out", [1, 8, 60])
def test_a_log_cut_in_the_middle_is_named(left_out: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ends in the middle"):
        read(sent(gzip.compress(LINES) + gzip.compress(LINES)[:-left_out], tmp_path))


@pytest.mark.parametrize("content", [b"", b"x", b"nothing of use\n"])
def test_a_log_without_visits_is_no_log(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tells of no visit"):
        read(sent(content, tmp_path))


def archived(folder: Path, *captures: dict[str, object]) -> Path:
    """A collection whose archive has an index of these captures."""
    collection = Collection.create(folder / "web", Config())
    warc = collection.archive / "joro-00-20261116000000-00001.warc.gz"
    warc.touch()
    lines = [b"x %b %b\n" % (str(each.pop("stamp")).encode(), msgspec.json.encode(each)) for each in captures]
    sorted_index(warc).write_bytes(b"".join(lines))
    return collection.path


def test_a_collection_is_replayed_from_its_index(tmp_path: Path) -> None:
    path = archived(
        tmp_path,
        {"stamp": "20261116000000", "url": "http://a.example/", "length": "900", "elapsed_ms": 250},
        {"stamp": "20261117000000", "url": "http://a.example/", "length": "1100", "elapsed_ms": 750},
    )
    population = read(path).population()
    assert population.interval_s.tolist() == [DAY_S]
    assert (population.mean_s[0], population.longest_s[0]) == pytest.approx((0.5, 0.75))
    assert (population.page_bytes, size_of(path) > 100) == (1_000, True)


def test_visits_nobody_timed_count_only_with_an_assumed_time(tmp_path: Path) -> None:
    book = read(archived(tmp_path, {"stamp": "20261116000000", "url": "http://a.example/", "length": "9"}))
    assert (book.visits, book.untimed) == (1, 1)
    with pytest.raises(UsageError, match="none of 1 visits tells how long it took"):
        book.population()
    assert book.population(assumed_s=2.0).mean_s.tolist() == [2.0]


def test_a_directory_that_is_no_collection_is_named(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="is not a collection"):
        read(tmp_path)
