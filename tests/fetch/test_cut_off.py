"""Visits while the breaker or proxy that they go through cannot be reached, or cannot reach a server."""

from dataclasses import replace
from typing import Any

import pytest

from joro.clock import FakeClock
from joro.fetch.visit import Later, Visitor
from joro.model import Outcome, Page, Visit
from tests.breaker.stand import breaker
from tests.fetch.test_visit import HELLO, LOOPBACK, run, to, visit
from tests.web import proxies
from tests.web.proxies import proxy
from tests.web.scripted import scripted


@pytest.mark.parametrize(
    ("between", "name"),
    [
        ({"breaker": "127.0.0.1:{port}"}, "the breaker at 127.0.0.1:{port}"),
        ({"proxy": "socks5://me:secret@127.0.0.1:{port}"}, "the proxy at 127.0.0.1:{port}"),
    ],
)
def test_a_breaker_that_is_not_there_says_nothing_about_servers(
    between: dict[str, str], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> tuple[list[Visit | Later], int, int]:
        async with scripted(HELLO) as web, scripted(HELLO) as gone:
            pass
        more: dict[str, Any] = {key: value.format(port=gone.port) for key, value in between.items()}
        visitor = Visitor(to(web, **more), user_agent="joro/test", clock=FakeClock(1000.0))
        found = [await visitor.visit(Page(f"http://{host}.example/")) for host in "ab"]
        assert visitor.word.startswith(f"held off by {name.format(port=gone.port)} (")
        assert "secret" not in visitor.word
        await visitor.close()
        return found, web.connections, gone.port

    found, connections, port = run(scenario())
    assert (found, connections) == ([Later(1060.0), Later(1060.0)], 0)
    [said] = caplog.messages
    assert said.startswith(f"{name.format(port=port)} does not answer (")


def test_what_a_breaker_is_there_for_goes_on_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> list[Visit | Later]:
        async with breaker() as before:
            pass
        async with scripted(HELLO) as web:
            settings = to(web, breaker=f"127.0.0.1:{before.port}")
            visitor = Visitor(settings, user_agent="joro/test", clock=FakeClock(1000.0))
            found = [await visitor.visit(Page("http://a.example/"))]
            async with breaker(port=before.port):
                found.append(await visitor.visit(Page("http://a.example/")))
            await visitor.close()
            return found

    first, second = run(scenario())
    assert isinstance(first, Later)
    assert isinstance(second, Visit)
    assert second.outcome is Outcome.OK
    assert caplog.messages[-1].endswith(" answers again")


def test_a_robot_says_that_the_breaker_refuses_until_something_is_let_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> tuple[list[str], int]:
        async with scripted(HELLO) as web, breaker(per_server_per_minute=1, quarantine_s=30.0) as between:
            settings = to(web, breaker=f"127.0.0.1:{between.port}")
            visitor = Visitor(settings, user_agent="joro/test", clock=FakeClock(1000.0))
            words = []
            for host in "aaaba":
                await visitor.visit(Page(f"http://{host}.example/"))
                words.append(visitor.word)
            await visitor.close()
            return words, between.port

    (granted, refused, again, other, last), port = run(scenario())
    name = f"the breaker at 127.0.0.1:{port}"
    assert (granted, other) == ("", "")
    assert refused == f"held off by {name} (http://a.example: too many requests, limit 1)"
    assert again == last == refused
    [said] = caplog.messages
    assert said.startswith(f"{name} refuses requests, which wait (http://a.example: too many requests")


def test_a_robot_is_held_off_no_longer_than_the_breaker_says() -> None:
    async def scenario() -> tuple[str, str]:
        async with scripted(HELLO) as web, breaker(per_server_per_minute=1, quarantine_s=100.0) as between:
            clock = FakeClock(1000.0)
            visitor = Visitor(
                to(web, breaker=f"127.0.0.1:{between.port}"), user_agent="joro/test", clock=clock
            )
            for _ in range(2):
                await visitor.visit(Page("http://a.example/"))
            before, clock._now = visitor.word, 1101.0
            after = visitor.word
            await visitor.close()
            return before, after

    before, after = run(scenario())
    assert (bool(before), after) == (True, "")


def test_a_server_that_a_proxy_cannot_reach_is_unreachable() -> None:
    async def scenario() -> Visit:
        async with scripted(HELLO) as gone:
            pass
        async with proxy(proxies.socks5, gone.port) as between:
            settings = replace(LOOPBACK, proxy=f"socks5://127.0.0.1:{between.port}", hosts={"*": "127.0.0.1"})
            return await visit(settings, "http://a.example/")

    assert run(scenario()).outcome is Outcome.UNREACHABLE
