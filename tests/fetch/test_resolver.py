from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
import uvloop

from joro.clock import Clock, FakeClock
from joro.config import Politeness
from joro.errors import ConfigError
from joro.fetch import resolver
from joro.fetch.http import Client, Limits
from joro.fetch.resolver import Resolver
from joro.testweb.running import Running, running
from joro.testweb.settings import Settings
from tests.web.names import SERVFAIL, Names, Reply, names

T = TypeVar("T")
NXDOMAIN = 3


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(coroutine)


@asynccontextmanager
async def asking(server: Names, clock: Clock | None = None) -> AsyncIterator[Resolver]:
    it = Resolver(clock or FakeClock(), nameservers=server.nameservers)
    try:
        yield it
    finally:
        it.close()


async def questions(reply: Reply, *ages_s: float, ttl_s: int = 300) -> list[int]:
    """How often the name server was asked, after a look-up at each of these times."""
    clock = FakeClock()
    counts = []
    async with names({"a.example": reply}, ttl_s=ttl_s) as server, asking(server, clock) as it:
        for age_s in ages_s:
            await clock.advance(age_s - clock.now())
            await it.addresses("a.example")
            counts.append(server.asked["a.example"])
    return counts


def test_a_name_is_known_for_as_long_as_its_ttl_says() -> None:
    assert run(questions(["192.0.2.1"], 0, 299, 301, ttl_s=300)) == [1, 1, 2]


def test_a_ttl_of_nothing_is_thirty_seconds_and_one_of_years_a_day() -> None:
    assert run(questions(["192.0.2.1"], 0, 29, 31, ttl_s=0)) == [1, 1, 2]


@pytest.mark.parametrize("failure", [NXDOMAIN, SERVFAIL])
def test_a_name_without_an_address_is_asked_about_again_when_its_server_is_tried_again(failure: int) -> None:
    retry_s = Politeness().retry_wait_s
    first, soon, at_retry, again = run(questions(failure, 0, 49, retry_s, 3 * retry_s))
    assert first == soon < at_retry < again


def test_all_addresses_of_a_name_are_given_once() -> None:
    async def scenario() -> list[str]:
        zone = {"a.example": ["192.0.2.1", "192.0.2.2", "2001:db8::1", "192.0.2.1"]}
        async with names(zone) as server, asking(server) as it:
            return sorted(await it.addresses("a.example"))

    assert run(scenario()) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"]


def test_the_address_that_answered_comes_first_from_then_on() -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        async with names({"a.example": ["192.0.2.1", "192.0.2.2"]}) as server, asking(server) as it:
            before = await it.addresses("a.example")
            it.prefer("a.example", before[1])
            return before, await it.addresses("a.example")

    before, after = run(scenario())
    assert after == before[::-1]


def test_many_who_ask_for_one_name_ask_once() -> None:
    async def scenario() -> int:
        async with names({"a.example": ["192.0.2.1"]}) as server, asking(server) as it:
            await asyncio.gather(*(it.addresses("a.example") for _ in range(50)))
            return server.asked["a.example"]

    assert run(scenario()) == 1


def test_a_name_server_that_is_silent_costs_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "LOOKUP_LIMIT_S", 0.2)

    async def scenario() -> list[str]:
        async with names({"a.example": None}) as server, asking(server) as it:
            return await it.addresses("a.example")

    assert run(scenario()) == []


def test_who_loses_patience_does_not_spoil_the_answer_for_others() -> None:
    async def scenario() -> list[str]:
        async with names({"a.example": ["192.0.2.1"]}) as server, asking(server) as it:
            hasty = asyncio.ensure_future(it.addresses("a.example"))
            patient = asyncio.ensure_future(it.addresses("a.example"))
            await asyncio.sleep(0)
            hasty.cancel()
            return await patient

    assert run(scenario()) == ["192.0.2.1"]


def test_no_more_questions_than_allowed_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "LOOKUPS", 5)
    monkeypatch.setattr(resolver, "LOOKUP_LIMIT_S", 0.5)

    async def scenario() -> int:
        async with names(lambda name: None) as server, asking(server) as it:
            waiting = [asyncio.ensure_future(it.addresses(f"n{each}.example")) for each in range(50)]
            await asyncio.sleep(0.3)
            for each in waiting:
                each.cancel()
            return len(server.asked)

    assert run(scenario()) == 5


@pytest.mark.slow
def test_pages_are_fetched_while_ten_thousand_names_are_looked_up() -> None:
    async def scenario(web: Running, hosts: list[str]) -> tuple[int, int]:
        it = Resolver(FakeClock(), nameservers=web.config.fetch.nameservers)
        client = Client(user_agent="joro/test", limits=Limits(9.0, 9.0, 10**6, 10**4), connections=1)
        lookups = asyncio.gather(*(it.addresses(host) for host in hosts))
        fetched = 0
        while not lookups.done():
            exchange = await client.get(f"http://{hosts[0]}/", address="127.0.0.1", port=web.port)
            fetched += exchange.response is not None
        it.close()
        await client.close()
        return fetched, sum(found == ["127.0.0.1"] for found in await lookups)

    with running(Settings(hosts=10_000, pages=10_000, profile="bench")) as web:
        hosts = [host["name"] for host in web.oracle.get("/hosts")]
        fetched, found = run(scenario(web, hosts))
    assert found == 10_000
    assert fetched > 10


def test_names_are_asked_as_they_are_without_a_domain_of_ours_behind() -> None:
    async def scenario() -> set[str]:
        async with names({}) as server, asking(server) as it:
            await it.addresses("dead.example")
            await it.addresses("short")
            return set(server.asked)

    assert run(scenario()) <= {"dead.example", "short"}


@pytest.mark.parametrize("host", ["2130706433", "127.1", "1.2.3.4.5", "0x7f.1", "१२७.0.0.1"])
def test_a_number_that_is_no_address_in_our_spelling_is_never_asked_for(host: str) -> None:
    async def scenario() -> tuple[list[str], int]:
        async with names(lambda name: ["192.0.2.1"]) as server, asking(server) as it:
            return await it.addresses(host), sum(server.asked.values())

    assert run(scenario()) == ([], 0)


def test_the_operators_addresses_come_first_and_the_nearest_of_them() -> None:
    async def scenario() -> list[str]:
        hosts = {"A.Example": "192.0.2.1", "*.example": "192.0.2.2", "*": "2001:DB8::1"}
        it = Resolver(FakeClock(), hosts=hosts)
        found = [(await it.addresses(host))[0] for host in ("a.example", "x.a.example", "b.test", "[::1]")]
        it.close()
        return found

    assert run(scenario()) == ["192.0.2.1", "192.0.2.2", "2001:db8::1", "::1"]


async def _made(**settings: Any) -> None:
    Resolver(FakeClock(), **settings).close()


def test_a_mistyped_address_or_name_server_is_named_before_the_first_request() -> None:
    with pytest.raises(ConfigError, match=r"fetch\.hosts: a\.example = '10\.0\.0'"):
        run(_made(hosts={"a.example": "10.0.0"}))
    with pytest.raises(ConfigError, match=r"fetch\.hosts: 'a\.\*' is like no name"):
        run(_made(hosts={"a.*": "192.0.2.1"}))
    with pytest.raises(ConfigError, match=r"fetch\.nameservers: nonsense"):
        run(_made(nameservers=["nonsense"]))
