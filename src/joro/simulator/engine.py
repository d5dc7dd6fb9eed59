"""What would become of a schedule, if it were carried out?

In:    servers with their access intervals and recorded download times, a number of sockets, an order.
Out:   downloads started and periods missed, of each server.
Never: has rules of its own: periods, idle times and keys are those of `schedule`, which the robot calls and
       `compiled` turns into machine code as they stand; a test runs both and compares every number.
Paper: S0 3.2.

Servers are ready (at a moment to come), waiting, or downloading. When a download starts, its end and with it
the server's next ready moment are known, so it takes three heaps: ready moments, waiting servers by key, ends
of downloads. At one and the same moment a socket that becomes free is given to a server that waits already
before one that is just ready. Of equal keys the one that waits longer is first; who came at the same moment
is served in the reverse order of the last downloads. Times of real servers never coincide; those of examples
with round numbers do, and these conventions are the ones that give their known results, to the last download
(tests/simulator/test_engine.py).

What the speed (bench/simulate.py) costs to read: heaps are written out, and a server is a row of a table.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from joro.errors import UsageError
from joro.schedule import serialize, sockets
from joro.schedule.serialize import (
    complete_periods,
    missed_between,
    period_at,
    ready_as_printed_s,
    ready_by_completion_s,
    ready_s,
)
from joro.schedule.sockets import priority

#: Which period says how long a server idles, that of the download's start or end; see `schedule.serialize`.
BY_START, BY_COMPLETION, AS_PRINTED = 0, 1, 2
#: Of servers that come at the same moment, who is first?
OLDEST_TURN, NEWEST_TURN = 1, -1

#: What decides: the robot's own functions.
RULES = (
    serialize.period_at,
    serialize.deadline_s,
    serialize.ready_s,
    serialize.ready_by_completion_s,
    serialize.ready_as_printed_s,
    serialize.missed_between,
    serialize.complete_periods,
    sockets.priority,
)

#: A server: what is known of it, and where it stands.
SERVER = np.dtype(
    [
        ("interval_s", "f8"),  # access interval I_i
        ("mean_s", "f8"),  # e_i, mean of its download times
        ("phase_s", "f8"),  # where its period 0 begins
        ("first", "i8"),  # where its download times begin in the log; they are used over and over
        ("length", "i8"),  # how many there are
        ("cursor", "i8"),  # the next of them
        ("period", "i8"),  # in which its last download started; -1 before the first
        ("starts", "i8"),
        ("missed", "i8"),  # periods before `period` without a start
        ("asked", "i8"),  # periods that were over at the end
        ("since_s", "f8"),  # when it comes, or came, to wait
        ("turn", "i8"),  # downloads of all servers before its last one
    ]
)
#: An entry of a heap of servers.
ENTRY = np.dtype([("key", "f8"), ("server", "i8")])

Rows = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Log = npt.NDArray[np.float32]
#: `advance` and `settle`, compiled or as written below.
Engine = tuple[Callable[..., None], Callable[..., None]]


def advance(
    servers: Rows,
    log: Log,
    ready: Rows,
    waiting: Rows,
    free_at: Floats,
    sizes: npt.NDArray[np.int64],
    order: int,
    rule: int,
    minimum_s: float,
    until_s: float,
) -> None:
    """Let time pass until `until_s`; every download that starts before is made."""
    ready_size, waiting_size, downloads = sizes[0], sizes[1], sizes[2]
    while True:
        ready_at = ready[0]["key"] if ready_size > 0 else math.inf
        if waiting_size > 0 and free_at[0] <= ready_at:
            now = free_at[0]
            if now >= until_s:
                break
            server = waiting[0]["server"]
            waiting_size -= 1
            last = waiting[waiting_size]
            _sink(waiting, waiting_size, last["key"], last["server"], servers, NEWEST_TURN)
            again = _download(servers[server], log, free_at, now, rule, minimum_s, downloads)
            downloads += 1
            _rise(ready, ready_size, again, server, servers, OLDEST_TURN)
            ready_size += 1
            continue
        now = ready_at
        if now >= until_s:
            break
        server = ready[0]["server"]
        if free_at[0] <= now:
            again = _download(servers[server], log, free_at, now, rule, minimum_s, downloads)
            downloads += 1
            _sink(ready, ready_size, again, server, servers, OLDEST_TURN)
        else:
            ready_size -= 1
            last = ready[ready_size]
            _sink(ready, ready_size, last["key"], last["server"], servers, OLDEST_TURN)
            row = servers[server]
            key = priority(order, now, row["interval_s"], row["mean_s"], row["phase_s"])
            _rise(waiting, waiting_size, key, server, servers, NEWEST_TURN)
            waiting_size += 1
    sizes[0], sizes[1], sizes[2] = ready_size, waiting_size, downloads


def settle(servers: Rows, end_s: float) -> None:
    """Count the periods that passed since each server's last download, and all that were over at `end_s`."""
    for server in range(len(servers)):
        row = servers[server]
        row["asked"] = complete_periods(end_s, row["interval_s"], row["phase_s"])
        row["missed"] += missed_between(row["period"], row["asked"])


def _download(
    server: Any, log: Log, free_at: Floats, now: float, rule: int, minimum_s: float, downloads: int
) -> float:
    """Start a download on the socket that has been free longest; when its server will be ready again."""
    interval_s, phase_s = server["interval_s"], server["phase_s"]
    period = period_at(now, interval_s, phase_s)
    server["missed"] += missed_between(server["period"], period)
    server["period"] = period
    server["starts"] += 1
    server["turn"] = downloads
    cursor = server["cursor"]
    ended = now + log[server["first"] + cursor]
    server["cursor"] = cursor + 1 if cursor + 1 < server["length"] else 0
    _occupy(free_at, ended)
    if rule == BY_COMPLETION:
        again = ready_by_completion_s(ended, interval_s, minimum_s, phase_s)
    elif rule == AS_PRINTED:
        again = ready_as_printed_s(ended, interval_s, minimum_s, phase_s)
    else:
        again = ready_s(ended, period, interval_s, minimum_s, phase_s)
    server["since_s"] = again
    return again


def _is_before(servers: Rows, key: float, server: int, entry: Any, who_first: int) -> bool:
    if key != entry["key"]:
        return bool(key < entry["key"])
    one, other = servers[server], servers[entry["server"]]
    if one["since_s"] != other["since_s"]:
        return bool(one["since_s"] < other["since_s"])
    return bool(who_first * one["turn"] < who_first * other["turn"])


def _sink(heap: Rows, size: int, key: float, server: int, servers: Rows, who_first: int) -> None:
    """Put an entry where the first one was, and down to its place."""
    place, child = 0, 1
    while child < size:
        if child + 1 < size:
            other = heap[child + 1]
            if _is_before(servers, other["key"], other["server"], heap[child], who_first):
                child += 1
        below = heap[child]
        if _is_before(servers, key, server, below, who_first):
            break
        above = heap[place]
        above["key"], above["server"] = below["key"], below["server"]
        place, child = child, 2 * child + 1
    entry = heap[place]
    entry["key"], entry["server"] = key, server


def _rise(heap: Rows, place: int, key: float, server: int, servers: Rows, who_first: int) -> None:
    """Put an entry at the end, and up to its place."""
    while place > 0:
        above = heap[(place - 1) >> 1]
        if not _is_before(servers, key, server, above, who_first):
            break
        entry = heap[place]
        entry["key"], entry["server"] = above["key"], above["server"]
        place = (place - 1) >> 1
    entry = heap[place]
    entry["key"], entry["server"] = key, server


def _occupy(free_at: Floats, until_s: float) -> None:
    place, child = 0, 1
    while child < len(free_at):
        if child + 1 < len(free_at) and free_at[child + 1] < free_at[child]:
            child += 1
        if until_s <= free_at[child]:
            break
        free_at[place] = free_at[child]
        place, child = child, 2 * child + 1
    free_at[place] = until_s


@functools.cache
def compiled() -> Engine:
    """`advance` and `settle` in machine code, with all that they call, `schedule`'s functions included."""
    try:
        import numba
        from numba.extending import register_jitable
    except ModuleNotFoundError:
        raise UsageError("numba is not installed", remedy="pip install 'joro[simulate]'") from None
    for function in (*RULES, _download, _is_before, _sink, _rise, _occupy):
        register_jitable(function)
    compile_: Any = numba.njit
    return compile_(advance), compile_(settle)
