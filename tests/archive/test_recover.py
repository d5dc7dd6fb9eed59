from pathlib import Path

import pytest

from joro.archive.names import open_index, sorted_index
from joro.archive.read import records, replay
from joro.archive.recover import mend, mend_file, rebuild
from joro.errors import ArchiveError
from tests.archive.examples import URL, lookup, only, visit, writer


def abandoned(directory: Path, *flushes: list[bytes]) -> Path:
    """A WARC whose robot was killed after these flushes of bodies."""
    archive = writer(directory)
    for bodies in flushes:
        for body in bodies:
            archive.append(visit(body=body, request=b""))
        archive.flush()
    return only(directory)


def bodies(directory: Path) -> list[bytes]:
    return [record.body for record, _ in replay(directory)]


def test_a_record_torn_at_any_byte_is_cut_off(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one", b"two"])
    content = warc.read_bytes()
    last = [record.offset for record in records(warc)][-1]
    for size in range(last, len(content)):
        warc.write_bytes(content[:size])
        assert mend_file(warc) == size - last
        assert warc.read_bytes() == content[:last]
    warc.write_bytes(content)
    assert mend_file(warc) == 0


@pytest.mark.parametrize("tail", [b"\0" * 100, b"\x1f\x8b\x08junk", b"WARC/1.1\r\n", b"\x1f"])
def test_garbage_at_the_end_is_cut_off(tail: bytes, tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"])
    content = warc.read_bytes()
    warc.write_bytes(content + tail)
    assert mend(tmp_path) == len(tail)
    assert warc.read_bytes() == content


def test_mending_completes_and_sorts_the_index(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"], [b"two"])
    index = open_index(warc)
    index.write_bytes(index.read_bytes()[:-20])  # its last line was torn, too
    mend(tmp_path)
    assert (index.exists(), sorted_index(warc).exists()) == (False, True)
    assert len(lookup(tmp_path, URL)) == 2


def test_mending_makes_an_index_that_is_missing(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"], [b"two"])
    expected = lookup(tmp_path, URL)
    open_index(warc).unlink()
    mend(tmp_path)
    assert lookup(tmp_path, URL) == expected


def test_an_index_that_knows_of_lost_bytes_is_made_anew(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"], [b"two"])
    warc.write_bytes(warc.read_bytes()[:-10])
    mend(tmp_path)
    assert bodies(tmp_path) == [b"one"]
    assert len(lookup(tmp_path, URL)) == 1


def test_a_junk_index_is_made_anew(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"])
    open_index(warc).write_bytes(b"\0\0\0\njunk\n")
    mend(tmp_path)
    assert len(lookup(tmp_path, URL)) == 1


def test_a_file_without_a_whole_record_goes(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"])
    open_index(warc).unlink()
    warc.write_bytes(warc.read_bytes()[:50])
    mend(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_whole_records_are_never_cut_off(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one", b"two", b"three"])
    open_index(warc).unlink()
    content = bytearray(warc.read_bytes())
    second = [record.offset for record in records(warc)][2]
    content[second + 30 : second + 90] = bytes(60)
    warc.write_bytes(content)
    with pytest.raises(ArchiveError, match=f"damaged at byte {second}, and whole records follow; restore it"):
        mend(tmp_path)
    assert warc.read_bytes() == content


def test_damage_before_what_the_index_knows_cuts_nothing(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one", b"two", b"three"])
    content = bytearray(warc.read_bytes())
    second = [record.offset for record in records(warc)][2]
    content[second + 30 : second + 90] = bytes(60)
    warc.write_bytes(content)
    assert mend(tmp_path) == 0
    assert bodies(tmp_path) == [b"one", b"three"]


def test_a_closed_file_is_left_alone(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit())
    archive.close()
    warc = only(tmp_path)
    warc.write_bytes(warc.read_bytes()[:-5])
    assert mend(tmp_path) == 0


def test_an_open_index_beside_a_closed_one_goes(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"])
    before = open_index(warc).read_bytes()
    mend(tmp_path)
    open_index(warc).write_bytes(before)
    mend(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".cdxj", ".gz"]


def test_a_new_writer_mends_what_the_last_one_left(tmp_path: Path) -> None:
    warc = abandoned(tmp_path, [b"one"], [b"two"])
    with warc.open("ab") as file:
        file.write(b"\x1f\x8b\x08torn")
    archive = writer(tmp_path)
    assert archive.position == (warc.name, warc.stat().st_size)
    archive.append(visit(body=b"three"))
    archive.close()
    assert bodies(tmp_path) == [b"one", b"two", b"three"]


def test_a_rebuilt_index_is_the_one_that_was_written(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    for number in range(20):
        archive.append(visit(f"http://h{number % 3}.example/{number}", time=1_700_000_000 + number / 7))
    archive.close()
    index = sorted_index(only(tmp_path))
    written = index.read_bytes()
    index.unlink()
    assert rebuild(only(tmp_path)) == 20
    assert index.read_bytes() == written
