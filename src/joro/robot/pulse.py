"""How does a robot stay in touch with its managers, while it works?

In:    what the robot has to tell (`member`), whenever its manager wants to hear from it.
Out:   answers, letters with the journals they speak of, logs brought once a day.
Never: blocks the robot: HTTP happens in threads. Gives up because nobody answers: people are told how long it
       has been, and it goes on when somebody does. Goes on when a manager refuses: that is a failure.
Paper: S1 5.1.1: polling, started by the robot.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import msgspec

from joro.clock import Clock
from joro.coordinate.beat import BEAT, BEAT_BYTES, JOURNAL, Answer, Changes, Given, JournalPage, Letter
from joro.coordinate.caller import Managers, is_passing
from joro.coordinate.health import tell_healthy
from joro.coordinate.messages import SUBMIT_LOG
from joro.errors import JoroError, TransferError
from joro.robot.transfers import Transfers

if TYPE_CHECKING:
    from joro.robot.member import Member

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Journals read side by side, and letters looked at together.
READERS, TOGETHER = 4, 64
#: How often to knock where nobody answers, and how long to wait there at most.
KNOCK_S, SILENCE_S = 1.0, 10.0
#: Who is in a hurry waits at least so much of the pause between two beats.
LEAST_PAUSE = 0.1
#: The longest silence in a beat, as a part of the lease, so that another manager can still be asked; but a
#: slow one gets two seconds, if the lease has as much: whoever hangs up on it comes again with the same.
SILENCE, LEAST_SILENCE_S, MOST_SILENCE = 0.25, 2.0, 0.6
#: A beat that nobody answered may have been too much at once: the next one has a quarter, and at least this.
LEAST_BYTES = 64_000
#: How often the logs are looked at, and again after a failure.
LOGS_EVERY_S, LOGS_AGAIN_S = 60.0, 3_600.0
#: A manager may take so long to read a day's log.
LOG_SILENCE_S = 120.0
#: How long a robot that ends goes on trying to tell its last posts.
PATIENCE_S = 10.0

_answer = msgspec.msgpack.Decoder(Answer).decode
_page = msgspec.msgpack.Decoder(JournalPage).decode


class Pulse:
    """The beats of one robot; `open_line` makes a line to its managers for one thread."""

    member: Member

    def __init__(self, open_line: Callable[[], Managers], transfers: Transfers, clock: Clock) -> None:
        self._open_line = open_line
        self._transfers = transfers
        self._clock = clock
        self._lines = threading.local()
        self._opened: list[Managers] = []
        self._beats = ThreadPoolExecutor(1, "beat")
        self._reads = ThreadPoolExecutor(READERS, "journal")
        self._soon, self._letters = asyncio.Event(), asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._silence_s = SILENCE_S
        self._most_bytes = BEAT_BYTES
        self._heard_at = clock.now()
        self._problem = ""
        self.failure: Exception | None = None

    @property
    def away(self) -> str:
        """For people: since when no manager answers, and what the last one did; nothing if one does."""
        if not self._problem:
            return ""
        return f"no manager for {self._clock.now() - self._heard_at:,.0f} s ({self._problem})"

    def start(self) -> None:
        """Begin to beat, unless that has begun."""
        if self._loops:
            return
        loops = (self._beat_on(), self._read_letters(), self._bring_logs())
        self._loops = [asyncio.create_task(loop) for loop in loops]
        for loop in self._loops:
            loop.add_done_callback(self._ended)

    def hurry(self) -> None:
        """Beat soon: somebody may wait for what there is to tell."""
        self._soon.set()

    def read_on(self) -> None:
        """Letters that had to wait may be read now."""
        self._letters.set()

    def _ended(self, loop: asyncio.Task[None]) -> None:
        if not loop.cancelled() and loop.exception() is not None:
            error = loop.exception()
            self.failure = self.failure or (error if isinstance(error, Exception) else None)
            self.member.open_until = 0.0
            self.member.is_over()

    async def _beat_on(self) -> None:
        while True:
            pause_s = self._clock.real_s(await self._beat())
            await asyncio.sleep(LEAST_PAUSE * pause_s)
            with suppress(TimeoutError):
                async with asyncio.timeout((1.0 - LEAST_PAUSE) * pause_s):
                    await self._soon.wait()
            self._soon.clear()

    async def _beat(self, *, leaves: bool = False) -> float:
        """One beat; seconds to the next one."""
        sent_at, told = self._clock.now(), self.member.beat(leaves=leaves, most_bytes=self._most_bytes)
        try:
            answer = await self._told(self._beats, lambda: self._send(told))
        except TransferError as error:
            if not is_passing(error):
                raise
            if not self._problem:
                log.warning("no manager answers: %s", error.problem)
            self._problem = error.problem
            self._most_bytes = max(self._most_bytes // 4, LEAST_BYTES)
            return KNOCK_S
        if self._problem:
            log.warning("a manager answers again")
        self._problem, self._heard_at = "", self._clock.now()
        if answer.lease_s:
            wished_s = min(max(SILENCE * answer.lease_s, LEAST_SILENCE_S), SILENCE_S)
            self._silence_s = min(wished_s, MOST_SILENCE * answer.lease_s)
        self._most_bytes = min(2 * self._most_bytes, BEAT_BYTES)
        self.member.answered(answer, sent_at)
        if self.member.has_more_posts:
            self.hurry()
        tell_healthy()
        self._letters.set()
        return answer.beat_s

    def _send(self, told: bytes) -> Answer:
        return _understood(_answer, self._line().post(BEAT, told, silence_s=self._silence_s))

    async def _read_letters(self) -> None:
        while True:
            await self._letters.wait()
            self._letters.clear()
            while letters := self._next_letters():
                came_at = self._clock.now()
                histories = await asyncio.gather(*map(self._history, letters))
                for letter, history in zip(letters, histories, strict=True):
                    self.member.is_read(letter, history, came_at)

    def _next_letters(self) -> list[Letter]:
        letters: list[Letter] = []
        while len(letters) < TOGETHER and (letter := self.member.next_letter()) is not None:
            letters.append(letter)
        return letters

    async def _history(self, letter: Letter) -> list[tuple[bool, Changes]]:
        """The journal of a server that is given; it is asked for until it comes."""
        content = letter.content
        if not isinstance(content, Given) or not content.journal:
            return []
        while True:
            try:
                return await self._told(self._reads, lambda: self._journal(content.server))
            except TransferError as error:
                if not is_passing(error):
                    raise
                await asyncio.sleep(self._clock.real_s(KNOCK_S))

    def _journal(self, server: str) -> list[tuple[bool, Changes]]:
        history: list[tuple[bool, Changes]] = []
        after, more = 0, True
        while more:
            path = f"{JOURNAL}?server={quote(server, safe='')}&after={after}"
            page = _understood(_page, self._line().get(path, silence_s=SILENCE_S))
            history += [(is_late, changes) for _, is_late, changes in page.changes]
            after, more = page.changes[-1][0] if page.changes else after, page.more and bool(page.changes)
        return history

    async def _bring_logs(self) -> None:
        while True:
            await asyncio.sleep(self._clock.real_s(LOGS_EVERY_S))
            failures = 0
            for path in self._transfers.pending():
                try:
                    await self._told(self._reads, partial(self._submit, path))
                except (JoroError, OSError) as error:
                    log.warning("the transfer log %s could not be brought: %s", path.name, error)
                    failures += 1
            self._transfers.tidy()
            if failures:
                await asyncio.sleep(self._clock.real_s(LOGS_AGAIN_S))

    def _submit(self, path: Path) -> None:
        message = self._transfers.message(path)
        self._line().post(SUBMIT_LOG, message, kind="application/x-gzip", silence_s=LOG_SILENCE_S)
        self._transfers.accepted(path, message)

    async def stop(self) -> None:
        """Tell what is left, and that this was the last beat; if nobody answers, it is told next time."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        if self._loops and self.failure is None:
            with suppress(TimeoutError, TransferError):
                async with asyncio.timeout(PATIENCE_S):
                    await self._say_goodbye()
        for line in self._opened:
            line.hang_up()
        self._beats.shutdown(cancel_futures=True)
        self._reads.shutdown(cancel_futures=True)
        for line in self._opened:
            line.close()

    async def _say_goodbye(self) -> None:
        await self._beat(leaves=True)
        while self.member.has_posts and not self._problem:
            await self._beat(leaves=True)

    async def _told(self, threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, call)

    def _line(self) -> Managers:
        """This thread's own."""
        line: Managers | None = getattr(self._lines, "line", None)
        if line is None:
            line = self._lines.line = self._open_line()
            self._opened.append(line)
        return line


def _understood(decode: Callable[[bytes], T], content: bytes) -> T:
    try:
        return decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # the last: nested too deep
        raise TransferError(
            f"a manager answers what we do not understand ({error})",
            remedy="see whether it is a manager of this version",
        ) from None
