import gzip
import zipfile
from itertools import islice
from pathlib import Path

import pytest

from joro.errors import UsageError
from joro.importer.foreign import Lines, kind_of, records, sightings, warcs_in


def record(kind: str, number: int, url: str, date: str, block: bytes, more: str = "") -> bytes:
    return (
        (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:0-{number}>\r\n{more}"
            f"WARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
            f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(block)}\r\n\r\n"
        ).encode()
        + block
        + b"\r\n\r\n"
    )


def written_by_others(path: Path, *, packed: bool = True) -> Path:
    """What another tool would write: WARC 1.0, URLs spelled its own way, requests before answers."""
    pieces = [
        b"WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Date: 2020-01-01T00:00:00Z\r\nContent-Length: 0\r\n\r\n"
        b"\r\n\r\n"
    ]
    for number in range(3):
        url, date = f"http://A.example:80/{number}", f"2020-01-0{number + 1}T00:00:00Z"
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>page %d" % number
        request = b"GET /%d HTTP/1.1\r\n\r\n" % number
        to = f"WARC-Concurrent-To: <urn:uuid:0-{number}>\r\n"
        pieces.append(record("request", 10 + number, url, date, request, to))
        pieces.append(record("response", number, url, date, answer))
    path.write_bytes(b"".join(gzip.compress(piece) if packed else piece for piece in pieces))
    return path


@pytest.mark.parametrize("packed", [True, False])
def test_another_tools_records_are_read_packed_or_not(packed: bool, tmp_path: Path) -> None:
    found = list(records(written_by_others(tmp_path / "x.warc", packed=packed)))
    assert [each.type for each in found] == ["warcinfo", *["request", "response"] * 3]
    assert found[4].url == "http://a.example/1"
    assert found[4].time == 1577923200.0
    assert found[4].block.endswith(b"\r\n\r\n<p>page 1")


def test_a_file_packed_in_one_piece_is_read_too(tmp_path: Path) -> None:
    plain = written_by_others(tmp_path / "x.warc", packed=False).read_bytes()
    (tmp_path / "y.warc.gz").write_bytes(gzip.compress(plain))
    assert len(list(records(tmp_path / "y.warc.gz"))) == 7


def test_a_url_in_angle_brackets_is_a_url(tmp_path: Path) -> None:
    (tmp_path / "x.warc").write_bytes(
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a.example/>\r\n"
        b"WARC-Date: 2020-01-01T00:00:00Z\r\nContent-Length: 2\r\n\r\nab\r\n\r\n"
    )
    (found,) = records(tmp_path / "x.warc")
    assert (found.url, found.block) == ("http://a.example/", b"ab")


@pytest.mark.parametrize(("cut", "whole"), [(1, 6), (20, 6), (400, 5)])
def test_a_torn_file_gives_what_is_whole_and_says_so(cut: int, whole: int, tmp_path: Path) -> None:
    path = written_by_others(tmp_path / "x.warc.gz")
    path.write_bytes(path.read_bytes()[:-cut])
    reading = records(path)
    assert len(list(islice(reading, whole))) == whole
    with pytest.raises(UsageError, match="is damaged at byte"):
        list(reading)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8bnonsense", b"GIF89a"])
def test_what_is_none_of_them_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.bin"):
        kind_of(tmp_path / "x.bin")


def test_kinds_are_told_by_their_first_bytes(tmp_path: Path) -> None:
    assert kind_of(written_by_others(tmp_path / "a")) == "warc"
    assert kind_of(written_by_others(tmp_path / "b", packed=False)) == "warc"
    (tmp_path / "c.cdxj").write_bytes(b"jp,a)/ 20200101000000 {}\n")
    assert kind_of(tmp_path / "c.cdxj") == "cdxj"


def test_a_waczs_warcs_are_found_and_nothing_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as file:
        file.write(written_by_others(tmp_path / "one.warc.gz"), "archive/one.warc.gz")
        file.writestr("archive/../../evil.warc", "x")
        file.writestr("pages/pages.jsonl", "{}")
    with warcs_in(tmp_path / "x.wacz") as found:
        sizes = [sum(1 for _ in records(warc)) for warc in found if warc.stat().st_size > 1]
    assert sizes == [7]
    assert not (tmp_path.parent / "evil.warc").exists()


def test_lines_of_a_cdxj_are_sightings(tmp_path: Path) -> None:
    (tmp_path / "x.cdxj").write_text(
        'a) 20200101000000 {"url": "http://A.example", "status": "200", "digest": "ABC"}\n'
        "nonsense\n"
        'a) 20200101000000 {"url": "mailto:x", "status": "200", "digest": "ABC"}\n'
        "a) 20200101000000 {torn\n"
        'a) 20200102000000 {"url": "http://a.example/", "status": 304, "digest": "sha1:ABC"}\n'
        'a) 20200103000000 {"url": "http://a.example/", "status": "-", "digest": "ABC"}\n'
    )
    lines = Lines()
    found = list(sightings(tmp_path / "x.cdxj", lines))
    assert (lines.readable, lines.unreadable) == (4, 2)
    assert [(each.url, each.status, each.digest) for each in found] == [
        ("http://a.example/", 200, "sha1:ABC"),
        ("http://a.example/", 304, "sha1:ABC"),
    ]
