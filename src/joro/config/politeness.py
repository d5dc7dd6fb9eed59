"""How gently do we knock?

In:    nothing.
Out:   the section `[politeness]`; servers may differ.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import YEAR_S, Override, setting

#: So many hundredths are a thousandfold; more would be beyond every calendar.
_MOST_PERCENT = 100_000


@dataclass(frozen=True)
class Politeness:
    """How gently we knock. Where each number comes from: `docs/concepts/politeness.md`."""

    interval_s: float = setting(
        20.0, "time between the end of a visit and the next to that server", least=0.0, most=YEAR_S
    )
    fast_servers_percent: int = setting(
        20,
        "so many of the robot's servers, the fastest, get a shorter interval",
        least=0,
        most=100,
        whole=True,
    )
    fast_bytes_per_s: float = setting(
        14_000.0, "a slower server is never one of the fastest", least=0.0, most=1e12
    )
    fast_interval_percent: int = setting(
        50, "what is left of interval_s for the fastest servers; 100 = no difference", least=0, most=100
    )
    slow_delay_percent: int = setting(
        100,
        "added to the interval of a server that hardly moves, in hundredths of interval_s",
        least=0,
        most=_MOST_PERCENT,
    )
    error_delay_percent: int = setting(
        300,
        "added when the last ten requests all failed (one: a tenth), in hundredths of interval_s",
        least=0,
        most=_MOST_PERCENT,
    )
    target_bytes_per_s: float = setting(
        14_000.0, "a server of this speed is not called slow", least=1.0, most=1e12
    )
    run_pages: int = setting(
        1, "requests in a row while the connection lives and no Crawl-delay is wished", least=1
    )
    run_pause_s: float = setting(
        0.0, "pause after such a run, if longer than the interval", least=0.0, most=YEAR_S
    )
    suspend_after_s: float = setting(
        0.0, "pause a server after collecting from it for so long without a break; 0 = never", least=0.0
    )
    suspend_for_s: float = setting(3_600.0, "length of that pause", least=0.0, most=YEAR_S)
    window: str = setting(
        "", 'when visits may begin, as "weekdays 02:00-08:00, weekends 02:00-22:00 Asia/Tokyo"; "" = always'
    )
    per_address: int = setting(
        1,
        "servers visited at once on one IP address, by all processes of a collection; idle connections"
        " do not count",
        least=1,
        most=64,
        whole=True,
    )
    address_interval_s: float = setting(
        10.0, "time between two visits to one IP address, if shorter than interval_s", least=0.0, most=YEAR_S
    )
    robots_txt: bool = setting(True, "obey robots.txt; switch off only for servers that are yours")
    robots_age_s: float = setting(
        21_600.0, "robots.txt is read again after this time", least=1.0, most=21_600.0
    )
    crawl_delay_limit_s: float = setting(
        300.0, "a longer Crawl-delay is taken as this one", least=0.0, most=YEAR_S
    )
    retry_limit: int = setting(2, "further tries after a passing failure, each a doubled wait apart", least=0)
    retry_wait_s: float = setting(60.0, "first wait after a passing failure", least=0.0, most=YEAR_S)
    retry_after_limit_s: float = setting(
        86_400.0, "a longer Retry-After is taken as this one", least=0.0, most=YEAR_S
    )
    rules: tuple[Override, ...] = setting(
        (), 'for some servers: [[politeness.rules]], servers = ["*.example.jp"] and keys of above', whole=True
    )
