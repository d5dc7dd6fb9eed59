from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.clock import FakeClock
from joro.coordinate.beat import Changes
from joro.manager import journals
from joro.manager.journals import (
    FOLD_ENTRIES,
    Key,
    carry_out,
    file,
    fold_round,
    folded,
    folds,
    packed,
    page,
    unpacked,
)
from joro.manager.routing import register
from joro.store.control import Control
from tests.manager.robots import register as register_robots

S = "http://s.example"
keys = st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.binary(max_size=3)))


def filed(
    control: Control, *entries: Sequence[Key], late: tuple[int, ...] = (), given_number: int = 0
) -> None:
    """A journal with these entries, numbered from 1, of a server that robot r1 has had for long."""
    register_robots(control, "r1")
    with control.transaction() as transaction:
        register(transaction, [S])
        file(transaction, [(S, number, number in late, each) for number, each in enumerate(entries, 1)])
        transaction.run(
            "UPDATE servers SET journal_number = ?, given_number = ?, owner = 'r1', since = 0",
            len(entries),
            given_number,
        )
        transaction.run("UPDATE robots SET state = 'up', up_since = 0")


def read(control: Control, after: int = 0) -> list[tuple[int, bool, list[Key]]]:
    return [(number, late, changes.keys) for number, late, changes in page(control, "r1", S, after).changes]


@given(st.lists(st.tuples(st.binary(), st.none() | st.binary(max_size=300))))
def test_what_is_packed_comes_back(entry: list[Key]) -> None:
    assert unpacked(packed(entry)) == entry


def test_packing_is_for_what_becomes_smaller() -> None:
    assert len(packed([(b"http://s.example/page", b"x" * 1_000)])) < 100
    assert packed([(b"a", None)])[:1] == b"m"


def test_a_journal_is_read_in_order_from_where_one_was(control: Control) -> None:
    filed(control, [(b"a", b"1")], [(b"b", None)], late=(2,))
    assert read(control) == [(1, False, [(b"a", b"1")]), (2, True, [(b"b", None)])]
    assert read(control, after=1) == [(2, True, [(b"b", None)])]
    assert page(control, "r1", "http://other.example", 0).changes == []


def test_a_long_journal_has_pages(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "PAGE_BYTES", 200)
    filed(control, *([(b"key", bytes([number]) * 20)] for number in range(10)))
    numbers: list[int] = []
    more = True
    while more:
        found = page(control, "r1", S, numbers[-1] if numbers else 0)
        more = found.more
        assert 0 < len(found.changes) < 4
        numbers += [number for number, _, _ in found.changes]
    assert numbers == list(range(1, 11))


@given(st.lists(keys, min_size=1, max_size=8))
def test_folding_keeps_the_last_value_of_every_key(entries: list[list[Key]]) -> None:
    whole = {key: value for entry in entries for key, value in entry}
    [(number, every)] = folded(list(enumerate(entries, 1)), forget=False)
    [(_, alive)] = folded(list(enumerate(entries, 1)), forget=True)
    assert (number, dict(every)) == (len(entries), whole)
    assert dict(alive) == {key: value for key, value in whole.items() if value is not None}


@given(st.lists(keys, min_size=1, max_size=8), st.integers(0, 8), st.integers(1, 6))
def test_whoever_has_read_a_part_misses_nothing_by_folding(
    entries: list[list[Key]], read: int, chunk_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(journals, "CHUNK_BYTES", chunk_bytes)
        after = folded(list(enumerate(entries, 1)), forget=False)
    seen = {key: value for entry in entries[:read] for key, value in entry}
    seen |= {key: value for number, entry in after if number > read for key, value in entry}
    assert seen == {key: value for entry in entries for key, value in entry}
    assert after[-1][0] == len(entries)
    assert [number for number, _ in after] == sorted({number for number, _ in after})


def test_many_entries_become_one_with_the_last_number(control: Control) -> None:
    filed(control, [(b"a", b"1")], [(b"b", b"2")], [(b"a", b"3")])
    with control.transaction() as transaction:
        carry_out(transaction, S, folds(transaction, S))
    assert read(control) == [(3, False, [(b"b", b"2"), (b"a", b"3")])]


def test_what_came_late_is_not_folded(control: Control) -> None:
    filed(control, [(b"a", b"1")], [(b"b", b"2")], [(b"c", b"3")], [(b"a", b"4")], [(b"d", b"5")], late=(3,))
    with control.transaction() as transaction:
        carry_out(transaction, S, folds(transaction, S))
    assert [(number, late) for number, late, _ in read(control)] == [(2, False), (3, True), (5, False)]


def test_nothing_a_reader_was_promised_goes_behind_its_number(control: Control) -> None:
    filed(control, *[[(b"a", b"1")]] * 6, given_number=3)
    with control.transaction() as transaction:
        carry_out(transaction, S, folds(transaction, S))
    assert [number for number, _, _ in read(control)] == [3, 6]


def test_keys_that_went_are_forgotten_only_long_after_all_was_read(
    control: Control, clock: FakeClock
) -> None:
    last: list[Key] = [(b"a", None), (b"c", b"is longer")]
    filed(control, [(b"a", b"1")], [(b"b", b"2")], last, given_number=2)
    clock._now = 10_000.0
    with control.transaction() as transaction:
        transaction.run("UPDATE servers SET read_at = 8000")
        carry_out(transaction, S, folds(transaction, S))
    assert [entry for _, _, entry in read(control)] == [[(b"a", b"1"), (b"b", b"2")], last]
    with control.transaction() as transaction:
        transaction.run("UPDATE servers SET read_at = 6000")
        carry_out(transaction, S, folds(transaction, S))
    assert [entry for _, _, entry in read(control)] == [[(b"b", b"2"), last[1]]]


def test_what_changed_while_a_fold_was_made_is_left_as_it_is(control: Control) -> None:
    filed(control, [(b"a", b"1")], [(b"b", b"2")])
    with control.reading() as transaction:
        plans = folds(transaction, S)
    with control.transaction() as transaction:
        transaction.run("UPDATE servers SET given_number = 2, since = 1000")
        carry_out(transaction, S, plans)
    assert [number for number, _, _ in read(control)] == [1, 2]
    with control.transaction() as transaction:
        transaction.run("DELETE FROM journal WHERE number = 1")
        carry_out(transaction, S, plans)
    assert [number for number, _, _ in read(control)] == [2]


def test_a_big_entry_is_left_until_as_much_has_come_after_it(control: Control) -> None:
    big = [(number.to_bytes(2), bytes([number % 251, number % 241]) * 20) for number in range(500)]
    filed(control, big, [(b"a", b"1")], [(b"b", b"2")])
    with control.transaction() as transaction:
        carry_out(transaction, S, folds(transaction, S))
    assert [number for number, _, _ in read(control)] == [1, 3]


def test_journals_that_have_grown_are_folded_once(control: Control) -> None:
    filed(control, *[[(b"a", b"1")]] * FOLD_ENTRIES)
    assert fold_round(control) == 1
    assert len(read(control)) == 1
    assert fold_round(control) == 0


def test_the_end_of_a_long_journal_is_noted(control: Control) -> None:
    filed(control, *[[(b"a", b"1")]] * (FOLD_ENTRIES + 1))
    assert page(control, "r1", S, 0).changes[-1][2] == Changes(S, [(b"a", b"1")])
    with control.reading() as transaction:
        assert transaction.rows("SELECT read_at FROM servers") == [(1_000.0,)]
