from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from joro.breaker.alert import Alerts
from joro.breaker.limits import Refusal
from joro.clock import FakeClock
from joro.config import Breaker
from joro.errors import ConfigError
from tests.breaker.stand import until
from tests.web.scripted import scripted

REFUSAL = Refusal("http://a.example", "too many requests", 60, 600.0, is_news=True)
TOLD = {
    "time": 1_000.0,
    "alert": "too many requests",
    "who": "http://a.example",
    "limit": 60,
    "server": "http://a.example",
    "address": "192.0.2.1",
    "quarantine_s": 600.0,
}


def run(story: Coroutine[Any, Any, None]) -> None:
    uvloop.run(asyncio.wait_for(story, timeout=30))


def alerts(**settings: Any) -> Alerts:
    return Alerts(Breaker(**settings), FakeClock(1_000.0))


def test_an_alert_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        alerts().raise_alert(REFUSAL, "http://a.example", "192.0.2.1")

    run(story())
    assert json.loads(capsys.readouterr().err) == TOLD


def test_the_command_reads_the_alert_on_its_input(tmp_path: Path) -> None:
    code = f"import sys; open({str(tmp_path / 'told')!r}, 'w').write(sys.stdin.read())"

    async def story() -> None:
        bell = alerts(alert_command=shlex.join([sys.executable, "-c", code]))
        bell.raise_alert(REFUSAL, "http://a.example", "192.0.2.1")
        await until(lambda: (tmp_path / "told").exists() and (tmp_path / "told").read_text() != "")
        await bell.close()

    run(story())
    assert json.loads((tmp_path / "told").read_text()) == TOLD


def test_the_alert_is_posted() -> None:
    async def story() -> None:
        async with scripted(b"HTTP/1.1 204 No Content\r\n\r\n", close=True) as web:
            bell = alerts(alert_url=f"http://127.0.0.1:{web.port}/hook")
            bell.raise_alert(REFUSAL, "http://a.example", "192.0.2.1")
            await until(lambda: bool(web.requests))
            await bell.close()
            assert web.requests[0].startswith(b"POST /hook HTTP/1.1\r\n")

    run(story())


@pytest.mark.slow
def test_an_alert_that_cannot_be_delivered_disturbs_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []

    def failed() -> bool:
        lines.extend(capsys.readouterr().err.splitlines())
        return any("FileNotFoundError" in line for line in lines)

    async def story() -> None:
        bell = alerts(alert_command="no-such-command")
        for _ in range(150):
            bell.raise_alert(REFUSAL, "http://a.example", "192.0.2.1")
        await until(failed)
        await bell.close()

    run(story())
    assert any("more than 100 alerts" in line for line in lines)


@pytest.mark.parametrize(
    "setting",
    [
        {"alert_url": "file:///x"},
        {"alert_url": "http://"},
        {"alert_url": "http://[::1/hook"},
        {"alert_url": "http://a.example:99999/"},
        {"alert_command": "mail -s 'too much"},
    ],
)
def test_alerts_that_cannot_be_delivered_are_refused_at_the_start(setting: dict[str, str]) -> None:
    async def story() -> None:
        alerts(**setting)

    with pytest.raises(ConfigError, match=rf"breaker\.{next(iter(setting))} = .* is not a "):
        run(story())


def test_a_hook_that_does_not_speak_http_gets_the_next_alert_all_the_same() -> None:
    async def story() -> None:
        async with scripted(b"hello\r\n\r\n", close=True) as web:
            bell = alerts(alert_url=f"http://127.0.0.1:{web.port}/a hook")
            for _ in range(2):
                bell.raise_alert(REFUSAL, "http://a.example", "192.0.2.1")
            await until(lambda: len(web.requests) == 2)
            await bell.close()
            assert web.requests[1].startswith(b"POST /a%20hook HTTP/1.1\r\n")

    run(story())
