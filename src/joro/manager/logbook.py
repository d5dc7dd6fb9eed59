"""Where do the transfer logs of robots go, and what do they teach?

In:    a log as M3 brings it, a piece at a time.
Out:   a file in the collection's logs/, ROBOT.yyyymmddhhMM by when it came; what servers cost their robot.
Never: counts a log twice, however often it is sent; lets another log take the name of one; writes outside its
       folder; has more of it in memory than a few numbers for each server.
Paper: S1 5.1.2 (M3), 5.1.6: what the manager's logs/ holds.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from joro.coordinate.distance import KB
from joro.coordinate.messages import LogLine, LogName, visits
from joro.errors import DiskFull
from joro.manager.refusal import Refused
from joro.manager.routing import can_be_asked
from joro.manager.tokens import CLASSIC
from joro.store.control import Control, Transaction
from joro.url import server_of, try_canonical

#: A log's date is its robot's local time: at most so far ahead of UTC on this earth.
EARLIEST_ZONE_S = 14 * 3_600.0
#: An older one was not written by a clock that goes right: logs are sent every day, and kept for a week.
OLDEST_S = 366 * 86_400.0
#: One page that took more than eleven days or had more than 100 GB would spoil every sum it is in.
MOST_MS, MOST_RESPONSE_BYTES = 10**9, 10**11
#: No robot asks more servers between two logs; their sums take some 80 MB.
MOST_SERVERS = 250_000
_DRAFT = ".coming-"

#: Pages, bytes and milliseconds of each server.
Sums = dict[str, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a log."""

    visits: int
    is_new: bool


class Logbook:
    """The logs of one manager."""

    def __init__(self, control: Control, folder: Path, skew_s: float) -> None:
        self._control = control
        self._folder = folder
        self._skew_s = skew_s
        for draft in folder.glob(f"{_DRAFT}*"):
            draft.unlink()  # its sender was not told that it is here, and sends it again

    def take(self, log: LogName, inside: Iterable[bytes], most_visits: int) -> Taken:
        """Keep a log with this inside, and learn from it, once."""
        teaches = self._check(log)
        draft = self._folder / f"{_DRAFT}{secrets.token_hex(8)}"  # a name that nobody looks for
        try:
            digest = hashlib.sha256()
            with self._room_for(log), draft.open("xb") as file:  # before anybody waits for the store
                count, sums = _summed(
                    log, visits(_copied(inside, file, digest), most_visits), teaches=teaches
                )
                file.flush()
                os.fsync(file.fileno())
            return self._noted(log, draft, digest.hexdigest(), count, sums)
        finally:
            with suppress(OSError):
                draft.unlink()

    def _check(self, log: LogName) -> bool:
        """Does it teach? Robots of ours tell all of it with their beats. A bad date is refused."""
        with self._control.reading() as transaction:
            _check_date(log, transaction.now, self._skew_s)
            return transaction.rows("SELECT kind FROM robots WHERE name = ?", log.robot) == [(CLASSIC,)]

    @contextmanager
    def _room_for(self, log: LogName) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DiskFull(
                f"{log} finds no room in {self._folder} ({error.strerror})",
                remedy="make room; its robot sends it again",
            ) from None

    def _noted(self, log: LogName, draft: Path, digest: str, count: int, sums: Sums) -> Taken:
        with self._control.transaction() as transaction:
            if _is_known(transaction, log, digest, count):
                return Taken(count, False)
            self._keep(log.robot, draft, transaction.now)
            transaction.run(
                "INSERT INTO logs (robot, stamp, digest, lines, received_at) VALUES (?, ?, ?, ?, ?)",
                log.robot,
                log.stamp,
                digest,
                count,
                transaction.now,
            )
            if sums:
                _learn(transaction, log.robot, count, sums)
        return Taken(count, True)

    def _keep(self, robot: str, draft: Path, now: float) -> None:
        """Give it its name, which nothing has yet."""
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M")
        for number in range(1, 1_000):
            name = f"{robot}.{stamp}" if number == 1 else f"{robot}.{stamp}.{number}"
            with suppress(FileExistsError):
                os.link(draft, self._folder / name)
                return
        raise Refused(429, f"{robot} sent a thousand logs in a minute; send the next one later")


def _is_known(transaction: Transaction, log: LogName, digest: str, count: int) -> bool:
    """Did it come before, be it under another date? Whoever sends it again may date it anew.

    Logs without a visit are all the same, and each is another.
    """
    rows = transaction.rows(
        "SELECT stamp, digest FROM logs WHERE robot = ? AND (stamp = ? OR digest = ?)",
        log.robot,
        log.stamp,
        digest,
    )
    if any(known == digest and (count or stamp == log.stamp) for stamp, known in rows):
        return True
    if any(stamp == log.stamp for stamp, _ in rows):
        raise Refused(409, f"{log} is here already, with other lines; send this one under another date")
    return False


def _check_date(log: LogName, now: float, skew_s: float) -> None:
    written = log.written.replace(tzinfo=UTC).timestamp()
    if written > now + EARLIEST_ZONE_S + skew_s or written < now - OLDEST_S:
        here = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M")
        raise Refused(409, f"the date of {log} is impossible, it is {here} (UTC) here; set the robot's clock")


def _copied(inside: Iterable[bytes], file: BinaryIO, digest: hashlib._Hash) -> Iterator[bytes]:
    """What is inside, as it goes to the disk."""
    for piece in inside:
        file.write(piece)
        digest.update(piece)
        yield piece


def _summed(log: LogName, found: Iterable[LogLine], *, teaches: bool) -> tuple[int, Sums]:
    """How many visits there are; what they cost, if somebody is to learn from it."""
    count, sums = 0, Sums()
    for count, visit in enumerate(found, 1):
        _check_visit(log, count, visit)
        if teaches:
            _add(sums, visit)
        if len(sums) > MOST_SERVERS:
            raise Refused(400, f"{log} has visits to more than {MOST_SERVERS:,} servers; send it in parts")
    return count, sums


def _check_visit(log: LogName, number: int, visit: LogLine) -> None:
    if visit.elapsed_ms > MOST_MS or visit.response_bytes > MOST_RESPONSE_BYTES:
        raise Refused(
            400,
            f"visit {number:,} of {log} has {visit.response_bytes:,} bytes in {visit.elapsed_ms:,} "
            "ms; leave it out",
        )


def _add(sums: Sums, visit: LogLine) -> None:
    url = try_canonical(visit.url)
    if url is not None and can_be_asked(server := server_of(url)):
        pages, size, elapsed = sums.get(server, (0, 0, 0))
        sums[server] = pages + 1, size + visit.response_bytes, elapsed + visit.elapsed_ms


def _learn(transaction: Transaction, robot: str, count: int, sums: Sums) -> None:
    efforts = sorted(sums.items())
    transaction.run_many(
        "UPDATE servers SET kb = kb + ? WHERE name = ?",
        [(size / KB, server) for server, (_, size, _) in efforts],
    )
    transaction.run_many(
        "INSERT INTO efforts (robot, server, pages, bytes, ms) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (robot, server) DO UPDATE SET pages = efforts.pages + excluded.pages, "
        "bytes = efforts.bytes + excluded.bytes, ms = efforts.ms + excluded.ms",
        [(robot, server, *numbers) for server, numbers in efforts],
    )
    transaction.run("UPDATE robots SET visited = visited + ? WHERE name = ?", count, robot)
