"""Where do the transfer logs of robots go, and what do they teach?

In:    a log as M3 brings it.
Out:   a file in the collection's logs/, ROBOT.yyyymmddhhMM by when it came; what servers cost their robot.
Never: counts a log twice, however often it is sent; lets another log take the name of one; writes outside its
       folder.
Paper: S1 5.1.2 (M3), 5.1.6: what the manager's logs/ holds.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from joro.coordinate.messages import Log, LogLine
from joro.coordinate.packing import unpack
from joro.errors import DiskFull
from joro.manager.refusal import Refused
from joro.manager.tokens import CLASSIC
from joro.store.control import Control, Transaction
from joro.url import server_of, try_canonical

#: A log's date is its robot's local time: at most so far ahead of UTC on this earth.
EARLIEST_ZONE_S = 14 * 3_600.0
#: An older one was not written by a clock that goes right: logs are sent every day, and kept for a week.
OLDEST_S = 366 * 86_400.0
#: One page that took more than eleven days or had more than 100 GB would spoil every sum it is in.
MOST_MS, MOST_RESPONSE_BYTES = 10**9, 10**11
_KB = 1_024.0
_DRAFT = ".coming-"
_STAMPS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a log."""

    lines: int
    is_new: bool


class Logbook:
    """The logs of one manager."""

    def __init__(self, control: Control, folder: Path, skew_s: float) -> None:
        self._control = control
        self._folder = folder
        self._skew_s = skew_s
        for draft in folder.glob(f"{_DRAFT}*"):
            draft.unlink()  # its sender was not told that it is here, and sends it again

    def take(self, log: Log, message: bytes) -> Taken:
        """Keep a log that was read of `message`, and learn from it, once."""
        _check_lines(log)
        inside = unpack(message[message.index(b"\n") + 1 :])
        digest, efforts = hashlib.sha256(inside).hexdigest(), sorted(_by_server(log.lines).items())
        draft = self._written(inside)  # before anybody waits for the store
        try:
            with self._control.transaction() as transaction:
                _check_date(log, transaction.now, self._skew_s)
                known = transaction.rows(
                    "SELECT digest FROM logs WHERE robot = ? AND stamp = ?", log.robot, log.stamp
                )
                if known:
                    return _again(log, known[0][0] == digest)
                self._keep(log.robot, draft, transaction.now)
                transaction.run(
                    "INSERT INTO logs (robot, stamp, digest, lines, received_at) VALUES (?, ?, ?, ?, ?)",
                    log.robot,
                    log.stamp,
                    digest,
                    len(log.lines),
                    transaction.now,
                )
                _learn(transaction, log, efforts)
        finally:
            draft.unlink()
        return Taken(len(log.lines), True)

    def _written(self, inside: bytes) -> Path:
        """The log on the disk, under a name that nobody looks for."""
        draft = self._folder / f"{_DRAFT}{secrets.token_hex(8)}"
        try:
            with draft.open("xb") as file:
                file.write(inside)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise DiskFull(
                f"a log of {len(inside):,} bytes finds no room in {self._folder} ({error.strerror})",
                remedy="make room; its robot sends it again",
            ) from None
        return draft

    def _keep(self, robot: str, draft: Path, now: float) -> None:
        """Give it its name, which nothing has yet."""
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M")
        for number in range(1, 1_000):
            name = f"{robot}.{stamp}" if number == 1 else f"{robot}.{stamp}.{number}"
            with suppress(FileExistsError):
                os.link(draft, self._folder / name)
                return
        raise Refused(429, f"{robot} sent a thousand logs in a minute; send the next one later")


def _again(log: Log, is_same: bool) -> Taken:
    if is_same:
        return Taken(len(log.lines), False)
    raise Refused(409, f"{log.name} is here already, with other lines; send this one under another date")


def _check_date(log: Log, now: float, skew_s: float) -> None:
    written = datetime.strptime(log.stamp, _STAMPS[len(log.stamp)]).replace(tzinfo=UTC).timestamp()
    if written > now + EARLIEST_ZONE_S + skew_s or written < now - OLDEST_S:
        here = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M")
        raise Refused(
            409,
            f"the date of {log.name} is impossible, it is {here} (UTC) here; set the robot's clock",
        )


def _check_lines(log: Log) -> None:
    for number, line in enumerate(log.lines, 1):
        if line.elapsed_ms > MOST_MS or line.response_bytes > MOST_RESPONSE_BYTES:
            raise Refused(
                400,
                f"visit {number:,} of {log.name} has {line.response_bytes:,} bytes in {line.elapsed_ms:,} "
                "ms; leave it out",
            )


def _learn(transaction: Transaction, log: Log, efforts: Sequence[tuple[str, tuple[int, int, int]]]) -> None:
    """Robots of ours tell what servers cost with every beat; from others only logs do."""
    kinds = transaction.rows("SELECT kind FROM robots WHERE name = ?", log.robot)
    if kinds != [(CLASSIC,)]:
        return
    transaction.run_many(
        "UPDATE servers SET kb = kb + ? WHERE name = ?",
        [(size / _KB, server) for server, (_, size, _) in efforts],
    )
    transaction.run_many(
        "INSERT INTO efforts (robot, server, pages, bytes, ms) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (robot, server) DO UPDATE SET pages = efforts.pages + excluded.pages, "
        "bytes = efforts.bytes + excluded.bytes, ms = efforts.ms + excluded.ms",
        [(log.robot, server, *numbers) for server, numbers in efforts],
    )
    transaction.run("UPDATE robots SET visited = visited + ? WHERE name = ?", len(log.lines), log.robot)


def _by_server(lines: Iterable[LogLine]) -> dict[str, tuple[int, int, int]]:
    """Pages, bytes and milliseconds of each server."""
    sums: dict[str, tuple[int, int, int]] = {}
    for line in lines:
        url = try_canonical(line.url)
        if url is not None:
            pages, size, elapsed = sums.get(server_of(url), (0, 0, 0))
            sums[server_of(url)] = pages + 1, size + line.response_bytes, elapsed + line.elapsed_ms
    return sums
