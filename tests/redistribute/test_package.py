import gzip
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.archive.cdx import capture_of
from joro.archive.index import CaptureIndex
from joro.archive.names import number_of
from joro.archive.read import read_at
from joro.clock import FakeClock
from joro.errors import TransferError
from joro.redistribute.allowed import Allowed, purposes_named
from joro.redistribute.download import Part
from joro.redistribute.package import Digests, Limits, Maker, Manifest
from joro.redistribute.receive import captures_in
from joro.redistribute.selection import Selection, is_selected, mark_now, walk
from joro.redistribute.shelf import KEPT_S, Package, Shelf
from joro.store.collection import Collection
from joro.url import host_of
from tests.archive.examples import NOON
from tests.redistribute.stand import captures_of, collection_at, fill


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    collection = collection_at(tmp_path_factory.mktemp("web") / "web")
    fill(collection, 60, body_bytes=1_000, limit_bytes=10_000)
    return collection


def made(collection: Collection, folder: Path, limits: Limits = Limits(), **wanted: object) -> Manifest:  # noqa: B008
    allowed = Allowed(collection, purposes_named(()), FakeClock(NOON))
    return Maker(collection, folder, limits).make(Selection(**wanted), allowed)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def package(filled: Collection, tmp_path_factory: pytest.TempPathFactory) -> Package:
    folder = tmp_path_factory.mktemp("packages")
    return Package(folder / made(filled, folder).package, filled.archive)


@pytest.fixture(scope="module")
def whole(package: Package) -> bytes:
    return b"".join(package.pieces(0, package.manifest.bytes))


def test_a_package_has_the_digest_its_manifest_says(package: Package, whole: bytes) -> None:
    assert hashlib.sha256(whole).hexdigest() == package.manifest.sha256
    assert len(whole) == package.manifest.bytes


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 5_000))
def test_any_range_is_what_lies_there(
    package: Package, whole: bytes, first: int, second: int, piece_bytes: int
) -> None:
    start, end = sorted((first % (len(whole) + 1), second % (len(whole) + 1)))
    assert b"".join(package.pieces(start, end, piece_bytes)) == whole[start:end]


def test_records_are_those_of_the_archive_byte_for_byte(
    filled: Collection, package: Package, whole: bytes, tmp_path: Path
) -> None:
    (tmp_path / "package.warc.gz").write_bytes(whole)
    index = b"".join(package.index(0, package.manifest.index_bytes))
    (tmp_path / "index").write_bytes(index)
    for capture in captures_in(tmp_path / "index", tmp_path / "package.warc.gz", "package.warc.gz"):
        record = read_at(tmp_path / capture.warc, capture.offset, capture.length)
        assert record.url == capture.url
        assert record.time == capture.time


@settings(max_examples=8)
@given(st.integers(4, 20), st.integers(4_000, 30_000))
def test_packages_of_any_size_together_hold_each_capture_once(
    filled: Collection, tmp_path_factory: pytest.TempPathFactory, captures: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("packages")
    limits, found, after = Limits(size, captures, 10), [], dict[str, tuple[int, int]]()
    while True:
        manifest = made(filled, folder, limits, after=after)
        found += _urls(folder, manifest)
        after = manifest.mark
        if not manifest.more:
            break
    assert sorted(found) == sorted(url for url, _, _ in captures_of(filled))


def _urls(folder: Path, manifest: Manifest) -> list[str]:
    if not manifest.package:
        return []
    lines = gzip.decompress((folder / manifest.package / "index.cdxj.gz").read_bytes()).splitlines()
    return [capture_of(line).url for line in lines]


def test_a_mark_divides_what_was_written_before_from_what_comes_later(tmp_path: Path) -> None:
    collection = collection_at(tmp_path / "web")
    fill(collection, 7)
    mark = mark_now(collection.archive)
    fill(collection, 4, first=7)
    before = [step.captures for step in walk(collection.archive, Selection(upto=mark))]
    later = [step.captures for step in walk(collection.archive, Selection(after=mark))]
    assert (sum(map(len, before)), sum(map(len, later))) == (7, 4)


@given(st.lists(st.binary(max_size=50)), st.integers(1, 20))
def test_parts_are_digested_the_same_however_bytes_come(pieces: list[bytes], part_bytes: int) -> None:
    digests, content = Digests(part_bytes), b"".join(pieces)
    for piece in pieces:
        digests.update(piece)
    parts = [content[start : start + part_bytes] for start in range(0, len(content), part_bytes)]
    assert digests.close() == digests.close() == [hashlib.sha256(part).hexdigest() for part in parts]
    assert digests.whole.hexdigest() == hashlib.sha256(content).hexdigest()


def _part(path: Path, content: bytes) -> Part:
    digests = Digests(10)
    digests.update(content)
    return Part(path, len(content), digests.close(), 10)


def test_a_part_that_arrived_changed_is_fetched_again_and_no_other(tmp_path: Path) -> None:
    content, asked = bytes(range(35)), list[int]()

    def pieces(start: int) -> Iterator[bytes]:
        asked.append(start)
        changed = bytearray(content)
        if len(asked) == 1:
            changed[25] ^= 1
        for place in range(start, 35, 4):
            yield bytes(changed[place : place + 4])

    _part(tmp_path / "file", content).fetch(pieces)
    assert (tmp_path / "file").read_bytes() == content
    assert asked == [0, 20]


def test_what_an_earlier_run_left_is_believed_as_far_as_its_digests_go(tmp_path: Path) -> None:
    content, asked = bytes(range(35)), list[int]()
    (tmp_path / "file.part").write_bytes(content[:10] + b"garbage of a power cut")

    def pieces(start: int) -> Iterator[bytes]:
        asked.append(start)
        yield content[start:]

    _part(tmp_path / "file", content).fetch(pieces)
    assert asked == [10]
    assert (tmp_path / "file").read_bytes() == content


def test_a_sender_of_wrong_bytes_is_given_up(tmp_path: Path) -> None:
    part = _part(tmp_path / "file", bytes(35))
    with pytest.raises(TransferError, match="part 1 of file arrived changed"):
        part.fetch(lambda start: iter([b"x" * (35 - start)]))
    assert not (tmp_path / "file").exists()


def test_a_sender_of_too_many_bytes_is_given_up(tmp_path: Path) -> None:
    part = _part(tmp_path / "file", bytes(35))
    with pytest.raises(TransferError, match="more than 35 bytes"):
        part.fetch(lambda start: iter([bytes(40)]))


def test_packages_are_thrown_away_after_a_week(filled: Collection) -> None:
    allowed = Allowed(filled, purposes_named(()), FakeClock(NOON))
    shelf = Shelf(filled, allowed.orders)
    name = made(filled, shelf.folder).package
    made_at = (shelf.folder / name).stat().st_mtime
    shelf.tidy(made_at + KEPT_S - 1)
    assert shelf.find(name, NOON) is not None
    shelf.tidy(made_at + KEPT_S + 1)
    assert shelf.find(name, NOON) is None


@settings(max_examples=30)
@given(
    st.sampled_from(["", r"\.jp$", "^[bc]", "example", "8080", "A"]),
    st.integers(-5, 70),
    st.integers(0, 70),
    st.integers(0, 12),
)
def test_a_walk_finds_what_the_index_of_captures_finds(
    filled: Collection, hosts: str, first_h: int, hours: int, number: int
) -> None:
    since, until = NOON + first_h * 3600, NOON + (first_h + hours) * 3600 + 1
    selection = Selection(hosts, since, until, after={"joro": (number, 3_000)})
    found = [capture for step in walk(filled.archive, selection) for capture in step.captures]
    expected = [
        each
        for each in CaptureIndex(filled.archive).all()
        if re.search(hosts, host_of(each.url), re.IGNORECASE)
        and since <= each.time < until
        and (number_of(each.warc), each.offset) >= (number, 3_000)
    ]
    assert sorted(found, key=lambda each: each.url) == sorted(expected, key=lambda each: each.url)
    assert all(is_selected(each, selection) for each in found)
