from __future__ import annotations

import numpy as np
import pytest

from joro.model import DAY_S
from joro.schedule import change, signals
from joro.schedule.change import BINS
from joro.schedule.optimum import gain
from joro.schedule.signals import NONE, QUALITIES, Quality, signal_worth_s, threshold_value

GOOD = QUALITIES.index(Quality(0.9, 0.1))


@pytest.mark.parametrize(
    ("case", "expected"),
    [((1, 0.9, 0.1, 8), (0.9090, 0.9997, 0.4598)), ((1, 0.5, 0.5, 3), (0.8143, 1.4314, 0.4949))],
)
def test_thresholds_have_the_values_worked_out_by_hand(
    case: tuple[float, float, float, float], expected: tuple[float, float, float]
) -> None:
    assert [float(each) for each in threshold_value(*case)] == pytest.approx(expected, abs=1e-4)


def test_signals_that_tell_nothing_change_nothing() -> None:
    found = [float(each) for each in threshold_value(2.0, 0.0, 5.0, 3.0)]
    assert found == pytest.approx([-np.expm1(-6) / 2, 3.0, float(gain(6.0)) / 2])


def test_the_formulas_agree_with_chance() -> None:
    """20,000 stretches between two visits, with changes and signals drawn at random."""
    chance = np.random.default_rng(1)
    rate, recall, false, threshold = 1.0, 0.5, 0.5, 3.0
    silent, worth_s = (1 - recall) * rate, np.log((recall * rate + false) / false) / ((1 - recall) * rate)
    length, fresh = np.zeros(20_000), np.zeros(20_000)
    for number in range(20_000):
        now, left, changed = 0.0, threshold, chance.exponential(1 / silent)
        while (gap := chance.exponential(1 / (recall * rate + false))) < left:
            now, left = now + gap, left - gap - worth_s
            changed = (
                min(changed, now) if chance.random() < recall * rate / (recall * rate + false) else changed
            )
            if left <= 0:
                break
        length[number] = now + max(left, 0)
        fresh[number] = min(changed, length[number])
    expected = threshold_value(rate, recall, false, threshold)
    assert length.mean() == pytest.approx(float(expected[1]), rel=0.03)
    assert fresh.mean() == pytest.approx(float(expected[0]), rel=0.03)


def test_one_good_signal_replaces_a_long_wait() -> None:
    assert signal_worth_s(1 / DAY_S, GOOD) == pytest.approx(np.log(10) / 0.1 * DAY_S)
    assert signal_worth_s(1 / DAY_S, NONE) == 0


def test_who_is_told_of_changes_can_wait_longer() -> None:
    waits = np.array([0.5, 1.0, 2.0])
    told = signals.worth(np.array([[1.0]]), QUALITIES[GOOD], waits)
    assert np.all(told[0] < gain(waits))


def scored(told: float, false_per_day: float, visits: int = 300) -> int:
    """The quality a server is given, whose pages change every ten days and are visited every five."""
    chance = np.random.default_rng(3)
    changes = chance.poisson(0.5, visits)
    count = chance.binomial(changes, told) + chance.poisson(5 * false_per_day, visits)
    at = np.abs(change.RATES_PER_S - 0.1 / DAY_S).argmin()
    chances = np.repeat(np.eye(BINS, dtype=np.float32)[at : at + 1], visits, axis=0)
    score = signals.scores(np.full(visits, 5 * DAY_S), changes > 0, count, chances).sum(axis=0)
    return int(signals.best_quality(score.reshape(1, -1))[0])


def test_a_server_that_tells_well_is_recognised() -> None:
    assert QUALITIES[scored(told=0.9, false_per_day=0.01)].recall >= 0.75


@pytest.mark.parametrize("false_per_day", [0.01, 0.1, 1.0, 20.0])
def test_noise_of_any_rate_is_recognised_as_noise(false_per_day: float) -> None:
    assert scored(told=0.0, false_per_day=false_per_day) == NONE


def test_one_visit_convinces_nobody() -> None:
    assert scored(told=0.9, false_per_day=0.0, visits=1) == NONE


def test_where_most_servers_keep_their_word_one_more_is_soon_believed() -> None:
    sure, hint = np.zeros(len(QUALITIES)), np.zeros(len(QUALITIES))
    sure[GOOD], hint[GOOD] = 20.0, 5.0
    assert signals.best_quality(np.array([hint]))[0] == NONE
    assert signals.best_quality(np.array([sure] * 50 + [hint]))[-1] == GOOD


def test_signals_are_evidence_of_changes_that_were_missed() -> None:
    day = np.array([30 * DAY_S])
    few = signals.seen_with_signals(day, [True], [1], GOOD, 0.1 / DAY_S)
    many = signals.seen_with_signals(day, [True], [12], GOOD, 0.1 / DAY_S)
    assert many.argmax() > few.argmax() + 2


def test_whoever_hears_nothing_learns_what_anybody_learns() -> None:
    away = np.array([3 * DAY_S, 30 * DAY_S])
    plain = change.seen(away, [True, False])
    told = signals.seen_with_signals(away, [True, False], 0, NONE, 0.1 / DAY_S)
    assert told == pytest.approx(plain, abs=1e-3)


def estimated(
    days: float, *, false_per_day: float = 0.0, read_days: float = 0.0, plain: bool = False
) -> float:
    """Times the true rate, in the median of 300 pages: twenty visits to each, as soon as it is announced.

    Nine of ten changes are announced when the source is read, and a tenth as many times it is for nothing.
    """
    chance, pages = np.random.default_rng(5), 300
    rate, histories = 1 / days, change.blank(pages)
    expected = np.full((pages, BINS), 1 / BINS, np.float32)
    for _ in range(20):
        true, false = chance.exponential(days / 0.9, pages), 1 / (0.1 * rate + false_per_day)
        told = np.minimum(true, chance.exponential(false, pages))
        if read_days:
            told = np.ceil(told / read_days) * read_days
        silent = chance.exponential(10 * days, pages)
        away, changed = told * DAY_S + 60, (true <= told) | (silent <= told)
        believed = change.rate_per_s(change.posterior(histories, expected))
        seen = signals.seen_with_signals(away, changed, 1, GOOD, believed, read_days * DAY_S)
        seen = change.seen(away, changed) if plain else seen
        histories = change.observe(histories, seen, expected, away, changed)
    return float(np.median(change.rate_per_s(change.posterior(histories, expected)))) * DAY_S * days


@pytest.mark.parametrize("days", [30.0, 10.0, 3.0])
def test_pages_visited_when_they_are_announced_are_known_as_others_are(days: float) -> None:
    assert estimated(days) == pytest.approx(1.0, abs=0.15)
    assert estimated(days, plain=True) > 3.0  # so who counts such visits as any others is far off


@pytest.mark.parametrize("days", [30.0, 10.0, 3.0])
def test_changes_that_come_between_two_readings_are_not_forgotten(days: float) -> None:
    assert estimated(days, read_days=days / 3) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize(("days", "false_per_day"), [(30.0, 0.2), (10.0, 0.2), (3.0, 1.0)])
def test_false_signals_make_no_page_fast(days: float, false_per_day: float) -> None:
    assert 0.7 < estimated(days, false_per_day=false_per_day) < 1.2


def test_a_server_is_judged_by_its_last_two_hundred_visits() -> None:
    good, bad = np.zeros(len(QUALITIES)), np.zeros(len(QUALITIES))
    good[GOOD], bad[NONE] = 1.0, 1.0
    score: tuple[float, ...] = ()
    for found in [good] * 5_000 + [bad] * 400:
        score = signals.remembered(score, found)
    assert signals.best_quality(np.array([score]))[0] == NONE
