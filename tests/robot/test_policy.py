from __future__ import annotations

import numpy as np
import pytest

from joro.config import Refresh
from joro.model import DAY_S
from joro.robot.policy import SILENT, Policy
from joro.schedule import change

PAGES = 40


def watched(policy: Policy, changed: bool, visits: int = 10) -> bytes:
    """The history of a page visited every day, and found changed every time or never."""
    history = change.blank()
    for _ in range(visits):
        history = policy.learned(history, [DAY_S], [changed])
    return change.pack(history)[0]


def population(policy: Policy) -> change.Histories:
    """Half of the pages change all the time, half of them never."""
    return change.unpack([watched(policy, number % 2 == 0) for number in range(PAGES)])


def silent(pages: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.repeat(SILENT, pages, axis=0)


def test_a_page_that_was_found_changed_is_believed_to_change_more_often() -> None:
    policy = Policy(Refresh())
    chances = change.posterior(population(policy)[:2], policy.expectation.expected(silent(2)))
    fast, slow = change.rate_per_s(chances).tolist()
    assert fast > 5 * slow


@pytest.mark.parametrize("name", ["optimal", "interval", "gamma", "uniform"])
def test_every_policy_keeps_between_the_least_and_the_most_interval(name: str) -> None:
    policy = Policy(Refresh(policy=name, least_interval_s=DAY_S, most_interval_s=9 * DAY_S))
    pages = population(policy)
    policy.study(pages, np.ones(PAGES), silent(PAGES), 10 / DAY_S)
    wished = policy.intervals_s(pages, np.ones(PAGES), silent(PAGES))
    assert (wished >= DAY_S * (1 - 1e-9)).all()
    assert (wished <= 9 * DAY_S * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["optimal", "uniform"])
def test_wishes_fit_the_budget(name: str) -> None:
    policy = Policy(Refresh(policy=name))
    pages = population(policy)
    for visits_per_day in (5.0, 20.0):
        policy.study(pages, np.ones(PAGES), silent(PAGES), visits_per_day / DAY_S)
        wished = policy.intervals_s(pages, np.ones(PAGES), silent(PAGES))
        assert (DAY_S / wished).sum() == pytest.approx(visits_per_day, rel=0.02)


def visits_under_interval(visits_per_day: int) -> float:
    policy = Policy(Refresh(policy="interval", visits_per_day=visits_per_day))
    pages = population(policy)
    policy.study(pages, np.ones(PAGES), silent(PAGES), (visits_per_day or 1) / DAY_S)
    return float((DAY_S / policy.intervals_s(pages, np.ones(PAGES), silent(PAGES))).sum())


def test_visiting_as_often_as_pages_change_keeps_to_a_budget_if_there_is_one() -> None:
    assert visits_under_interval(0) > 10
    assert visits_under_interval(5) == pytest.approx(5, rel=0.02)
    assert visits_under_interval(5_000) == pytest.approx(visits_under_interval(0))


def test_a_budget_below_the_floor_of_all_pages_is_no_failure() -> None:
    policy = Policy(Refresh(most_interval_s=DAY_S))
    pages = population(policy)
    policy.study(pages, np.ones(PAGES), silent(PAGES), 1 / DAY_S)
    assert policy.intervals_s(pages, np.ones(PAGES), silent(PAGES)) == pytest.approx(DAY_S)
