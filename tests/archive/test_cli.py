import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from joro.cli import joro
from joro.config import Config
from joro.errors import CollectionError, UsageError
from joro.store.collection import Collection
from tests.archive.examples import CHUNKED_HEAD, NOON, URL, only, visit, writer


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """A collection with three versions of one page."""
    collection = Collection.create(tmp_path / "web", Config())
    archive = writer(collection.archive)
    for day in range(3):
        archive.append(visit(body=b"day %d" % day, time=NOON + 86_400 * day))
    archive.append(visit("http://c.example/", b"3\r\nabc\r\n0\r\n\r\n", head=CHUNKED_HEAD))
    archive.close()
    return collection


def run(collection: Collection, *arguments: str) -> Result:
    command, *others = arguments
    return CliRunner().invoke(joro, ["archive", command, "-C", str(collection.path), *others])


def test_a_whole_archive_passes(collection: Collection) -> None:
    result = run(collection, "check")
    assert (result.exit_code, result.stdout) == (0, "WARC files: 1, records: 9, captures: 4; all whole\n")


def test_a_bad_file_is_one_line_with_its_remedy(collection: Collection) -> None:
    warc = only(collection.archive)
    warc.write_bytes(warc.read_bytes()[:-5])
    result = run(collection, "check")
    assert result.exit_code == 1
    line, total = result.stdout.splitlines()
    assert line.startswith(f"{warc.name}: ")
    assert line.endswith("; restore it from a copy; its other records stay readable")
    assert total == "WARC files: 1, records: 8, captures: 4; bad files: 1"


def test_mending_puts_an_unclosed_archive_right(collection: Collection) -> None:
    archive = writer(collection.archive)
    archive.append(visit())
    archive.flush()
    checked = run(collection, "check")
    assert checked.exit_code == 1
    assert "killed before closing it; run: joro archive check --mend" in checked.stdout
    assert run(collection, "check", "--mend").exit_code == 0
    assert run(collection, "check").exit_code == 0


def test_mending_does_not_call_an_emptied_file_whole(collection: Collection) -> None:
    warc = only(collection.archive)
    index = warc.with_name(warc.name.replace(".warc.gz", ".cdxj"))
    witness = index.read_bytes()
    warc.write_bytes(b"")
    result = run(collection, "check", "--mend")
    assert result.exit_code == 1
    assert "captures lost that were behind its end: 4; restore it from a copy" in result.stdout
    assert index.read_bytes() == witness


def test_nothing_is_mended_under_a_robot(collection: Collection) -> None:
    with collection.lock("robot"):
        assert run(collection, "check").exit_code == 0
        assert isinstance(run(collection, "check", "--mend").exception, CollectionError)


def test_versions_are_listed_oldest_first(collection: Collection) -> None:
    lines = run(collection, "list", URL).stdout.splitlines()
    assert [line[:16] for line in lines[1:]] == ["2023-11-14 22:13", "2023-11-15 22:13", "2023-11-16 22:13"]


def test_the_newest_version_is_shown(collection: Collection) -> None:
    assert run(collection, "show", URL).stdout_bytes == b"day 2"


@pytest.mark.parametrize("time", ["2023-11-15T21:00", "20231116", "2023-11-16T07:00+09:00"])
def test_the_version_of_a_time_is_shown(time: str, collection: Collection) -> None:
    assert run(collection, "show", URL, "--time", time).stdout_bytes == b"day 1"


def test_head_and_chunk_frames_are_shown_on_request(collection: Collection) -> None:
    shown = [
        run(collection, "show", "http://c.example/", *options).stdout_bytes for options in ([], ["--raw"])
    ]
    assert shown == [b"abc", b"3\r\nabc\r\n0\r\n\r\n"]
    assert run(collection, "show", "http://c.example/", "--headers").stdout_bytes == CHUNKED_HEAD + b"abc"


@pytest.mark.parametrize("command", ["list", "show"])
def test_a_page_never_archived_is_an_error_with_a_remedy(command: str, collection: Collection) -> None:
    error = run(collection, command, "http://nowhere.example/").exception
    assert isinstance(error, UsageError)
    assert "not in the archive; collect it: joro crawl" in str(error)


def test_a_time_that_is_none_is_refused(collection: Collection) -> None:
    assert isinstance(run(collection, "show", URL, "--time", "yesterday").exception, UsageError)


def test_indexes_are_merged_by_command_and_checked(collection: Collection) -> None:
    assert run(collection, "merge", "--if-due").stdout == ""
    assert run(collection, "merge").stdout == "WARC files merged: 1; 4 captures in merged indexes: 1\n"
    assert run(collection, "check").stdout.endswith("captures: 4; all whole\n")
    assert run(collection, "show", URL).stdout_bytes == b"day 2"
    (collection.archive / "merged" / "000001.cdxj.gz").write_bytes(b"")
    checked = run(collection, "check")
    assert checked.exit_code == 1
    assert checked.stdout.startswith("merged index: 000001.cdxj: ")
    assert "run: joro archive check --mend" in checked.stdout
    assert run(collection, "check", "--mend").exit_code == 0
    assert run(collection, "check").exit_code == 0


def test_captures_are_listed_by_what_is_known_of_them(collection: Collection) -> None:
    digest = run(collection, "list", URL).stdout.split()[-1]
    for what, by, count in (
        ("http://www.example.jp/", "prefix", 3),
        ("c.example", "host", 1),
        ("example", "domain", 1),
        ("example.jp", "domain", 3),
        (digest, "digest", 1),
    ):
        lines = run(collection, "list", "--by", by, what).stdout.splitlines()
        assert (lines[0].split()[-1], len(lines) - 1) == ("URL", count)


def test_captures_are_listed_for_programs_and_within_dates(collection: Collection) -> None:
    lines = run(
        collection, "list", URL, "--since", "20231115", "--until", "20231116", "--json"
    ).stdout.splitlines()
    (found,) = (json.loads(line) for line in lines)
    assert (found["url"], found["time"]) == (URL, "2023-11-15T22:13:20.000000Z")
    error = run(collection, "list", "--by", "host", "c.example", "--status", "404").exception
    assert "no capture of c.example was found" in str(error)
