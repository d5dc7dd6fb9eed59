from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from rocksdict import Rdict, WriteBatch

from joro.store.calendar import STATE_BYTES, Calendar, Entries, entries
from joro.store.rocks import opened


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Rdict]:
    database = opened(tmp_path / "pages", read_only=False)
    yield database
    database.close()


def commit(calendar: Calendar, db: Rdict) -> None:
    batch = WriteBatch(raw_mode=True)
    calendar.write_into(batch)
    db.write(batch)
    calendar.committed()


def filled(db: Rdict, *dues: float) -> Calendar:
    """A calendar in which page 1 is due first in the list, page 2 second …"""
    calendar = Calendar(db)
    calendar.push(entries(dues, range(1, len(dues) + 1), 1, 7, b"s"))
    commit(calendar, db)
    return calendar


def marks(popped: Entries) -> list[int]:
    return [int(mark) for mark in popped["mark"]]


def test_pages_come_in_the_order_in_which_they_are_due(db: Rdict) -> None:
    calendar = filled(db, 30.0, 10.5, 10.25, 1e9)
    assert marks(calendar.pop(30.0, 10)) == [3, 2, 1]
    assert calendar.next_due() == 1e9


def test_a_page_is_not_handed_out_twice(db: Rdict) -> None:
    calendar = filled(db, 10.0, 20.0)
    assert marks(calendar.pop(10.0, 1)) == [1]
    assert marks(calendar.pop(50.0, 9)) == [2]
    assert marks(calendar.pop(50.0, 9)) == []
    assert calendar.next_due() == math.inf


def test_a_page_popped_and_not_dropped_is_due_again_after_a_crash(db: Rdict) -> None:
    filled(db, 10.0).pop(10.0, 1)
    assert marks(Calendar(db).pop(10.0, 1)) == [1]


def test_a_page_dropped_and_committed_never_comes_back(db: Rdict) -> None:
    calendar = filled(db, 10.0)
    calendar.drop(calendar.pop(10.0, 1))
    assert calendar.out == 1  # still on disk
    commit(calendar, db)
    assert calendar.out == 0
    assert marks(Calendar(db).pop(1e9, 1)) == []


def test_what_is_not_committed_has_not_happened(db: Rdict) -> None:
    calendar = filled(db, 10.0)
    calendar.put_off(calendar.pop(10.0, 1), 99.0)
    assert Calendar(db).pop(1e9, 9)["due"].tolist() == [10.0]


def test_a_page_put_off_comes_later_with_all_that_was_known_of_it(db: Rdict) -> None:
    calendar = filled(db, 10.0)
    calendar.put_off(calendar.pop(10.0, 1), 99.0)
    commit(calendar, db)
    assert marks(calendar.pop(98.0, 1)) == []
    later = calendar.pop(99.0, 1)
    assert (later["due"][0], later["version"][0], later["server"][0]) == (99.0, 1, 7)
    assert bytes(later["state"][0]) == b"s".ljust(STATE_BYTES, b"\0")


def test_a_page_put_off_to_the_moment_at_which_it_was_due_stays(db: Rdict) -> None:
    calendar = filled(db, 10.0)
    calendar.put_off(calendar.pop(10.0, 1), 10.0)
    commit(calendar, db)
    assert marks(calendar.pop(10.0, 1)) == [1]


def test_a_page_moved_forward_comes_before_those_already_looked_at(db: Rdict) -> None:
    calendar = filled(db, 10.0, 500.0)
    calendar.pop(100.0, 9)
    calendar.push(entries(5.0, 2, 2, 7, b"s"))
    commit(calendar, db)
    urgent = calendar.pop(100.0, 9)
    assert (marks(urgent), urgent["version"].tolist()) == ([2], [2])


def test_two_versions_of_a_page_due_at_the_same_moment_are_two_entries(db: Rdict) -> None:
    calendar = filled(db, 10.0)
    old = calendar.pop(10.0, 1)
    calendar.push(entries(10.0, 1, 2, 7, b"s"))
    calendar.drop(old)
    commit(calendar, db)
    assert calendar.pop(10.0, 9)["version"].tolist() == [2]


@pytest.mark.parametrize("due", [0.0, -0.0, -5.0])
def test_a_date_before_all_time_is_due_at_once(db: Rdict, due: float) -> None:
    assert marks(filled(db, 1.0, due).pop(0.0, 9)) == [2]


def test_a_page_that_is_never_due_is_only_found_at_the_end_of_time(db: Rdict) -> None:
    calendar = filled(db, math.inf)
    assert marks(calendar.pop(1e300, 9)) == []
    assert marks(calendar.pop(math.inf, 9)) == [1]


def test_a_date_that_is_no_number_is_refused(db: Rdict) -> None:
    with pytest.raises(AssertionError, match="no number"):
        Calendar(db).push(entries(math.nan, 1, 1, 7, b""))


def test_keys_of_other_kinds_are_left_alone(db: Rdict) -> None:
    db.put(b"b", b"")
    db.put(b"d", b"")
    calendar = Calendar(db)
    assert (len(calendar.pop(math.inf, 9)), calendar.next_due()) == (0, math.inf)


class AgainstAList(RuleBasedStateMachine):
    """Whatever is pushed, popped, put off, dropped, and whenever we crash: the calendar is a sorted list."""

    times = st.sampled_from([0.0, 1.0, 1.5, 2.0, 1e9])

    @initialize()
    def start(self) -> None:
        self.folder = TemporaryDirectory()
        self.db = opened(Path(self.folder.name) / "pages", read_only=False)
        self.calendar = Calendar(self.db)
        self.kept: dict[int, float] = {}  # as of the last commit
        self.now: dict[int, float] = {}  # with what will be committed
        self.popped: dict[int, Entries] = {}
        self.count = 0

    @rule(due=times)
    def push(self, due: float) -> None:
        self.count += 1
        self.calendar.push(entries(due, self.count, 1, 7, b""))
        self.now[self.count] = due

    @rule(until=times, limit=st.integers(0, 3))
    def pop(self, until: float, limit: int) -> None:
        found = self.calendar.pop(until, limit)
        ready = sorted((due, mark) for mark, due in self.kept.items() if due <= until and not self.has(mark))
        assert list(zip(found["due"].tolist(), marks(found), strict=True)) == ready[:limit]
        self.popped |= {mark: found[place : place + 1] for place, mark in enumerate(marks(found))}

    def has(self, mark: int) -> bool:
        return mark in self.popped or self.now.get(mark) != self.kept[mark]

    @rule(due=times)
    def put_off(self, due: float) -> None:
        if self.popped:
            mark = min(self.popped)
            self.calendar.put_off(self.popped.pop(mark), due)
            self.now[mark] = due
            if due == self.kept[mark]:
                self.commit()  # else the model cannot tell it from one that was never popped

    @rule()
    def drop(self) -> None:
        if self.popped:
            mark = max(self.popped)
            self.calendar.drop(self.popped.pop(mark))
            del self.now[mark]

    @rule()
    def commit(self) -> None:
        commit(self.calendar, self.db)
        self.kept = dict(self.now)

    @rule()
    def crash(self) -> None:
        self.calendar = Calendar(self.db)
        self.now = dict(self.kept)
        self.popped.clear()

    @invariant()
    def the_next_date_is_right(self) -> None:
        if hasattr(self, "calendar"):
            left = [due for mark, due in self.kept.items() if not self.has(mark)]
            assert self.calendar.next_due() == min(left, default=math.inf)

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            self.folder.cleanup()


TestAgainstAList = AgainstAList.TestCase
TestAgainstAList.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
