"""Who gets which server, as long as nothing is known, or when one is new?

In:    names of servers and robots; or what each server costs each robot, and who has it now.
Out:   owners: for each server the number of its robot. One number, so no server is ever owned twice.
Never: asks a person, looks at a clock, or takes a server from its owner (`balance` and `plan` do).
Paper: S1 5.2.1 (at first at random), S1-15 (new servers are assigned with nobody's help), S3 2.2 (hash).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xxhash

from joro.errors import UsageError

Floats = npt.NDArray[np.float64]
#: For each server the number of its robot.
Owners = npt.NDArray[np.int64]

#: The owner of a server that nobody has yet.
NOBODY = -1


def at_random(servers: int, robots: int, seed: int) -> Owners:
    """Each server to any robot; the shares may differ by what chance does."""
    return np.random.default_rng(seed).integers(0, _some(robots), servers)


def by_rendezvous(servers: Sequence[str], robots: Sequence[str]) -> Owners:
    """To the robot whose name gives the highest hash together with the server's.

    A robot that comes takes its part from everyone and one that goes leaves its part to everyone; nothing
    else moves. By `share` a sixth robot moves five servers of six.
    """
    _some(len(robots))
    seeds = [xxhash.xxh3_64_intdigest(robot.encode()) for robot in robots]
    names = [server.encode() for server in servers]
    lots = [[xxhash.xxh3_64_intdigest(name, seed) for name in names] for seed in seeds]
    highest: Owners = np.array(lots, np.uint64).reshape(len(robots), len(names)).argmax(axis=0)
    return highest


def loads(costs: Floats, owners: Owners) -> Floats:
    """Cost(P_i) = Σ_j C_ij of each robot (S1 5.2.1); servers of nobody cost nobody."""
    robots, _ = costs.shape
    held = np.flatnonzero(owners != NOBODY)
    spent = np.bincount(owners[held], weights=costs[owners[held], held], minlength=robots)
    return spent.astype(np.float64)


def place(costs: Floats, owners: Owners) -> Owners:
    """The same owners, and one for each server of nobody: whoever is then done first with all he has.

    Dear servers come first, as in any packing. A server that no robot reaches stays with nobody.
    """
    placed, load = owners.copy(), loads(costs, owners)
    new = np.flatnonzero(owners == NOBODY)
    cheapest = costs[:, new].min(axis=0, initial=np.inf)
    for server in new[np.argsort(-cheapest, kind="stable")]:
        robot = int((load + costs[:, server]).argmin())
        if np.isfinite(costs[robot, server]):
            placed[server] = robot
            load[robot] += costs[robot, server]
    return placed


def _some(robots: int) -> int:
    if robots < 1:
        raise UsageError(f"{robots} robots cannot own servers", remedy="let at least one subscribe")
    return robots
