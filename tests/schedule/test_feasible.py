from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.schedule.feasible import Capacity, Demand, Rule, revise, revised_interval_s, survey
from joro.schedule.sockets import wanted

DAY_S = 86_400.0


def demand(*rows: tuple[int, float, float, float]) -> Demand:
    """Rows of server, interval, weight, pages."""
    server, interval_s, weight, pages = zip(*rows, strict=True)
    return Demand(
        np.array(server), np.array(interval_s, float), np.array(weight, float), np.array(pages, float)
    )


def capacity(servers: int, mean_s: float = 1.0, longest_s: float = 3.0, minimum_s: float = 1.0) -> Capacity:
    return Capacity(*(np.full(servers, each) for each in (mean_s, longest_s, minimum_s)))


def test_stretching_multiplies_every_interval() -> None:
    assert revised_interval_s(Rule.STRETCH, [60.0, DAY_S], [1.0, 1.0], 2.0).tolist() == [120.0, 2 * DAY_S]


def test_a_floor_leaves_long_intervals_alone() -> None:
    assert revised_interval_s(Rule.FLOOR, [60.0, 9 * DAY_S], 1.0, 2 * DAY_S).tolist() == [
        2 * DAY_S,
        9 * DAY_S,
    ]


def test_thinning_spares_pages_of_weight() -> None:
    assert revised_interval_s(Rule.THIN, [60.0, 60.0, 60.0], [4.0, 2.0, 1.0], 2.0).tolist() == [
        60.0,
        60.0,
        120.0,
    ]


def test_a_page_without_weight_is_thinned_out_first() -> None:
    assert revised_interval_s(Rule.THIN, 60.0, 0.0, 0.001) > 1e9
    assert revised_interval_s(Rule.THIN, 60.0, 0.0, 0.0) == 60.0


def test_a_survey_counts_visits_sockets_and_servers_that_cannot_keep_pace() -> None:
    standing = survey(np.array([0.2, 0.5, 0.0]), capacity(3), sockets=1, missed=7)
    assert (standing.servers, standing.infeasible_servers, standing.missed) == (2, 1, 7)
    assert (standing.need, standing.infeasible_need, standing.bound) == (0.2, 0.5, 1)
    assert standing.visits_per_day == pytest.approx(0.7 * DAY_S)
    assert not standing.is_feasible


def test_a_server_needs_no_more_of_a_socket_than_politeness_lets_it_use() -> None:
    polite = Capacity(np.array([1.0]), np.array([1.0]), np.array([10.0]))
    standing = survey(np.array([5.0]), polite, sockets=1)
    assert (standing.infeasible_servers, standing.infeasible_need) == (1, 0.1)
    assert standing.shortage == 0.0


def test_with_half_the_sockets_at_least_half_the_visits_are_missed() -> None:
    standing = survey(np.full(80, 0.1), capacity(80), sockets=4)
    assert standing.need == pytest.approx(8.0)
    assert standing.shortage == pytest.approx(0.5)
    assert "8.0 of 4 sockets" in str(standing)


def test_a_schedule_that_can_be_kept_is_left_alone() -> None:
    revision = revise(Rule.STRETCH, demand((0, 100.0, 1.0, 1.0)), capacity(1), sockets=10)
    assert not revision.is_needed
    assert (revision.strength, revision.visits_kept) == (1.0, 1.0)
    assert str(revision).startswith("The schedule can be kept")


def test_short_of_sockets_everything_is_stretched_alike() -> None:
    """80 servers with a visit each 10 s need 8 sockets; 4, of which 2 are spare, bear 2 / 1.3."""
    pages = demand(*((server, 100.0, 1.0, 10.0) for server in range(80)))
    revision = revise(Rule.STRETCH, pages, capacity(80), sockets=4)
    assert revision.strength == pytest.approx(8 / (2 / 1.3), rel=1e-5)
    assert revision.after.need == pytest.approx(2 / 1.3, rel=1e-5)
    assert (revision.before.bound, revision.after.bound, revision.servers_revised) == (8, 2, 0)
    assert revision.after.is_feasible


def test_only_the_server_that_cannot_keep_pace_gives_way() -> None:
    """Its longest download and the pause take 4 s, but it is asked for a visit each second."""
    revision = revise(
        Rule.STRETCH, demand((0, 10.0, 1.0, 10.0), (1, 100.0, 1.0, 1.0)), capacity(2), sockets=50
    )
    assert revision.server_strength.tolist() == [pytest.approx(4.0, rel=1e-5), 1.0]
    assert (revision.strength, revision.servers_revised) == (1.0, 1)
    assert (revision.before.infeasible_servers, revision.after.infeasible_servers) == (1, 0)


def test_a_floor_takes_visits_from_the_fastest_pages_only() -> None:
    pages = demand((0, 2.0, 1.0, 1.0), (0, 1000.0, 1.0, 100.0))
    revision = revise(Rule.FLOOR, pages, capacity(1), sockets=50)
    floor_s = revision.server_strength[0]
    assert floor_s == pytest.approx(
        1 / (1 / 4 - 0.1), rel=1e-5
    )  # 1 / 4 s in all, of which the slow ones have 0.1


def test_thinning_takes_visits_from_the_pages_of_least_weight() -> None:
    pages = demand((0, 10.0, 5.0, 2.0), (0, 10.0, 0.5, 2.0))
    revision = revise(Rule.THIN, pages, capacity(1), sockets=50)
    strength = revision.server_strength
    assert revised_interval_s(Rule.THIN, 10.0, 5.0, strength) == 10.0
    assert revised_interval_s(Rule.THIN, 10.0, 0.5, strength) == pytest.approx(40.0, rel=1e-5)


def test_a_revision_tells_what_it_did() -> None:
    pages = demand(*((server, 100.0, 1.0, 10.0) for server in range(80)))
    text = str(revise(Rule.STRETCH, pages, capacity(80), sockets=4, missed=5))
    assert "cannot be kept: 691,200 visits a day to 80 servers need 8.0 of 4 sockets" in text
    assert "stretch (strength 5.2 for all" in text
    assert "19.2 % of the visits are left" in text


rows = st.lists(
    st.tuples(st.integers(0, 4), st.floats(1.0, 1e7), st.floats(0.01, 10.0), st.floats(1.0, 1e4)), min_size=1
)


@settings(max_examples=50)
@given(rows, st.integers(1, 60), st.sampled_from(list(Rule)))
def test_after_a_revision_the_schedule_can_be_kept(
    pages: list[tuple[int, float, float, float]], sockets: int, rule: Rule
) -> None:
    revision = revise(rule, demand(*pages), capacity(5), sockets)
    assert revision.after.is_feasible
    assert wanted(revision.after.need) <= max(sockets, 3)
    assert revision.visits_kept <= 1.0 + 1e-9


@settings(max_examples=25)
@given(rows, st.sampled_from(list(Rule)))
def test_more_sockets_never_cost_visits(pages: list[tuple[int, float, float, float]], rule: Rule) -> None:
    few, many = (revise(rule, demand(*pages), capacity(5), sockets) for sockets in (1, 5))
    assert many.after.visits_per_day >= few.after.visits_per_day * (1 - 1e-6)
