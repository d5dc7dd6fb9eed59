from pathlib import Path

from joro.index.founders import Founders


def mark(*changed: int) -> bytes:
    """64 digits, of which some differ from all zeros."""
    return bytes.fromhex("".join("1" if place in changed else "0" for place in range(64)))


def alike(a: bytes, b: bytes) -> bool:
    return sum(x != y for x, y in zip(a.hex(), b.hex(), strict=True)) < 24


def test_a_near_copy_has_the_founder_of_its_original(tmp_path: Path) -> None:
    founders = Founders(tmp_path / "founders", alike)
    assert founders.founder(mark()) == mark()
    assert founders.founder(mark(1, 9, 17)) == mark()
    founders.close()


def test_who_is_not_alike_founds_a_group_of_its_own_though_a_band_is_equal(tmp_path: Path) -> None:
    founders = Founders(tmp_path / "founders", alike)
    founders.founder(mark())
    other = mark(*(place for place in range(64) if place % 8))
    assert founders.founder(other) == other
    assert founders.founder(other) == other
    founders.close()


def test_founders_outlive_the_program_until_forgotten(tmp_path: Path) -> None:
    for _ in range(2):
        founders = Founders(tmp_path / "founders", alike)
        founders.founder(mark())
        founders.close()
    founders = Founders(tmp_path / "founders", alike)
    assert founders.founder(mark(1)) == mark()
    founders.forget(mark())
    assert founders.founder(mark(1)) == mark(1)
    founders.close()


def test_nothing_lies_on_the_disk_before_a_text_is_compared(tmp_path: Path) -> None:
    Founders(tmp_path / "founders", alike).close()
    assert not (tmp_path / "founders").exists()
