"""When may we knock at this server again?

In:    the visit that just ended, what robots.txt wishes, how often the server failed in a row.
Out:   seconds to wait, counted from the end of the visit.
Never: waits itself, or looks at a clock.
Paper: S1 5.1.3 (interval); the full table of S2 comes on top of this.
"""

from __future__ import annotations

import email.utils

from joro.config import Politeness
from joro.model import PASSING, Outcome, Visit

#: Nothing a server says keeps us away longer than this; it will be asked again tomorrow.
LONGEST_WAIT_S = 86_400.0


def interval_s(settings: Politeness, crawl_delay_s: float | None) -> float:
    """Seconds between two visits to a server in good health."""
    wished = min(crawl_delay_s or 0.0, settings.crawl_delay_limit_s)
    return max(settings.interval_s, wished)


def wait_s(settings: Politeness, visit: Visit, crawl_delay_s: float | None, failures: int) -> float:
    """Seconds until the next visit to the server of `visit`, of which the last `failures` failed in a row."""
    usual = interval_s(settings, crawl_delay_s)
    if visit.outcome is Outcome.THROTTLED and visit.response is not None:
        asked = retry_after_s(visit.response.headers.get("retry-after", ""), visit.time + visit.elapsed_s)
        if asked is not None:
            return min(max(usual, asked), LONGEST_WAIT_S)
    if visit.outcome in PASSING:
        return min(max(usual, settings.retry_wait_s * 2.0 ** (max(failures, 1) - 1)), LONGEST_WAIT_S)
    return usual


def retry_after_s(value: str, now: float) -> float | None:
    """What a Retry-After field asks for: seconds, or a date; None when it is neither."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
