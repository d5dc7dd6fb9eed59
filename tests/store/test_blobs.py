"""One suite for every place where files may live: a directory, and a real S3 server in its own process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.errors import ArchiveError, UsageError
from joro.store.blobs import Blobs, open_blobs
from tests.store.s3 import Bucket, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[Bucket]:
    with s3_server() as bucket:
        yield bucket


@pytest.fixture(params=["directory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "directory":
        return open_blobs(str(tmp_path / "far away"))
    server: Bucket = request.getfixturevalue("server")
    return open_blobs(f"{server.url}/{tmp_path.name}")


def file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "source"
    path.write_bytes(content)
    return path


def test_a_file_is_read_in_pieces(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put("a/b.warc.gz", file(tmp_path, b"0123456789"))
    assert blobs.size("a/b.warc.gz") == 10
    assert blobs.read("a/b.warc.gz", 3, 4) == b"3456"
    assert blobs.read("a/b.warc.gz", 8, 100) == b"89"
    assert blobs.read("a/b.warc.gz", 10, 5) == b""


def test_a_file_is_replaced(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put("a", file(tmp_path, b"old and long"))
    blobs.put("a", file(tmp_path, b"new"))
    assert (blobs.size("a"), blobs.read("a", 0, 99)) == (3, b"new")


def test_files_are_listed_by_directory(blobs: Blobs, tmp_path: Path) -> None:
    for name in ("x.cdxj", "merged/1.gz", "merged/2.gz", "merged2/3.gz"):
        blobs.put(name, file(tmp_path, b"."))
    assert sorted(blobs.names()) == ["merged/1.gz", "merged/2.gz", "merged2/3.gz", "x.cdxj"]
    assert sorted(blobs.names("merged/")) == ["merged/1.gz", "merged/2.gz"]


def test_what_is_not_there_is_told(blobs: Blobs) -> None:
    assert blobs.size("nothing") is None
    assert list(blobs.names()) == []
    blobs.delete("nothing")
    with pytest.raises(FileNotFoundError):
        blobs.read("nothing", 0, 1)


def test_a_deleted_file_is_gone(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put("a", file(tmp_path, b"."))
    blobs.delete("a")
    assert blobs.size("a") is None


def test_large_files_arrive_whole(blobs: Blobs, tmp_path: Path) -> None:
    content = bytes(range(256)) * 65_536
    blobs.put("large", file(tmp_path, content))
    assert blobs.size("large") == 16_777_216
    assert blobs.read("large", 16_777_000, 216) == content[-216:]


def test_an_empty_file_is_a_file(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put("empty", file(tmp_path, b""))
    assert (blobs.size("empty"), blobs.read("empty", 0, 5)) == (0, b"")


def test_a_bucket_that_is_not_there_is_told_in_one_line(server: Bucket, tmp_path: Path) -> None:
    blobs = open_blobs("s3://no-such-bucket/prefix")
    with pytest.raises((ArchiveError, FileNotFoundError)) as caught:
        blobs.put("a", file(tmp_path, b"."))
    assert "\n" not in str(caught.value)


def test_a_url_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="is no place for files"):
        open_blobs("gopher://bucket/x")
