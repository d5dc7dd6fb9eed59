"""Prices of servers, against the optimum with limits of servers where all rates are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from joro.model import DAY_S
from joro.schedule import change
from joro.schedule.prices import Market, Sample, Servers
from joro.schedule.prior import BROAD
from joro.schedule.revisit import Revisiting, intervals_s

#: Rules out that what is known grows old: rates are known here.
RULE = Revisiting(shortest_s=60.0, drift_per_s=0.0)
PAGES = 1_000


def known(chance: np.random.Generator, pages: int) -> change.Grid:
    """Pages whose rates nobody doubts."""
    return np.eye(24, dtype=np.float32)[chance.integers(6, 18, pages)]


def servers(pages: float, limit_per_day: float, *, correction: float = 1.0, weight: float = 1.0) -> Servers:
    many, limit, weights, corrections = (
        np.array([each]) for each in (pages, limit_per_day / DAY_S, weight, correction)
    )
    return Servers(np.array([5], np.uint64), many, limit, weights, np.zeros((1, 2)), corrections)


def market(of: Servers, chances: change.Grid, server: int = 5) -> Market:
    names = np.full(len(chances), server, np.uint64)
    expected = np.broadcast_to(BROAD.weights.astype(np.float32), chances.shape)
    return Market(RULE, BROAD, of, Sample(names, chances, expected))


def visits_per_day(chances: change.Grid, price: float, weight: float = 1.0) -> float:
    rule = Revisiting(knob=price, shortest_s=60.0, drift_per_s=0.0)
    return float((DAY_S / intervals_s(rule, chances, weight)).sum())


def chances_of(pages: int = PAGES) -> change.Grid:
    return known(np.random.default_rng(1), pages)


@pytest.mark.parametrize("limit_per_day", [20.0, 200.0, 2_000.0])
def test_at_its_price_a_server_is_asked_for_what_it_bears(limit_per_day: float) -> None:
    chances = chances_of()
    price = float(market(servers(PAGES, limit_per_day), chances).price[0])
    assert visits_per_day(chances, price) == pytest.approx(limit_per_day, rel=0.06)


def test_a_server_that_bears_everything_has_no_price() -> None:
    assert market(servers(PAGES, 1e9), chances_of()).price[0] == 0.0


def test_pages_that_matter_more_pay_more_for_as_many_visits() -> None:
    usual, dear = (market(servers(PAGES, 100, weight=weight), chances_of()).price[0] for weight in (1, 4))
    assert dear == pytest.approx(4 * usual)


def test_a_server_without_a_page_in_the_sample_is_expected_to_be_like_others() -> None:
    here, elsewhere = (market(servers(PAGES, 100), chances_of(), server).price[0] for server in (5, 6))
    assert elsewhere == pytest.approx(here, rel=1.0)


def test_pages_known_to_wish_more_than_was_worked_out_pay_more() -> None:
    usual, corrected = (
        market(servers(PAGES, 100, correction=times), chances_of()).price[0] for times in (1.0, 1.5)
    )
    assert corrected > usual


def test_where_even_the_longest_intervals_are_too_much_a_share_is_left() -> None:
    found = market(servers(4_000, 5), chances_of(4_000))  # every 400 days: ten visits a day
    assert found.kept_share[0] == pytest.approx(0.5, rel=0.01)


def test_wishes_at_any_price_are_those_of_the_pages() -> None:
    chances = chances_of()
    found = market(servers(PAGES, 100), chances)
    prices: NDArray[np.float64] = np.array([1e3, 1e4, 1e5])
    worked_out = [float(found.wished_per_s(price)[0]) * DAY_S for price in prices]
    assert worked_out == pytest.approx([visits_per_day(chances, price) for price in prices], rel=0.08)


def test_no_servers_take_no_prices() -> None:
    none = np.empty(0)
    nobody = Servers(np.empty(0, np.uint64), none, none, none, np.empty((0, 2)), none)
    assert len(market(nobody, chances_of(10)).price) == 0
