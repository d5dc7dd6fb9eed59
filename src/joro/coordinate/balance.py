"""How do robots that know only their neighbours come to equal costs?

In:    the distances between robots; what each server costs each robot; who has which server.
Out:   a spanning tree, Give, Move, and new owners.
Never: moves a server along anything but an edge of the tree.
Paper: S1 5.2.1, equations (1) to (5) and its four steps.

S1 leaves five things open. Its third case of Move prints the condition of the first one; meant is
Give(A,B) < 0 < Give(B,A), without which Move(A,B) = −Move(B,A) could not hold. Where a Give is exactly 0
nobody wants anything, and nothing moves. It says to whom a server goes (the neighbour nearest to it), but
not which servers go: here those first that the neighbour is nearest to in comparison with their owner.

A server cannot be halved, and S1 does not say what becomes of one that costs more than Move. Were it kept, a
robot with a single huge server far away from it would keep it for ever, though a neighbour collected it in a
fraction of that time: the rule would be stuck, as it was in three worlds of twenty. Move is what goes from A
to B, so it may also be what remains of both ways: where nothing fits, A hands over the one server that lets
the later of both end earliest, as (2) asks, and B gives half of what it then has more back to A, the Give of
two.

And S1's program runs "any number of times" and prints all costs each time. The goal is (2), the least of the
greatest cost, so of several rounds the one counts in which that is least, and of those that share it, by the
cost of one server, the most even one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joro.coordinate.assign import Floats, Owners, loads

Edge = tuple[int, int]
#: A server is handed over while at most this much of it is more than was to be moved.
OVERSHOOT = 0.5


def spanning_tree(distances: Floats) -> list[Edge]:
    """The edges along which robots talk to each other: as short as can be in all (Prim)."""
    robots = len(distances)
    nearest, via = distances[0].astype(float), np.zeros(robots, np.int64)
    outside = np.ones(robots, bool)
    edges: list[Edge] = []
    outside[:1] = False
    while outside.any():
        here = int(np.where(outside, nearest, np.inf).argmin()) if robots else 0
        here = here if outside[here] else int(outside.argmax())  # unreachable: any edge is as bad
        edges.append((int(via[here]), here))
        outside[here] = False
        closer = distances[here] < nearest
        nearest, via = np.where(closer, distances[here], nearest), np.where(closer, here, via)
    return edges


def give(costs: Floats, tree: Sequence[Edge]) -> Floats:
    """Give(A, B_i) = (Cost(A) + Σ_j Cost(B_j)) / (n + 1) − Cost(B_i), equation (3); 0 without an edge."""
    is_edge = _edges(tree, len(costs))
    mean = (costs + is_edge @ costs) / (1 + is_edge.sum(axis=1))
    return np.where(is_edge, mean[:, None] - costs[None, :], 0.0)


def move(gives: Floats) -> Floats:
    """Move(A, B): what is really to go from A to B; negative where B is to give it to A."""
    back = gives.T
    if_agreed = np.sign(gives) * np.minimum(np.abs(gives), np.abs(back))
    return np.where(gives * back > 0, gives - back, np.where(gives * back < 0, if_agreed, 0.0))


def hand_over(costs: Floats, owners: Owners, moves: Floats) -> Owners:
    """Steps 3 and 4: each giver hands servers to the nearest of its receivers, till Move is used up.

    `costs` are w·d, so for one server the nearest robot is the cheapest. What is moved counts by the
    giver's cost, because the receiver's is known for certain only after it has collected.
    """
    after = owners.copy()
    givers: list[int] = np.flatnonzero((moves > 0).any(axis=1)).tolist()
    for giver in givers:
        receivers = np.flatnonzero(moves[giver] > 0)
        _hand_over(costs, owners, after, giver, receivers, moves[giver, receivers].copy())
    for giver in givers:
        held = np.flatnonzero(owners == giver)
        if len(held) and (after[held] == giver).all():
            _exchange(costs, owners, after, giver, np.flatnonzero(moves[giver] > 0))
    return after


def _hand_over(
    costs: Floats, owners: Owners, after: Owners, giver: int, receivers: Owners, left: Floats
) -> None:
    held = np.flatnonzero(owners == giver)
    theirs, own = costs[np.ix_(receivers, held)], costs[giver, held]
    nearest = theirs.argmin(axis=0)
    gain = own / theirs[nearest, np.arange(len(held))]
    for place in np.argsort(-gain, kind="stable"):
        to = nearest[place]
        if np.isfinite(theirs[to, place]) and OVERSHOOT * own[place] <= left[to]:
            after[held[place]] = receivers[to]
            left[to] -= own[place]


def _exchange(costs: Floats, owners: Owners, after: Owners, giver: int, receivers: Owners) -> None:
    """Nothing was small enough: the one server goes that helps most, and something comes back."""
    held, load = np.flatnonzero(owners == giver), loads(costs, after)
    theirs = costs[np.ix_(receivers, held)]
    nearest = theirs.argmin(axis=0)
    ends = np.maximum(load[receivers[nearest]] + theirs.min(axis=0), load[giver] - costs[giver, held])
    place = int(ends.argmin())
    if not ends[place] < load[giver]:
        return
    receiver = int(receivers[nearest[place]])
    after[held[place]] = receiver
    back = (load[receiver] + theirs[:, place].min() - load[giver] + costs[giver, held[place]]) / 2.0
    kept = np.flatnonzero((after == receiver) & (owners == receiver) & np.isfinite(costs[giver]))
    for server in kept[np.argsort(-costs[receiver, kept] / costs[giver, kept], kind="stable")]:
        if OVERSHOOT * costs[receiver, server] <= back:
            after[server] = giver
            back -= costs[receiver, server]


def equalise(costs: Floats, owners: Owners, tree: Sequence[Edge], rounds: int = 1) -> Owners:
    """Give, Move and hand over so many times, or until nothing moves; the owners in the best round."""
    best = owners
    for _ in range(rounds):
        moves = move(give(loads(costs, owners), tree))
        after = hand_over(costs, owners, moves)
        if np.array_equal(after, owners):
            break
        owners = after
        if _uneven(costs, owners) < _uneven(costs, best):
            best = owners
    return best


def _uneven(costs: Floats, owners: Owners) -> tuple[float, float]:
    """What (2) makes small; and where one server decides that, the squares of all costs."""
    load = loads(costs, owners)
    return float(load.max(initial=0.0)), float(load @ load)


def _edges(tree: Sequence[Edge], robots: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    is_edge = np.zeros((robots, robots), bool)
    for one, other in tree:
        is_edge[one, other] = is_edge[other, one] = True
    return is_edge
