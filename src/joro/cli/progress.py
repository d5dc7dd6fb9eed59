"""How does a person see that it goes on? A bar or a live line on a terminal; of a crawl, a line in a log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from joro.clock import Clock
from joro.coordinate.report import Report
from joro.model import Outcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

#: Seconds between two looks: on a terminal, in a log.
LIVE_EVERY_S = 0.2
LOG_EVERY_S = 10.0
#: The rate shown is that of the last so many seconds.
RATE_OVER_S = 5.0

#: What went wrong; pages that a rule of ours or theirs left out are no errors.
_FAILURES = frozenset(
    outcome.value
    for outcome in (
        Outcome.MALFORMED,
        Outcome.TIMEOUT,
        Outcome.UNREACHABLE,
        Outcome.NO_ADDRESS,
        Outcome.SERVER_ERROR,
        Outcome.THROTTLED,
    )
)


class Meter:
    """Turns reports into one line."""

    def __init__(self, report: Callable[[], Report], clock: Clock) -> None:
        self._report = report
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque([(clock.now(), report().visits)])

    def line(self) -> str:
        """What we do, or what keeps us from it; pages, rate, revisits where there are any, queue, errors …"""
        report = self._report()
        failures = sum(number for outcome, number in report.outcomes.items() if outcome in _FAILURES)
        revisits = f" · {report.revisits:,} revisits" if report.revisits else ""
        word = report.word or "collecting"
        return (
            f"{word} · {report.asked_for:,} pages · {self._rate(report.visits):,.0f}/s{revisits}"
            f" · {report.waiting:,} waiting · {failures:,} errors · {report.sockets} sockets"
            f" · {report.bytes / 1e6:,.1f} MB"
        )

    def _rate(self, visits: int) -> float:
        now = self._clock.now()
        self._samples.append((now, visits))
        while len(self._samples) > 2 and self._samples[1][0] < now - RATE_OVER_S:
            self._samples.popleft()
        start, before = self._samples[0]
        return (visits - before) / (now - start) if now > start else 0.0


@contextmanager
def bar(*columns: ProgressColumn, quiet: bool = False) -> Iterator[Progress]:
    """A bar on a terminal, gone when the block ends; elsewhere nothing, not even an empty line."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    is_hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_hidden) as progress:
        yield progress


@contextmanager
def byte_bar(word: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar of bytes, told how many are done, and how many there are."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(word), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with bar(*columns, quiet=quiet) as progress:
        line = progress.add_task("", total=None)
        yield lambda done, whole: progress.update(line, completed=done, total=whole)


@contextmanager
def share_bar(word: str) -> Iterator[tuple[Callable[[float], object], Callable[[float], object]]]:
    """A bar; two functions: how much there is to do, and how much more of it is done."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with bar(TextColumn(word), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()) as progress:
        line = progress.add_task("", total=None)
        yield lambda total: progress.update(line, total=total), lambda part: progress.advance(line, part)


@asynccontextmanager
async def shown(report: Callable[[], Report], clock: Clock, *, quiet: bool = False) -> AsyncIterator[None]:
    """Show the progress while the block runs."""
    if quiet:
        yield
        return
    from rich.console import Console  # 0.05 s, which a quiet crawl need not pay

    console = Console(stderr=True)
    meter = Meter(report, clock)
    show = _show_live(console, meter) if console.is_terminal else _show_log(console, meter)
    shower = asyncio.create_task(show)
    try:
        yield
    finally:
        shower.cancel()
        await asyncio.gather(shower, return_exceptions=True)


async def _show_live(console: Console, meter: Meter) -> None:
    from rich.live import Live
    from rich.text import Text

    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            live.update(Text(meter.line(), overflow="ellipsis", no_wrap=True), refresh=True)
            await asyncio.sleep(LIVE_EVERY_S)


async def _show_log(console: Console, meter: Meter) -> None:
    while True:
        await asyncio.sleep(LOG_EVERY_S)
        console.print(meter.line(), highlight=False, soft_wrap=True)
