"""When may we knock at this server again?

In:    the visit that just ended, what robots.txt wishes, what is remembered of the server.
Out:   the moment from which the next visit may begin.
Never: waits itself, or looks at a clock; goes below the interval the rules give.
Paper: S1 5.1.4 (20 and 10 seconds, keep-alive, hours), S2 tables 1 and 2 (suspend, keep-alive then pause,
       dynamic interval), S4 (Crawl-delay). The origin of every number: docs/concepts/politeness.md.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Iterator

from joro.config import PerServer, Politeness
from joro.config.declare import YEAR_S
from joro.fetch.pace import REQUESTS, Pace, noted, standing
from joro.fetch.window import Window
from joro.model import PASSING, Outcome, Visit
from joro.store.records import ServerRecord

#: No failure keeps us away longer than this; the server will be asked again tomorrow.
LONGEST_WAIT_S = 86_400.0
#: Waits after a failure are longer by up to this share: who fails together must not be asked together.
JITTER = 0.25
#: More doublings than this are beyond LONGEST_WAIT_S for every interval of 2 seconds and more.
_MOST_DOUBLINGS = 16
#: The year 5138: no calendar is asked about later moments.
_FAR_AWAY = 1e11


class Manners:
    """All rules of politeness, for all servers of a robot.

    A server's state is in its record and outlives a restart; only the comparison among servers starts anew.
    """

    def __init__(self, settings: Politeness, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()
        self.renew(settings)
        #: How many times as long pauses are at a server that other robots visit, too: each asks less often.
        self.stretch: Callable[[str], float] = lambda server: 1.0

    def renew(self, settings: Politeness) -> None:
        """Go by these settings from now on; what was promised before stands."""
        texts = {settings.window, *(str(rule.changes.get("window", "")) for rule in settings.rules)}
        self._windows = {text: Window.parse(text) for text in texts if text}
        self._settings = PerServer(settings)
        self._pace = Pace(settings.fast_servers_percent)

    def of(self, server: str) -> Politeness:
        """The settings that hold for a server."""
        return self._settings.of(server)

    def finished(self, record: ServerRecord, visit: Visit, crawl_delay_s: float | None, now: float) -> float:
        """Take in a visit that ended `now`; the moment from which the next one may begin."""
        speed, _ = found = _remember(record, visit)
        settings = self.of(visit.page.server)
        fast = False
        if speed is not None:
            self._pace.note(speed)
            fast = speed >= settings.fast_bytes_per_s and self._pace.is_fast(speed)
        interval = interval_s(settings, crawl_delay_s, found, fast=fast)
        return self._pause(settings, record, visit, interval, now, runs=not crawl_delay_s)

    def ready_at(
        self, record: ServerRecord, visit: Visit, crawl_delay_s: float | None, now: float, *, fast: bool
    ) -> float:
        """As `finished`, where someone else says whether the server is one of the fastest."""
        settings = self.of(visit.page.server)
        interval = interval_s(settings, crawl_delay_s, _remember(record, visit), fast=fast)
        return self._pause(settings, record, visit, interval, now, runs=not crawl_delay_s)

    def _pause(
        self,
        settings: Politeness,
        record: ServerRecord,
        visit: Visit,
        interval: float,
        now: float,
        *,
        runs: bool,
    ) -> float:
        pause = max(
            _suspension_s(settings, record, visit, now), self._punishment_s(settings, record, visit, interval)
        )
        stretch = self.stretch(visit.page.server)
        rest = max(pause, interval, settings.run_pause_s if settings.run_pages > 1 else 0.0)
        # Visits take time, too: from beginning to beginning it must be `stretch` times as long.
        rest = rest * stretch + (stretch - 1.0) * (record.run + 1) * visit.elapsed_s
        if runs and pause == 0.0 and _goes_on(settings, record, visit):
            record.run, record.rest_s = record.run + 1, rest
        else:
            record.run, record.rest_s, pause = 0, 0.0, rest
        record.ended_at = now
        record.ready_at = self.next_open(visit.page.server, now + pause)
        return record.ready_at

    def has_pauses(self, server: str) -> bool:
        """Are there requests to the server that must not follow at once?"""
        settings = self.of(server)
        return settings.interval_s > 0 or (settings.run_pages > 1 and settings.run_pause_s > 0)

    def usual_s(self, server: str, record: ServerRecord, crawl_delay_s: float | None) -> float:
        """Seconds between two visits to a server that is answering, whatever became of the last one."""
        settings = self.of(server)
        interval = interval_s(settings, crawl_delay_s, standing(record.recent))
        pause = max(interval, settings.run_pause_s if settings.run_pages > 1 else 0.0)
        return pause * self.stretch(server)

    def mean_s(self, server: str, record: ServerRecord, crawl_delay_s: float | None) -> float:
        """As `usual_s` on average over the weeks: hours and suspensions leave time for fewer visits."""
        settings, usual = self.of(server), self.usual_s(server, record, crawl_delay_s)
        every_s = usual + record.longest_download_s
        if every_s == 0.0:
            return usual
        if settings.suspend_after_s > 0:
            every_s += settings.suspend_for_s / math.ceil(settings.suspend_after_s / every_s)
        window = self._windows.get(settings.window)
        if window is not None:
            every_s = window.mean_s(every_s)
        return every_s - record.longest_download_s

    def run_ended(self, server: str, record: ServerRecord) -> float:
        """Its run was to go on, but the server has hung up: the moment from which the next one may begin."""
        record.ready_at = max(record.ready_at, self.next_open(server, record.ended_at + record.rest_s))
        record.run, record.rest_s = 0, 0.0
        return record.ready_at

    def has_promised(self, record: ServerRecord, visit: Visit) -> bool:
        """Was the visit just `finished` one after which the server was promised more than the usual pause?

        That must be known after a crash, too. Waits of our own making after a failure are no promise.
        """
        settings = self.of(visit.page.server)
        if settings.suspend_after_s > 0 and not record.busy_since:
            return True
        if visit.outcome is Outcome.OK:
            return False
        return visit.outcome is Outcome.THROTTLED or _asked_s(settings, visit) is not None

    def next_open(self, server: str, moment: float) -> float:
        """The first moment from `moment` on that lies in the server's hours."""
        window = self._windows.get(self.of(server).window)
        return moment if window is None or moment > _FAR_AWAY else window.next_open(moment)

    def address_interval_s(self, server: str, *, in_run: bool = False) -> float:
        """Seconds from the end of a visit to the next one at the same IP address, to whatever server.

        A run (`record.run` > 0) goes on at once: its pause comes at its end.
        """
        settings = self.of(server)
        return 0.0 if in_run else min(settings.address_interval_s, settings.interval_s)

    def _punishment_s(
        self, settings: Politeness, record: ServerRecord, visit: Visit, interval: float
    ) -> float:
        """What failures add up to: 0 when all is well again."""
        if visit.outcome is Outcome.OK and not record.throttles:
            return 0.0
        asked = _asked_s(settings, visit)
        doublings = max(record.throttles - (asked is not None), 0)
        wait = interval * 2.0**doublings if doublings else 0.0
        if asked is None and visit.outcome in PASSING:
            tries = min(max(record.failures, 1), _MOST_DOUBLINGS)
            wait = max(wait, settings.retry_wait_s * 2.0 ** (tries - 1))
        longest = max(LONGEST_WAIT_S, interval)
        wait = min(wait * (1.0 + JITTER * self._chance.random()), longest) if wait else 0.0
        return max(wait, asked or 0.0)


def interval_s(
    settings: Politeness,
    crawl_delay_s: float | None,
    found: tuple[float | None, int] = (None, 0),
    *,
    fast: bool = False,
) -> float:
    """Seconds between two visits to a server that is answering; `found` is its speed and number of errors.

    S2: interval = min_interval + max_delay1 × (1 - speed / target_speed) + max_delay2 × errors / 10,
    no term below 0. The minimum is S1's: halved for the fastest. What robots.txt wishes wins if it is longer.
    All together is a year at most.
    """
    wished = min(crawl_delay_s or 0.0, settings.crawl_delay_limit_s)
    speed, errors = found
    slowness = 0.0 if speed is None else max(0.0, 1.0 - speed / settings.target_bytes_per_s)
    percent = (
        (settings.fast_interval_percent if fast else 100)
        + settings.slow_delay_percent * slowness
        + settings.error_delay_percent * errors / REQUESTS
    )
    return min(max(settings.interval_s * percent / 100, wished), YEAR_S)


def reasons(
    settings: Politeness, record: ServerRecord, pause_s: float, crawl_delay_s: float | None
) -> Iterator[str]:
    """Why the pause is as long as it is, for people."""
    if crawl_delay_s is not None:
        yield f"robots.txt wishes a Crawl-delay of {crawl_delay_s:g} s"
    if pause_s > max(settings.interval_s, crawl_delay_s or 0.0):
        yield "the pause is longer than politeness.interval_s, for the server is slow or fails"
    if settings.run_pages > 1 and not crawl_delay_s:
        row = f"{settings.run_pages} pages are asked for in a row"
        yield f"while its connection lives, {row}, and then none for {max(pause_s, settings.run_pause_s):g} s"
    if record.failures:
        yield f"its last {record.failures} visits failed" if record.failures > 1 else "its last visit failed"
    if record.throttles:
        yield "it asked for fewer visits"


def promised_until(record: ServerRecord, now: float) -> float:
    """Until when a server is left alone: settings of former versions could promise that for ever.

    Two years are let stand: whoever was called off before the server had read it may stay away so long.
    """
    if record.ready_at <= now + 2.0 * YEAR_S:
        return record.ready_at
    return (record.ended_at or now) + YEAR_S


def _remember(record: ServerRecord, visit: Visit) -> tuple[float | None, int]:
    """Bring the record up to date; speed and errors of the last ten requests."""
    record.recent = noted(record.recent, visit)
    if visit.outcome in PASSING:
        record.failures += 1
        if visit.outcome is Outcome.THROTTLED:
            record.throttles = min(record.throttles + 1, _MOST_DOUBLINGS)
    else:
        record.failures = 0
        record.throttles = max(record.throttles - 1, 0)  # step by step: it has only just recovered
    return standing(record.recent)


def _goes_on(settings: Politeness, record: ServerRecord, visit: Visit) -> bool:
    """May the next request follow at once on the same connection?"""
    well = not record.failures and not record.throttles
    return well and visit.kept_alive and record.run + 1 < settings.run_pages


def _suspension_s(settings: Politeness, record: ServerRecord, visit: Visit, now: float) -> float:
    """S2: who was visited for so long without a break gets one."""
    if not settings.suspend_after_s:
        return 0.0
    if not record.busy_since or visit.time >= record.ended_at + settings.suspend_for_s:
        record.busy_since = visit.time
    if now - record.busy_since < settings.suspend_after_s:
        return 0.0
    record.busy_since = 0.0
    return settings.suspend_for_s


def _asked_s(settings: Politeness, visit: Visit) -> float | None:
    """What the server itself asks for in Retry-After; it is believed with any answer but a good one."""
    if visit.response is None or visit.outcome in (Outcome.OK, Outcome.NOT_MODIFIED):
        return None
    headers = visit.response.headers
    if "retry-after" not in headers:
        return None
    now = _moment(headers.get("date", ""))  # on the clock by which it names a date: ours may be wrong
    asked = retry_after_s(headers["retry-after"], visit.time + visit.elapsed_s if now is None else now)
    return None if asked is None else min(asked, settings.retry_after_limit_s)


def retry_after_s(value: str, now: float) -> float | None:
    """What a Retry-After field asks for: seconds, or a date; None when neither. Of several, the most."""
    numbers = [number.strip() for number in value.split(",")]
    if all(number.isascii() and number.isdigit() for number in numbers):
        return max(map(float, numbers))
    moment = _moment(value)
    return None if moment is None else max(0.0, moment - now)


def _moment(date: str) -> float | None:
    """Seconds since 1970 of a date as HTTP writes it; one that names no zone (C's asctime) is in UTC, too."""
    from email.utils import parsedate_to_datetime  # 0.02 s, which most crawls need not pay

    try:
        moment = parsedate_to_datetime(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def wait_s(settings: Politeness, visit: Visit, crawl_delay_s: float | None, failures: int) -> float:
    """Seconds until the next visit to a server of which only the last failures are remembered."""
    usual = interval_s(settings, crawl_delay_s)
    asked = _asked_s(settings, visit) if visit.outcome is Outcome.THROTTLED else None
    if asked is not None:
        return max(usual, asked)
    if visit.outcome in PASSING:
        return min(max(usual, settings.retry_wait_s * 2.0 ** (max(failures, 1) - 1)), LONGEST_WAIT_S)
    return usual
