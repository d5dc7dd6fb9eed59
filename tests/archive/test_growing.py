import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.archive.growing import GrowingFile
from joro.archive.read import replay
from joro.archive.warc import WarcWriter
from joro.errors import DiskFull
from tests.archive.examples import URL, lookup, only, visit, writer


@contextlib.contextmanager
def file_limit(limit_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond: a full disk for those who are not root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_flush_that_finds_no_room_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "f", durable=True)
    file.append(b"x" * 600)
    file.flush()
    file.append(b"y" * 600)
    with file_limit(1_000), pytest.raises(DiskFull, match=r"f cannot grow \(File too large\); make room"):
        file.flush()
    assert (tmp_path / "f").read_bytes() == b"x" * 600


def test_what_found_no_room_is_written_when_there_is_some(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "f", durable=True)
    file.append(b"x" * 600)
    for _ in range(2):
        with file_limit(100), pytest.raises(DiskFull):
            file.flush()
    assert list(tmp_path.iterdir()) == []
    file.append(b"y")
    file.close()
    assert (tmp_path / "f").read_bytes() == b"x" * 600 + b"y"


def test_an_archive_outlives_a_file_limit(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit(body=b"one"))
    before = archive.flush()
    archive.append(visit(body=os.urandom(3_000)))
    with file_limit(2_000), pytest.raises(DiskFull):
        archive.flush()
    assert (archive.position, only(tmp_path).stat().st_size) == (before, before.offset)
    archive.append(visit(body=b"three"))
    archive.close()
    assert [len(record.body) for record, _ in replay(tmp_path)] == [3, 3_000, 5]


def test_a_disk_too_full_to_sort_the_index_only_puts_closing_off(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit(body=b"one"))
    archive.flush()
    with file_limit(100), pytest.raises(DiskFull, match="cdxj cannot grow"):
        archive.close()
    archive.append(visit(body=b"two"))
    archive.close()
    assert [record.body for record, _ in replay(tmp_path)] == [b"one", b"two"]
    assert len(lookup(tmp_path, URL)) == 2
    assert len(list(tmp_path.iterdir())) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.decode().strip()}")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.root
def test_an_archive_outlives_a_full_disk(small_disk: Path) -> None:
    archive = writer(small_disk)
    (small_disk / "ballast").write_bytes(b"b" * 20_000)
    kept = fill(archive)
    assert only(small_disk).stat().st_size == archive.position.offset
    assert len(list(replay(small_disk))) == kept
    (small_disk / "ballast").unlink()
    archive.close()
    assert len(list(replay(small_disk))) == kept + 1


def fill(archive: WarcWriter) -> int:
    """Archive until the disk is full; how many captures were flushed before."""
    for count in range(100):
        archive.append(visit(body=os.urandom(5_000)))
        try:
            archive.flush()
        except DiskFull:
            return count
    raise AssertionError("the disk never filled up")


@pytest.mark.root
def test_a_disk_full_from_the_start_is_told_and_nothing_lies_about(small_disk: Path) -> None:
    with contextlib.suppress(OSError):
        (small_disk / "ballast").write_bytes(b"b" * 65_536)
    archive = writer(small_disk)
    archive.append(visit())
    with pytest.raises(DiskFull, match=r"joro-\d+-00001.warc.gz cannot grow \(No space left on device\)"):
        archive.flush()
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]
