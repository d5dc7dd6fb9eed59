from __future__ import annotations

import asyncio

from joro.clock import FakeClock
from joro.robot.commits import COMMIT_EVERY_VISITS, Commits


def test_a_commit_is_due_after_a_while_or_after_many_visits() -> None:
    clock = FakeClock()
    commits = Commits(clock, 1.0)
    commits.visits = COMMIT_EVERY_VISITS - 1
    assert not commits.is_due(rests=False)
    assert commits.due_at(rests=False) == 1.0
    commits.visits += 1
    assert commits.is_due(rests=False)
    commits.done()
    asyncio.run(clock.advance(0.9))
    assert not commits.is_due(rests=False)
    asyncio.run(clock.advance(0.1))
    assert commits.is_due(rests=False)


def test_a_longer_pause_that_was_promised_is_written_down_at_once() -> None:
    commits = Commits(FakeClock(), 1.0)
    commits.has_promised = True
    assert commits.is_due(rests=False)
    commits.done()
    assert not commits.is_due(rests=False)


def test_who_has_nothing_left_to_do_commits_soon_and_looks_for_mail_often() -> None:
    clock = FakeClock(100.0)
    commits = Commits(clock, 1.0)
    assert commits.due_at(rests=True) == 100.1
    commits.visits = 1
    assert not commits.is_due(rests=True)
    asyncio.run(clock.advance(0.11))
    assert commits.is_due(rests=True)
    assert not commits.is_due(rests=False)
    commits.visits = 0
    assert not commits.is_due(rests=True)
    asyncio.run(clock.advance(0.85))
    assert commits.due_at(rests=True) == commits.due_at(rests=False) == 101.0


def test_nobody_looks_more_often_than_twenty_times_a_second_unless_told_to_commit_that_often() -> None:
    assert Commits(FakeClock(100.0), 0.2).due_at(rests=True) == 100.05
    assert Commits(FakeClock(100.0), 0.01).due_at(rests=True) == 100.01
