from __future__ import annotations

import numpy as np
import pytest

from joro.model import DAY_S
from joro.simulator.contest import NAMES, Row, contest, make, recorded_course, staggered, unweighted
from joro.simulator.freshness import Course
from joro.simulator.learner import Settings
from joro.simulator.rivals import Nutch, Oracle, StormCrawler
from joro.simulator.world import made_up
from tests.simulator.worlds import by_chance, changing

#: Coarse and short: what is left is large differences.
COURSE = Course(days=80, round_s=6 * 3_600.0, seed=1)


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    world = made_up(600, seed=1)
    return {row.policy: row for row in contest(world, NAMES, [0.25], COURSE)}


def test_everybody_takes_part(rows: dict[str, Row]) -> None:
    assert list(rows) == [
        "optimal",
        "interval",
        "gamma",
        "uniform",
        "nutch",
        "stormcrawler",
        "oracle",
    ]


def test_the_oracle_does_best_and_what_is_possible(rows: dict[str, Row]) -> None:
    assert max(rows.values(), key=lambda row: row.outcome.weighted).policy == "oracle"
    assert rows["oracle"].share == pytest.approx(1.0, abs=0.02)


def test_optimal_comes_next_and_near(rows: dict[str, Row]) -> None:
    shares = {name: row.share or 0.0 for name, row in rows.items() if name not in ("oracle", "optimal")}
    assert rows["optimal"].share is not None
    assert rows["optimal"].share > max(shares.values()) + 0.05
    assert rows["optimal"].share > 0.93


def test_visits_in_proportion_to_change_are_worse_than_uniform_ones(rows: dict[str, Row]) -> None:
    """Cho and Garcia-Molina's surprise: freshness is not got where change is fastest."""
    assert rows["interval"].outcome.fresh < rows["uniform"].outcome.fresh


def test_but_they_capture_most_versions(rows: dict[str, Row]) -> None:
    assert max(rows.values(), key=lambda row: row.outcome.captured).policy == "interval"


def test_true_signals_help() -> None:
    world = by_chance(*np.geomspace(0.02, 2, 150), signalled=0.9, false_per_day=0.02)
    heard, unheard = (
        next(contest(world, ["optimal"], [0.25], COURSE, settings=Settings(signals=heeds))).outcome.fresh
        for heeds in (True, False)
    )
    assert heard > unheard + 0.05


@pytest.mark.parametrize("seed", range(2, 6))
def test_true_signals_do_not_lead_away_from_pages_nobody_knows_yet(seed: int) -> None:
    """Whoever follows them from the first day on sees fast pages only, and takes all pages for fast."""
    world = by_chance(*np.geomspace(0.02, 2, 150), signalled=0.9, false_per_day=0.02)
    course = Course(days=60, measured_from=0.2, round_s=6 * 3_600.0, seed=seed)
    heard, unheard = (
        next(contest(world, ["optimal"], [0.25], course, settings=Settings(signals=heeds))).outcome.fresh
        for heeds in (True, False)
    )
    assert heard > unheard - 0.03


def test_false_signals_do_no_harm() -> None:
    world = by_chance(*np.geomspace(0.02, 2, 150), false_per_day=0.5)
    heard, unheard = (
        next(contest(world, ["optimal"], [0.25], COURSE, settings=Settings(signals=heeds))).outcome.fresh
        for heeds in (True, False)
    )
    assert heard > unheard - 0.005


def test_in_a_recorded_world_no_optimum_is_known() -> None:
    row = next(contest(changing([1, 2, 3]), ["uniform"], [1.0], recorded_course(10)))
    assert (row.optimum, row.share) == (None, None)
    assert 0 < row.outcome.fresh < 1


def test_names_stand_for_choosers() -> None:
    world = made_up(100, seed=1)
    kinds = [type(make(name, world, 1e-3)) for name in ("nutch", "stormcrawler", "oracle")]
    assert kinds == [Nutch, StormCrawler, Oracle]


def test_equal_pages_have_the_same_changes() -> None:
    world = made_up(100, seed=1)
    assert set(unweighted(world).importance) == {1.0}
    assert np.array_equal(unweighted(world).change_per_s, world.change_per_s)


def test_recorded_pages_are_first_met_within_a_round_of_uniform_visits() -> None:
    world = changing(*[[1.0]] * 9, [5.0], born=[0.0] * 9 + [4.0])
    met = staggered(world, 2 / DAY_S, Course(seed=1)).born_s / DAY_S
    assert met[9] == 4
    assert 0 < met[:9].min() < met[:9].max() < 5


def test_with_a_tiny_budget_they_are_met_within_three_hundred_days() -> None:
    met = staggered(changing(*[[1.0]] * 9), 1e-9, Course(days=2_000, seed=1)).born_s / DAY_S
    assert 100 < met.max() < 300


def test_in_a_few_days_with_a_tiny_budget_pages_are_met_all_the_same() -> None:
    """One page that changes once: a visit in thirty days, of which three are simulated."""
    (row,) = contest(changing([3.0]), ["uniform"], [0.1], recorded_course(3.0, seed=1))
    assert row.outcome.fresh == 1.0
