import struct
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.exporter.directories import folder_of, lay_out, name_of
from joro.exporter.selection import Chooser, Selection
from tests.exporter.exports import DAY_S, chooser_of, dying_at, filled, taken_down
from tests.index.archived import START, answer, archive, collection_in


def test_the_papers_hash() -> None:
    """((97·13 + 58)·13 + 56)·13 + 48 = 223,687 = 0x369C7: the second byte with its zeros, and the first."""
    assert folder_of("a:80") == "html/6900/c7/a:80"


def test_the_hash_overflows_as_javas_does() -> None:
    assert folder_of("www.example.ac.jp:8080") == "html/9b00/73/www.example.ac.jp:8080"


def test_the_port_is_always_told() -> None:
    assert name_of("http://a.jp/") == "a.jp:80"
    assert name_of("https://a.jp/") == "a.jp:443"
    assert name_of("http://a.jp:8080/x") == "a.jp:8080"


def test_a_servers_directory_is_as_the_paper_says(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    body = '<a href="/b">b</a><a href="http://other.example/x">x</a>'
    archive(
        collection,
        answer("http://a.jp/", body, fields="Last-Modified: Sun, 15 Nov 2026 00:00:00 GMT\r\n"),
        answer("http://a.jp/b", "<p>old"),
        answer("http://a.jp/b", "<p>newer", time=START + DAY_S),
        answer("http://a.jp/gone", "", status=404),
    )
    chooser = Chooser(collection, Selection(), FakeClock(START))
    assert lay_out(chooser, tmp_path / "out", lambda _a, _b: None).copied == 2
    server = tmp_path / "out" / folder_of("a.jp:80")
    assert (server / "transferredurl.list").read_text() == "/\n/b\n"
    assert (server / "extserver.list").read_text() == "http://other.example/x\thttp://a.jp/\n"
    dates = (server / "transferredurldate.list").read_bytes()
    assert list(struct.iter_unpack(">qqq", dates)) == [
        (1_794_808_500_000, 1_794_700_800_000, len(body)),
        (1_794_894_900_000, 0, 8),
    ]
    assert (server / "pages" / "2").read_text() == "<p>newer"


def test_an_interrupted_layout_goes_on_with_the_next_server(tmp_path: Path) -> None:
    collection = filled(tmp_path)

    def dying(looked_at: int, copied: int) -> None:
        if looked_at == 5:
            raise KeyboardInterrupt

    def chooser() -> Chooser:
        return Chooser(collection, Selection(), FakeClock(START))

    with pytest.raises(KeyboardInterrupt):
        lay_out(chooser(), tmp_path / "out", dying)
    state = lay_out(chooser(), tmp_path / "out", lambda _a, _b: None)
    assert (state.copied, state.is_done) == (4, True)
    assert {path.name for path in (tmp_path / "out" / "html").glob("*/*/*")} == {
        "b.example:80",
        "www.a.jp:80",
    }


def test_servers_taken_down_since_are_not_laid_out_any_more(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lay_out(chooser_of(collection), tmp_path / "out", dying_at(5))
    taken_down(collection, "b.example")
    lay_out(chooser_of(collection), tmp_path / "out", lambda _a, _b: None)
    assert [path.name for path in (tmp_path / "out" / "html").glob("*/*/*")] == ["www.a.jp:80"]
