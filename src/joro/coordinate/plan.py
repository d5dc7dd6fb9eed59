"""Which robot should have which server, when someone knows what each costs each?

In:    what each server costs each robot; how many servers a robot collects side by side; who has them now,
       and how many may move.
Out:   owners, under which the last robot is done as early as we can find.
Never: moves more servers than it may, except those whose robot is gone; gives one to a robot that cannot
       reach it.
Paper: beyond S1: its rule sees only neighbours, and its 6.4 leaves the 200 lanes of a robot to later work.

Finding the best owners is NP-hard (R||Cmax). Several ways are tried and the best result is taken. *Prices*:
every server goes where price × cost is least, and robots with too much become dearer, as the dual of the
linear relaxation has it; with huge servers free, or given away before. A server that moves must be worth a
toll, raised until few enough move. *Packing*: dear servers first, each to whoever is then done first. Each is
then *improved*: the last robot gives away the server that helps most, again and again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from joro.coordinate.assign import NOBODY, Floats, Owners, loads, place

#: How often prices change, by how much at first, and by how much less each time.
PRICE_ROUNDS = 300
PRICE_STEP = 0.5
PRICE_DECAY = 0.985
#: A robot without servers counts as one with this share of the mean, lest its price becomes 0.
IDLE = 1e-3
#: A server is huge that takes more than this share of the time all servers take at least.
HUGE = 0.2
#: What a server must become cheaper by to be moved.
TOLLS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)
#: A move must help even if measurements were so many standard errors too good.
SURE = 2.0
#: A step of less than this share is no improvement but rounding.
WORTH = 1e-9


def finish(costs: Floats, owners: Owners, lanes: int = 1) -> Floats:
    """When each robot is done: max(Σ cost / lanes, dearest server), as S1 6.4 reckons its 200 threads."""
    held = np.flatnonzero(owners != NOBODY)
    dearest = np.zeros(len(costs))
    np.maximum.at(dearest, owners[held], costs[owners[held], held])
    return np.maximum(loads(costs, owners) / lanes, dearest)


def moved(before: Owners, after: Owners) -> int:
    """How many servers changed their robot; those of nobody before are new, not moved."""
    return int(((before != after) & (before != NOBODY)).sum())


def least(costs: Floats, lanes: int = 1) -> float:
    """No plan at all is done sooner: proven by prices, or by the server that takes longest at its nearest.

    For any prices p the end is at least Σ_s min_r p_r·cost(r, s) / (lanes · Σ p), by linear duality.
    """
    reached = costs[:, np.isfinite(costs).any(axis=0)]
    prices, step, bound = np.ones(len(costs)), PRICE_STEP, 0.0
    for _ in range(PRICE_ROUNDS):
        priced = reached * prices[:, None]
        owners = priced.argmin(axis=0)
        bound = max(bound, float(priced.min(axis=0).sum() / (lanes * prices.sum())))
        prices, step = _changed(prices, loads(reached, owners), step), step * PRICE_DECAY
    return max(bound, float(reached.min(axis=0).max(initial=0.0)))


def _changed(prices: Floats, load: Floats, step: float) -> Floats:
    """Dearer whoever has more than the mean, cheaper who has less; nobody for nothing."""
    mean = float(load.mean()) or 1.0
    after = prices * ((load + IDLE * mean) / mean) ** step
    scaled: Floats = after / after.mean()
    return scaled


def plan(
    costs: Floats, lanes: int = 1, *, current: Owners | None = None, most_moves: int | None = None
) -> Owners:
    """Owners for every server; at most so many of `current` move by choice.

    Servers whose robot cannot reach them any more are of nobody, and placed anew.
    """
    before = np.full(costs.shape[1], NOBODY, np.int64) if current is None else settled(costs, current)
    allowed = costs.shape[1] if most_moves is None else most_moves
    best = before
    for start in _starts(costs, before, lanes, allowed):
        owners = improve(costs, start, lanes, before=before, most_moves=allowed)
        if best is before or _worst(costs, owners, lanes) < _worst(costs, best, lanes):
            best = owners
    return best


def settled(costs: Floats, owners: Owners) -> Owners:
    """The owners, without those who cannot reach their server: a robot that is gone has infinite costs."""
    after = owners.copy()
    held = np.flatnonzero(owners != NOBODY)
    after[held[~np.isfinite(costs[owners[held], held])]] = NOBODY
    return after


def wary(costs: Floats, owners: Owners, doubts: Floats) -> Floats:
    """The costs, for all but the present owner as they are if luck explains `SURE` standard errors.

    A server that is worth moving by these is, with all likelihood, worth it: one that was measured anew a
    little better elsewhere stays. `doubts` are those of the logarithms of costs.
    """
    held = np.flatnonzero(owners != NOBODY)
    own = np.zeros(costs.shape[1])
    own[held] = doubts[owners[held], held]
    raised = costs * np.exp(SURE * np.hypot(doubts, own))
    raised[owners[held], held] = costs[owners[held], held]
    return raised


def _worst(costs: Floats, owners: Owners, lanes: int) -> tuple[float, float]:
    """What is made small: the end; and where one huge server decides that, the squares of all loads."""
    load = loads(costs, owners)
    return float(finish(costs, owners, lanes).max(initial=0.0)), float(load @ load)


def _starts(costs: Floats, before: Owners, lanes: int, allowed: int) -> Iterator[Owners]:
    """Where improving may begin: a packing, and the prices with the lowest toll that moves few enough."""
    yield place(costs, before)
    found: list[Owners] = []

    def moves_few(toll: float) -> bool:
        tolled = _tolled(costs, before, toll)
        every = [_priced(costs, priced, lanes) for priced in (tolled, _pinned(costs, tolled, lanes))]
        few = [owners for owners in every if moved(before, owners) <= allowed]
        found[:] = few or found
        return bool(few)

    if not moves_few(TOLLS[0]) and allowed > 0:
        bisect_left(TOLLS, True, key=moves_few)
    yield from found


def _tolled(costs: Floats, before: Owners, toll: float) -> Floats:
    """The costs, for all but the present owner with the toll on top."""
    tolled = costs * toll
    held = np.flatnonzero(before != NOBODY)
    tolled[before[held], held] = costs[before[held], held]
    return tolled


def _pinned(costs: Floats, tolled: Floats, lanes: int) -> Floats:
    """The same, where huge servers have a robot already: prices would swing to and fro over them."""
    nearest = costs.min(axis=0, initial=np.inf)
    nearest = np.where(np.isfinite(nearest), nearest, 0.0)
    huge = np.flatnonzero(
        nearest > HUGE * max(nearest.sum() / (lanes * len(costs)), nearest.max(initial=0.0))
    )
    holders = place(costs[:, huge], np.full(len(huge), NOBODY, np.int64))
    pinned = tolled.copy()
    pinned[:, huge] = np.inf
    pinned[holders, huge] = costs[holders, huge]
    return pinned


def _priced(costs: Floats, tolled: Floats, lanes: int) -> Owners:
    """Every server where price × cost is least; the best of many rounds of prices."""
    reach = np.isfinite(costs).any(axis=0)
    prices, step = np.ones(len(costs)), PRICE_STEP
    best, end = np.full(costs.shape[1], NOBODY, np.int64), (np.inf, np.inf)
    for _ in range(PRICE_ROUNDS):
        owners = np.where(reach, (tolled * prices[:, None]).argmin(axis=0), NOBODY)
        if (now := _worst(costs, owners, lanes)) < end:
            best, end = owners, now
        prices, step = _changed(prices, loads(costs, owners), step), step * PRICE_DECAY
    return best


def improve(costs: Floats, owners: Owners, lanes: int = 1, *, before: Owners, most_moves: int) -> Owners:
    """Let the last robot that can give away what helps most, until nothing helps or no more may move."""
    owners, load = owners.copy(), loads(costs, owners)
    stuck = np.zeros(len(costs), bool)
    while not stuck.all():
        end = finish(costs, owners, lanes)
        last = int(np.where(stuck, -1.0, end).argmax())
        found = _best_gift(costs, owners, load, end, last, lanes)
        if found is None:
            stuck[last] = True
            continue
        server, robot = found
        old, owners[server] = owners[server], robot
        if moved(before, owners) > most_moves:
            owners[server] = old
            break
        load[last] -= costs[last, server]
        load[robot] += costs[robot, server]
    return owners


def _best_gift(
    costs: Floats, owners: Owners, load: Floats, end: Floats, last: int, lanes: int
) -> tuple[int, int] | None:
    """The server and the robot, after which the later of the two is done earliest; None if no gift helps."""
    held = np.flatnonzero(owners == last)
    if len(costs) < 2 or not len(held):
        return None
    theirs = costs[:, held]
    receiver = np.maximum((load[:, None] + theirs) / lanes, theirs)
    receiver[last] = np.inf
    giver = np.maximum((load[last] - costs[last, held]) / lanes, _dearest_but_one(costs[last, held]))
    later = np.maximum(receiver, giver)
    robot, place_ = np.unravel_index(int(later.argmin()), later.shape)
    if not later[robot, place_] < end[last] * (1.0 - WORTH):
        return None
    return int(held[place_]), int(robot)


def _dearest_but_one(durations: Floats) -> Floats:
    """For each server the dearest of the others."""
    ranks = np.argsort(durations)
    dearest = np.full(len(durations), durations[ranks[-1]])
    dearest[ranks[-1]] = durations[ranks[-2]] if len(ranks) > 1 else 0.0
    return dearest
