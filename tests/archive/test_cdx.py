import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.archive.cdx import capture_of, captures, line_of, lookup, nearest
from joro.archive.names import open_index, sorted_index
from joro.model import Capture
from joro.url import canonical
from tests.archive.examples import NOON, URL, only, visit, writer


def test_a_line_is_what_other_tools_expect() -> None:
    capture = Capture(
        "http://www.example.jp/a?b=1", NOON + 0.5, 200, "text/html", "sha1:ABC", "joro-1.warc.gz", 17, 4711
    )
    assert line_of(capture) == (
        b'jp,example)/a?b=1 20231114221320 {"url":"http://www.example.jp/a?b=1","mime":"text/html",'
        b'"status":"200","digest":"sha1:ABC","length":"4711","offset":"17","filename":"joro-1.warc.gz",'
        b'"microsecond":500000}\n'
    )
    assert capture_of(line_of(capture)) == capture


urls = st.builds(
    "http://{}.example/{}".format, st.sampled_from(["a", "www.a", "b", "a.b"]), st.sampled_from("abAB%")
).map(canonical)


@settings(max_examples=40, deadline=None)
@given(
    visits=st.lists(st.tuples(urls, st.integers(0, 5_000_000)), max_size=30),
    limit_bytes=st.sampled_from([1_000, 4_000, 1_000_000]),
    closed=st.booleans(),
)
def test_every_version_is_found_again_by_time(
    visits: list[tuple[str, int]], limit_bytes: int, closed: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("versions")
    archive = writer(directory, limit_bytes=limit_bytes)
    written = []
    for number, (url, micros) in enumerate(visits):
        written.append(archive.append(visit(url, time=NOON + micros / 1e6)))
        if number % 4 == 3:
            archive.flush()
    archive.close() if closed else archive.flush()
    for url in {url for url, _ in visits}:
        versions = lookup(directory, url)
        assert [each.time for each in versions] == sorted(each.time for each in versions)
        assert set(versions) == {each for each in written if each.url == url}
    assert set(captures(directory)) == set(written)
    assert lookup(directory, "http://nowhere.example/") == []


def test_the_nearest_version_is_found(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    for day in (1, 5, 20):
        archive.append(visit(time=NOON + 86_400 * day))
    archive.close()
    found = nearest(tmp_path, URL, NOON + 86_400 * 8)
    assert found is not None
    assert found.time == NOON + 86_400 * 5
    assert nearest(tmp_path, "http://nowhere.example/", NOON) is None


def test_the_first_and_the_last_line_of_an_index_are_found(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    for letter in "abcdefghij":
        archive.append(visit(f"http://{letter}.example/"))
    archive.close()
    assert [len(lookup(tmp_path, f"http://{letter}.example/")) for letter in "abcdefghij"] == [1] * 10


def test_a_capture_is_found_as_soon_as_it_is_flushed(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    capture = archive.append(visit())
    assert lookup(tmp_path, URL) == []
    archive.flush()
    assert lookup(tmp_path, URL) == [capture]


def test_a_torn_last_line_is_not_seen(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit())
    archive.flush()
    with open_index(only(tmp_path)).open("ab") as file:
        file.write(b'jp,example)/a 20231114221320 {"url":"http')
    assert len(lookup(tmp_path, URL)) == 1


def test_a_closed_index_is_sorted_by_its_bytes(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    for url in ("http://b.example/", "http://a.example/%E3%81%82", "http://a.example/", "http://a.example/z"):
        archive.append(visit(url))
    archive.close()
    lines = sorted_index(only(tmp_path)).read_bytes().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 4
    assert not open_index(only(tmp_path)).exists()


def test_look_ups_see_every_flushed_version_while_files_are_closed_under_them(tmp_path: Path) -> None:
    flushed = [0]

    def write() -> None:
        archive = writer(tmp_path, limit_bytes=3_000)
        for number in range(100):
            archive.append(visit(time=NOON + number))
            archive.flush()
            flushed[0] = number + 1
        archive.close()

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():
        known = flushed[0]
        assert len(lookup(tmp_path, URL)) >= known
    assert len(lookup(tmp_path, URL)) == 100
