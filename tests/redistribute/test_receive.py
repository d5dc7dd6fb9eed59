import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from joro.archive.cdx import capture_of, line_of
from joro.clock import FakeClock
from joro.errors import ArchiveError
from joro.redistribute import receive
from joro.redistribute.allowed import Allowed, purposes_named
from joro.redistribute.forget import forget
from joro.redistribute.package import INDEX, WARC_NAME, Maker
from joro.redistribute.receive import begin, take_in
from joro.redistribute.selection import Selection
from joro.redistribute.shelf import Package
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from tests.archive.examples import NOON
from tests.redistribute.stand import captures_of, collection_at, fill, received_warcs


@pytest.fixture
def ours(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "ours")


@pytest.fixture
def theirs(tmp_path: Path) -> Collection:
    theirs = collection_at(tmp_path / "theirs")
    fill(theirs, 12)
    return theirs


@pytest.fixture
def arrived(theirs: Collection, ours: Collection, tmp_path: Path) -> Path:
    """The folder of a package that is whole."""
    maker = Maker(theirs, tmp_path)
    manifest = maker.make(Selection(), Allowed(theirs, purposes_named(()), FakeClock(NOON)))
    package = Package(tmp_path / manifest.package, theirs.archive)
    folder = begin(ours, "tokyo", manifest)
    (folder / WARC_NAME).write_bytes(b"".join(package.pieces(0, manifest.bytes)))
    (folder / INDEX).write_bytes(b"".join(package.index(0, manifest.index_bytes)))
    return folder


def test_a_package_taken_in_twice_is_there_once(theirs: Collection, ours: Collection, arrived: Path) -> None:
    first = take_in(ours, "tokyo", arrived, FakeClock(NOON))
    assert (
        take_in(ours, "tokyo", arrived, FakeClock(NOON)) == first == "from-tokyo-20231114221320-00001.warc.gz"
    )
    assert captures_of(ours) == captures_of(theirs)
    assert len(received_warcs(ours)) == 1


def test_killed_when_its_warc_was_placed_and_its_index_was_not_it_is_finished(
    theirs: Collection, ours: Collection, arrived: Path
) -> None:
    name = "from-tokyo-20231114221320-00001.warc.gz"
    (arrived / "target").write_text(name)
    (arrived / WARC_NAME).rename(ours.archive / name)
    assert receive.is_placed(arrived)
    assert captures_of(ours) == set()
    take_in(ours, "tokyo", arrived, FakeClock(NOON))
    assert captures_of(ours) == captures_of(theirs)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [lines[0].replace(b'"offset":"', b'"offset":"9999999')],
        lambda lines: [lines[0].replace(b'"offset":"', b'"offset":"-')],
        lambda lines: [line_of(capture_of(lines[0])).replace(b'"length":"', b'"length":"-9')],
        lambda lines: [b"no line\n"],
        lambda lines: [lines[0].replace(b"http://", b"nothing")],
        lambda lines: [b"x" * 200_000],
    ],
)
def test_an_index_that_cannot_be_true_is_refused_and_nothing_is_taken_in(
    ours: Collection, arrived: Path, spoil: Callable[[list[bytes]], list[bytes]]
) -> None:
    lines = gzip.decompress((arrived / INDEX).read_bytes()).splitlines(keepends=True)
    (arrived / INDEX).write_bytes(gzip.compress(b"".join(spoil(lines))))
    with pytest.raises(ArchiveError, match="nothing of it was taken in"):
        take_in(ours, "tokyo", arrived, FakeClock(NOON))
    assert received_warcs(ours) == []


def test_an_index_without_an_end_is_refused(
    ours: Collection, arrived: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "_LINES", 11)
    with pytest.raises(ArchiveError, match="more than 11 lines"):
        take_in(ours, "tokyo", arrived, FakeClock(NOON))


def test_a_take_down_reaches_packages_on_their_way(ours: Collection, arrived: Path) -> None:
    assert forget(ours) == 0
    OrderBook(ours.orders, lambda: NOON).give(Order(0, TAKEDOWN, "host", "elsewhere.example", 0.0))
    assert forget(ours) == 0
    OrderBook(ours.orders, lambda: NOON).give(Order(0, TAKEDOWN, "host", "b.ac.jp", 0.0))
    assert forget(ours) == 1
    assert not arrived.exists()


def test_of_a_package_whose_index_is_not_whole_the_worst_is_believed(ours: Collection, arrived: Path) -> None:
    (arrived / INDEX).rename(arrived / f"{INDEX}.part")
    assert forget(ours) == 1
