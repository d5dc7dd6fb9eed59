"""How do several robots on one machine work as one?

In:    a collection, seeds, and how many robots.
Out:   one process per robot, each with its share of the servers; their counts, added up; the end, when
       nobody has anything left to do.
Never: collects itself, or holds anything a robot needs: kill it, and the robots end in peace; kill a
       robot, and it is started again where its last commit was.
Paper: S3 2.1, the same program multiplied over processes.

A robot reports on its standard output, a JSON line at a time, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable

import msgspec

from joro.coordinate.report import Report, is_quiet, total
from joro.errors import CollectionError

#: A robot that dies so often without a report in between is given up.
DEATHS_LIMIT = 5
#: Seconds a robot may take to end before it is killed.
PATIENCE_S = 30.0


class RobotSet:
    """Starts robots, watches them, ends them."""

    def __init__(
        self, command: Callable[[int], list[str]], count: int, *, page_limit: int | None = None
    ) -> None:
        self._command = command
        self._page_limit = page_limit
        self.reports = [Report() for _ in range(count)]
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._news = asyncio.Event()
        self._stopping = False
        self._failure: BaseException | None = None

    async def collect(self) -> None:
        """Run until everything is collected, the limit is reached, or `stop` is called."""
        watchers = [asyncio.create_task(self._watch(number)) for number in range(len(self.reports))]
        try:
            while not self._stopping and self._failure is None and not await self._is_over():
                self._news.clear()
                await self._news.wait()
            self.stop()
            await asyncio.wait(watchers, timeout=PATIENCE_S)
        finally:
            for process in self._processes.values():
                if process.returncode is None:
                    process.kill()
            await asyncio.gather(*watchers, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Let every robot end: closing its standard input says so."""
        self._stopping = True
        self._news.set()
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()

    async def _is_over(self) -> bool:
        if self._page_limit is not None and total(self.reports).visits >= self._page_limit:
            return True
        if not is_quiet(self.reports):
            return False
        # Ask once more: a batch may have been on its way while the first reports came in.
        before = list(self.reports)
        for number, report in enumerate(before):
            self._ask(number)
            while self.reports[number] is report and not self._stopping and self._failure is None:
                self._news.clear()
                await self._news.wait()
        mail = [[(report.sent, report.read) for report in reports] for reports in (before, self.reports)]
        return is_quiet(self.reports) and mail[0] == mail[1]

    def _ask(self, number: int) -> None:
        process = self._processes.get(number)
        if process is not None and process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(b"?\n")

    async def _watch(self, number: int) -> None:
        """Keep one robot running until all are to end."""
        deaths = 0
        while not self._stopping:
            self.reports[number] = msgspec.structs.replace(self.reports[number], idle=False)
            process = self._processes[number] = await asyncio.create_subprocess_exec(
                *self._command(number), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            if self._stopping and process.stdin is not None:
                process.stdin.close()  # `stop` came while it was being started
            heard = await self._listen(number, process)
            code = await process.wait()
            deaths = 1 if heard else deaths + 1
            if code > 0 or deaths > DEATHS_LIMIT:
                self._failure = self._failure or CollectionError(
                    f"robot {number} ended with exit code {code}",
                    remedy="see its message above, then run again",
                )
                self._news.set()
                return

    async def _listen(self, number: int, process: asyncio.subprocess.Process) -> bool:
        heard = False
        assert process.stdout is not None
        async for line in process.stdout:
            self.reports[number] = msgspec.json.decode(line, type=Report)
            self._news.set()
            heard = True
        return heard
