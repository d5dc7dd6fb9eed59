"""Signals about one page of one server, and then about all pages of a made-up world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from joro.config import Refresh
from joro.discover.watch import Signal
from joro.model import Outcome, Response, Visit
from joro.robot import witness
from joro.robot.policy import Policy
from joro.schedule import change, prior, signals
from joro.schedule.signals import QUALITIES, Quality
from joro.simulator.freshness import Course, crawl
from joro.simulator.learner import Learner, Settings
from joro.simulator.rivals import Flags
from joro.simulator.world import Indices, World, made_up
from joro.store.records import ServerRecord, Upkeep
from tests.robot.test_keeper import HOUR, URL, A, Stage, changes, estimate_h
from tests.robot.test_validators import torn

DAY = 24 * HOUR
GOOD = QUALITIES.index(Quality(0.9, 0.1))
SETTINGS = Refresh(enabled=True, first_interval_s=10 * DAY)

Floats = NDArray[np.float64]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A page seen a day ago, due in nine days; its server's signals are good."""
    made = Stage(tmp_path / "frontier", SETTINGS)
    made.find()
    made.visit()
    made.frontier.server(A).signals = GOOD
    made.pass_time(DAY)
    yield made
    made.frontier.close()


def tell(stage: Stage, every_s: float = HOUR) -> None:
    stage.keeper.hear([Signal(URL, stage.now)], every_s)
    stage.commit()


def waits(stage: Stage) -> bool:
    stage.pass_time(1)
    return stage.commit() == [A]


def test_a_good_signal_brings_a_page_forward(stage: Stage) -> None:
    assert not waits(stage)
    tell(stage)
    assert waits(stage)
    assert (stage.care.signals, stage.care.version) == (1, 2)


def test_a_signal_of_a_server_that_is_not_believed_is_counted_and_moves_nothing(stage: Stage) -> None:
    stage.frontier.server(A).signals = signals.NONE
    before = stage.care
    tell(stage)
    assert not waits(stage)
    assert stage.care == structs.replace(before, signals=1, told_at=stage.now - 1, told_every_s=HOUR)


def test_a_signal_moves_a_page_by_what_it_is_worth_and_no_further(tmp_path: Path) -> None:
    """Weak signals are worth some 37 days of waiting, of a page that was to wait for a hundred."""
    stage = Stage(tmp_path, replace(SETTINGS, first_interval_s=100 * DAY, most_interval_s=100 * DAY))
    stage.find()
    stage.visit()
    quality = stage.frontier.server(A).signals = QUALITIES.index(Quality(0.25, 0.25))
    history = change.blank()
    history["told"] = -quality
    worth_s = float(stage.keeper.policy.signal_worth_s(history, np.zeros((1, 2)))[0])
    dues = [stage.care.due]
    for _ in range(2):
        stage.pass_time(HOUR)
        tell(stage)
        dues.append(stage.care.due)
    stage.frontier.close()
    assert 30 * DAY < worth_s < 45 * DAY
    assert np.diff(dues) == pytest.approx([-worth_s, -worth_s])


def test_no_signal_makes_a_visit_come_sooner_than_the_least_interval(tmp_path: Path) -> None:
    stage = Stage(tmp_path, replace(SETTINGS, least_interval_s=3 * DAY))
    stage.find()
    stage.visit()
    stage.frontier.server(A).signals = GOOD
    stage.pass_time(DAY)
    tell(stage)
    assert stage.care.due == stage.care.seen_at + 3 * DAY
    stage.frontier.close()


def test_one_change_that_two_sources_tell_of_is_one(stage: Stage) -> None:
    told = Signal(URL, stage.now)
    stage.keeper.hear([told, told], HOUR)
    stage.commit()
    stage.keeper.hear([told], HOUR)
    stage.commit()
    assert (stage.care.signals, stage.care.version) == (1, 2)


def break_off(stage: Stage) -> None:
    torn(stage, f"part {stage.now}")


def fail(stage: Stage) -> None:
    page = stage.frontier.take(A)
    assert page is not None
    visit = Visit(page, stage.now, Outcome.CLIENT_ERROR, b"GET", Response(403, b"", b"", {}))
    stage.frontier.done(visit, 3, stage.keeper.learn(visit, stage.record, "", 0))
    stage.commit()


@pytest.mark.parametrize("in_vain", [break_off, fail])
def test_a_signal_brings_a_page_forward_that_failed_or_broke_off_once_and_no_further(
    stage: Stage, in_vain: Callable[[Stage], None]
) -> None:
    tell(stage)
    for failures in (1, 2):
        assert waits(stage)
        in_vain(stage)
        stage.pass_time(HOUR)
        tell(stage)
        assert (stage.care.signals, stage.care.failures) == (failures + 1, failures)
    assert not waits(stage)


def test_a_page_never_seen_is_given_up_no_sooner_for_being_announced(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "frontier", SETTINGS)
    stage.find()
    stage.frontier.server(A).signals = GOOD
    days = []
    for day in range(100):
        page = stage.frontier.take(A)
        if page is not None:
            stage.frontier.put_back(page)
            stage.visit(Outcome.TIMEOUT)
            days.append(day)
        tell(stage)
        stage.pass_time(DAY)
        stage.commit()
    stage.frontier.close()
    assert days == [0, 1, 21, 61]


def test_a_page_that_waits_already_is_not_dated_anew(stage: Stage) -> None:
    tell(stage)
    assert waits(stage)
    tell(stage)
    assert (stage.care.signals, stage.care.version) == (2, 2)
    stage.visit(digest="two", main=2)
    assert (stage.care.signals, stage.care.version, stage.care.told_at > 0) == (0, 3, True)
    assert not waits(stage)


def test_a_page_whose_date_comes_in_the_moment_of_a_signal_waits_once(stage: Stage) -> None:
    stage.pass_time(9 * DAY)
    stage.keeper.hear([Signal(URL, stage.now)], HOUR)
    assert stage.commit() == []
    assert waits(stage)
    assert stage.frontier.server(A).due == 1
    assert (stage.care.signals, stage.care.version) == (1, 2)


def test_the_date_that_a_signal_replaced_counts_no_more(stage: Stage) -> None:
    tell(stage)
    assert waits(stage)
    stage.visit()
    for _ in range(9):
        stage.pass_time(DAY / 24)
        assert stage.commit() == []


def test_a_page_announced_at_each_of_its_changes_is_known_as_if_nobody_had_spoken(tmp_path: Path) -> None:
    """One change in ten days. Counted as any visits, they say four a day, and such a page is given up."""
    stage = Stage(tmp_path, SETTINGS)
    stage.find()
    stage.visit()
    stage.frontier.server(A).signals = GOOD
    stage.frontier.server(A).foretold = tuple(50.0 * (place == GOOD) for place in range(len(QUALITIES)))
    stage.frontier.server(A).said = (0.3, 0.0)  # by other pages, enough for signals to be heeded
    chance = np.random.default_rng(1)
    for number in range(20):
        stage.pass_time(float(chance.exponential(10 * DAY)) + 600)
        tell(stage)
        waits(stage)
        stage.visit(digest=str(number), main=number + 2)
    assert changes(stage) == (20, 20)
    assert 5 * 24 < estimate_h(stage) < 20 * 24
    stage.frontier.close()


@pytest.mark.parametrize(("watch", "waits_longer"), [(True, True), (False, False)])
def test_only_who_reads_sources_waits_to_be_told(watch: bool, waits_longer: bool) -> None:
    policy = Policy(replace(SETTINGS, watch=watch, least_interval_s=60.0))
    silent = policy.learned(change.blank(50), np.full(50, DAY), np.arange(50) % 2 == 0)
    policy.study(silent, np.ones(50), np.zeros((50, 2)), 50 / DAY)
    told = silent.copy()
    told["told"] = -GOOD
    others, weights = np.zeros((50, 2)), np.ones(50)
    waits_s = [policy.intervals_s(each, weights, others) for each in (silent, told)]
    assert bool((waits_s[1] > 1.2 * waits_s[0]).all()) == waits_longer
    assert bool((waits_s[1] == waits_s[0]).all()) != waits_longer


class Robot:
    """The robot's own policy and judgement, as the simulator asks for them."""

    uses_spare = True

    def __init__(self, world: World, budget_per_s: float) -> None:
        self._world, self._budget_per_s = world, budget_per_s
        self._policy = Policy(Refresh(most_interval_s=400 * DAY))
        self._servers = [
            ServerRecord(wishes={0: (pages, 1.0)}) for pages in np.bincount(world.server).tolist()
        ]
        self._said, self._own = np.zeros((len(self._servers), 2)), np.zeros((len(world), 2))
        self.histories = change.blank(len(world))
        self._told, self._moved_s = np.zeros(len(world), bool), np.zeros(len(world))

    def first_s(self, pages: Indices) -> Floats:
        return np.full(len(pages), 7 * DAY)

    def visited(self, pages: Indices, elapsed_s: Floats, changed: Flags, number: Floats) -> Floats:
        server, others, old = self._world.server[pages], self._others(pages), self.histories[pages]
        here = np.flatnonzero(self._told[pages])
        for each in np.unique(server[here]).tolist():
            self._servers[each].said = float(self._said[each, 0]), float(self._said[each, 1])
        witnesses: list[witness.Witness] = [
            (self._servers[server[place]], Upkeep(signals=int(number[place]))) for place in here
        ]
        said = witness.heard(len(pages), here, witnesses)
        after = self._policy.learned(old, elapsed_s, changed, others, heard=said)
        if len(here):
            chances = self._policy.chances(old[here], others[here])
            witness.judge(witnesses, signals.scores(elapsed_s[here], changed[here], number[here], chances))
            after["told"][here] = [-each.signals for each, _ in witnesses]
        self.histories[pages], spoken = after, prior.said(after)
        np.add.at(self._said, server, spoken - self._own[pages])
        self._own[pages], self._moved_s[pages] = spoken, 0.0
        return self._policy.intervals_s(after, self._world.importance[pages], others)

    def signalled(self, pages: Indices) -> Floats:
        self._told[pages] = True
        histories = self.histories[pages]
        histories["told"] = [-self._servers[server].signals for server in self._world.server[pages]]
        sooner_s = self._policy.signal_worth_s(histories, self._others(pages))
        self._moved_s[pages] += sooner_s
        return sooner_s

    def plan(self, known: Indices) -> Floats:
        histories, weights = self.histories[known], self._world.importance[known]
        self._policy.study(histories, weights, self._others(known), self._budget_per_s)
        return self._policy.intervals_s(histories, weights, self._others(known)) - self._moved_s[known]

    def estimates(self) -> Floats:
        """Times the true rates."""
        chances = self._policy.chances(self.histories, self._others(np.arange(len(self._world))))
        return change.rate_per_s(chances) / self._world.change_per_s

    def _others(self, pages: Indices) -> Floats:
        return np.maximum(self._said[self._world.server[pages]] - self._own[pages], [0.0, -np.inf])


@pytest.mark.slow
@pytest.mark.parametrize(("good", "broken", "gain"), [(0.38, 0.09, 0.035), (0.0, 0.5, -0.004)])
def test_the_robot_gains_by_signals_what_the_simulator_gains(good: float, broken: float, gain: float) -> None:
    """A visit for every fourth change. By visiting at once whatever is announced, a fifth would be lost.

    Where nobody is believed both do the same, and differ by chance, by another one on other processors.
    """
    world = made_up(1_500, 2, good=good, broken=broken)
    budget, course = 0.25 * float(world.change_per_s.sum()), Course(days=80, seed=2)

    def fresh(chooser: Robot | Learner) -> float:
        return crawl(world, chooser, budget, course).weighted

    def simulated(heeds: bool) -> Learner:
        return Learner(world.importance, world.server, budget, Settings(signals=heeds), 2)

    robot = Robot(world, budget)
    deaf, told, robots = fresh(simulated(False)), fresh(simulated(True)), fresh(robot)
    assert robots > deaf + gain
    assert robots > told - 0.005
    known = robot.histories["visits"] >= 8
    for kind in (world.signalled > 0, (world.signalled == 0) & (world.false_per_s > 0)):
        if (kind & known).any():
            assert np.median(robot.estimates()[kind & known]) == pytest.approx(1.0, abs=0.2)
