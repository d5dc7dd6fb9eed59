from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.feasible import Rule
from joro.schedule.plan import Plan, Round, Timing, cell_of, change_wish, load_per_s, timed, unwish, wish

Pages = list[tuple[float, float]]  # interval and weight of each

PAGES = st.lists(st.tuples(st.floats(1.0, 1e9), st.floats(0.0, 1e6)), max_size=30)


def cells(*pages: tuple[float, float]) -> dict[int, tuple[int, float]]:
    made: dict[int, tuple[int, float]] = {}
    for interval_s, weight in pages:
        wish(made, interval_s, weight)
    return made


def planned(*servers: Pages, sockets: int = 10, rule: Rule = Rule.STRETCH, seconds: float = 1.0) -> Plan:
    """A plan for servers 0, 1, … whose downloads all take so long; a pause of a second is asked for."""
    planning = Round(rule)
    for number, pages in enumerate(servers):
        planning.add(number, cells(*pages), Timing(seconds, seconds), 1.0)
    return planning.plan(sockets)


def test_the_load_of_a_server_is_that_of_its_pages() -> None:
    # Scheduling notes, T8: pages of 1, 1 and 2 days make an access interval of 34,560 s.
    assert 1.0 / load_per_s(cells((86400, 1), (86400, 1), (172800, 1))) == pytest.approx(34_560)


@given(PAGES)
def test_loads_are_exact_however_pages_fall_into_cells(pages: Pages) -> None:
    assert load_per_s(cells(*pages)) == pytest.approx(sum(1 / interval_s for interval_s, _ in pages))


@given(PAGES, PAGES)
def test_a_page_counted_out_leaves_nothing_behind(before: Pages, passing: Pages) -> None:
    made = cells(*before, *passing)
    for interval_s, weight in passing:
        unwish(made, interval_s, weight)
    kept = cells(*before)
    assert {cell: pages for cell, (pages, _) in made.items()} == {cell: n for cell, (n, _) in kept.items()}
    assert load_per_s(made) == pytest.approx(load_per_s(kept), abs=1e-12)


def test_a_page_that_is_never_due_wishes_nothing() -> None:
    made = cells((math.inf, 1.0))
    unwish(made, math.inf, 1.0)
    assert made == {}
    assert load_per_s(made) == 0.0


def test_a_page_without_an_interval_takes_nobody_elses_place() -> None:
    made = cells((1.0, 1.0))
    wish(made, 0.0, 1.0)
    unwish(made, 0.0, 1.0)
    assert made == cells((1.0, 1.0))


def test_weights_of_every_size_have_a_cell() -> None:
    assert (
        len({cell_of(60, weight) for weight in (0.0, 1e-3, 1.0, 5.0, 1e3, math.inf)} & set(range(512))) == 6
    )


def test_a_floor_slows_only_pages_that_are_faster() -> None:
    # 10 s becomes 100 s, 1000 s stays.
    assert load_per_s(cells((10, 1), (1000, 1)), Rule.FLOOR, 100.0) == pytest.approx(0.011)


def test_thinning_slows_pages_of_little_weight() -> None:
    # Weight 1/16 under a strength of 1/4: four times the interval.
    assert load_per_s(cells((10, 1), (10, 1 / 16)), Rule.THIN, 0.25) == pytest.approx(0.125)


@pytest.mark.parametrize("weight", [1.0, 2.0, 5.0, 8.0, 30.0, 1_000.0])
def test_thinned_pages_of_any_weight_ask_for_just_what_their_server_bears(weight: float) -> None:
    """A hundred pages wish a visit in 1,000 s each; the server bears one in 20."""
    planning, pages = Round(Rule.THIN), cells(*[(1_000.0, weight)] * 100)
    planning.add(7, pages, Timing(0.5, 1.0), 19.0, weight=weight)
    plan = planning.plan(50)
    assert 100 / plan.page_intervals_s([7], [1_000.0], [weight])[0] == pytest.approx(1 / 20)
    assert plan.revision.after.visits_per_day == pytest.approx(4_320)
    assert plan.access_interval_s(7, pages, 1.0, weight) == pytest.approx(20)


def test_a_schedule_that_can_be_kept_is_left_alone() -> None:
    plan = planned([(60.0, 1.0)], [(60.0, 1.0)])
    assert not plan.revision.is_needed
    assert plan.page_intervals_s([0], [60.0], [1.0]).tolist() == [60.0]
    assert plan.access_interval_s(0, cells((60.0, 1.0)), 1.0) == 60.0


def test_refresh_comes_first_and_the_surplus_goes_to_discovery() -> None:
    # Two servers busy a tenth of the time need 0.2 sockets, times 1.3, and two more: three of the ten.
    plan = planned([(10.0, 1.0)], [(10.0, 1.0)])
    assert (plan.pools.refresh, plan.pools.infeasible, plan.pools.discovery) == (3, 0, 7)


def test_too_few_sockets_stretch_the_intervals_of_all_until_they_suffice() -> None:
    # 40 servers, each busy a quarter of the time, need 10 sockets; there are 5, which bear (5 - 2) / 1.3.
    plan = planned(*[[(4.0, 1.0)]] * 40, sockets=5)
    assert plan.revision.before.bound == 10
    assert plan.revision.strength == pytest.approx(13 / 3, rel=1e-4)
    assert plan.revision.after.is_feasible
    assert plan.page_intervals_s([7], [4.0], [1.0])[0] == pytest.approx(52 / 3, rel=1e-4)


def test_only_the_server_that_cannot_keep_pace_is_slowed() -> None:
    # A download of one second and a pause of one allow a visit in two seconds; its pages wish for four.
    plan = planned([(1.0, 1.0), (1.0, 1.0)], [(60.0, 1.0)])
    assert list(plan.own) == [0]
    assert plan.access_interval_s(0, cells((1.0, 1.0), (1.0, 1.0)), 1.0) == pytest.approx(2.0, rel=1e-4)
    assert plan.page_intervals_s([0, 1], [1.0, 60.0], [1.0, 1.0]) == pytest.approx([4.0, 60.0], rel=1e-4)


@pytest.mark.parametrize("rule", list(Rule))
def test_every_rule_makes_a_schedule_that_can_be_kept(rule: Rule) -> None:
    pages = [(2.0, 4.0), (8.0, 1.0), (100.0, 0.25)]
    plan = planned(*[pages] * 30, sockets=3, rule=rule)
    assert not plan.revision.before.is_feasible
    assert plan.revision.after.is_feasible
    assert plan.revision.rule is rule


@given(st.lists(PAGES, max_size=6), st.integers(1, 20), st.sampled_from(list(Rule)))
def test_no_plan_asks_for_more_than_there_is(servers: list[Pages], sockets: int, rule: Rule) -> None:
    plan = planned(*servers, sockets=sockets, rule=rule)
    assert plan.revision.after.is_feasible
    assert plan.pools.total == sockets
    for number, pages in enumerate(servers):
        assert plan.access_interval_s(number, cells(*pages), 1.0) >= 2.0 * (1 - 1e-6)


def test_what_could_be_visited_is_bounded_by_politeness_and_by_sockets() -> None:
    # Each server bears a visit in two seconds, half of it on a socket.
    servers = [[(1e6, 1.0)]] * 20
    assert planned(*servers, sockets=100).affordable_per_s == pytest.approx(10.0)
    assert planned(*servers, sockets=7).affordable_per_s == pytest.approx(5 / 1.3)


def test_missed_visits_are_reported_by_server() -> None:
    planning = Round()
    planning.add(2**64 - 1, cells((60.0, 1.0)), Timing(1.0, 1.0), 1.0, missed=3)
    planning.add(5, {}, Timing(), 1.0, missed=2)
    plan = planning.plan(5)
    assert plan.missed == {2**64 - 1: 3, 5: 2}
    assert plan.revision.before.missed == 5


def test_a_round_without_servers_leaves_all_sockets_to_discovery() -> None:
    plan = Round().plan(8)
    assert plan.pools.discovery == 8
    assert not plan.revision.is_needed


def test_the_first_download_says_how_long_a_server_takes() -> None:
    assert timed(*Timing(), 3.0) == (3.0, 3.0)


def test_one_slow_download_is_forgotten_in_time() -> None:
    mean_s, longest_s = timed(1.0, 1.0, 100.0)
    assert longest_s == 100.0
    for _ in range(500):
        mean_s, longest_s = timed(mean_s, longest_s, 1.0)
    assert longest_s < 1.1
    assert mean_s == pytest.approx(1.0, abs=0.01)


def test_the_first_download_soon_weighs_no_more_than_the_others() -> None:
    mean_s, longest_s = 0.0, 0.0
    for earlier, elapsed_s in enumerate([10.0, 1.0, 1.0, 1.0, 2.0]):
        mean_s, longest_s = timed(mean_s, longest_s, elapsed_s, earlier)
    assert mean_s == pytest.approx(3.0)


@given(st.lists(st.sampled_from([0.0, 50.0, 60.0, 70.0, 9e4, math.inf]), max_size=9))
def test_a_changed_wish_counts_as_one_taken_back_and_one_made(moves: list[float]) -> None:
    """Of two pages, one moves from interval to interval."""
    plain, quick = dict(cells((60.0, 1.0))), dict(cells((60.0, 1.0)))
    before = 0.0
    for after in moves:
        unwish(plain, before, 1.0)
        wish(plain, after, 1.0)
        change_wish(quick, before, cell_of(before, 1.0), after, cell_of(after, 1.0))
        assert {cell: pytest.approx(rate) for cell, rate in plain.items()} == quick
        before = after
