"""How does a robot go on running while its releases come and go?

In:    the words of a joro command, a keeper, a clock.
Out:   that command as our child, of the release that is current; its exit code, when it ends by itself.
Never: runs two children at once, not even after a kill: the child dies with us, and a lock that it holds says
       when it is gone. Leaves a release on trial running that ended badly or was not heard of: the one before
       is started instead. Hurries a child: SIGTERM, and patience.
Paper: S1 5.3: the update ends in a restart.

The supervisor is what pip installed. It does not replace itself, so no release can break the way back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from joro.clock import Clock
from joro.config import Update
from joro.coordinate.health import HEALTHY
from joro.errors import CollectionError, JoroError, TransferError
from joro.updater.install import command, die_with_parent, environment
from joro.updater.journal import Journal
from joro.updater.keeper import Keeper
from joro.updater.shelf import flock

#: After a channel could not be reached, again so much later (or at the usual time, if that is sooner).
AGAIN_S = 3_600.0
#: What the commands `now` and `roll-back` leave for a supervisor that is running; looked for so often.
WANTED, WANTED_EVERY_S = "wanted", 1.0
#: The command of a robot that has a manager: one that its manager has not heard of is not healthy.
OF_A_MANAGER = "cooperate"

T = TypeVar("T")


class Supervisor:
    """Starts one command, again and again, of whatever release is current."""

    def __init__(
        self,
        keeper: Keeper,
        words: list[str],
        settings: Update,
        journal: Journal,
        clock: Clock,
        *,
        every_s: float | None = None,
    ) -> None:
        self._keeper = keeper
        self._shelf = keeper.shelf
        self._words = words
        self._settings = settings
        self._journal = journal
        self._clock = clock
        self._every_s = every_s
        self._look_at = keeper.due_at(every_s)
        self._healthy = self._shelf.directory / "healthy"
        self._stop = asyncio.Event()
        self._child: asyncio.subprocess.Process | None = None
        self._is_told = False  # that it should end
        self._bringing: asyncio.Future[str | None] | None = None

    async def run(self) -> int:
        """Until the child ends by itself, or we are told to: its exit code."""
        self._keeper.mend()
        (self._shelf.directory / WANTED).unlink(missing_ok=True)  # it was left for somebody else
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._told_to_stop)
        while True:
            code = await self._live()
            if code is None and self._stop.is_set():
                return 0  # told to stop while one release made way for another
            if code is not None:
                return code if code >= 0 else 128 - code

    async def _live(self) -> int | None:
        """One child from start to end; the exit code of all, None: start another."""
        with await self._only_child() as lock:
            version = self._keeper.begin()
            self._is_told, self._child = False, await self._start(version, lock.fileno())
        ended = asyncio.create_task(self._child.wait())
        try:
            on_trial = self._keeper.is_on_trial()
            self._journal.write("start", version, f"process {self._child.pid}" + ", on trial" * on_trial)
            if on_trial and not await self._prove(ended):
                return None
            return await self._work(ended)
        finally:
            await self._end(ended)

    async def _prove(self, ended: asyncio.Task[int]) -> bool:
        """Watch a release through its probation; False: it was rolled back."""
        deadline = self._clock.now() + self._settings.probation_s
        await self._first(deadline, ended, asyncio.create_task(self._stop.wait()))
        if self._stop.is_set():
            return True  # nothing is known; it is on trial again at the next start
        problem = self._problem(ended)
        if problem:
            self._keeper.fail(problem)
        else:
            self._keeper.keep()
        return not problem

    def _problem(self, ended: asyncio.Task[int]) -> str:
        """What is wrong with a release at the end of its probation, or of itself."""
        if ended.done() and ended.result() != 0:
            return f"it ended with exit code {ended.result()}"
        if self._words[0] == OF_A_MANAGER and not self._healthy.exists():
            return f"no manager heard of it within {self._settings.probation_s:g} s"
        return ""

    async def _work(self, ended: asyncio.Task[int]) -> int | None:
        """Let a good release work, and look for a newer one at the set times."""
        while True:
            stopped = asyncio.create_task(self._stop.wait())
            if self._bringing is None:
                soon = self._clock.now() + WANTED_EVERY_S
                await self._first(min(self._look_at, soon), ended, stopped)
            else:
                await self._first(None, ended, stopped, self._bringing)
            if ended.done() or self._stop.is_set():
                await self._end(ended)
                return ended.result()
            if self._wants_back() or self._has_newer():
                return None

    def _has_newer(self) -> bool:
        """Look if it is time; True: another release has been switched to."""
        if self._bringing is None:
            if self._clock.now() >= self._look_at:
                self._bringing = _aside(self._keeper.bring)
            return False
        if not self._bringing.done():
            return False
        bringing, self._bringing = self._bringing, None
        self._look_at = self._keeper.due_at(self._every_s)
        try:
            version = bringing.result()
            if version is not None:
                self._keeper.adopt(version)
        except TransferError:
            self._look_at = self._clock.now() + min(AGAIN_S, self._every_s or AGAIN_S)
            return False
        except Exception as error:
            if not isinstance(error, JoroError):  # a robot that runs does not suffer from our mistakes
                self._journal.write("look", "", f"failed: {type(error).__name__}: {error}")
                self._look_at = self._clock.now() + AGAIN_S
            return False
        return version is not None

    def _wants_back(self) -> bool:
        """Do what an operator left for us; True: another release has been switched to.

        What is being brought is waited for: two that write notes would lose some.
        """
        if self._bringing is not None:
            return False
        wanted = self._shelf.directory / WANTED
        with contextlib.suppress(FileNotFoundError):
            word = wanted.read_text()
            wanted.unlink()
            if word == "roll-back":
                with contextlib.suppress(JoroError):
                    self._keeper.fail("an operator rolled it back")
                    return True
            else:
                self._look_at = 0.0
        return False

    async def _first(self, deadline: float | None, *waited: asyncio.Future[Any]) -> None:
        """Wait until one of them is done, or until the deadline."""
        timeout = None if deadline is None else max(0.0, deadline - self._clock.now())
        try:
            await asyncio.wait(
                waited,
                timeout=timeout if timeout is None else self._clock.real_s(timeout),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for each in waited[1:]:
                if each is not self._bringing:
                    each.cancel()

    async def _start(self, version: str, lock: int) -> asyncio.subprocess.Process:
        self._healthy.unlink(missing_ok=True)
        return await asyncio.create_subprocess_exec(
            *command(self._words),
            env={**environment(self._shelf, version), HEALTHY: str(self._healthy.resolve())},
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # the terminal's Ctrl-C reaches it through us
            pass_fds=[lock],
            preexec_fn=partial(die_with_parent, signal.SIGTERM, os.getpid()),
        )

    async def _only_child(self) -> Lock:
        """A lock for the child to hold, once nobody else holds it: whoever was started before has ended."""
        lock = Lock(self._shelf.directory / "child.lock")
        deadline = self._clock.now() + self._settings.patience_s
        while not lock.take():
            if self._clock.now() > deadline or self._stop.is_set():
                lock.close()
                raise CollectionError(
                    f"a robot that was started before still runs ({lock.path} is locked)",
                    remedy="wait for it or stop it",
                )
            await self._clock.sleep(0.05)
        return lock

    def _told_to_stop(self) -> None:
        """A child that is ending already is not hurried before we are told a second time."""
        is_second = self._stop.is_set()
        self._stop.set()
        if self._child is not None and (is_second or not self._is_told):
            self._tell()

    def _tell(self) -> None:
        assert self._child is not None
        self._is_told = True
        with contextlib.suppress(ProcessLookupError):
            self._child.terminate()

    async def _end(self, ended: asyncio.Task[int]) -> None:
        """Let the child end, and wait until it has."""
        assert self._child is not None
        if not self._is_told:
            self._tell()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(ended), self._settings.patience_s)
        if not ended.done():
            self._child.kill()
        await ended


class Lock:
    """A lock on a file that lives as long as anybody to whom its descriptor was handed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def take(self) -> bool:
        return flock(self._file)

    def fileno(self) -> int:
        return self._file

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _aside(work: Callable[[], T]) -> asyncio.Future[T]:
    """The outcome of work in a thread that nobody waits for at our end: it may be cut off at any moment."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if outcome.cancelled():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)  # type: ignore[arg-type]

    def carry_out() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as problem:
            error = problem
        with contextlib.suppress(RuntimeError):  # the loop has ended, and us with it
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=carry_out, daemon=True).start()
    return outcome
