from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from joro.clock import FakeClock
from joro.exporter import rows
from joro.exporter.rows import write_rows
from joro.exporter.selection import Chooser, Selection
from tests.exporter.exports import chooser_of, dying_at, filled, taken_down
from tests.index.archived import START, archive, page


def test_rows_have_text_language_and_rights(tmp_path: Path) -> None:
    chooser = Chooser(filled(tmp_path), Selection(), FakeClock(START))
    assert write_rows(chooser, tmp_path / "out", lambda _a, _b: None).copied == 7
    found = {row["url"]: row for row in pq.read_table(tmp_path / "out").to_pylist()}
    assert found["http://www.a.jp/same"]["text"] == "いつも同じ文章です。"
    assert found["http://www.a.jp/same"]["mime"] == "text/html"
    assert (found["http://b.example/"]["language"], found["http://b.example/"]["title"]) == ("en", "Title")
    assert found["http://b.example/mine"]["rights"] == "tdm"
    assert found["http://b.example/gone"]["status"] == 404


def test_files_that_are_there_are_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "ROWS", 2)
    collection = filled(tmp_path)

    def dying(looked_at: int, copied: int) -> None:
        if looked_at == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(Chooser(collection, Selection(), FakeClock(START)), tmp_path / "out", dying)
    first = (tmp_path / "out" / "part-00001.parquet").stat().st_mtime_ns
    write_rows(Chooser(collection, Selection(), FakeClock(START)), tmp_path / "out", lambda _a, _b: None)
    assert (tmp_path / "out" / "part-00001.parquet").stat().st_mtime_ns == first
    assert pq.read_table(tmp_path / "out").num_rows == 7


def test_rows_taken_down_since_are_gone_with_the_files_that_held_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "ROWS", 2)
    collection = filled(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        write_rows(chooser_of(collection), tmp_path / "out", dying_at(6))
    taken_down(collection, "www.a.jp")
    write_rows(chooser_of(collection), tmp_path / "out", lambda _a, _b: None)
    assert set(pq.read_table(tmp_path / "out").to_pydict()["host"]) == {"b.example"}
    taken_down(collection, "b.example")
    assert write_rows(chooser_of(collection), tmp_path / "out", lambda _a, _b: None).copied == 0
    assert list((tmp_path / "out").glob("part-*")) == []


def test_rows_that_were_finished_stay_as_they_are(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    write_rows(chooser_of(collection), tmp_path / "out", lambda _a, _b: None)
    archive(collection, page("http://zz.example/", "later", "than the export"))
    assert write_rows(chooser_of(collection), tmp_path / "out", lambda _a, _b: None).was_done
    assert pq.read_table(tmp_path / "out").num_rows == 7
