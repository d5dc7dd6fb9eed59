"""What must happen in a robot when a server comes or goes?

In:    the name of a server, and what another robot knew about it.
Out:   a robot that remembers of it what the other did, or nothing at all.
Never: decides who has a server; touches one that is being visited.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from joro.coordinate.report import Report
from joro.discover.traps import Traps
from joro.fetch.exclusion import Exclusions
from joro.robot.hearing import promised
from joro.robot.keeper import Keeper
from joro.robot.lessons import dated
from joro.robot.planner import Planner
from joro.robot.sights import Sights, state_of
from joro.schedule import change, late, prior
from joro.schedule.plan import unwish, wish
from joro.schedule.turns import Turns
from joro.store.calendar import Entries
from joro.store.handover import Movable, readable
from joro.store.journal import Keys
from joro.store.records import PageRecord, RobotsRecord, ServerRecord, Upkeep
from joro.url import fingerprint, server_of

if TYPE_CHECKING:
    from joro.robot.robot import Robot


class Premises:
    """A robot, as seen by those who bring and fetch servers."""

    def __init__(
        self,
        robot: Robot,
        wake: Callable[[], None],
        turns: Turns,
        exclusions: Exclusions,
        traps: Traps,
        keeper: Keeper,
        planner: Planner,
    ) -> None:
        self.wake = wake  # the robot looks at once whether there is something to do
        self._robot = robot
        self._turns = turns
        self._exclusions = exclusions
        self._traps = traps
        self._keeper = keeper
        self._planner = planner

    @property
    def frontier(self) -> Movable:
        """The robot's pages."""
        assert isinstance(self._robot.frontier, Movable)
        return self._robot.frontier

    def report(self) -> Report:
        """The robot in numbers."""
        return self._robot.report()

    def pages_of(self, server: str) -> int:
        """How many pages of a server there are to be moved."""
        return self.frontier.server(server).found

    def is_busy(self, server: str) -> bool:
        """Is the server being visited?"""
        return self._turns.is_busy(server)

    def give_up(self, server: str) -> list[str]:
        """Forget a server; others that should have a turn now. Only right after a commit."""
        self._turns.leave(server)
        self.frontier.drop(server)
        self._traps.recall(server, None)
        self._keeper.forget(server)
        return self._exclusions.forget(server)

    def take_over(
        self, server: str, state: dict[bytes, bytes], free_at: float, pauses: float = 1.0
    ) -> ServerRecord:
        """Take in a server of another robot, which may have asked it until `free_at`. Only after a commit.

        The first visit begins so many pauses later, or when the other had promised to come.
        """
        told = readable(server, state.items(), state_of)
        state = {key: value for key, value in told if value is not None}
        record = self.frontier.adopt(server, state, self.dates)
        with suppress(msgspec.MsgspecError):  # then what is known of its traps is found out anew
            self._traps.recall(server, state.get(b"t" + server.encode()))
        rules = state.get(b"r" + server.encode())
        if rules is not None:
            self._exclusions.recall(server, msgspec.msgpack.decode(rules, type=RobotsRecord))
        if free_at:
            record.ready_at = max(record.ready_at, free_at + pauses * self._robot.usual_s(server))
        return record

    def take_late(self, server: str, told: Keys) -> None:
        """Take in what another robot did to a server of ours before it was ours. Only after a commit."""
        self.frontier.merge(server, readable(server, told, state_of), self.dates, recount)

    def dates(self, records: list[PageRecord]) -> Entries:
        """When pages are due that others visited, and those that they gave up and promised to look for.

        Those of who kept nothing fresh come without a date, and get one here.
        """
        sights, planner, adopted = Sights(self.frontier.sources), self._planner, self._keeper.adopted
        found = [(each, each.upkeep or adopted(each) or promised(each, sights)) for each in records]
        kept = [(record, care) for record, care in found if care is not None]
        cares = [care for _, care in kept]
        marks = np.array([fingerprint(record.url) for record, _ in kept], np.uint64)
        servers = np.array([fingerprint(server_of(record.url)) for record, _ in kept], np.uint64)
        times = np.array([record.time for record, _ in kept], np.float64)
        return dated(marks, servers, cares, times, planner.look_within_s, planner.looked_at_share)


def recount(record: ServerRecord, before: Upkeep | None, after: Upkeep | None, waited: bool) -> None:
    """Let a server's pages wish and say together what they do with one of them kept otherwise than before."""
    if before is not None and waited:
        late.left(record.waiting, before.interval_s, before.due)
    if before is not None:
        unwish(record.wishes, before.interval_s, before.weight)
    if after is not None:
        wish(record.wishes, after.interval_s, after.weight)
    weight, total = record.said
    for care, sign in ((before, -1), (after, 1)):
        if care is not None and care.language:
            record.languages[care.language] = max(record.languages.get(care.language, 0) + sign, 0)
        if care is not None and care.history and not care.polled:
            more, much = prior.said(change.unpack([care.history]))[0].tolist()
            weight, total = weight + sign * more, total + sign * much
    record.said = (weight, total) if weight > 0.0 else (0.0, 0.0)
