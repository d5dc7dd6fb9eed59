from pathlib import Path

from joro.archive.cdx import capture_of, line_of
from joro.archive.names import open_index, sorted_index
from joro.model import Capture
from tests.archive.examples import NOON, only, visit, writer


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


def test_a_closed_index_is_sorted_by_its_bytes(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    for url in ("http://b.example/", "http://a.example/%E3%81%82", "http://a.example/", "http://a.example/z"):
        archive.append(visit(url))
    archive.close()
    lines = sorted_index(only(tmp_path)).read_bytes().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 4
    assert not open_index(only(tmp_path)).exists()
