"""What does a robot get that has much less to do than the others?

In:    what each server costs each robot, and how sure that is; who has them; which may move.
Out:   owners, under which those robots have about as much as everyone.
Never: lets anybody have more than its share for it, or less than the newcomer; moves a server between two
       that both have enough: that is `plan`'s.
Paper: beyond S1, whose robots start together; S1-15 asks that nobody needs to help.

What a newcomer costs is only guessed, but a share is the sum of many guesses, and being off by some is soon
seen. So it is filled up at once and not server by server as `plan` finds proof that one should move.
"""

from __future__ import annotations

import numpy as np

from joro.coordinate.assign import NOBODY, Floats, Owners, loads

#: A robot is short that has less than this part of what all have in the mean.
SHORT = 0.7
#: It gets no more than the mean and so much, and others keep the mean less so much, where servers allow.
EVEN = 0.1
#: A server that costs less than this part of the mean stays: its journal moves for nothing.
CRUMB = 0.25
#: A load counts as what it may be, if luck explains as many standard errors.
SURE = 2.0


def short(costs: Floats, owners: Owners, doubts: Floats) -> Owners:
    """The robots that have too little, whatever their costs were off by; the emptiest first."""
    load = loads(costs, owners)
    errors = np.where(np.isfinite(costs), costs, 0.0) * doubts
    at_most = load + SURE * np.sqrt(loads(errors**2, owners))
    few = np.flatnonzero(at_most < SHORT * load.mean())
    emptiest_first: Owners = few[np.argsort(load[few], kind="stable")]
    return emptiest_first


def filled(costs: Floats, owners: Owners, doubts: Floats, most_moves: int) -> Owners:
    """The owners, after robots that are short got servers that are dear and near to them, few of them.

    First only what others can spare; where servers are too big for that, whatever leaves the giver as much as
    the newcomer has. Costs that are infinite for all but the owner keep a server where it is.
    """
    after, load = owners.copy(), loads(costs, owners)
    fair = float(load.mean())
    for robot in short(costs, owners, doubts):
        for kept, enough in (((1.0 - EVEN) * fair, fair), (0.0, SHORT * fair)):
            for server in _worth_most(costs, after, int(robot)):
                giver, gets = after[server], load[robot] + costs[robot, server]
                keeps = load[giver] - costs[giver, server]
                if most_moves == 0 or load[robot] >= enough * (1.0 - EVEN):
                    break
                if gets <= (1.0 + EVEN) * fair and keeps >= max(kept, gets * (1.0 - EVEN)):
                    after[server], load[robot], load[giver] = robot, gets, keeps
                    most_moves -= 1
    return after


def sparing(costs: Floats, before: Owners, after: Owners) -> Owners:
    """The owners after, without the moves that would leave a giver short: it would be filled up again.

    Those that save most come first.
    """
    owners, load = before.copy(), loads(costs, before)
    least = SHORT * float(load.mean())
    moving = np.flatnonzero(before != after)
    saved = costs[before[moving], moving] - costs[after[moving], moving]
    for server in moving[np.argsort(-saved, kind="stable")]:
        giver, taker = before[server], after[server]
        if load[giver] - costs[giver, server] >= least:
            owners[server] = taker
            load[giver] -= costs[giver, server]
            load[taker] += costs[taker, server]
    return owners


def _worth_most(costs: Floats, owners: Owners, robot: int) -> list[int]:
    """Servers of others, dear ones first that are nearer to the robot than to their owner."""
    held = np.flatnonzero((owners != NOBODY) & (owners != robot) & np.isfinite(costs[robot]))
    own = costs[owners[held], held]
    big = own * len(own) >= CRUMB * own.sum()
    held, own = held[big], own[big]
    ranks: list[int] = held[np.argsort(-own * own / costs[robot, held], kind="stable")].tolist()
    return ranks
