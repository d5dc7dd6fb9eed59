from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.model import DAY_S
from joro.schedule.optimum import Array
from joro.simulator.contest import NAMES, make
from joro.simulator.freshness import Course, Outcome, crawl
from joro.simulator.rivals import Flags
from joro.simulator.world import Indices, World, made_up
from tests.simulator.worlds import Every, by_chance, changing

TEN_DAYS = Course(days=10, measured_from=0.0)
HALF_DAYS = [day + 0.5 for day in range(10)]


def visited(world: World, every_days: float, per_day: float, course: Course = TEN_DAYS) -> Outcome:
    return crawl(world, Every(len(world), every_days), per_day / DAY_S, course)


def test_a_page_that_changes_at_noon_and_is_visited_at_midnight_is_fresh_half_of_the_time() -> None:
    outcome = visited(changing(HALF_DAYS), every_days=1, per_day=1)
    assert (outcome.fresh, outcome.captured, outcome.visits) == (0.5, 1.0, 10)


def test_with_half_the_visits_every_second_version_is_lost() -> None:
    outcome = visited(changing(HALF_DAYS), every_days=1, per_day=0.5)
    assert (outcome.fresh, outcome.captured, outcome.visits) == (0.25, 0.5, 5)


def test_visits_that_nobody_wants_are_not_made() -> None:
    outcome = visited(changing(HALF_DAYS), every_days=2, per_day=100)
    assert (outcome.visits, outcome.used) == (5, 0.005)


def test_who_uses_spare_visits_makes_them_all() -> None:
    eager = Every(2, days=5)
    eager.uses_spare = True
    assert crawl(changing(HALF_DAYS, [3.0]), eager, 4 / DAY_S, TEN_DAYS).visits == 40


def test_important_pages_count_for_more() -> None:
    world = changing([0.0001], [], over=10)
    world.importance = np.array([3.0, 1.0])
    outcome = visited(world, every_days=20, per_day=1)
    assert outcome.fresh == pytest.approx(0.5, abs=0.001)
    assert outcome.weighted == pytest.approx(0.25, abs=0.001)


def test_a_page_counts_from_its_birth_on() -> None:
    """It is born on day 8 and changes on day 9: of its two days it is fresh for one."""
    assert visited(changing([9], born=[8]), every_days=20, per_day=1).fresh == pytest.approx(0.5, abs=0.01)


def test_the_days_of_learning_do_not_count() -> None:
    outcome = visited(changing([1.0]), 20, 1, Course(days=10, measured_from=0.5))
    assert outcome.fresh == 0.0


def test_random_changes_leave_as_much_as_the_formula_says() -> None:
    """F = (1 − e^−x) / x with x = 2 changes between two visits: .432; over 400 pages."""
    outcome = visited(by_chance(*[2.0] * 400), every_days=1, per_day=400, course=Course(days=40))
    assert outcome.fresh == pytest.approx(0.432, abs=0.01)


def test_who_is_told_of_all_changes_and_comes_is_nearly_always_fresh() -> None:
    world = by_chance(*[0.2] * 50, signalled=1.0)
    deaf, told = (
        crawl(world, Every(50, 30, heeds=heeds), 50 / DAY_S, Course(days=60, seed=2))
        for heeds in (False, True)
    )
    assert deaf.fresh < 0.3
    assert told.fresh > 0.98


def test_signals_are_counted_until_the_next_visit() -> None:
    """Four false signals a day, visits every second day: eight at each, in the mean."""
    counted: list[float] = []

    class Counting(Every):
        def visited(self, pages: Indices, elapsed_s: Array, changed: Flags, signals: Array) -> Array:
            counted.extend(signals)
            return super().visited(pages, elapsed_s, changed, signals)

    crawl(by_chance(*[0.1] * 50, false_per_day=4), Counting(50, 2), 50 / DAY_S, Course(days=40))
    assert np.mean(counted) == pytest.approx(8.0, rel=0.05)


def test_every_day_is_noted_and_told() -> None:
    told: list[float] = []
    outcome = crawl(changing(HALF_DAYS), Every(1, 1), 1 / DAY_S, TEN_DAYS, told.append)
    assert outcome.by_day.tolist() == [1.0] * 10  # just visited, at midnight
    assert sum(told) == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_outcome() -> None:
    one, other = (visited(by_chance(1.0, 2.0, 0.1), 1, 2, Course(days=20, seed=5)) for _ in range(2))
    assert (one.fresh, one.weighted) == (other.fresh, other.weighted)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(NAMES), st.floats(0.05, 3.0), st.sampled_from([0.0, 0.4]))
def test_nobody_gets_more_visits_than_the_budget(name: str, budget: float, told: float) -> None:
    world = made_up(60, seed=2, good=told, broken=told / 2)
    budget_per_s = budget * float(world.change_per_s.sum())
    course = Course(days=15, round_s=6 * 3_600.0)
    outcome = crawl(world, make(name, world, budget_per_s), budget_per_s, course)
    assert outcome.visits <= budget_per_s * course.end_s + 1e-6
    assert 0 <= outcome.fresh <= 1


@pytest.mark.parametrize("name", ["optimal", "uniform", "interval", "gamma", "oracle"])
def test_who_has_a_plan_uses_the_whole_budget(name: str) -> None:
    world = made_up(100, seed=2)
    budget_per_s = 0.5 * float(world.change_per_s.sum())
    outcome = crawl(world, make(name, world, budget_per_s), budget_per_s, Course(days=20))
    assert outcome.visits >= budget_per_s * 20 * DAY_S - 1


def test_worlds_are_not_changed_by_being_crawled() -> None:
    world = changing(HALF_DAYS)
    before: Sequence[float] = world.moments_s.tolist()
    visited(world, 1, 1)
    assert world.moments_s.tolist() == before
