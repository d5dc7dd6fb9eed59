from __future__ import annotations

import math

import pytest

from joro.model import DAY_S
from joro.schedule.feasible import Rule
from joro.schedule.figures import Server, ServerFigures, Terms, figures_of
from joro.schedule.plan import Timing, wish
from joro.schedule.prior import CENTRE
from joro.schedule.revisit import Revisiting

#: So much is said that nobody doubts it: a change every twenty days.
USUAL = (1e4, 0.0)
HOUR = 3_600.0


def figures(
    pages: int,
    interval_s: float,
    minimum_s: float = 9.0,
    *,
    policy: str = "optimal",
    said: tuple[float, float] = USUAL,
    strength: float | None = None,
) -> ServerFigures:
    cells: dict[int, tuple[int, float]] = {}
    for _ in range(pages):
        wish(cells, interval_s, 1.0)
    server = Server(cells, Timing(0.5, 1.0), minimum_s, said, waiting=2, missed=7)
    return figures_of(server, Terms(Revisiting(policy=policy), Rule.STRETCH, strength))


def test_a_server_that_bears_its_pages_is_visited_as_wished() -> None:
    found = figures(10, HOUR)  # 1 s of download and 9 s of pause: a visit in 10 s
    assert (found.pages, found.waiting, found.missed) == (10, 2, 7)
    assert found.wished_per_day == found.kept_per_day == pytest.approx(240)
    assert found.access_interval_s == pytest.approx(360)
    assert found.utilisation == pytest.approx(10 / 360)


def test_a_server_asked_for_twice_as_much_as_it_bears_is_visited_half_as_often() -> None:
    found = figures(720, HOUR)
    assert found.utilisation == pytest.approx(2.0)
    assert found.kept_per_day == pytest.approx(found.wished_per_day / 2)
    assert found.access_interval_s == pytest.approx(10.0)


def test_what_all_give_way_is_counted() -> None:
    assert figures(10, HOUR, strength=4.0).kept_per_day == pytest.approx(60)


def test_pages_change_as_often_as_they_said() -> None:
    assert figures(10, HOUR).change_interval_s == pytest.approx(20 * DAY_S, rel=0.2)
    often = figures(10, HOUR, said=(1e4, 1e4 * (math.log(1 / DAY_S) - CENTRE)))
    assert often.change_interval_s == pytest.approx(DAY_S, rel=0.3)


def test_more_visits_keep_pages_fresher() -> None:
    shares = [figures(100, days * DAY_S).freshness or 0.0 for days in (0.1, 1, 10, 100)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.97
    assert 0.05 < shares[-1] < 0.4


def test_visits_shared_as_the_optimum_has_it_keep_pages_fresher_than_alike_or_in_proportion() -> None:
    optimal, alike, proportional = (
        figures(100, 20 * DAY_S, policy=name).freshness or 0.0 for name in ("optimal", "uniform", "interval")
    )
    assert optimal > alike > proportional


def test_of_a_server_that_nothing_is_known_of_nothing_is_told() -> None:
    found = figures(10, HOUR, said=(0.0, 0.0))
    assert (found.change_interval_s, found.freshness) == (None, None)
    nobody = figures(0, HOUR)
    assert (nobody.pages, nobody.access_interval_s, nobody.freshness) == (0, None, None)
