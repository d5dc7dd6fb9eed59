"""One suite for an archive that is copied to a directory, and to a real S3 server in its own process."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from joro.archive.check import check, missing
from joro.archive.check_merged import check_merged
from joro.archive.far import blobs_at, size_of
from joro.archive.index import CaptureIndex
from joro.archive.merge import merge
from joro.archive.names import sorted_index, warcs
from joro.archive.read import replay, response_at
from joro.archive.storing import attach, bring_back, free, upload
from joro.archive.takedown import carry_out
from joro.cli import joro
from joro.clock import FakeClock
from joro.config import Config
from joro.errors import ArchiveError
from joro.model import Known
from joro.store.collection import Collection
from joro.store.orders import Order, Orders
from tests.archive.examples import NOON, URL, visit, writer
from tests.store.s3 import Bucket, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[Bucket]:
    with s3_server("archive") as bucket:
        yield bucket


@pytest.fixture(params=["directory", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "directory":
        return str(tmp_path / "far away")
    server: Bucket = request.getfixturevalue("server")
    return f"{server.url}/{tmp_path.name}"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Four WARCs of one stream with a page each, two of them merged; the last only says "as before"."""
    directory = tmp_path / "archive"
    directory.mkdir()
    for day in range(4):
        growing = writer(directory)
        again = visit(body=b"day %d" % min(day, 2), time=NOON + day)
        if day == 3:
            last = CaptureIndex(directory).newest(URL)
            assert last is not None
            again = structs.replace(again, known=Known(last.time, last.digest))
        growing.append(again)
        growing.close()
        if day == 1:
            merge(directory)
    return directory


def bodies(directory: Path) -> list[bytes]:
    return [response_at(directory, capture).body for capture in CaptureIndex(directory).versions(URL)]


BODIES = [b"day 0", b"day 1", b"day 2", b"day 2"]


def test_what_is_deleted_here_is_read_there(archive: Path, url: str) -> None:
    assert upload(archive, url) == 4
    sizes = [size_of(archive / name) for name in warcs(archive)]
    records = [record.block for record, _ in replay(archive)]
    assert len(free(archive)) == 3
    assert len(list(archive.glob("*.warc.gz"))) == 1
    assert bodies(archive) == BODIES
    assert [record.block for record, _ in replay(archive)] == records
    assert [size_of(archive / name) for name in warcs(archive)] == sizes
    assert [check(archive, name).problems for name in warcs(archive)] == [[]] * 4
    assert missing(archive) == []


def test_a_robot_goes_on_after_warcs_were_deleted(archive: Path, url: str) -> None:
    upload(archive, url)
    free(archive)
    growing = writer(archive)
    growing.append(visit(body=b"day 4", time=NOON + 4))
    growing.close()
    assert warcs(archive)[-1].endswith("-00005.warc.gz")
    assert bodies(archive) == [*BODIES, b"day 4"]
    merge(archive)
    assert bodies(archive) == [*BODIES, b"day 4"]
    assert upload(archive, url) == 1


def test_only_what_changed_is_copied_again(archive: Path, url: str) -> None:
    upload(archive, url)
    assert upload(archive, url) == 0
    changed = sorted_index(archive / warcs(archive)[2])
    changed.write_bytes(changed.read_bytes())
    assert upload(archive, url) == 1


def test_a_warc_whose_copy_is_not_whole_stays(archive: Path, url: str, tmp_path: Path) -> None:
    upload(archive, url)
    (tmp_path / "cut").write_bytes(b"?")
    first, second, *_ = warcs(archive)
    blobs_at(url).put(first, tmp_path / "cut")
    blobs_at(url).delete(second)
    assert free(archive) == [warcs(archive)[2]]


def test_a_lost_copy_is_found_and_told(archive: Path, url: str, tmp_path: Path) -> None:
    upload(archive, url)
    free(archive)
    first, second, *_ = warcs(archive)
    (tmp_path / "cut").write_bytes(b"?")
    blobs_at(url).put(first, tmp_path / "cut")
    blobs_at(url).delete(second)
    said = [check(archive, name).problems for name in warcs(archive)]
    assert said[0][0].startswith("has 1 instead of ")
    assert said[1][0].startswith("is gone from ")
    with pytest.raises(ArchiveError, match="restore it there from a copy"):
        bodies(archive)


def test_a_warc_comes_back_as_it_was(archive: Path, url: str) -> None:
    before = {name: (archive / name).read_bytes() for name in warcs(archive)}
    upload(archive, url)
    for name in free(archive):
        bring_back(archive / name)
    assert {name: (archive / name).read_bytes() for name in warcs(archive)} == before
    assert upload(archive, url) == 0


def test_another_machine_takes_the_archive_over(archive: Path, url: str, tmp_path: Path) -> None:
    upload(archive, url)
    other = tmp_path / "other"
    other.mkdir()
    assert attach(other, url) == 4
    assert attach(other, url) == 0
    assert not any(path.suffix == ".gz" for path in other.rglob("*"))
    assert bodies(other) == BODIES
    assert check_merged(other) == []
    index = CaptureIndex(other)
    assert len(list(index.of_digest(next(index.versions(URL)).digest))) == 1
    merge(other)
    assert bodies(other) == BODIES
    assert check_merged(other) == []


def test_a_warc_whose_upload_is_under_way_is_taken_over_later(
    archive: Path, url: str, tmp_path: Path
) -> None:
    upload(archive, url)
    index = sorted_index(archive / warcs(archive)[3])
    blobs_at(url).delete(index.name)
    other = tmp_path / "other"
    other.mkdir()
    assert attach(other, url) == 3
    blobs_at(url).put(index.name, index)
    assert attach(other, url) == 1
    assert bodies(other) == BODIES


def test_runs_that_were_replaced_are_replaced_there(archive: Path, url: str, tmp_path: Path) -> None:
    upload(archive, url)
    merge(archive)
    upload(archive, url)
    there = sorted(name for name in blobs_at(url).names("merged/"))
    here = sorted(f"merged/{path.name}" for path in (archive / "merged").iterdir() if path.name != "lock")
    assert there == here


def test_what_is_taken_down_leaves_the_copies_too(archive: Path, url: str) -> None:
    upload(archive, url)
    free(archive)
    orders = Orders([Order(1, "takedown", "url", URL, NOON)])
    assert carry_out(archive, orders, clock=FakeClock(NOON), robot="joro").captures == 4
    upload(archive, url)
    blobs = blobs_at(url)
    for name in blobs.names():
        content = blobs.read(name, 0, blobs.size(name) or 0)
        assert b"day " not in (gzip.decompress(content) if name.endswith(".gz") else content)
    assert bodies(archive) == []


def test_the_commands_copy_and_take_over(tmp_path: Path, url: str) -> None:
    def made(name: str) -> Collection:
        config = Config()
        return Collection.create(tmp_path / name, replace(config, archive=replace(config.archive, url=url)))

    def run(collection: Collection, *words: str) -> str:
        result = CliRunner().invoke(joro, ["archive", *words, "-C", str(collection.path)])
        assert result.exit_code == 0, result.exception
        return result.stdout

    first, second = made("first"), made("second")
    for number in range(2):
        growing = writer(first.archive)
        growing.append(visit(body=b"%d" % number, time=NOON + number))
        growing.close()
    assert run(first, "upload", "--free") == f"WARC files copied to {url}: 2, deleted here: 1\n"
    assert run(second, "attach") == "WARC files taken over: 2\n"
    assert run(second, "show", URL) == "1"
    assert "all whole" in run(first, "check")


def test_without_a_place_the_remedy_is_told(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "web", Config())
    error = CliRunner().invoke(joro, ["archive", "upload", "-C", str(collection.path)]).exception
    assert "archive.url is empty; set it in" in str(error)
