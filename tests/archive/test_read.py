import threading
from pathlib import Path

import pytest

from joro.archive.members import members
from joro.archive.names import Position
from joro.archive.read import read_at, records, replay, response_of
from joro.errors import ArchiveError
from joro.model import Truncated
from tests.archive.examples import CHUNKED_HEAD, only, visit, writer


def archived(directory: Path, *bodies: bytes, limit_bytes: int = 1_000_000) -> None:
    archive = writer(directory, limit_bytes=limit_bytes)
    for body in bodies:
        archive.append(visit(body=body))
        archive.flush()
    archive.close()


def bodies(directory: Path, since: Position | None = None) -> list[bytes]:
    return [record.body for record, _ in replay(directory, since)]


def test_a_capture_is_read_at_its_place(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    captures = [archive.append(visit(body=body)) for body in (b"one", b"two", b"three")]
    archive.flush()
    capture = captures[1]
    assert read_at(tmp_path / capture.warc, capture.offset, capture.length).body == b"two"


@pytest.mark.parametrize(("offset", "length"), [(1, None), (10**9, None), (0, 5)])
def test_a_wrong_place_is_an_error_with_a_remedy(offset: int, length: int | None, tmp_path: Path) -> None:
    archived(tmp_path, b"one")
    with pytest.raises(ArchiveError, match="run: joro archive check"):
        read_at(only(tmp_path), offset, length)


def test_a_response_is_ready_to_be_parsed(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    sent = visit(head=CHUNKED_HEAD, body=b"3\r\nabc\r\n0\r\n\r\n", truncated=Truncated.TIME)
    archive.append(sent)
    archive.close()
    ((record, _),) = replay(tmp_path)
    assert response_of(record) == sent.response


def test_replay_goes_on_from_every_position(tmp_path: Path) -> None:
    archived(tmp_path, *(b"%d" % number for number in range(10)), limit_bytes=1_500)
    assert len(list(tmp_path.glob("*.warc.gz"))) > 2
    all_of_them = list(replay(tmp_path))
    for count, (_, position) in enumerate(all_of_them, start=1):
        assert bodies(tmp_path, position) == [b"%d" % number for number in range(count, 10)]


def test_replay_from_nowhere_is_replay_from_the_beginning(tmp_path: Path) -> None:
    archived(tmp_path, b"one")
    assert bodies(tmp_path, Position("", 0)) == bodies(tmp_path) == [b"one"]


def test_replay_of_an_empty_archive_is_empty(tmp_path: Path) -> None:
    assert bodies(tmp_path) == []


def test_replay_waits_for_a_record_that_is_being_written(tmp_path: Path) -> None:
    archived(tmp_path, b"one", b"two")
    warc = only(tmp_path)
    content = warc.read_bytes()
    (_, first), (second, _) = list(replay(tmp_path))
    warc.write_bytes(content[: second.offset + 50])
    assert bodies(tmp_path, first) == []
    warc.write_bytes(content)
    assert bodies(tmp_path, first) == [b"two"]


def test_replay_of_a_shortened_file_ends_where_it_ends(tmp_path: Path) -> None:
    archived(tmp_path, b"one")
    assert bodies(tmp_path, Position(only(tmp_path).name, 10**9)) == []


def test_replay_passes_a_damaged_record(tmp_path: Path) -> None:
    archived(tmp_path, b"one", b"two", b"three")
    warc = only(tmp_path)
    content = bytearray(warc.read_bytes())
    (first, _), (second, _), _ = list(replay(tmp_path))
    content[second.offset + 30 : second.offset + 90] = bytes(60)
    warc.write_bytes(content)
    assert bodies(tmp_path) == [b"one", b"three"]
    assert next(records(warc, first.offset)).body == b"one"
    with pytest.raises(ArchiveError, match=f"is damaged at byte {second.offset}"):
        list(records(warc))


def test_members_lie_end_to_end_over_the_whole_file(tmp_path: Path) -> None:
    archived(tmp_path, b"x", b"", b"y" * 3_000_000, b"z" * 20_000)
    place = 0
    for member in members(only(tmp_path)):
        assert member.offset == place
        place = member.end
    assert place == only(tmp_path).stat().st_size


def test_a_reader_that_follows_a_writer_sees_every_capture_once(tmp_path: Path) -> None:
    writing = threading.Thread(
        target=archived, args=(tmp_path, *(b"%d" % n for n in range(300))), kwargs={"limit_bytes": 20_000}
    )
    writing.start()
    seen: list[bytes] = []
    position: Position | None = None
    while True:
        is_last = not writing.is_alive()
        for record, reached in replay(tmp_path, position):
            seen.append(record.body)
            position = reached
        if is_last:
            break
    assert seen == [b"%d" % number for number in range(300)]
