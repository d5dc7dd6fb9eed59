from pathlib import Path

from joro.index.erase import erase
from joro.index.query import search
from joro.index.segment import Entry, Reader, Writer


def entry(url: str, text: str, time: float = 1.0) -> Entry:
    return Entry(url, "title", text, time)


def put(directory: Path, *entries: Entry) -> None:
    """In one commit, so in a segment of their own."""
    writer = Writer(directory)
    for each in entries:
        writer.put(each)
    writer.commit()
    writer.close()


def stored(directory: Path) -> list[tuple[str, float]]:
    """Every page that any file of the index still holds, removed ones too."""
    writer = Writer(directory)
    found = sorted((each.url, each.time) for segment in writer.segments() for each in segment)
    writer.close()
    return found


def erased(directory: Path, host: str) -> int:
    return erase(directory, lambda each: host in each.url, lambda each: None, lambda each: each)


def test_a_removed_page_stays_in_its_segment_until_erased(tmp_path: Path) -> None:
    put(tmp_path, entry("http://gone.example/", "secret"), entry("http://stays.example/", "public"))
    writer = Writer(tmp_path)
    writer.remove("http://gone.example/")
    writer.commit()
    writer.close()
    assert ("http://gone.example/", 1.0) in stored(tmp_path)
    assert erased(tmp_path, "gone") == 0
    assert stored(tmp_path) == [("http://stays.example/", 1.0)]


def test_every_version_ever_indexed_goes(tmp_path: Path) -> None:
    put(tmp_path, entry("http://gone.example/", "secret one"), entry("http://a.example/", "secret"))
    put(tmp_path, entry("http://gone.example/", "secret two", 2.0), entry("http://b.example/", "secret"))
    assert erased(tmp_path, "gone") == 1
    assert stored(tmp_path) == [("http://a.example/", 1.0), ("http://b.example/", 1.0)]
    assert {hit.url for hit in search(Reader(tmp_path), "secret").hits} == {
        "http://a.example/",
        "http://b.example/",
    }


def test_segments_without_such_a_page_are_left_alone(tmp_path: Path) -> None:
    put(tmp_path, entry("http://gone.example/", "secret"))
    put(tmp_path, entry("http://a.example/", "public"))
    before = {path.name for path in tmp_path.glob("*.store")}
    erased(tmp_path, "gone")
    after = {path.name for path in tmp_path.glob("*.store")}
    assert len(before) == 2
    assert len(after) == 1
    assert after < before


def test_an_erased_page_gives_way_to_its_successor(tmp_path: Path) -> None:
    put(tmp_path, entry("http://gone.example/", "secret", 2.0))
    older = entry("http://gone.example/", "harmless", 1.0)
    assert erase(tmp_path, lambda each: each.time == 2.0, lambda each: older, lambda each: each) == 1
    assert stored(tmp_path) == [("http://gone.example/", 1.0)]
    assert search(Reader(tmp_path), "harmless").total == 1


def test_hidden_pages_are_neither_shown_nor_counted(tmp_path: Path) -> None:
    put(tmp_path, *(entry(f"http://{n % 2}.example/{n}", "words") for n in range(200)))
    found = search(
        Reader(tmp_path), "words", offset=80, limit=30, hidden=lambda url, time, digest: "1." in url
    )
    assert (found.total, len(found.hits)) == (100, 20)
    assert all(hit.url.startswith("http://0.example/") for hit in found.hits)


def test_hidden_pages_leave_no_gap_on_a_page_of_results(tmp_path: Path) -> None:
    put(tmp_path, *(entry(f"http://{n < 190}.example/{n}", "words") for n in range(200)))
    found = search(Reader(tmp_path), "words", limit=10, hidden=lambda url, time, digest: "True" in url)
    assert len(found.hits) == 10


def test_who_wants_no_snippet_is_found_without_one(tmp_path: Path) -> None:
    put(tmp_path, Entry("http://a.example/", "title", "some words", 1.0, rights="noarchive nosnippet"))
    (hit,) = search(Reader(tmp_path), "words").hits
    assert (hit.title.text, hit.snippet.text) == ("title", "")
