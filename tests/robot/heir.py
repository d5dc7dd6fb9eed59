"""A robot that gets a server from another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from joro.coordinate.exchange import Exchange
from joro.coordinate.post import Neighbours
from joro.coordinate.share import Share
from joro.robot.premises import Premises
from tests.robot.test_watcher import Desk


class Heir(Desk):
    """At the same moment as the robot at the other desk."""

    def __init__(self, path: Path, start: float) -> None:
        self._links = path.parent / "exchange"
        super().__init__(path, start=start, joined=self._joined)

    def _joined(self, premises: Premises) -> Neighbours:
        self._premises = premises
        return Exchange(self._links, Share(0, 1), premises.frontier)

    def inherit(self, server: str, state: Mapping[bytes, bytes], *, late: bool) -> None:
        """Take in what the other knows of a server, with it or after it, and commit."""
        if late:
            self._premises.take_late(server, list(state.items()))
        else:
            self._premises.take_over(server, dict(state), 0.0)
        self.robot._commit()


async def heir_of(desk: Desk, path: Path) -> Heir:
    """Inside an event loop, which every robot needs."""
    return Heir(path, desk.clock.now())
