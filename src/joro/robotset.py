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
from dataclasses import dataclass

import msgspec

from joro.coordinate.report import Report, is_quiet, total
from joro.errors import CollectionError

#: A robot that dies more often, without a page collected in between, is given up: else a page whose
#: reading kills it would be read for ever.
DEATHS_LIMIT = 5
#: Seconds a robot may take to end before it is killed.
PATIENCE_S = 30.0
#: With so few pages per robot left until the page limit, robots are asked all the time: what they collect
#: between two reports is beyond the limit.
NEAR_PAGES = 2_000
ASK_EVERY_S = 0.02


@dataclass
class _Career:
    """What one robot did in all its lives."""

    deaths: int = 0  # since it last got any further
    visited: int = -1  # the most it ever reported
    earlier: int = 0  # visits of the lives before this one
    earlier_revisits: int = 0  # as far as they were told
    newborn: bool = False  # not heard of since it was started again

    def take(self, report: Report, last: Report) -> Report:
        """The report with the visits of all lives; `last` is the one before it.

        What was visited between the last words of one life and the first of the next is told by the
        frontier, which outlives them.
        """
        if self.newborn:
            self.earlier = max(0, last.visits + report.visited - last.visited - report.visits)
            self.earlier_revisits = last.revisits
            self.newborn = False
        if report.visited > self.visited:
            self.visited, self.deaths = report.visited, 0
        return msgspec.structs.replace(
            report,
            visits=report.visits + self.earlier,
            revisits=report.revisits + self.earlier_revisits,
        )


class RobotSet:
    """Starts robots, watches them, ends them."""

    def __init__(
        self, command: Callable[[int], list[str]], count: int, *, page_limit: int | None = None
    ) -> None:
        self._command = command
        self._page_limit = page_limit
        self.reports = [Report() for _ in range(count)]
        self._careers = [_Career() for _ in range(count)]
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._news = asyncio.Event()
        self._stopping = False
        self._failure: BaseException | None = None

    async def collect(self) -> None:
        """Run until everything is collected, the limit is reached, or `stop` is called."""
        watchers = [asyncio.create_task(self._look_after(number)) for number in range(len(self.reports))]
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
            ends = [process.wait() for process in self._processes.values()]
            await asyncio.gather(*watchers, *ends, return_exceptions=True)
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

    async def _look_after(self, number: int) -> None:
        """Watch one robot; what goes wrong with that is the end of all: nobody else would hear of it."""
        try:
            await self._watch(number)
        except Exception as error:
            self._failure = self._failure or error
            self._news.set()

    async def _watch(self, number: int) -> None:
        """Keep one robot running until all are to end."""
        career = self._careers[number]
        while not self._stopping:
            self.reports[number] = msgspec.structs.replace(self.reports[number], idle=False)
            process = self._processes[number] = await asyncio.create_subprocess_exec(
                *self._command(number), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            if self._stopping and process.stdin is not None:
                process.stdin.close()  # `stop` came while it was being started
            await self._listen(number, process)
            code = await process.wait()
            career.deaths += 1
            career.newborn = True
            if code > 0 or career.deaths > DEATHS_LIMIT:
                self._failure = self._failure or _failure(number, code, career.deaths)
                self._news.set()
                return

    async def _listen(self, number: int, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            report = msgspec.json.decode(line, type=Report)
            self.reports[number] = self._careers[number].take(report, self.reports[number])
            self._news.set()
            if self._is_near():
                asyncio.get_running_loop().call_later(ASK_EVERY_S, self._ask, number)

    def _is_near(self) -> bool:
        near = NEAR_PAGES * len(self.reports)
        return self._page_limit is not None and self._page_limit - total(self.reports).visits < near


def _failure(number: int, code: int, deaths: int) -> CollectionError:
    if code > 0:
        return CollectionError(
            f"robot {number} ended with exit code {code}", remedy="see its message above, then run again"
        )
    return CollectionError(
        f"robot {number} was killed {deaths} times by signal {-code} without collecting a page in between",
        remedy="see whether memory is short (journalctl -k), then run again",
    )
