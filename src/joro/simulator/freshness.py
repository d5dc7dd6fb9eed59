"""How fresh is the copy, when pages are visited as somebody chooses?

In:    a world, a chooser, a budget of visits.
Out:   the share of time that pages are as we have them, by page and by importance; the share of versions
       captured; the visits it took; freshness day by day.
Never: gives anybody more visits than the budget; measures before the chooser had time to learn, unless asked.
Paper: S0-03, S4-04, and the rules of other crawlers, side by side.

Time passes in rounds of an hour. In each the pages that are due are visited, as many as the budget has; the
rest wait longer. Visits that nobody wanted can be made up for within a day. Freshness is exact, not sampled:
of every page the moment of its first change since the visit is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from joro.model import DAY_S
from joro.schedule.optimum import Array
from joro.simulator.rivals import Chooser
from joro.simulator.world import Indices, World

#: Days after the start when plans are made; then every week.
FIRST_PLANS = (0.0, 1.0, 2.0, 4.0, 7.0, 10.0)


@dataclass(frozen=True)
class Course:
    """How long, how finely, and from when on it counts."""

    days: float = 240.0
    measured_from: float = 0.5  # share of the days that only serve to learn
    round_s: float = 3_600.0
    seed: int = 0

    @property
    def end_s(self) -> float:
        return self.days * DAY_S

    @property
    def start_s(self) -> float:
        return self.measured_from * self.end_s


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    fresh: float  # mean over pages
    weighted: float  # by importance
    captured: float  # share of versions
    visits: int
    used: float  # share of the budget
    by_day: Array = field(repr=False)  # weighted freshness at the end of each day


def crawl(
    world: World,
    chooser: Chooser,
    budget_per_s: float,
    course: Course,
    progress: Callable[[float], object] | None = None,
) -> Outcome:
    """Visit pages for `course.days`; `progress` is told every day which share of them that was."""
    state = _State(world, chooser, course)
    rounds, plans = int(course.end_s / course.round_s), _plan_days(course.days)
    most, gone = budget_per_s * DAY_S + 1, 0.0
    for number in range(1, rounds + 1):
        now = number * course.round_s
        state.bear(now)
        if plans and now - course.round_s >= plans[0] * DAY_S:
            plans.pop(0)
            state.plan(now)
        if world.has_signals:
            state.hear(now)
        # From the whole, not by adding up: after 24 rounds of 1/24 visit there must be one, not .9999.
        purse = budget_per_s * now - gone
        gone += max(purse - most, 0.0) + state.visit(now, int(min(purse, most) + 1e-9))
        if now % DAY_S < course.round_s:
            state.note_day(now)
            if progress is not None:
                progress(DAY_S / course.end_s)
    return state.outcome(budget_per_s)


def _plan_days(days: float) -> list[float]:
    return [*FIRST_PLANS, *np.arange(FIRST_PLANS[-1] + 7, days, 7.0)]


class _State:
    """Every page as it is, and as we have it."""

    def __init__(self, world: World, chooser: Chooser, course: Course) -> None:
        self.world, self.chooser, self.course = world, chooser, course
        self.chance = np.random.default_rng(course.seed)
        pages = len(world)
        self.seen_s, self.due_s = np.full(pages, np.inf), np.full(pages, np.inf)
        self.change_s = np.full(pages, np.inf)  # first change since it was last seen
        self.signal_s, self.is_true = np.full(pages, np.inf), np.zeros(pages, bool)
        self.signals = np.zeros(pages)  # since it was last seen
        self.fresh_s = np.zeros(pages)
        self.visits = self.captured = 0
        self.by_day: list[float] = []
        self._unborn = np.argsort(world.born_s, kind="stable")

    def bear(self, now: float) -> None:
        """Pages that are there from now on are found and seen at once, outside the budget."""
        new = self._unborn[
            : np.searchsorted(self.world.born_s[self._unborn], now - self.course.round_s, "right")
        ]
        if len(new):
            self._unborn = self._unborn[len(new) :]
            self.seen_s[new] = self.world.born_s[new]
            self._go_on(new, self.seen_s[new])
            self.due_s[new] = self.seen_s[new] + self.chooser.first_s(new)
            self._draw_signals(new, self.seen_s[new])

    def plan(self, now: float) -> None:
        known = np.flatnonzero(np.isfinite(self.seen_s))
        interval_s = self.chooser.plan(known) if len(known) else None
        if interval_s is not None:
            self.due_s[known] = self.seen_s[known] + interval_s

    def hear(self, now: float) -> None:
        """Signals up to now: a true one is a change, and any may make the next visit sooner."""
        while len(told := np.flatnonzero(self.signal_s <= now)):
            true = told[self.is_true[told]]
            self.change_s[true] = np.minimum(self.change_s[true], self.signal_s[true])
            self.signals[told] += 1
            self.due_s[told] -= self.chooser.signalled(told)
            self._draw_signals(told, self.signal_s[told])

    def visit(self, now: float, quota: int) -> int:
        """Visit what is due, at most `quota` pages; how many were visited."""
        pages = self._due(now, quota)
        if not len(pages):
            return 0
        elapsed_s, changed = now - self.seen_s[pages], self.change_s[pages] <= now
        self._count_fresh(pages, now)
        self.visits += len(pages)
        self.captured += int(changed.sum()) if now > self.course.start_s else 0
        wait_s = self.chooser.visited(pages, elapsed_s, changed, self.signals[pages])
        self.signals[pages], self.seen_s[pages] = 0, now
        self._go_on(pages, self.seen_s[pages])
        self.due_s[pages] = now + wait_s
        return len(pages)

    def note_day(self, now: float) -> None:
        is_fresh = (self.change_s > now) & np.isfinite(self.seen_s)
        there = self.world.importance[np.isfinite(self.seen_s)].sum()
        self.by_day.append(float(self.world.importance @ is_fresh / max(there, 1e-300)))

    def outcome(self, budget_per_s: float) -> Outcome:
        course, world = self.course, self.world
        self._count_fresh(np.arange(len(world)), course.end_s)
        there_s = course.end_s - np.maximum(course.start_s, np.minimum(world.born_s, course.end_s))
        changes = float(world.change_per_s.sum()) * (course.end_s - course.start_s)
        return Outcome(
            fresh=float(self.fresh_s.sum() / there_s.sum()),
            weighted=float(world.importance @ self.fresh_s / (world.importance @ there_s)),
            captured=self.captured / max(changes, 1e-300),
            visits=self.visits,
            used=self.visits / (budget_per_s * course.end_s),
            by_day=np.array(self.by_day),
        )

    def _due(self, now: float, quota: int) -> Indices:
        due = np.flatnonzero(self.due_s <= now)
        if len(due) > quota:
            return due[np.argpartition(self.due_s[due], quota - 1)[:quota]] if quota else due[:0]
        if self.chooser.uses_spare and len(due) < quota:
            waiting = np.flatnonzero(self.seen_s < now)
            spare = min(quota, len(waiting))
            return waiting[np.argpartition(self.due_s[waiting], spare - 1)[:spare]] if spare else due
        return due

    def _go_on(self, pages: Indices, after_s: Array) -> None:
        self.change_s[pages] = self.world.next_change_s(pages, after_s, self.chance)

    def _draw_signals(self, pages: Indices, after_s: Array) -> None:
        if self.world.has_signals:
            self.signal_s[pages], self.is_true[pages] = self.world.next_signal_s(pages, after_s, self.chance)

    def _count_fresh(self, pages: Indices, now: float) -> None:
        start = np.maximum(self.seen_s[pages], self.course.start_s)
        self.fresh_s[pages] += np.maximum(0.0, np.minimum(self.change_s[pages], now) - start)
