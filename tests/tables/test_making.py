import gzip
import hashlib
import os
from pathlib import Path

import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pytest

from joro.archive.names import sorted_index, warcs
from joro.archive.recover import rebuild
from joro.model import Known, Visit
from joro.store.collection import Collection
from joro.tables import writing
from joro.tables.making import make, missing
from tests.index.archived import START, answer, archive, collection_in, page

DAY = 86_400.0


def rows(collection: Collection, table: str, *names: str) -> list[tuple[object, ...]]:
    found = ds.dataset(collection.part("tables") / table, partitioning="hive").to_table().to_pylist()
    return sorted(tuple(row[name] for name in names) for row in found)


def contents(collection: Collection) -> dict[str, str]:
    """Every file of the tables, and the digest of its bytes."""
    tables = collection.part("tables")
    return {
        str(path.relative_to(tables)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in tables.rglob("*.parquet")
    }


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = collection_in(tmp_path)
    fox = "The quick brown fox jumps over the lazy dog, and nobody knows why it should do so today. " * 3
    link = '<a href="/b" rel="NoFollow">to <b>b</b></a> <a href="https://c.example/">c</a>'
    archive(
        made,
        page("http://a.example/", "A title", fox + link),
        answer("http://a.example/moved", status=301, fields="Location: /b\r\n"),
        answer("http://a.example/x.png", b"\x89PNG", content_type="image/png"),
        page("http://b.example/", "題", "日本語の文章がここにあります。長い文です。", time=START + DAY),
        answer("http://b.example/no", "<p>x", fields="X-Robots-Tag: noarchive\r\ntdm-reservation: 1\r\n"),
    )
    return made


def test_every_capture_is_a_row(collection: Collection) -> None:
    made = make(collection)
    assert (made.warcs, made.forgotten) == (1, 0)
    assert rows(collection, "captures", "url", "status", "mime", "language", "rights", "day") == [
        ("http://a.example/", 200, "text/html", "en", "", "2026-11-16"),
        ("http://a.example/moved", 301, "text/html", "", "", "2026-11-16"),
        ("http://a.example/x.png", 200, "image/png", "", "", "2026-11-16"),
        ("http://b.example/", 200, "text/html", "ja", "", "2026-11-17"),
        ("http://b.example/no", 200, "text/html", "", "noarchive tdm", "2026-11-16"),
    ]


def test_every_link_is_a_row(collection: Collection) -> None:
    make(collection)
    assert rows(collection, "links", "source", "target", "anchor", "rel", "kind") == [
        ("http://a.example/", "http://a.example/b", "to b", "nofollow", "a"),
        ("http://a.example/", "https://c.example/", "c", "", "a"),
        ("http://a.example/moved", "http://a.example/b", "", "", "redirect"),
    ]


def test_a_row_leads_to_its_record(collection: Collection) -> None:
    from joro.archive.read import read_at

    make(collection)
    for url, warc, offset, length in rows(collection, "captures", "url", "warc", "offset", "length"):
        assert isinstance(offset, int)
        assert isinstance(length, int)
        assert read_at(collection.archive / str(warc), offset, length).url == url


def test_a_revisit_says_so_and_leaves_the_rest_to_its_original(tmp_path: Path) -> None:
    made = collection_in(tmp_path)
    first, again = (
        page("http://a.example/", "T", "text"),
        page("http://a.example/", "T", "text", time=START + 9),
    )
    archive(made, first)
    make(made)
    digest = rows(made, "captures", "digest")[0][0]
    again.known = Known(START, str(digest))
    archive(made, again)
    make(made)
    assert rows(made, "captures", "revisit", "mime", "title", "digest") == [
        (False, "text/html", "T", digest),
        (True, "", "", digest),
    ]


def test_the_same_archive_gives_the_same_bytes(collection: Collection) -> None:
    make(collection)
    before = contents(collection)
    for path in collection.part("tables").rglob("*"):
        if path.is_file():
            path.unlink()
    make(collection)
    assert contents(collection) == before
    assert len(before) > 3


def test_only_new_warcs_are_read(collection: Collection) -> None:
    make(collection)
    before = contents(collection)
    assert make(collection).warcs == 0
    archive(collection, page("http://d.example/", "D", "text"))
    assert make(collection).warcs == 1
    assert before.items() <= contents(collection).items()
    assert len(rows(collection, "captures", "url")) == 6


def test_a_changed_or_removed_warc_leaves_no_old_rows(collection: Collection) -> None:
    archive(collection, page("http://d.example/", "D", "text"))
    make(collection)
    first, second = warcs(collection.archive)
    lines = sorted_index(collection.archive / first).read_bytes().splitlines(keepends=True)
    sorted_index(collection.archive / first).write_bytes(b"".join(lines[1:]))
    assert missing(collection.archive, collection.part("tables")) == [first]
    rebuild(collection.archive / first)
    (collection.archive / second).unlink()
    sorted_index(collection.archive / second).unlink()
    assert make(collection).forgotten == 1
    assert {row[0] for row in rows(collection, "captures", "warc")} == {first}


def test_an_open_warc_waits(collection: Collection) -> None:
    from tests.archive.examples import visit, writer

    growing = writer(collection.archive)
    growing.append(visit())
    growing.flush()
    made = make(collection)
    assert (made.warcs, made.open) == (1, 1)
    growing.close()
    made = make(collection)
    assert (made.warcs, made.open) == (1, 0)


@pytest.mark.parametrize("die_at", range(1, 30, 4))
def test_killed_at_any_step_nothing_is_missing_or_double(collection: Collection, die_at: int) -> None:
    archive(collection, page("http://d.example/", "D", "text"))
    pid = os.fork()
    if pid == 0:
        _die_at(die_at)
        make(collection)
        os._exit(0)
    os.waitpid(pid, 0)
    make(collection)
    assert len(rows(collection, "captures", "url")) == 6
    assert len(rows(collection, "links", "target")) == 3
    assert not (collection.part("tables") / ".drafts").exists() or not any(
        (collection.part("tables") / ".drafts").iterdir()
    )


def _die_at(step: int) -> None:
    import sys

    left = [step]

    def die(event: str, _: object) -> None:
        if event in ("os.rename", "os.mkdir", "os.remove", "shutil.rmtree", "os.listdir"):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), 9)

    sys.addaudithook(die)


def test_a_warc_of_many_days_keeps_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "OPEN_FILES", 3)
    monkeypatch.setattr(writing, "HELD_ROWS", 10)
    made = collection_in(tmp_path)
    visits: list[Visit] = [
        page(f"http://h{number % 7}.example/", "T", "text", time=START + (number % 20) * DAY)
        for number in range(100)
    ]
    archive(made, *visits)
    make(made)
    assert len(rows(made, "captures", "url")) == 100


def test_several_processes_make_the_same_tables(collection: Collection) -> None:
    for number in range(3):
        archive(collection, page(f"http://h{number}.example/", "T", "text"))
    make(collection, processes=2)
    before = contents(collection)
    for note in (collection.part("tables") / ".notes").iterdir():
        note.unlink()
    make(collection)
    assert contents(collection) == before


def test_progress_ends_at_the_whole(collection: Collection) -> None:
    told: list[tuple[int, int]] = []
    make(collection, lambda done, whole: told.append((done, whole)))
    assert told[-1][0] == told[-1][1] == sum(path.stat().st_size for path in collection.archive.glob("*.gz"))


def test_records_of_other_writers_stop_nothing(tmp_path: Path) -> None:
    made = collection_in(tmp_path)
    archive(made, page("http://a.example/", "T", "text"))
    (name,) = warcs(made.archive)
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>\xff\x00"
    with (made.archive / name).open("ab") as file:
        for url in ("dns:a.example", "HTTP://B.example", "http://c.example/#x", "<http://d.example/>"):
            header = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026\r\n"
                f"Joro-Elapsed-Ms: 99999999999\r\nContent-Length: {len(block)}\r\n\r\n"
            )
            file.write(gzip.compress(header.encode() + block + b"\r\n\r\n"))
    make(made)
    assert rows(made, "captures", "url", "elapsed_ms")[1:] == [
        ("http://b.example/", 2_147_483_647),
        ("http://c.example/", 2_147_483_647),
    ]
