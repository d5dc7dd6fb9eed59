from __future__ import annotations

import gzip
import os
from datetime import datetime
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.config.cooperate import Cooperate
from joro.coordinate.messages import LogLine, read_log, visits
from joro.errors import ConfigError
from joro.model import Outcome, Page, Response, Visit
from joro.robot.transfers import Transfers

EIGHT = datetime(2026, 11, 16, 8, 0).timestamp()  # local time, as log_at is
HOUR_S = 3_600.0


def visit(url: str = "http://a.example/1") -> Visit:
    answer = Response(200, b'HTTP/1.1 200 OK\r\nETag: "x"\r\n\r\n', b"12345")
    return Visit(Page(url, 0, "http://a.example"), EIGHT, Outcome.OK, b"GET /1", answer, elapsed_s=0.25)


def opened(folder: Path, now: float = EIGHT, **settings: int) -> Transfers:
    return Transfers(folder, "one", Cooperate(**settings), FakeClock(now))  # type: ignore[arg-type]


def at(transfers: Transfers, now: float) -> Transfers:
    transfers._clock = FakeClock(now)
    return transfers


def test_a_visit_is_a_line_as_the_paper_prints_it(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.note(visit())
    log.flush()
    line = '"http://a.example/1",6,35,250,"HTTP/1.1 200 OK\\r\\nETag: \\"x\\"\\r\\n\\r\\n"\n'
    assert (tmp_path / "transfer.log").read_text() == line


def test_a_log_is_closed_at_its_time_and_read_by_the_manager_as_it_was_written(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.note(visit())
    log.flush()
    assert log.pending() == []
    [path] = at(log, EIGHT + 1.5 * HOUR_S).pending()
    assert path.name == "one.20261116093000.log"
    name, inside = read_log(log.message(path))
    head = 'HTTP/1.1 200 OK\r\nETag: "x"\r\n\r\n'
    assert str(name) == "one.20261116093000"
    assert list(visits(inside)) == [LogLine("http://a.example/1", 6, 35, 250, head)]


def test_a_log_stays_to_be_sent_until_it_was_accepted(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.note(visit())
    log.flush()
    [path] = at(log, EIGHT + 1.5 * HOUR_S).pending()
    assert opened(tmp_path, EIGHT + 30 * HOUR_S).pending() == [path]
    written = path.read_bytes()
    log.accepted(path, log.message(path))
    assert log.pending() == []
    assert gzip.decompress((tmp_path / "one.20261116093000.sent.gz").read_bytes()) == written


def test_what_was_sent_is_kept_for_some_days(tmp_path: Path) -> None:
    sent = tmp_path / "one.20261116093000.sent.gz"
    sent.write_bytes(b"")
    os.utime(sent, (EIGHT, EIGHT))
    opened(tmp_path, EIGHT + 6 * 24 * HOUR_S, keep_logs_days=7).tidy()
    assert sent.exists()
    opened(tmp_path, EIGHT + 8 * 24 * HOUR_S, keep_logs_days=7).tidy()
    assert not sent.exists()


def test_a_robot_that_was_away_at_the_time_sends_its_log_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "transfer.log"
    path.write_text("")
    os.utime(path, (EIGHT, EIGHT))
    assert len(opened(tmp_path, EIGHT + 10 * HOUR_S).pending()) == 1


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="log_at is '9 o'"):
        Transfers(Path(), "one", Cooperate(log_at="9 o"), FakeClock(EIGHT))
