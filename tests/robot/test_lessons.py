from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from joro.clock import FakeClock
from joro.config import Refresh
from joro.model import Page
from joro.robot.lessons import Lesson, Lessons
from joro.robot.planner import Planner
from joro.schedule import change
from joro.schedule.plan import wish
from joro.store.frontier import Frontier
from joro.store.records import Upkeep

DAY = 86_400.0
NOW = 100 * DAY
SETTINGS = Refresh(enabled=True, first_interval_s=7 * DAY, least_interval_s=3_600.0)


class Stage:
    """Lessons about pages of servers of their own, and the frontier they end in."""

    def __init__(self, path: Path) -> None:
        self.frontier = Frontier(path)
        planner = Planner(self.frontier, SETTINGS, FakeClock(NOW), sockets=9, minimum_s=lambda *_: 1.0)
        self.lessons = Lessons(self.frontier, SETTINGS, planner)

    def lesson(self, number: int, before: Upkeep | None = None, **seen: object) -> Lesson:
        server = f"http://{number}.example"
        if before is not None:
            wish(self.frontier.server(server).wishes, before.interval_s, before.weight)
        after = structs.replace(before) if before is not None else Upkeep()
        after.seen_at = NOW
        made = Lesson(Page(f"{server}/", server=server), NOW, before, after, is_seen=True)
        for name, value in seen.items():
            setattr(made, name, value)
        return made

    def learn(self, *lessons: Lesson) -> list[Upkeep | None]:
        for each in lessons:
            self.lessons.add(each)
        self.lessons.learn()
        return [each.after for each in lessons]

    def wishes(self, number: int) -> int:
        cells = self.frontier.server(f"http://{number}.example").wishes
        return sum(count for count, _ in cells.values())


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.frontier.close()


def watched(days: float = 3.0, **fields: object) -> Upkeep:
    care = Upkeep(version=4, interval_s=days * DAY, due=NOW, seen_at=NOW - days * DAY, body="b")
    return structs.replace(care, **fields)


def visits(stage: Stage, first: int) -> list[Lesson]:
    """Forty visits to pages of as many servers, away for a day or for forty, every third one changed."""
    return [
        stage.lesson(first + n, watched(n + 1), elapsed_s=(n + 1) * DAY, changed=n % 3 == 0)
        for n in range(40)
    ]


def test_forty_visits_teach_together_what_they_teach_one_by_one(stage: Stage) -> None:
    together = stage.learn(*visits(stage, 0))
    alone = [stage.learn(each)[0] for each in visits(stage, 100)]
    for one, other in zip(together, alone, strict=True):
        assert (one is None) == (other is None)
        if one is None or other is None:
            continue
        # Sums over many rows are made in another order than over one, on some processors.
        assert (one.due, one.interval_s) == pytest.approx((other.due, other.interval_s), rel=1e-4)
        assert list(one.history) == pytest.approx(list(other.history), abs=1)
        same: dict[str, object] = {"due": 0.0, "interval_s": 0.0, "history": b""}
        assert structs.replace(one, **same) == structs.replace(other, **same)
    assert len({each.interval_s for each in together if each is not None}) > 10


def test_a_first_visit_teaches_nothing_and_waits_the_first_interval(stage: Stage) -> None:
    (care,) = stage.learn(stage.lesson(1))
    assert care is not None
    assert (care.history, care.version, care.interval_s, care.due) == (b"", 1, 7 * DAY, NOW + 7 * DAY)


def test_a_comparison_is_counted_and_the_date_gets_the_next_version(stage: Stage) -> None:
    (care,) = stage.learn(stage.lesson(1, watched(), elapsed_s=3 * DAY, changed=True))
    assert care is not None
    history = change.unpack([care.history])[0]
    assert (int(history["visits"]), int(history["changes"]), care.version) == (1, 1, 5)


def test_a_source_is_read_when_it_says_and_counts_no_witness(stage: Stage) -> None:
    (care,) = stage.learn(stage.lesson(1, watched(), elapsed_s=DAY, read_at=NOW + 60.0))
    assert care is not None
    assert (care.due, care.interval_s, care.polled) == (NOW + 60.0, 60.0, True)
    assert stage.frontier.server("http://1.example").said == (0.0, 0.0)


def test_a_page_given_up_wishes_nothing_any_more(stage: Stage) -> None:
    stage.learn(stage.lesson(1, watched(), after=None, is_seen=False))
    assert stage.wishes(1) == 0
    stage.learn(stage.lesson(1))
    assert stage.wishes(1) == 1


def test_every_page_that_stays_gets_one_date(stage: Stage) -> None:
    stage.learn(*visits(stage, 0), stage.lesson(99, watched(), after=None, is_seen=False))
    stage.frontier.commit(None)
    dates = stage.frontier.calendar.pop(1e12, 100)
    assert len(dates) == 40
    assert set(dates["version"].tolist()) == {5}


def test_a_visit_two_intervals_late_counts_two_missed(stage: Stage) -> None:
    late = stage.lesson(1, watched(due=NOW - 7 * DAY))
    stage.learn(late, stage.lesson(2, watched(due=NOW - DAY)))
    missed = [stage.frontier.server(f"http://{number}.example").missed for number in (1, 2)]
    assert missed == [2, 0]
