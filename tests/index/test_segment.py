import os
import subprocess
import tempfile
from pathlib import Path

import pytest
import tantivy

from joro.errors import CollectionError, DiskFull
from joro.index import segment
from joro.index.query import search
from joro.index.segment import STORED_LIMIT_CHARS, Entry, Reader, Writer, discard, entry_of, languages, sites

OLD = Entry("http://a.jp/", "old", "first words", 1.0)
NEW = Entry("http://a.jp/", "new", "second words", 2.0)


def test_a_page_put_again_replaces_itself(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.put(OLD)
    writer.commit()
    writer.put(NEW)
    writer.commit()
    assert len(Reader(tmp_path)) == 1
    assert search(Reader(tmp_path), "first").total == 0
    assert search(Reader(tmp_path), "second").total == 1


def test_a_page_put_twice_before_a_commit_is_there_once(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.put(OLD)
    writer.put(NEW)
    writer.commit()
    assert len(Reader(tmp_path)) == 1
    assert writer.time_of("http://a.jp/") == 2.0


def test_a_removed_page_is_gone_after_the_commit(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.put(OLD)
    writer.commit()
    assert writer.remove("http://a.jp/")
    assert not writer.remove("http://a.jp/")
    writer.commit()
    assert len(Reader(tmp_path)) == 0
    assert writer.time_of("http://a.jp/") is None


def test_nothing_counts_before_a_commit(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.put(OLD)
    writer.close()
    assert len(Reader(tmp_path)) == 0


def test_a_reader_sees_later_commits_without_being_opened_again(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "later")
    assert reader.searcher() is None
    writer = Writer(tmp_path / "later")
    writer.put(OLD)
    writer.commit()
    assert search(reader, "first").total == 1
    writer.put(NEW)
    writer.commit()
    assert search(reader, "first").total == 0


def test_a_reader_survives_an_index_made_anew(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "pages-1")
    writer.put(OLD)
    writer.commit()
    writer.close()
    reader = Reader(tmp_path / "pages-1")
    assert len(reader) == 1
    discard(tmp_path)
    assert len(reader) == 1
    anew = Writer(tmp_path / "pages-1")
    anew.put(NEW)
    anew.put(Entry("http://b.jp/", "", "third", 3.0))
    anew.commit()
    assert search(reader, "second").total == 1
    assert len(reader) == 2


def test_two_writers_are_one_too_many(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    with pytest.raises(CollectionError, match="cannot be used"):
        Writer(tmp_path)
    writer.close()


def test_a_damaged_index_names_the_command_that_repairs_it(tmp_path: Path) -> None:
    Writer(tmp_path).close()
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(CollectionError, match="joro index --rebuild"):
        Reader(tmp_path).searcher()


def test_a_very_long_text_is_searchable_to_its_end_but_not_all_stored(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.put(Entry("http://a.jp/", "", "word " * STORED_LIMIT_CHARS + "last", 0.0))
    writer.commit()
    (hit,) = search(Reader(tmp_path), "last").hits
    assert hit.snippet.text.startswith("word word")


def test_an_entry_comes_back_as_it_was_put(tmp_path: Path) -> None:
    entry = Entry("http://日本.jp/", "題", "本文", 1.5, "ja", "Shift_JIS", "sha1:ABC", since=1.5)
    writer = Writer(tmp_path)
    writer.put(entry)
    writer.commit()
    searcher = Reader(tmp_path).searcher()
    assert searcher is not None
    ((_, address),) = searcher.search(tantivy.Query.all_query(), 1).hits
    assert entry_of(searcher, address) == entry


def test_a_site_is_known_by_its_host_and_every_domain_above() -> None:
    assert sites("http://www.example.jp/a") == ["www.example.jp", "example.jp", "jp"]
    assert sites("http://example.jp:8080/") == ["example.jp", "jp", "example.jp:8080"]
    assert sites("http://10.0.0.1/") == ["10.0.0.1"]
    assert sites("http://[::1]:8080/") == ["[::1]", "[::1]:8080"]


def test_a_language_is_known_by_its_first_part_too() -> None:
    assert languages("zh-Hant") == ["zh-hant", "zh"]
    assert languages("ja") == ["ja"]
    assert languages("") == []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("kilobytes", [40, pytest.param(14_000, marks=pytest.mark.slow)])
def test_a_full_disk_is_told_and_leaves_the_index_whole(tmp_path: Path, kilobytes: int) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", tmp_path], check=True)
    try:
        writer = Writer(tmp_path / "pages")
        with pytest.raises(DiskFull, match="make room"):
            fill(writer)
        assert len(Reader(tmp_path / "pages")) == 0
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def fill(writer: Writer) -> None:
    for number in range(6_000):
        words = " ".join(f"{number}w{n}" for n in range(200))
        writer.put(Entry(f"http://a.jp/{number}", "", words, 0.0))
    writer.commit()


def test_a_reader_without_a_lock_sees_later_commits_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "_may_lock", lambda _: False)
    reader, writer = Reader(tmp_path), Writer(tmp_path)
    for entry, word in ((OLD, "first"), (NEW, "second")):
        writer.put(entry)
        writer.commit()
        assert search(reader, word).total == 1
    assert len(reader) == 1


def test_readers_without_a_lock_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the engine takes its lock once more after each opening, where nothing is to be left."""
    monkeypatch.setattr(segment, "_may_lock", lambda _: False)
    (tmp_path / "passing").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "passing"))
    Writer(tmp_path / "pages").close()
    assert [len(Reader(tmp_path / "pages")) for _ in range(200)] == [0] * 200
    assert not list((tmp_path / "passing").iterdir())


def test_whoever_may_look_into_an_index_may_read_all_of_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    writer = Writer(tmp_path)
    writer.put(OLD)
    writer.commit()
    writer.close()
    assert all(path.stat().st_mode & 0o004 for path in tmp_path.iterdir())
