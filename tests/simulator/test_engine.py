from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.schedule.sockets import Order
from joro.simulator import engine
from joro.simulator.engine import AS_PRINTED, BY_COMPLETION, BY_START
from joro.simulator.population import fitted
from joro.simulator.trial import Trial, run
from tests.simulator.servers import servers, simulate

EDF, FCFS, FREQ, RM, SJF = Order


@pytest.mark.parametrize(("order", "missed"), [(EDF, 0), (FCFS, 0), (FREQ, 0), (RM, 99), (SJF, 0)])
def test_three_servers_fit_on_one_socket_unless_the_busiest_comes_first(order: Order, missed: int) -> None:
    outcome = simulate(servers((4, 1), (6, 2), (12, 3)), order, seconds=1200)
    assert (outcome.missed, outcome.asked) == (missed, 600)


@pytest.mark.parametrize(
    ("order", "missed"), [(EDF, 3113), (FCFS, 3311), (FREQ, 2770), (RM, 3599), (SJF, 2770)]
)
def test_too_much_for_one_socket_costs_least_when_short_downloads_come_first(
    order: Order, missed: int
) -> None:
    outcome = simulate(servers((5, 1), (5, 1), (5, 1), (60, 30), (60, 30)), order, seconds=6000)
    assert (outcome.missed, outcome.asked) == (missed, 3800)


@pytest.mark.parametrize(("rule", "missed"), [(BY_START, 200), (BY_COMPLETION, 333)])
def test_the_period_of_the_end_costs_more_than_the_period_of_the_start(rule: int, missed: int) -> None:
    """Download and pause take 2.5 s, the period 2 s: one in five is missed, or one in three."""
    assert simulate(servers((2, 1.5)), rule=rule, seconds=2000).missed == missed


def test_no_period_is_visited_twice_although_a_tenth_is_no_binary_fraction() -> None:
    outcome = simulate(servers((0.1, 0.01)), seconds=1000, minimum_s=0.0)
    assert (outcome.downloads, outcome.missed, outcome.asked) == (10_000, 0, 10_000)


def test_equation_6_as_printed_visits_a_period_again_and_again() -> None:
    outcome = simulate(servers((100, 1)), seconds=1000, rule=AS_PRINTED)
    assert (outcome.downloads, outcome.asked) == (500, 10)


def test_download_times_are_used_in_turn_and_over_again() -> None:
    """1 s, 17 s, 1 s, 17 s …: every second one takes the whole of the period of 8 s that follows."""
    outcome = simulate(servers((8, [1, 17])), seconds=80)
    assert (outcome.downloads, outcome.missed) == (7, 3)


def test_a_server_that_never_gets_a_socket_misses_all_its_periods() -> None:
    outcome = simulate(servers((2, 2), (2, 2), (10, 5)), FREQ, seconds=100, minimum_s=0.0)
    assert outcome.made_by.tolist() == [25, 25, 0]
    assert outcome.missed_by.tolist() == [25, 25, 10]


def test_more_sockets_than_servers_change_nothing() -> None:
    two, many = (simulate(servers((5, 4), (7, 3)), sockets=count, seconds=9000) for count in (2, 50))
    assert (two.missed, two.downloads) == (many.missed, many.downloads) == (0, 1800 + 1286)


def plain(some: object, trial: Trial) -> list[list[int]]:
    outcome = run(some, trial, engine=(engine.advance, engine.settle))  # type: ignore[arg-type]
    return [outcome.asked_of.tolist(), outcome.made_by.tolist(), outcome.missed_by.tolist()]


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("rule", [BY_START, BY_COMPLETION, AS_PRINTED])
def test_machine_code_and_interpreter_agree_on_every_server(order: Order, rule: int) -> None:
    some = fitted(seed=3, servers=300)
    for sockets, phase_seed in ((1, None), (2, 7)):
        days = 0.001 if rule == AS_PRINTED else 0.02
        trial = Trial(sockets, order, days, phase_seed=phase_seed, rule=rule)
        outcome = run(some, trial)
        fast = [outcome.asked_of.tolist(), outcome.made_by.tolist(), outcome.missed_by.tolist()]
        assert fast == plain(some, trial)


pairs = st.lists(
    st.tuples(st.floats(0.5, 100.0), st.lists(st.floats(0.01, 50.0), min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(pairs, st.sampled_from(list(Order)), st.integers(1, 4), st.floats(0.0, 2.0))
def test_every_period_is_visited_once_or_missed(
    some: list[tuple[float, list[float]]], order: Order, sockets: int, minimum_s: float
) -> None:
    outcome = simulate(servers(*some), order, sockets=sockets, seconds=500.0, minimum_s=minimum_s)
    over = outcome.made_by + outcome.missed_by - outcome.asked_of  # the last one's period is not over
    assert set(np.unique(over)) <= {0, 1}


@settings(max_examples=60)
@given(pairs, st.integers(1, 4))
def test_sockets_do_one_download_at_a_time(some: list[tuple[float, list[float]]], sockets: int) -> None:
    population = servers(*some)
    outcome = simulate(population, sockets=sockets, seconds=500.0)
    shortest = [min(times) for _, times in some]
    longest = float(population.longest_s.max())
    assert (outcome.made_by * np.array(shortest)).sum() <= sockets * (500.0 + longest) * (1 + 1e-6)


@settings(max_examples=60)
@given(pairs, st.sampled_from(list(Order)))
def test_with_a_socket_each_only_infeasible_servers_miss_visits(
    some: list[tuple[float, list[float]]], order: Order
) -> None:
    population = servers(*some)
    outcome = simulate(population, order, sockets=len(some), seconds=500.0)
    assert outcome.missed_by[population.feasible()].sum() == 0
