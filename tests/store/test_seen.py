from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from joro.errors import CollectionError
from joro.store import seen as seen_module
from joro.store.seen import SeenSet

MARKS = st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**58, 2**63, 2**64 - 1]), max_size=100)


def marks(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(numbers, np.uint64)


def test_the_first_of_equals_is_new(tmp_path: Path) -> None:
    seen = SeenSet(tmp_path)
    assert seen.add(marks(5, 3, 5, 7)).tolist() == [0, 1, 3]
    assert seen.add(marks(3, 9)).tolist() == [1]


def test_what_was_merged_is_known_to_the_next_process(tmp_path: Path) -> None:
    seen = SeenSet(tmp_path)
    seen.add(marks(1, 2**64 - 1))
    seen.merge()
    assert SeenSet(tmp_path).add(marks(1, 2, 2**64 - 1)).tolist() == [1]


def test_a_file_that_was_cut_is_named(tmp_path: Path) -> None:
    (tmp_path / "03.seen").write_bytes(b"12345678123")
    with pytest.raises(CollectionError, match=r"03\.seen is damaged: 11 bytes .* from a copy"):
        SeenSet(tmp_path)


def test_merging_the_same_again_changes_nothing(tmp_path: Path) -> None:
    seen = SeenSet(tmp_path)
    seen.add(marks(1, 2))
    seen.merge()
    seen.add(marks(1, 2))
    seen.merge()
    assert len(SeenSet(tmp_path)) == 2


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.tuples(MARKS, st.booleans()), max_size=8))
def test_it_agrees_with_a_plain_set(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    batches: list[tuple[list[int], bool]],
) -> None:
    monkeypatch.setattr(seen_module, "YOUNG", 20)
    seen, plain = SeenSet(tmp_path_factory.mktemp("seen")), set[int]()
    for batch, merge in batches:
        expected = []
        for position, mark in enumerate(batch):
            if mark not in plain:
                plain.add(mark)
                expected.append(position)
        assert seen.add(marks(*batch)).tolist() == expected
        if merge:
            seen.merge()
    assert len(seen) == len(plain)


def test_what_is_forgotten_is_new_again_and_all_else_stays_known(tmp_path: Path) -> None:
    seen = SeenSet(tmp_path)
    seen.add(marks(1, 2**60, 2**60 + 1))
    seen.merge()
    seen.add(marks(2, 3))
    seen.forget(marks(2, 2**60, 9))
    assert seen.add(marks(1, 2, 3, 2**60, 2**60 + 1)).tolist() == [1, 3]
    assert len(SeenSet(tmp_path)) == 3


def test_only_what_is_kept_stays_known_however_often_it_is_named(tmp_path: Path) -> None:
    seen = SeenSet(tmp_path)
    seen.add(marks(0, 1, 2, 2**58, 2**60, 2**64 - 1))
    seen.keep_only(marks(2**64 - 1, 1, 0, 1, 2**58, 7, 2**58))
    assert seen.add(marks(0, 1, 2, 2**58, 2**60, 2**64 - 1)).tolist() == [2, 4]
    seen.keep_only(marks())
    assert len(SeenSet(tmp_path)) == 0


def test_to_keep_many_takes_no_memory_beside_theirs(tmp_path: Path) -> None:
    """Every page of a collection is named: a copy, and sorting it, took three times as much."""
    kept = np.random.default_rng(1).integers(0, 2**64, 500_000, np.uint64)
    seen = SeenSet(tmp_path)
    seen.add(kept[:50_000])
    seen.merge()
    tracemalloc.start()
    seen.keep_only(kept)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(seen) == 50_000
    assert most < kept.nbytes / 10
