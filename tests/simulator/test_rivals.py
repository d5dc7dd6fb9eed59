from __future__ import annotations

import numpy as np
import pytest

from joro.model import DAY_S
from joro.simulator.rivals import Nutch, Oracle, Rival, StormCrawler, optimum
from tests.simulator.worlds import by_chance

PAGE = np.array([0])


def waits_days(rival: Nutch | StormCrawler, *visits: tuple[float, bool]) -> list[float]:
    """How long a page waits after each visit: days away, and whether it had changed."""
    return [
        float(rival.visited(PAGE, np.array([days * DAY_S]), np.array([changed]), np.zeros(1))[0] / DAY_S)
        for days, changed in visits
    ]


def test_stormcrawler_starts_with_a_day_and_waits_half_as_long_again_without_a_change() -> None:
    rival = StormCrawler(1)
    assert rival.first_s(PAGE) == DAY_S
    assert waits_days(rival, (1, False), (1.5, False)) == [1.5, 2.25]


def test_stormcrawler_goes_halfway_to_an_hour_after_a_change() -> None:
    assert waits_days(StormCrawler(1), (1, True), (1, True)) == pytest.approx([12.5 / 24, 6.75 / 24])


def test_stormcrawler_never_waits_longer_than_two_weeks() -> None:
    assert waits_days(StormCrawler(1), *[(1.0, False)] * 9)[-1] == 14


def test_nutch_waits_a_fifth_less_after_a_change() -> None:
    rival = Nutch(1)
    assert rival.first_s(PAGE) == 30 * DAY_S
    assert waits_days(rival, (30, True), (24, True)) == pytest.approx([24, 19.2])


def test_nutch_waits_a_fifth_more_without_one_but_is_drawn_towards_the_last_change() -> None:
    """After 30 days the interval is 36 days, and a fifth of the 30 unchanged days is taken off."""
    assert waits_days(Nutch(1), (30, False)) == pytest.approx([30])


def test_nutch_never_waits_longer_than_a_year() -> None:
    assert max(waits_days(Nutch(1), *[(300.0, False)] * 9)) <= 365


def test_rivals_hear_no_signals_and_make_no_plans() -> None:
    rivals: list[Rival] = [Nutch(2), StormCrawler(2)]
    assert [rival.signalled(np.array([0, 1])).tolist() for rival in rivals] == [[0, 0], [0, 0]]
    assert [rival.plan(PAGE) for rival in rivals] == [None, None]
    assert not any(rival.uses_spare for rival in rivals)


def test_the_optimum_is_cho_and_garcia_molinas() -> None:
    world = by_chance(1, 2, 3, 4, 5)
    visits, fresh = optimum(world, world.importance, 5 / DAY_S)
    assert visits * DAY_S == pytest.approx([1.150, 1.358, 1.354, 1.138, 0], abs=1e-3)
    assert fresh == pytest.approx(0.37389, abs=1e-5)


def test_the_oracle_visits_at_the_optimum_and_gives_up_what_changes_too_fast() -> None:
    world = by_chance(1, 2, 3, 4, 5)
    oracle = Oracle(world, world.importance, 5 / DAY_S)
    assert oracle.first_s(PAGE)[0] / DAY_S == pytest.approx(1 / 1.150, abs=1e-3)
    assert oracle.interval_s[4] >= 1e5 * DAY_S


def test_the_oracle_prefers_what_is_important() -> None:
    world = by_chance(1, 1, importance=[4, 1])
    oracle = Oracle(world, world.importance, 1 / DAY_S)
    assert oracle.interval_s[0] < oracle.interval_s[1]
