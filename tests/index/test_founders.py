from operator import eq
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from joro.index.founders import Founders
from joro.parse.copies import is_near_copy, text_mark


def mark(*changed: int) -> bytes:
    """64 bytes, of which some are not zero."""
    return bytes(place in changed for place in range(64))


def alike(a: bytes, b: bytes) -> bool:
    return sum(x != y for x, y in zip(a, b, strict=True)) < 24


def test_a_near_copy_has_the_founder_of_its_original(tmp_path: Path) -> None:
    founders = Founders(tmp_path / "founders", alike)
    assert founders.group(mark(1, 9, 17)) == founders.group(mark()) != 0
    founders.close()


def test_who_is_not_alike_founds_a_group_of_its_own_though_a_band_is_equal(tmp_path: Path) -> None:
    founders = Founders(tmp_path / "founders", alike)
    first, other = mark(), mark(*(place for place in range(64) if place % 16))
    assert founders.group(first) != founders.group(other)
    assert founders.group(other) == founders.group(other)
    founders.close()


def test_founders_outlive_the_program_until_forgotten(tmp_path: Path) -> None:
    founders = Founders(tmp_path / "founders", alike)
    first = founders.group(mark())
    founders.close()
    founders = Founders(tmp_path / "founders", alike)
    assert founders.group(mark(1)) == first
    founders.forget(first)
    assert founders.group(mark(1)) != first
    founders.close()


def test_whoever_is_forgotten_twice_or_was_never_there_makes_no_difference(tmp_path: Path) -> None:
    founders = Founders(tmp_path / "founders", alike)
    first = founders.group(mark())
    for group in (17, first, first):
        founders.forget(group)
    assert founders.group(mark()) == first
    founders.close()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.binary(min_size=64, max_size=64), min_size=1, max_size=20))
def test_who_comes_again_has_the_same_group_in_whichever_order(marks: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        founders = Founders(Path(folder) / "founders", alike)
        groups = {each: founders.group(each) for each in marks}
        assert {each: founders.group(each) for each in reversed(marks)} == groups
        founders.close()


def test_nothing_lies_on_the_disk_before_a_text_is_compared(tmp_path: Path) -> None:
    Founders(tmp_path / "founders", alike).close()
    assert not (tmp_path / "founders").exists()


def test_of_texts_that_share_three_quarters_of_their_sentences_nearly_all_are_found(tmp_path: Path) -> None:
    founders = Founders(tmp_path / "founders", is_near_copy)
    texts = [[f"sentence {number} of text {key}. " for number in range(100)] for key in range(300)]
    originals = [founders.group(text_mark("t", "".join(lines))) for lines in texts]
    copies = [["another one, I fear. ", *lines[:75]] for lines in texts]
    found = [founders.group(text_mark("t", "".join(lines))) for lines in copies]
    assert len(set(originals)) == 300
    assert sum(map(eq, originals, found)) >= 0.95 * 300
    founders.close()
