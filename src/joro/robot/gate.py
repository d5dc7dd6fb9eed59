"""Which server may be called on now?

In:    servers that have pages waiting.
Out:   the one whose turn it is.
Never: lets anybody in before politeness allows it, outside a server's hours, or to a server that is another
       robot's; after a kill, before what was forgotten by it can do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from joro.clock import Clock
from joro.coordinate.post import Neighbours
from joro.fetch.politeness import Manners, promised_until
from joro.schedule.turns import Turns
from joro.store.frontier import Frontier
from joro.store.records import ServerRecord

#: Servers let sleep at once: each that comes instead costs a turn, if only to be sent to the end of a line.
LET_SLEEP = 1_000
#: Whoever waits longer than servers usually do makes room: it throttles us, is down, or has other hours.
LONG_S = 60.0


class Gate:
    """The turns of one robot; `usual_s` is the pause of a server."""

    def __init__(
        self,
        turns: Turns,
        manners: Manners,
        frontier: Frontier,
        neighbours: Neighbours,
        clock: Clock,
        usual_s: Callable[[str], float],
    ) -> None:
        self._turns = turns
        self._manners = manners
        self._frontier = frontier
        self._neighbours = neighbours
        self._clock = clock
        self._usual_s = usual_s
        #: Tells other processes that ask a server when it may be asked again, where there are any.
        self.promise: Callable[[str, float], None] | None = None
        self._started_at = self._wary_until = clock.now()
        self._renewed_at = 0.0

    @property
    def is_wary(self) -> bool:
        """Is what a kill made us forget still fresh?"""
        return self._clock.now() < self._wary_until

    def enter(self, servers: Iterable[str]) -> None:
        """Give servers a turn that have pages waiting."""
        for server in filter(self._neighbours.may_enter, servers):
            now, record = self._clock.now(), self._frontier.server(server)
            if record.ended_at > now:
                _set_back(record, record.ended_at - now)
            record.ready_at = promised_until(record, now)
            ready_at = max(self._resumed_at(server), record.ready_at)
            self._turns.enter(server, self._manners.next_open(server, max(ready_at, now)))

    def _resumed_at(self, server: str) -> float:
        """After a kill the latest visits are forgotten: nobody is visited before that can do no harm."""
        if self._frontier.was_closed:
            return 0.0
        resumed_at = self._started_at + self._usual_s(server)
        self._wary_until = max(self._wary_until, resumed_at)
        return resumed_at

    def make_room(self) -> None:
        """Where servers sleep because so many are awake, let others sleep who only wait.

        Only right after a commit. They are woken again as all others are, round and round.
        """
        if self._frontier.is_crowded:
            waiting = self._turns.waiting_past(self._clock.now() + LONG_S, LET_SLEEP)
            for server in (*self._turns.last_in_line(LET_SLEEP), *waiting):
                if self._frontier.let_sleep(server):
                    self._turns.leave(server)

    def give_back(self, server: str, ready_at: float, awaits: Callable[[str], bool]) -> None:
        """A visit is over: let the server wait for its next turn, if there may be one.

        Whom we promised to leave alone for long, and who has nothing more to be asked for, must not keep a
        crawl from its end. Should there be more, it enters again, and the promise is in its record.
        """
        if self.promise is not None:
            self.promise(server, ready_at)
        is_long = ready_at > self._clock.now() + LONG_S
        leaves = is_long and not awaits(server) and not self.has_waiting(server)
        self._turns.give_back(server, None if leaves else ready_at)

    def has_waiting(self, server: str) -> bool:
        """Has the server a page that may be asked for in its turn?"""
        page = self._frontier.take(server)
        if page is not None:
            self._frontier.put_back(page)
        return page is not None

    def renew(self) -> None:
        """Pauses may have become longer: who was visited before must have had one of the new length, too."""
        self._renewed_at = self._clock.now()

    def _rested_at(self, server: str) -> float:
        if not self._renewed_at:
            return 0.0
        ended_at = self._frontier.server(server).ended_at
        return ended_at + self._usual_s(server) if ended_at < self._renewed_at else 0.0

    def take(self) -> str | None:
        """The server whose turn it is. Hours may have ended while it waited for one of us to be free."""
        now = self._clock.now()
        while (server := self._turns.take(now)) is not None:
            is_ours = self._neighbours.may_enter(server)
            opens_at = self._manners.next_open(server, max(now, self._rested_at(server)))
            if opens_at <= now and is_ours:
                return server
            self._turns.give_back(server, opens_at if is_ours else None)
        return None


def _set_back(record: ServerRecord, ahead_s: float) -> None:
    """Its last visit was noted by a clock that was ahead: it rests for as long as promised, from now on."""
    record.ended_at -= ahead_s
    record.ready_at -= ahead_s
    record.busy_since = max(record.busy_since - ahead_s, 0.0)
