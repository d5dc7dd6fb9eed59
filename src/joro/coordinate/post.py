"""What does a robot have to know about the others?

In:    links to servers, whoever they belong to; commits, before and after.
Out:   which servers are this robot's, for how long; links that others found on them.
Never: matters to a robot in any other way: whether shares are fixed (`exchange`) or a manager gives servers
       and takes them away (`robot.member`), the pipeline is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from joro.coordinate.beat import Link
from joro.model import Visit


class Neighbours(Protocol):
    """The other robots, as one of them sees them."""

    @property
    def alone(self) -> bool:
        """Is there nobody else? Then whoever has nothing left to do is done."""

    @property
    def failure(self) -> Exception | None:
        """Why working together has ended for good."""

    @property
    def word(self) -> str:
        """For people: what keeps us from collecting; nothing when all is well."""

    @property
    def open_until(self) -> float:
        """Until when servers may be asked; from then on nobody may be out."""

    @property
    def wants_commit(self) -> bool:
        """Should the robot commit soon?"""

    def has_mail(self) -> bool:
        """Have links arrived? Asked by whoever has nothing else to do; others read them when they commit."""

    @property
    def is_parting(self) -> bool:
        """Does a server leave, so that all about it must be written down?"""

    @property
    def is_empty(self) -> bool:
        """Nothing waits to be told to anybody."""

    @property
    def sent(self) -> Mapping[int, int]:
        """Batches sent, by receiver, where they are numbered by robot."""

    @property
    def read(self) -> Mapping[int, int]:
        """Batches read, by sender."""

    def is_ours(self, url: str) -> bool:
        """Do links to this page go into our frontier?"""

    def stretch(self, server: str) -> float:
        """How many times as long pauses are at this server, because others visit parts of it."""

    def may_enter(self, server: str) -> bool:
        """May the server have turns here?"""

    def sow(self, seeds: list[str]) -> list[str]:
        """Those of the seeds that are ours; the others reach whom they belong to."""

    def offer(self, link: Link) -> None:
        """Let a link to a server that is not ours go its way with the next commit."""

    def note(self, visit: Visit, *, is_page: bool) -> None:
        """A visit has ended."""

    def start(self) -> None:
        """The robot begins to collect; its event loop runs."""

    def before_commit(self) -> list[Link]:
        """Put what was offered into the commit; the links that have arrived, to be added before it."""

    def after_commit(self) -> list[str]:
        """What was committed may be told; servers that should have a turn."""

    async def leave(self) -> None:
        """The robot has made its last commit."""
