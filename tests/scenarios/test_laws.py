"""The judge of politeness is not blind: logs with one fault each."""

from __future__ import annotations

import pytest

from joro.config import Politeness
from tests.scenarios import laws
from tests.scenarios.laws import Host, Row

#: Big enough for a fast server, answered in the usual 20 ms.
SIZE = 20_000
QUIET = Politeness(interval_s=1.0, fast_servers_percent=0, retry_wait_s=0.1)


def log(*starts: float, status: int = 200, path: str = "/", host: str = "a.example") -> list[Row]:
    """Requests at these moments."""
    common = {"host": host, "path": path, "url": f"http://{host}{path}", "bytes": SIZE, "status": status}
    return [{"start": start, "end": start + laws.LATENCY_S, **common} for start in starts]


def host(role: str = "normal", kind: str = "", delay_s: float = 0.0) -> Host:
    facts = {"name": "a.example", "number": 3, "role": role, "kind": kind, "rules": {"delay_s": delay_s}}
    return facts | {"pause_s": 5.0}


def breaches(rows: list[Row], server: Host) -> int:
    return len(list(laws.broken(rows, QUIET, [server])))


def test_a_pause_a_little_too_short_is_seen() -> None:
    assert laws.early(log(0.0, 1.02, 2.04), 1.0) == []
    assert len(laws.early(log(0.0, 1.01, 2.04), 1.0)) == 1


def test_a_pause_begins_when_we_hang_up_even_if_a_server_that_stalls_writes_it_down_later() -> None:
    stalled = {"start": 10.0, "end": 12.5}
    assert laws.as_we_left(stalled, patience_s=1.5)["end"] == 11.5
    assert laws.as_we_left(stalled, patience_s=9.0)["end"] == 12.5


def test_pauses_are_counted_for_each_server_alone_or_for_an_address() -> None:
    rows = [*log(0.0), *log(0.5, host="b.example")]
    assert laws.early(rows, 1.0) == []
    assert len(laws.early([row | {"address": "127.0.1.1"} for row in rows], 1.0, "address")) == 1


@pytest.mark.parametrize(
    ("server", "status", "wait_s"),
    [
        (host(), 200, 1.0),
        (host(delay_s=2.0), 200, 2.0),
        (host("throttling", "429-seconds"), 429, 5.0),
        (host("throttling", "503-bare"), 503, 2.0),
    ],
)
def test_each_server_has_a_pause_of_its_own(server: Host, status: int, wait_s: float) -> None:
    second = wait_s + laws.LATENCY_S
    assert breaches(log(0.0, second, status=status), server) == 0
    assert breaches(log(0.0, second - 0.1, status=status), server) == 1


def test_doubling_is_expected_again_and_again_and_halving_step_by_step() -> None:
    expected = laws.Expected(QUIET, host("throttling", "503-bare"))
    statuses = [503, 503, 503, 200, 200, 200]
    assert [expected.after(*log(0.0, status=each)) for each in statuses] == [2, 4, 8, 4, 2, 1]


def test_a_slow_server_is_expected_to_be_asked_less_often() -> None:
    (row,) = log(0.0)
    slow = row | {"end": 10.0 + laws.LATE_S}  # 2,000 bytes a second
    assert laws.Expected(QUIET, host()).after(slow) == pytest.approx(1 + 1 - 2 / 14)


def test_a_page_before_robots_txt_or_long_after_it_is_seen() -> None:
    rows = [*log(0.0, path="/robots.txt"), *log(1.0, 9.0)]
    assert laws.missing_rules(rows) == []
    assert laws.missing_rules(rows[1:]) == ["http://a.example/"] * 2
    assert laws.missing_rules(rows, age_s=5.0) == ["http://a.example/"]


def test_runs_end_at_pauses() -> None:
    assert [len(run) for run in laws.runs(log(0.0, 0.02, 0.04, 2.0, 2.02), 1.0)] == [3, 2]
