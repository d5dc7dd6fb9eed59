"""Sources are read about as often as they have something new, and never against their wishes."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.discover.arrivals import (
    HOUR_S,
    Arrivals,
    Polling,
    first_arrivals,
    interval_s,
    next_poll,
)
from joro.model import DAY_S, PollHints

NONE = PollHints()
UNKNOWN = Arrivals()
#: A Monday, 2026-11-16T08:00Z
EIGHT = 1_794_816_000.0


def poisson(chance: random.Random, mean: float) -> int:
    count, time = 0, chance.expovariate(1.0)
    while time < mean:
        count, time = count + 1, time + chance.expovariate(1.0)
    return count


def polled(rate_per_s: float, seed: int, polls: int, arrivals: Arrivals = UNKNOWN) -> Arrivals:
    """What is known after so many polls of a source that brings entries at random."""
    chance = random.Random(seed)
    for _ in range(polls):
        pause_s = interval_s(arrivals, 15, NONE, Polling())
        arrivals = arrivals.after(pause_s, poisson(chance, rate_per_s * pause_s))
    return arrivals


@pytest.mark.parametrize("per_day", [3, 10, 30])
def test_the_rate_is_learned_without_bias(per_day: float) -> None:
    rate = per_day / DAY_S
    learned = [polled(rate, seed, 100).rate_per_s / rate for seed in range(100)]
    assert statistics.mean(learned) == pytest.approx(1.0, abs=0.05)
    assert statistics.stdev(learned) < 0.25


def test_a_source_that_wakes_up_is_noticed_and_one_that_falls_silent_too() -> None:
    lively = polled(24 / DAY_S, 1, 60, polled(1 / DAY_S, 1, 60))
    assert lively.rate_per_s * DAY_S == pytest.approx(24, rel=0.3)
    silent = polled(0.0, 1, 40, lively)
    assert interval_s(silent, 15, NONE, Polling()) > 5 * interval_s(lively, 15, NONE, Polling())
    assert interval_s(polled(0.0, 1, 40, silent), 15, NONE, Polling()) == DAY_S


def test_dates_of_the_first_reading_tell_the_rate() -> None:
    hourly = first_arrivals([EIGHT - n * HOUR_S for n in range(1, 11)], EIGHT)
    assert hourly.count / hourly.time_s == pytest.approx(9 / (10 * HOUR_S))


def test_what_is_older_than_a_month_says_that_nothing_came_since() -> None:
    rare = first_arrivals([EIGHT - 100 * DAY_S, EIGHT - 200 * DAY_S], EIGHT)
    assert rare.count == 0
    assert rare.time_s == pytest.approx(14 * DAY_S)


@pytest.mark.parametrize("times", [[], [EIGHT + DAY_S], [EIGHT], [EIGHT] * 50])
def test_dates_that_tell_nothing_do_no_harm(times: list[float]) -> None:
    arrivals = first_arrivals(times, EIGHT)
    assert 300 <= interval_s(arrivals, 15, NONE, Polling()) <= DAY_S


def test_a_list_that_is_new_from_top_to_bottom_has_lost_some() -> None:
    seen = Arrivals().after(DAY_S, 15)
    lost = Arrivals().after(DAY_S, 15, overflow=True)
    assert lost.rate_per_s > 1.9 * seen.rate_per_s


def test_readings_in_vain_double_the_pause() -> None:
    first = interval_s(Arrivals(), 0, NONE, Polling())
    second = interval_s(Arrivals().after(first, 0), 0, NONE, Polling())
    assert second == pytest.approx(2 * first, rel=0.05)


def test_a_long_list_is_read_more_rarely() -> None:
    lively = Arrivals(32, DAY_S)
    assert interval_s(lively, 5_000, NONE, Polling()) > 10 * interval_s(lively, 15, NONE, Polling())


def test_a_source_is_left_alone_as_long_as_it_asks_but_not_for_ever() -> None:
    lively = Arrivals(32, HOUR_S)
    assert interval_s(lively, 15, NONE, Polling()) == 300
    assert interval_s(lively, 15, PollHints(least_s=5_400), Polling()) == 5_400
    assert interval_s(lively, 15, PollHints(least_s=30 * DAY_S), Polling()) == DAY_S


def test_hours_and_days_to_skip_are_skipped() -> None:
    assert next_poll(EIGHT, NONE) == EIGHT
    assert next_poll(EIGHT + 60, PollHints(skip_hours=frozenset({8, 9, 11}))) == EIGHT + 2 * HOUR_S
    assert next_poll(EIGHT, PollHints(skip_days=frozenset({0}))) == EIGHT + 16 * HOUR_S
    weekend = PollHints(skip_days=frozenset({5, 6}))
    assert next_poll(EIGHT + 5 * DAY_S, weekend) == EIGHT + 6 * DAY_S + 16 * HOUR_S


def test_who_skips_every_hour_is_read_all_the_same() -> None:
    assert next_poll(EIGHT, PollHints(skip_hours=frozenset(range(24)))) == EIGHT
    assert next_poll(EIGHT, PollHints(skip_days=frozenset(range(7)))) == EIGHT


HINTS = st.builds(
    PollHints, st.floats(0, 1e9), st.frozensets(st.integers(0, 23)), st.frozensets(st.integers(0, 6))
)


@given(
    st.lists(st.tuples(st.floats(0, 1e8), st.integers(0, 10_000), st.booleans())),
    st.integers(0, 50_000),
    HINTS,
)
def test_the_pause_keeps_within_the_operators_bounds(
    polls: list[tuple[float, int, bool]], entries: int, hints: PollHints
) -> None:
    arrivals = Arrivals()
    for elapsed_s, count, overflow in polls:
        arrivals = arrivals.after(elapsed_s, count, overflow=overflow)
    assert 300 <= interval_s(arrivals, entries, hints, Polling()) <= DAY_S


@given(st.floats(0, 4e9), HINTS)
def test_the_next_poll_is_never_early_and_at_most_a_week_late(due_at: float, hints: PollHints) -> None:
    assert 0 <= next_poll(due_at, hints) - due_at <= 7 * DAY_S
