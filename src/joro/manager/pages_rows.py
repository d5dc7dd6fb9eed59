"""What is there to tell about each robot?

In:    the control store.
Out:   a row for each robot, which servers are on their way between whom, and sums.
Never: changes anything.
Paper: S1 5.1.6, 3, and what a lease adds to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from joro.manager.classic_robots import QUIET, TOLD, WANTED
from joro.manager.pages_look import ago, spell
from joro.manager.restarting import restarts
from joro.manager.tokens import CLASSIC
from joro.store.control import Transaction

Moves = dict[tuple[str, str], int]


class Found(NamedTuple):
    """A robot as it stands in the store."""

    name: str
    kind: str
    state: str
    lease_until: float
    beat_at: float
    asked_at: float | None
    list_at: float | None
    waiting: int
    visited: int
    idle: int
    version: str
    restart_wanted: int
    restarted_at: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was, for people: how long ago, and exactly."""

    ago: str = "–"
    exact: str = ""

    def __str__(self) -> str:
        return self.ago


@dataclass(frozen=True, slots=True)
class RobotRow:
    """One robot as the page shows it."""

    name: str
    kind: str
    state: str
    idle: bool
    restart: str
    asked: Moment
    listed: Moment  # to robots of ours: when it was last given a server
    lease: str
    servers: int
    load: int  # percent of the fullest robot's servers
    waiting: int
    visited: int
    going: int
    coming: int
    version: str


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all robots."""

    up: int
    servers: int
    unowned: int
    waiting: int
    visited: int
    moves: int


def robots_shown(transaction: Transaction) -> tuple[list[RobotRow], Moves]:
    """All robots by name, and how many servers move from whom to whom."""
    servers: dict[str, int] = dict(
        transaction.rows("SELECT owner, COUNT(*) FROM servers WHERE owner IS NOT NULL GROUP BY owner")
    )
    moves: Moves = {
        (owner, heir): count
        for owner, heir, count in transaction.rows(
            "SELECT owner, heir, COUNT(*) FROM servers WHERE owner IS NOT NULL AND heir IS NOT NULL "
            "GROUP BY owner, heir"
        )
    }
    given: dict[str, float] = dict(
        transaction.rows("SELECT owner, MAX(since) FROM servers WHERE owner IS NOT NULL GROUP BY owner")
    )
    most = max(servers.values(), default=0)
    told = restarts(transaction)
    robots = []
    for row in transaction.rows(f"SELECT {', '.join(Found._fields)} FROM robots ORDER BY name"):
        robot = Found(*row)
        held, is_classic = servers.get(robot.name, 0), robot.kind == CLASSIC
        robots.append(
            RobotRow(
                name=robot.name,
                kind=robot.kind,
                state=robot.state,
                idle=bool(robot.idle) and robot.state == "up",
                restart=_restart(robot, told.get(robot.name), transaction.now),
                asked=_moment(robot.asked_at if is_classic else robot.beat_at, transaction.now),
                listed=_moment(robot.list_at if is_classic else given.get(robot.name), transaction.now),
                lease=_lease(robot, transaction.now),
                servers=held,
                load=round(100 * held / most) if most else 0,
                waiting=robot.waiting,
                visited=robot.visited,
                going=sum(count for (owner, _), count in moves.items() if owner == robot.name),
                coming=sum(count for (_, heir), count in moves.items() if heir == robot.name),
                version=robot.version,
            )
        )
    return robots, moves


def _restart(robot: Found, told: str | None, now: float) -> str:
    """Whether it has handled the last restart it was told of."""
    if robot.kind == CLASSIC:
        done = "–" if robot.restarted_at is None else f"done {ago(robot.restarted_at, now)}"
        return {QUIET: done, WANTED: "wanted", TOLD: "under way"}[robot.restart_wanted]
    return told or "–"


def _moment(at: float | None, now: float) -> Moment:
    if not at:
        return Moment()
    return Moment(ago(at, now), datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))


def _lease(robot: Found, now: float) -> str:
    if robot.kind == CLASSIC or not robot.beat_at:
        return "–"
    left_s = robot.lease_until - now
    return spell(left_s) if left_s > 0 else "over"


def totals(transaction: Transaction, robots: Sequence[RobotRow], moves: Moves) -> Totals:
    """The sums above the table."""
    unowned = transaction.rows("SELECT COUNT(*) FROM servers WHERE owner IS NULL")[0][0]
    return Totals(
        up=sum(robot.state == "up" for robot in robots),
        servers=sum(robot.servers for robot in robots),
        unowned=unowned,
        waiting=sum(robot.waiting for robot in robots),
        visited=sum(robot.visited for robot in robots),
        moves=sum(moves.values()),
    )
