"""Requests in a row through somebody in between: does an open connection say the server keeps it open?"""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from joro.fetch.http import Client
from joro.fetch.route import Route
from tests.fetch.test_http import HELLO, LIMITS
from tests.web import proxies
from tests.web.scripted import scripted


@pytest.mark.parametrize("close", [False, True])
def test_who_wants_a_kept_connection_gets_no_new_tunnel(
    close: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> tuple[list[bool], int]:
        async with scripted(HELLO, close=close) as web, proxies.proxy(proxies.socks5, web.port) as between:
            route = Route(proxy=f"socks5://127.0.0.1:{between.port}")
            found: list[bool] = []
            client = Client(user_agent="joro/test", limits=LIMITS, connections=10, route=route)
            for kept in (False, True, False):
                await asyncio.sleep(1.2 if found else 0.0)  # libcurl looks after a second
                one = await client.get("http://a.example/", address="127.0.0.1", port=web.port, kept=kept)
                found.append(one.hung_up)
                assert (one.response is None) == one.hung_up
            await client.close()
            return found, web.connections

    assert uvloop.run(scenario()) == (([False, True, False], 2) if close else ([False, False, False], 1))
    assert caplog.messages == []  # the proxy was there all the time


@pytest.mark.parametrize(
    ("way", "url", "pools"),
    [
        ({"proxy": "http://p:1"}, "http://a.example/", True),
        ({"proxy": "HTTPS://p:1"}, "http://a.example/", True),
        ({"breaker": "p:1"}, "http://a.example/", True),
        ({"proxy": "http://p:1"}, "https://a.example/", False),
        ({"breaker": "p:1"}, "https://a.example/", False),
        ({"proxy": "socks5h://p:1"}, "http://a.example/", False),
        ({}, "http://a.example/", False),
    ],
)
def test_plain_requests_share_the_connections_of_whom_they_go_through(
    way: dict[str, str], url: str, pools: bool
) -> None:
    assert Route(**way).pools(url) is pools  # type: ignore[arg-type]
