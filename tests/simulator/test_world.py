from __future__ import annotations

import numpy as np
import pytest

from joro.model import DAY_S
from joro.simulator.world import GOOD_FALSE, GOOD_RECALL, made_up
from tests.simulator.worlds import by_chance, changing


def chance() -> np.random.Generator:
    return np.random.default_rng(1)


def test_recorded_pages_change_when_they_did_and_no_more() -> None:
    world = changing([1, 5], [2])
    pages, after = np.array([0, 0, 0, 1, 1]), DAY_S * np.array([0, 1, 5, 1.9, 2])
    found = world.next_change_s(pages, after, chance()) / DAY_S
    assert found.tolist() == [1, 5, np.inf, 2, np.inf]


def test_long_after_the_end_a_recorded_page_does_not_become_its_neighbour() -> None:
    world = changing([1], [2])
    assert world.next_change_s(np.array([0]), np.array([1e9]), chance()).tolist() == [np.inf]


def test_other_pages_change_by_chance_at_their_rates() -> None:
    world = by_chance(0.5, 4.0)
    pages = np.repeat([0, 1], 20_000)
    waits = world.next_change_s(pages, np.full(40_000, 7.0), chance()).reshape(2, -1) - 7
    assert waits.mean(axis=1) / DAY_S == pytest.approx([2.0, 0.25], rel=0.03)


def test_changes_that_are_signalled_come_with_their_signals_only() -> None:
    world = by_chance(1.0, signalled=0.75, false_per_day=0.25)
    pages = np.zeros(20_000, np.intp)
    silent = world.next_change_s(pages, np.zeros(20_000), chance())
    moments, true = world.next_signal_s(pages, np.zeros(20_000), chance())
    assert silent.mean() / DAY_S == pytest.approx(4.0, rel=0.03)
    assert moments.mean() / DAY_S == pytest.approx(1.0, rel=0.03)
    assert true.mean() == pytest.approx(0.75, abs=0.02)


def test_a_made_up_page_changes_once_in_three_days_in_the_mean_and_most_do_rarely() -> None:
    world = made_up(20_000, seed=3)
    per_day = world.change_per_s * DAY_S
    assert len(world) == pytest.approx(20_000, rel=0.01)
    assert per_day.mean() == pytest.approx(0.33)
    assert 0.03 < np.median(per_day) < 0.1


def test_no_made_up_server_decides_alone() -> None:
    world = made_up(5_000, seed=3)
    assert np.bincount(world.server).max() <= 0.021 * len(world)


def test_the_same_seed_makes_the_same_world() -> None:
    assert np.array_equal(made_up(500, 4).change_per_s, made_up(500, 4).change_per_s)
    assert not np.array_equal(made_up(500, 4).change_per_s[:400], made_up(500, 5).change_per_s[:400])


def test_signals_change_nothing_about_the_pages_themselves() -> None:
    silent, told = made_up(500, 4), made_up(500, 4, good=0.38, broken=0.09)
    assert np.array_equal(silent.change_per_s, told.change_per_s)
    assert np.array_equal(silent.importance, told.importance)
    assert (silent.has_signals, told.has_signals) == (False, True)


def test_as_many_servers_signal_as_asked_for() -> None:
    world = made_up(20_000, seed=1, good=0.38, broken=0.09)
    good = world.signalled > 0
    broken = ~good & (world.false_per_s > 0)
    assert good.mean() == pytest.approx(0.38, abs=0.06)
    assert broken.mean() == pytest.approx(0.09, abs=0.04)
    assert set(world.signalled[good]) == {GOOD_RECALL}
    assert world.false_per_s[good] == pytest.approx(GOOD_FALSE * world.change_per_s[good])
    assert world.false_per_s[broken] * DAY_S == pytest.approx(0.5)


def test_all_pages_of_a_server_signal_or_none() -> None:
    world = made_up(5_000, seed=1, good=0.5)
    told = np.bincount(world.server, world.signalled > 0)
    assert set(told / np.maximum(np.bincount(world.server), 1)) == {0.0, 1.0}
