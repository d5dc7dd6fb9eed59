from __future__ import annotations

import gzip
import lzma
from itertools import pairwise
from pathlib import Path

import pytest

from joro.errors import UsageError
from joro.model import DAY_S
from joro.simulator.histories import HALVES, half_of, recorded
from joro.simulator.world import RecordedWorld

DAY = 86_400
#: Page a is known from day 0 on, b from day 60; the record ends on day 100.
TABLE = "page\tunix_time\tkind\n" + "".join(
    f"{page}\t{day * DAY}\t{kind}\n"
    for page, day, kind in [
        ("a", 0, "first"),
        ("a", 10, "change"),
        ("a", 90, "change"),
        ("a", 95, "upgrade"),
        ("b", 60, "first"),
        ("b", 100, "change"),
        ("b", 70, "change"),
    ]
)


def moments(world: RecordedWorld) -> list[list[float]]:
    """Of each page, in days."""
    return [(world.moments_s[a:b] / DAY_S).tolist() for a, b in pairwise(world.first.tolist())]


@pytest.mark.parametrize(("ending", "pack"), [("tsv", bytes), ("gz", gzip.compress), ("xz", lzma.compress)])
def test_changes_are_read_packed_or_not(tmp_path: Path, ending: str, pack: type[bytes]) -> None:
    file = tmp_path / f"changes.{ending}"
    file.write_bytes(pack(TABLE.encode()))
    world = recorded(file, days=100)
    assert moments(world) == [[10, 90], [70, 100]]
    assert (world.born_s / DAY_S).tolist() == [0, 60]
    assert (world.change_per_s * DAY_S).tolist() == pytest.approx([0.02, 0.02])


def test_of_a_record_only_its_end_is_taken(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TABLE)
    world = recorded(tmp_path / "t", days=50)
    assert moments(world) == [[40], [20, 50]]
    assert (world.born_s / DAY_S).tolist() == [0, 10]


def test_the_halves_share_no_page_and_leave_none_out(tmp_path: Path) -> None:
    rows = [f"page{n}\t{n * DAY}\tfirst\npage{n}\t{(n + 5) * DAY}\tchange" for n in range(200)]
    (tmp_path / "t").write_text("\n".join(rows))
    sizes = [len(recorded(tmp_path / "t", half)) for half in HALVES]
    assert sum(sizes) == 200
    assert sizes[0] == pytest.approx(100, abs=25)


def test_the_half_of_a_page_depends_on_its_name_alone() -> None:
    assert [half_of(name) for name in "abef"] == ["tuning", "tuning", "testing", "testing"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"a\t1\tfirst\n", "records no change"),
        (b"a\t1\n", "line 1 is no change: 'a.t1'"),
        (b"a\tnow\tchange\n", "line 1 is no change"),
        (b"a\t" + b"9" * 350 + b"\tchange\n", "line 1 is no change"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(tmp_path: Path, text: bytes, complaint: str) -> None:
    (tmp_path / "t").write_bytes(text)
    with pytest.raises(UsageError, match=complaint):
        recorded(tmp_path / "t")


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_damaged_record_is_refused_in_one_line(tmp_path: Path, ending: str, pack: type[bytes]) -> None:
    file = tmp_path / f"t.{ending}"
    file.write_bytes(pack(TABLE.encode())[:-9])
    with pytest.raises(UsageError, match="cannot be read"):
        recorded(file)
    with pytest.raises(UsageError, match="cannot be read"):
        recorded(tmp_path / "none.tsv")


def test_a_half_without_changes_is_named(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("b\t1\tfirst\nb\t2\tchange\n")
    with pytest.raises(UsageError, match="records no change in the half for testing"):
        recorded(tmp_path / "t", "testing")
