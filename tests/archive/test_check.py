from pathlib import Path

import pytest

from joro.archive.check import RESTORE, check, missing, repair
from joro.archive.names import open_index, sorted_index
from joro.archive.read import readable, records
from joro.archive.recover import mend
from tests.archive.examples import only, visit, writer


def archived(directory: Path, *, close: bool = True) -> Path:
    """Three captures without requests: records 1, 2 and 3 of the file."""
    archive = writer(directory)
    for number in range(3):
        archive.append(visit(f"http://x.example/{number}", b"body %d" % number, request=b""))
    archive.close() if close else archive.flush()
    return only(directory)


def damage(warc: Path, record: int) -> int:
    """Spoil the middle of a record; where it begins."""
    offset = [each.offset for each in records(warc)][record]
    content = bytearray(warc.read_bytes())
    content[offset + 30 : offset + 90] = bytes(60)
    warc.write_bytes(content)
    return offset


def problems(warc: Path, *, busy: bool = False) -> list[str]:
    return check(warc.parent, warc.name, busy=busy).problems


def test_a_whole_archive_is_whole(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    seen: list[int] = []
    verdict = check(tmp_path, warc.name, progress=seen.append)
    assert (verdict.records, verdict.captures, verdict.problems) == (4, 3, [])
    assert sum(seen) == warc.stat().st_size


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    content = warc.read_bytes()
    second = [each.offset for each in records(warc)][2]
    # Time and operating system in a gzip header mean nothing to us.
    idle = {second + place for place in (4, 5, 6, 7, 8, 9)}
    for place in sorted(set(range(second, second + 200)) - idle):
        warc.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        assert problems(warc), place - second


def test_damage_inside_is_told_with_its_place_and_the_rest_is_checked(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    offset = damage(warc, 2)
    verdict = check(tmp_path, warc.name)
    assert verdict.captures == 2
    assert [text.split(" bytes ")[1] for text in verdict.damage] == [f"at {offset} are damaged"]
    assert verdict.remedy == "restore it from a copy; its other records stay readable"


def test_a_damaged_record_keeps_its_line_in_the_index(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    damage(warc, 2)
    assert check(tmp_path, warc.name).disorder == []


def test_an_index_that_lost_a_line_is_made_anew(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    index = sorted_index(warc)
    whole = index.read_bytes()
    index.write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
    assert problems(warc) == ["captures missing from its index: 1"]
    repair(warc)
    assert (problems(warc), index.read_bytes()) == ([], whole)


def test_an_index_out_of_order_is_noticed(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    index = sorted_index(warc)
    index.write_bytes(b"".join(reversed(index.read_bytes().splitlines(keepends=True))))
    assert problems(warc) == ["its index is not sorted"]


def test_an_index_line_without_a_capture_is_noticed(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    index = sorted_index(warc)
    index.write_bytes(index.read_bytes() + b'zz)/ 20230101000000 {"url":"http://zz/"}\n')
    assert problems(warc) == ["index lines without a capture: 1"]


def test_what_a_killed_robot_left_can_be_put_right(tmp_path: Path) -> None:
    warc = archived(tmp_path, close=False)
    with warc.open("ab") as file:
        file.write(b"\x1f\x8b\x08torn")
    assert problems(warc) == [
        "7 bytes at its end are no whole record",
        "the robot that wrote it was killed before closing it",
    ]
    repair(warc)
    assert problems(warc) == []


def test_a_robot_at_work_is_not_blamed(tmp_path: Path) -> None:
    warc = archived(tmp_path, close=False)
    with warc.open("ab") as file:
        file.write(b"\x1f\x8b\x08torn")
    assert problems(warc, busy=True) == []


def test_a_closed_file_that_lost_its_end_is_damaged(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    warc.write_bytes(warc.read_bytes()[:-5])
    mend(tmp_path)
    assert "no whole record" in check(tmp_path, warc.name).damage[0]


@pytest.mark.parametrize("left", [0, 2])
def test_a_closed_file_cut_between_two_records_is_damaged(left: int, tmp_path: Path) -> None:
    warc = archived(tmp_path)
    end = [each.offset for each in records(warc)][left]
    warc.write_bytes(warc.read_bytes()[:end])
    verdict = check(tmp_path, warc.name)
    assert verdict.damage == [f"captures lost that were behind its end: {3 if left == 0 else 2}"]
    assert (verdict.disorder, verdict.remedy) == ([], RESTORE)


def test_an_open_file_that_was_emptied_is_damaged_and_left_as_it_is(tmp_path: Path) -> None:
    warc = archived(tmp_path, close=False)
    witness = open_index(warc).read_bytes()
    warc.write_bytes(b"")
    repair(warc)
    assert check(tmp_path, warc.name).damage == ["captures lost that were behind its end: 3"]
    assert open_index(warc).read_bytes() == witness


def test_an_index_made_anew_still_knows_of_captures_that_are_lost(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    index = sorted_index(warc)
    whole = index.read_bytes()
    damage(warc, 2)
    warc.write_bytes(warc.read_bytes()[: [each.offset for each in readable(warc)][-1]])
    index.write_bytes(b"".join(reversed(whole.splitlines(keepends=True))) + b"nonsense\n")
    repair(warc)
    assert index.read_bytes() == whole


def test_a_warc_that_is_gone_is_missed(tmp_path: Path) -> None:
    warc = archived(tmp_path)
    assert missing(tmp_path) == []
    warc.unlink()
    assert missing(tmp_path) == [warc.name]
