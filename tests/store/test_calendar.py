from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
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


def keys(db: Rdict, prefix: bytes) -> list[bytes]:
    return [key for key, _ in db.items() if isinstance(key, bytes) and key.startswith(prefix)]


def marks(popped: Entries) -> list[int]:
    return [int(mark) for mark in popped["mark"]]


def test_pages_come_in_the_order_in_which_they_are_due(db: Rdict) -> None:
    calendar = filled(db, 30.0, 10.5, 10.25, 1e9)
    assert marks(calendar.pop(30.0, 10)) == [3, 2, 1]


def test_sources_wait_for_no_page(db: Rdict) -> None:
    calendar = filled(db, *(float(due) for due in range(5_000)))
    calendar.sources.push(entries([9_000.0, 4e5, 9e9], [1, 2, 3], 1, 7, b"s"))
    commit(calendar, db)
    again = Calendar(db)
    assert marks(again.sources.pop(1e6, 10)) == [1, 2]
    assert len(again.pop(math.inf, 10_000)) == 5_000
    commit(again, db)
    assert marks(Calendar(db).sources.pop(math.inf, 10)) == [3]


def test_a_page_is_not_handed_out_twice(db: Rdict) -> None:
    calendar = filled(db, 10.0, 20.0)
    assert marks(calendar.pop(10.0, 1)) == [1]
    assert marks(calendar.pop(50.0, 9)) == [2]
    commit(calendar, db)
    assert marks(calendar.pop(50.0, 9)) == []


def test_a_page_popped_is_due_again_when_we_crash_before_the_commit(db: Rdict) -> None:
    filled(db, 10.0).pop(10.0, 1)
    assert marks(Calendar(db).pop(10.0, 1)) == [1]


def test_a_page_popped_and_committed_never_comes_back(db: Rdict) -> None:
    calendar = filled(db, 10.0, 11.0)
    calendar.pop(10.0, 1)
    commit(calendar, db)
    assert marks(Calendar(db).pop(1e9, 9)) == [2]


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
    calendar.pop(10.0, 1)
    calendar.push(entries(10.0, 1, 2, 7, b"s"))
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
    assert len(Calendar(db).pop(math.inf, 9)) == 0


def test_a_page_visited_every_hour_lies_under_few_keys(db: Rdict) -> None:
    calendar = filled(db, *(1.7e9 + 10.0 * number for number in range(300)))
    for hour in range(5):
        popped = calendar.pop(1.7e9 + 3600.0 * (hour + 1), 1000)
        assert len(popped) == 300
        calendar.put_off(popped, popped["due"] + 3600.0)
        commit(calendar, db)
    assert len(keys(db, b"c")) < 30


@pytest.mark.parametrize("spread_s", [0.0, 0.1, 1e4, 1e7])
def test_more_pages_than_the_desk_has_room_for_come_in_order(
    db: Rdict, spread_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joro.store.calendar.DESK", 20)
    monkeypatch.setattr("joro.store.calendar.MOVED", 64)
    dues = 1.7e9 + spread_s * np.random.default_rng(1).random(1000)
    calendar = Calendar(db)
    for first in range(0, 1000, 100):
        calendar.push(entries(dues[first : first + 100], np.arange(first, first + 100), 1, 7, b""))
        commit(calendar, db)
    found = list[Entries]()
    while len(popped := calendar.pop(math.inf, 7)):
        found.append(popped)
        assert len(calendar._desk) <= 200
        if len(found) % 3 == 0:
            commit(calendar, db)
            calendar = calendar if len(found) % 2 else Calendar(db)
    popped = np.concatenate(found)
    assert sorted(marks(popped)) == list(range(1000))
    if spread_s != 0.1:  # what is due in the same half of a second is due at the same time
        assert popped["due"].tolist() == sorted(dues.tolist())


def test_a_long_stretch_is_broken_up_before_its_time_comes(
    db: Rdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a few entries at a time: at no pop do all of them move."""
    monkeypatch.setattr("joro.store.calendar.MOVED", 50)
    start = 460_800.0 * 4_000
    calendar = Calendar(db)
    calendar.pop(start - 600_000.0, 1)
    for part in range(10):
        calendar.push(
            entries(start + np.arange(part, 300_000, 1000), np.arange(part, 300_000, 1000), 1, 7, b"")
        )
        commit(calendar, db)
    levels = set[int]()
    for hours in range(100, 0, -1):
        assert len(calendar.pop(start - 3600.0 * hours, 9)) == 0
        levels.add(len(keys(db, b"c\5")))
    assert min(levels) == 0
    assert len(levels) > 5
    assert len(calendar.pop(start + 400_000.0, 9_999)) == 3000


class AgainstAList(RuleBasedStateMachine):
    """Whatever is pushed, popped, put off, and whenever we crash: the calendar is a sorted list."""

    times = st.sampled_from([0.0, 1.0, 1.5, 2.0, 1e3, 1e5, 1e9, 2e11])

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
        ready = sorted(
            (due, mark) for mark, due in self.kept.items() if due <= until and mark not in self.popped
        )
        assert list(zip(found["due"].tolist(), marks(found), strict=True)) == ready[:limit]
        for place, mark in enumerate(marks(found)):
            self.popped[mark] = found[place : place + 1]
            del self.now[mark]

    @rule(due=times)
    def put_off(self, due: float) -> None:
        gone = sorted(set(self.popped) - set(self.now))
        if gone:
            self.calendar.put_off(self.popped[gone[0]], due)
            self.now[gone[0]] = due

    @rule()
    def commit(self) -> None:
        commit(self.calendar, self.db)
        self.kept = dict(self.now)
        self.popped.clear()

    @rule()
    def crash(self) -> None:
        self.calendar = Calendar(self.db)
        self.now = dict(self.kept)
        self.popped.clear()

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            self.folder.cleanup()


TestAgainstAList = AgainstAList.TestCase
TestAgainstAList.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
