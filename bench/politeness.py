"""Does anyone see us break a rule? Counted by the servers, over more than ten thousand requests.

Two robots collect from five hundred servers, of which some are slow, flaky, throttling, redirecting or
forbidding, and some share an address. A part of them opens its hours while the crawl runs, another closes
for a minute. Then the test web's own log is judged by the laws of `tests/scenarios/laws.py`, which share no
code with the robot: requests at once to a server or an address, pauses shorter than the rules for that
server give, requests outside hours, to what robots.txt disallows, or before it was read. Each rule alone,
and what kills change, is in tests/scenarios/test_politeness.py.
Left out: the shorter interval of the fastest, which only their number limits.
"""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joro.clock import RealClock
from tests.scenarios import laws
from tests.scenarios.crawls import Seen, look_back
from tests.scenarios.laws import Host, Row
from tests.scenarios.stage import Web, done, serve_web

HOSTS, PAGES = 500, 40_000
ROLES = "restricted,throttling,slow,flaky,redirecting"
MANNERS: dict[str, Any] = {
    "interval_s": 0.4,
    "fast_servers_percent": 0,
    "per_address": 1,
    "address_interval_s": 0.2,
    "retry_wait_s": 0.3,
}
#: Of most servers, and of those that want to be asked seldom.
QUOTA, SMALL_QUOTA = 60, 6
#: Two o'clock of a Monday in Tokyo comes so many seconds after the start.
UNTIL_TWO_S = 20.0
OPENING = "weekdays 02:00-08:00 Asia/Tokyo"
CLOSING = "daily 01:00-02:00 02:01-08:00 Asia/Tokyo"
MINUTE_S = 60.0
#: The robot's clock is set to that hour; its seconds are as long as ours.
SHIFTED_CLOCK = (
    "import os, time\n_now = time.time\ntime.time = lambda: _now() + float(os.environ['SHIFT_S'])\n"
)
#: What was on its way when the hours ended may still arrive.
ON_ITS_WAY_S = 0.15


def figures() -> dict[str, tuple[float, str]]:
    """Requests that broke a rule, of how many, on how many servers."""
    with tempfile.TemporaryDirectory() as name:
        seen, two = _crawl(Path(name))
    breaches = _breaches(seen, two)
    for kind, several in breaches.items():
        print(f"{kind:34} {len(several):6}  {several[0] if several else ''}")
    return {
        "politeness.violations": (float(sum(map(len, breaches.values()))), ""),
        "politeness.requests": (float(len(seen.rows)), "requests"),
        "politeness.servers": (float(len(laws.by(seen.rows))), "servers"),
    }


def _crawl(directory: Path) -> tuple[Seen, float]:
    """What the servers saw, and when it was two o'clock."""
    options = ("--hosts", HOSTS, "--pages", PAGES, "--roles", ROLES, "--addresses", "own", "--latency", 20)
    with serve_web(directory, *options) as web:
        collection = web.collection(directory / "c", **_settings(web))
        (directory / "sitecustomize.py").write_text(SHIFTED_CLOCK, encoding="utf-8")
        two = RealClock().now() + UNTIL_TWO_S
        shift_s = datetime(2026, 11, 15, 17, 0, tzinfo=UTC).timestamp() - two
        environment = os.environ | {"PYTHONPATH": str(directory), "SHIFT_S": str(shift_s)}
        seeds = [host["url"] for host in web.oracle.get("/hosts")]
        done("crawl", "-q", "-p", 2, "-C", collection, *seeds, env=environment, timeout=900)
        return look_back(web, collection), two


def _settings(web: Web) -> dict[str, dict[str, Any]]:
    hosts = web.oracle.get("/hosts")
    patient = [host["name"] for host in hosts if host["role"] == "throttling" or host["rules"]["delay_s"]]
    hours = [{"servers": ["*.com"], "window": OPENING}, {"servers": ["*.jp"], "window": CLOSING}]
    return {
        "politeness": MANNERS | {"rules": hours},
        "fetch": {"timeout_s": 3.0},
        "scope": {
            "pages_per_server": QUOTA,
            "rules": [{"servers": patient, "pages_per_server": SMALL_QUOTA}],
        },
    }


def _breaches(seen: Seen, two: float) -> dict[str, list[str]]:
    """Every breach, by the rule it breaks."""
    rows, manners = seen.rows, seen.settings.politeness
    hosts: list[Host] = seen.hosts
    return {
        "two at one server at once": [row["url"] for row in rows if row["concurrent"] > 1],
        "two at one address at once": [row["url"] for row in rows if row["sharing"] > 1],
        "too early at a server": list(laws.broken(rows, manners, hosts)),
        "too early at an address": laws.early(rows, manners.address_interval_s, "address"),
        "outside its hours": [row["url"] for row in rows if _is_closed(row, two)],
        "disallowed by robots.txt": ["by the oracle"] * seen.verdict["disallowed"],
        "before robots.txt was read": laws.missing_rules(rows),
    }


def _is_closed(row: Row, two: float) -> bool:
    if row["host"].endswith(".com"):
        return bool(row["start"] < two)
    closed = two + ON_ITS_WAY_S < row["start"] < two + MINUTE_S
    return bool(closed and row["host"].endswith(".jp"))


if __name__ == "__main__":
    for name, (value, unit) in figures().items():
        print(f"{name:34} {value:10.0f} {unit}")
