from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from joro.model import DAY_S
from joro.schedule import change, signals
from joro.schedule.revisit import Revisiting
from joro.simulator.contest import contest, recorded_course
from joro.simulator.learner import Learner, Settings
from tests.simulator.worlds import changing


def learner(server: list[int], policy: str = "optimal", per_day: float = 1.0, **how: bool) -> Learner:
    return Learner(
        np.ones(len(server)),
        np.array(server),
        per_day / DAY_S,
        Settings(rule=Revisiting(policy, knob=DAY_S), **how),
    )


def visit(one: Learner, pages: list[int], days: float, changed: list[bool], told: list[int]) -> None:
    away, heard = np.full(len(pages), days * DAY_S), np.array(told, float)
    one.visited(np.array(pages), away, np.array(changed), heard)


def rates_per_day(one: Learner, pages: list[int]) -> list[float]:
    return list(change.rate_per_s(one.chances(np.array(pages))) * DAY_S)


def test_pages_are_told_apart_by_what_visits_found() -> None:
    one = learner([0, 1])
    for _ in range(10):
        visit(one, [0, 1], 5.0, [True, False], [0, 0])
    fast, slow = rates_per_day(one, [0, 1])
    assert fast > 0.3
    assert slow < 0.03


def test_a_plan_wishes_for_as_many_visits_as_there_are() -> None:
    one = learner([0] * 50, per_day=7.0)
    for _ in range(5):
        visit(one, list(range(50)), 5.0, [page % 3 == 0 for page in range(50)], [0] * 50)
    planned = one.plan(np.arange(50))
    assert planned is not None
    assert (DAY_S / planned).sum() == pytest.approx(7.0, rel=0.01)


def test_what_was_just_planned_is_what_a_page_waits() -> None:
    one = learner([0] * 20)
    visit(one, [3], 5.0, [True], [0])
    planned = one.plan(np.arange(20))
    assert planned is not None
    assert one.first_s(np.array([3, 4])) == pytest.approx(planned[[3, 4]])


def test_uniform_visits_are_uniform() -> None:
    one = learner([0] * 30, "uniform", per_day=3.0)
    planned = one.plan(np.arange(30))
    assert planned is not None
    assert set(planned / DAY_S) == {10.0}


def test_a_page_never_seen_is_expected_to_be_like_its_server() -> None:
    one = learner([0] * 20 + [1] * 20)
    seen = [*range(19), *range(20, 39)]
    for _ in range(8):
        visit(one, seen, 5.0, [page < 20 for page in seen], [0] * len(seen))
    of_fast, of_slow = rates_per_day(one, [19, 39])
    assert of_fast > 10 * of_slow


def test_without_priors_of_servers_all_unseen_pages_are_alike() -> None:
    one = learner([0] * 20 + [1] * 20, by_server=False)
    seen = [*range(19), *range(20, 39)]
    visit(one, seen, 5.0, [page < 20 for page in seen], [0] * len(seen))
    of_fast, of_slow = rates_per_day(one, [19, 39])
    assert of_fast == of_slow


def test_a_server_whose_signals_are_true_is_believed_and_one_that_cries_wolf_is_not() -> None:
    one = learner([0] * 10 + [1] * 10)
    chance = np.random.default_rng(1)
    for _ in range(20):
        changed = (chance.random(20) < 0.4).tolist()
        told = [int(was) for was in changed[:10]] + chance.integers(0, 3, 10).tolist()
        visit(one, list(range(20)), 5.0, changed, told)
    one.plan(np.arange(20))
    assert signals.QUALITIES[one.quality[0]].recall >= 0.75
    assert one.quality[1] == signals.NONE
    assert one.signalled(np.array([0]))[0] > 0
    assert one.signalled(np.array([15])).tolist() == [0.0]


def test_who_is_to_ignore_signals_does() -> None:
    one = learner([0] * 10, signals=False)
    for number in range(20):
        changed = [(number + page) % 3 == 0 for page in range(10)]
        visit(one, list(range(10)), 5.0, changed, [int(was) for was in changed])
    one.plan(np.arange(10))
    assert one.quality.tolist() == [signals.NONE]


def test_nobody_but_the_oracle_is_told_the_truth() -> None:
    """Recorded pages change when they did, whatever rates are written beside them."""
    true = changing([1.5, 4.5, 9], [3], [], [float(day) for day in range(2, 30)], over=30)
    false = replace(true, change_per_s=true.change_per_s[::-1])
    outcomes = [
        {row.policy: row.outcome.fresh for row in contest(world, names, [0.3], recorded_course(30))}
        for world in (true, false)
        for names in [("optimal", "interval", "gamma", "uniform", "nutch", "stormcrawler", "oracle")]
    ]
    assert outcomes[0].pop("oracle") != outcomes[1].pop("oracle")
    assert outcomes[0] == outcomes[1]
