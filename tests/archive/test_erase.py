import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from joro.archive.check import check
from joro.archive.erase import apart, erase, filler, member
from joro.archive.read import read_at, records
from joro.errors import ArchiveError
from tests.archive.examples import NOON, FastIterator, lookup, visit, writer


@pytest.mark.parametrize("length", [*range(190, 420), 65_535, 65_900, 65_901, 131_313, 1_000_001])
def test_a_filler_is_exactly_as_long_as_asked_and_a_record(length: int, tmp_path: Path) -> None:
    warc = tmp_path / "x.warc.gz"
    warc.write_bytes(b"".join(filler(length, NOON)) * 2)
    assert warc.stat().st_size == 2 * length
    assert [record.length for record in records(warc)] == [length, length]


def test_all_readers_pass_over_fillers_of_any_length(tmp_path: Path) -> None:
    warc = tmp_path / "x.warc.gz"
    lengths = [*range(230, 330), 65_800, 200_000]
    warc.write_bytes(b"".join(b"".join(filler(length, NOON)) for length in lengths))
    with warc.open("rb") as file:
        assert [record.rec_type for record in ArchiveIterator(file)] == ["metadata"] * len(lengths)
    with warc.open("rb") as file:
        assert sum(1 for _ in FastIterator(file)) == len(lengths)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ArchiveError, match="does not fit"):
        member(bytes(range(256)) * 10, 100)


@given(st.binary(max_size=200), st.integers(0, 300))
def test_a_padded_member_holds_what_was_put_in(content: bytes, padding: int) -> None:
    packed = member(content, 300 + padding)
    assert len(packed) == 300 + padding
    assert gzip.decompress(packed) == content


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10))))
def test_spans_apart_are_the_same_bytes_and_never_overlap(spans: list[tuple[int, int]]) -> None:
    def covered(some: list[tuple[int, int]]) -> set[int]:
        return {place for offset, length in some for place in range(offset, offset + length)}

    found = apart(spans)
    assert covered(found) == covered(spans)
    assert all(a + n <= b for (a, n), (b, _) in pairwise(found))


def test_other_records_stay_where_they_are(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    captures = [archive.append(visit(f"http://x.example/{n}", b"body %d" % n * 100)) for n in range(3)]
    archive.close()
    warc = tmp_path / captures[0].warc
    size = warc.stat().st_size
    assert erase(warc, [(captures[1].offset, captures[1].length)], NOON) == captures[1].length
    assert warc.stat().st_size == size
    assert read_at(warc, captures[2].offset, captures[2].length).url == "http://x.example/2"
    assert read_at(warc, captures[1].offset).type == "metadata"
    assert not check(tmp_path, warc.name).damage
    assert lookup(tmp_path, "http://x.example/0") == [captures[0]]


def test_the_file_system_gets_the_room_back(tmp_path: Path) -> None:
    archive = writer(tmp_path, limit_bytes=10**9)
    capture = archive.append(visit(body=b"".join(bytes([n % 251]) * (n % 7 + 1) for n in range(2_000_000))))
    archive.close()
    warc = tmp_path / capture.warc
    before = warc.stat().st_blocks
    erase(warc, [(capture.offset, capture.length)], NOON)
    assert warc.stat().st_blocks < before
