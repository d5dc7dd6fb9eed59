from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pycurl
import pytest
import uvloop

from joro.clock import Clock, FakeClock, RealClock
from joro.config import Fetch
from joro.errors import ConfigError
from joro.fetch.address import AddressLimits
from joro.fetch.robotstxt import SIZE_LIMIT_BYTES
from joro.fetch.route import route_of
from joro.fetch.visit import Later, Visitor, validators
from joro.model import Outcome, Page, Truncated, Visit
from joro.url import canonical, join
from tests.breaker.stand import breaker
from tests.web import proxies
from tests.web.authority import authority
from tests.web.names import Zone, names
from tests.web.proxies import Proxy, proxy
from tests.web.scripted import Scripted, scripted

T = TypeVar("T")
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
LOOPBACK = Fetch(allow_addresses=("127.0.0.0/8", "::1"), timeout_s=5.0, connect_timeout_s=2.0)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(coroutine)


@asynccontextmanager
async def visiting(
    settings: Fetch, clock: Clock | None = None
) -> AsyncIterator[Callable[..., Awaitable[Visit]]]:
    visitor = Visitor(settings, user_agent="joro/test", clock=clock or RealClock())

    async def visit(url: str, fields: Sequence[str] = ()) -> Visit:
        found = await visitor.visit(Page(url), fields)
        assert isinstance(found, Visit)
        return found

    try:
        yield visit
    finally:
        await visitor.close()


async def visit(settings: Fetch, url: str) -> Visit:
    async with visiting(settings) as ask:
        return await ask(url)


def to(web: Scripted, settings: Fetch = LOOPBACK, **more: Any) -> Fetch:
    """Settings with which every server is `web`."""
    more = {"hosts": {"*": "127.0.0.1"}, **more}
    return replace(settings, ports={"80": web.port, "443": web.port}, **more)


def test_of_a_robots_txt_all_arrives_that_is_read_of_one_however_short_pages_are_cut() -> None:
    body = bytes(SIZE_LIMIT_BYTES)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    async def scenario(path: str) -> Visit:
        async with scripted(answer) as web:
            return await visit(to(web, body_limit_bytes=1_000), f"http://a.example/{path}")

    rules, page = run(scenario("robots.txt")).response, run(scenario("page")).response
    assert rules is not None
    assert page is not None
    assert (len(rules.body), rules.truncated) == (len(body), None)
    assert (len(page.body), page.truncated) == (1_000, Truncated.LENGTH)


def test_a_visit_tells_when_where_and_what() -> None:
    async def scenario() -> Visit:
        async with scripted(HELLO) as web:
            return await visit(to(web), "http://a.example/")

    found = run(scenario())
    assert found.response is not None
    assert (found.outcome, found.response.body, found.address) == (Outcome.OK, b"hello", "127.0.0.1")
    assert (found.kept_alive, found.request[:16]) == (True, b"GET / HTTP/1.1\r\n")


def test_a_name_that_does_not_exist_has_no_address() -> None:
    async def scenario() -> Visit:
        async with names({}) as server:
            return await visit(replace(LOOPBACK, nameservers=server.nameservers), "http://a.example/")

    assert run(scenario()).outcome is Outcome.NO_ADDRESS


FIRST = (
    b'HTTP/1.1 200 OK\r\nETag: W/"1"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n'
    b"Content-Length: 0\r\n\r\n"
)


def test_an_unchanged_page_is_not_sent_again() -> None:
    async def scenario() -> tuple[Outcome, bytes]:
        async with scripted(FIRST, b"HTTP/1.1 304 Not Modified\r\n\r\n") as web, visiting(to(web)) as ask:
            before = await ask("http://a.example/")
            assert before.response is not None
            after = await ask("http://a.example/", validators(before.response.headers))
            return after.outcome, web.requests[1]

    outcome, request = run(scenario())
    assert outcome is Outcome.NOT_MODIFIED
    assert b'\r\nIf-None-Match: W/"1"\r\nIf-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT\r\n' in request


def test_fields_of_one_visit_are_not_sent_with_the_next() -> None:
    async def scenario() -> list[bytes]:
        async with scripted(HELLO) as web, visiting(to(web)) as ask:
            for fields in ((), ("X-One: 1",), ()):
                await ask("http://a.example/", fields)
            return web.requests

    assert [b"X-One" in each for each in run(scenario())] == [False, True, False]


@pytest.mark.parametrize("etag", ['"a\r\nX: y"', '"\x7f"', '"é"', '"' + "x" * 2_000 + '"', ""])
def test_a_validator_that_would_not_survive_a_header_line_is_left_out(etag: str) -> None:
    assert validators({"etag": etag}) == []


REFUSED = """
http://127.0.0.1/ http://127.1/ http://2130706433/ http://017700000001/ http://0x7f000001/ http://0x7f.0.0.1/
http://0177.0.0.1/ http://127.0.0.1./ http://0/ http://0.0.0.0/ http://00000000000/ http://[::1]/ http://[::]/
http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[0:0:0:0:0:ffff:127.0.0.1]/ http://[::127.0.0.1]/
http://[::ffff:0:127.0.0.1]/ http://[64:ff9b::127.0.0.1]/ http://[64:ff9b:1::7f00:1]/ http://[2002:7f00:1::]/
http://[fe80::1]/ http://[fd00::1]/ http://[2001:0:7f00:1::]/ http://１２７.０.０.１/ http://①②⑦.⓪.⓪.①/
http://127。0。0。1/ http://%31%32%37.0.0.1/ http://user@127.0.0.1/ http://a.example@127.0.0.1/
http://localhost/ http://LOCALHOST./ http://10.0.0.1/ http://169.254.169.254/ http://192.168.1.1/
http://rebound.example/ http://mixed.example/ http://six.example/ http://rebound.example./
""".split()
PRIVATE: Zone = {
    "rebound.example": ["127.0.0.1"],
    "mixed.example": ["127.0.0.1", "10.0.0.1", "::1"],
    "six.example": ["::1", "::ffff:127.0.0.1"],
}


async def knocked(url: str, allow: tuple[str, ...] = ()) -> tuple[Visit, int]:
    """The visit, and how many connections a server of ours saw that listens on all addresses."""
    async with scripted(HELLO, address="0.0.0.0") as web, scripted(HELLO, address="::", port=web.port) as six:
        async with names(PRIVATE) as server:
            settings = replace(LOOPBACK, allow_addresses=allow, nameservers=server.nameservers)
            found = await visit(replace(settings, ports={"80": web.port}), url)
        await asyncio.sleep(0)
        return found, web.connections + six.connections


@pytest.mark.parametrize("url", REFUSED)
def test_no_spelling_of_a_private_address_is_connected_to(url: str) -> None:
    found, connections = run(knocked(canonical(url)))
    assert (found.outcome, connections) == (Outcome.FORBIDDEN_ADDRESS, 0)


@pytest.mark.parametrize("url", [each for each in REFUSED if each.isascii() and "@" not in each])
def test_not_even_a_spelling_that_is_not_canonical_is_connected_to(url: str) -> None:
    found, connections = run(knocked(url))
    assert found.outcome in (Outcome.FORBIDDEN_ADDRESS, Outcome.NO_ADDRESS)
    assert connections == 0


@pytest.mark.parametrize("url", ["http://2130706433/", "http://[::1]/", "http://mixed.example/", "http://0/"])
def test_the_server_that_saw_nobody_would_have_seen_us(url: str) -> None:
    assert run(knocked(canonical(url), allow=("0.0.0.0/0", "::/0")))[1] > 0


def test_a_redirect_inside_is_a_page_like_any_other_and_refused() -> None:
    async def scenario() -> tuple[Visit, str | None]:
        redirect = b"HTTP/1.1 302 Found\r\nLocation: //2130706433:%d/x\r\nContent-Length: 0\r\n\r\n"
        async with scripted(HELLO) as inside, scripted(redirect % inside.port) as web:
            first = await visit(to(web), "http://a.example/")
            assert first.response is not None
            assert inside.connections == 0
            return first, join("http://a.example/", first.response.headers["location"])

    first, goal = run(scenario())
    assert (first.outcome, goal is not None) == (Outcome.REDIRECT, True)
    assert run(knocked(goal or ""))[0].outcome is Outcome.FORBIDDEN_ADDRESS


def test_a_name_that_moves_inside_between_two_visits_is_refused_there() -> None:
    replies = iter([["127.0.0.1"], ["127.0.0.1"]])  # for A and AAAA; loopback stands for a public address

    async def scenario() -> list[Visit]:
        clock = FakeClock()
        async with scripted(HELLO) as web, names(lambda _: next(replies, ["10.0.0.1"]), ttl_s=0) as server:
            settings = replace(LOOPBACK, nameservers=server.nameservers, ports={"80": web.port})
            async with visiting(settings, clock) as ask:
                first = await ask("http://a.example/")
                await clock.advance(31)
                return [first, await ask("http://a.example/")]

    first, second = run(scenario())
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.FORBIDDEN_ADDRESS)
    assert second.address == "10.0.0.1"


async def at(zone: Zone, settings: Fetch = LOOPBACK, *, address: str = "127.0.0.1") -> tuple[Visit, Visit]:
    """Two visits to a.example, whose one living server is at `address`."""
    async with scripted(HELLO, address=address) as web, names(zone) as server:
        settings = replace(settings, nameservers=server.nameservers, ports={"80": web.port})
        async with visiting(settings) as ask:
            return await ask("http://a.example/"), await ask("http://a.example/")


def test_a_dead_address_is_passed_over_for_a_living_one() -> None:
    zone = {"a.example": ["127.0.0.3", "127.0.0.4", "127.0.0.5"]}
    for living in zone["a.example"]:
        first, second = run(at(zone, address=living))
        assert (first.outcome, first.address) == (Outcome.OK, living)
        assert second.address == living


def test_a_private_address_among_public_ones_is_passed_over_too() -> None:
    first, _ = run(at({"a.example": ["10.0.0.1", "192.168.0.1", "127.0.0.3"]}, address="127.0.0.3"))
    assert (first.outcome, first.address) == (Outcome.OK, "127.0.0.3")


def test_where_every_address_is_dead_the_server_is_unreachable() -> None:
    first, _ = run(at({"a.example": ["127.0.0.3", "127.0.0.4"]}, address="127.0.0.9"))
    assert first.outcome is Outcome.UNREACHABLE


def test_a_server_with_only_an_ipv6_address_is_visited() -> None:
    first, _ = run(at({"a.example": ["::1"]}, address="::1"))
    assert (first.outcome, first.address) == (Outcome.OK, "::1")


def test_the_server_sees_the_address_we_chose() -> None:
    async def scenario() -> list[str]:
        async with scripted(HELLO) as web:
            await visit(to(web, bind_address="127.0.0.2"), "http://a.example/")
            await visit(to(web, bind_address="lo"), "http://a.example/")
            return web.callers

    assert run(scenario()) == ["127.0.0.2", "127.0.0.1"]


def test_from_an_ipv4_address_only_ipv4_is_tried() -> None:
    settings = replace(LOOPBACK, bind_address="127.0.0.2")
    first, _ = run(at({"a.example": ["::1", "127.0.0.1"]}, settings))
    assert (first.outcome, first.address) == (Outcome.OK, "127.0.0.1")


async def through(
    relay: proxies.Relay, url: str, refuse: bool = False, **more: Any
) -> tuple[Visit, Proxy, Scripted]:
    scheme = "http" if relay is proxies.http else "socks5h"
    more = {"proxy": scheme, "proxy_resolves": True, **more}
    tls = authority(more.pop("folder")).server("a.example") if "folder" in more else None
    async with scripted(HELLO, tls=tls) as web, proxy(relay, web.port, refuse=refuse) as between:
        more["proxy"] = f"{more['proxy']}://127.0.0.1:{between.port}"
        return await visit(replace(LOOPBACK, **more), url), between, web


def test_a_socks5h_proxy_is_told_the_name() -> None:
    found, between, _ = run(through(proxies.socks5, "http://a.example/"))
    assert (found.outcome, found.address, between.asked) == (Outcome.OK, "", ["a.example:80"])


def test_a_socks5_proxy_is_told_the_address_the_guard_has_seen() -> None:
    more: dict[str, Any] = {"proxy": "socks5", "proxy_resolves": False, "hosts": {"a.example": "127.0.0.7"}}
    found, between, _ = run(through(proxies.socks5, "http://a.example/", **more))
    assert (found.outcome, found.address, between.asked) == (Outcome.OK, "127.0.0.7", ["127.0.0.7:80"])
    more["hosts"] = {"a.example": "10.0.0.1"}
    found, between, _ = run(through(proxies.socks5, "http://a.example/", **more))
    assert (found.outcome, between.asked) == (Outcome.FORBIDDEN_ADDRESS, [])


def test_an_http_proxy_is_asked_for_the_whole_url_and_the_request_archived_is_the_servers() -> None:
    found, between, web = run(through(proxies.http, "http://a.example/x?y"))
    assert found.outcome is Outcome.OK
    assert between.asked[0].startswith("GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\n")
    assert b"GET /x?y HTTP/1.1\r\n" in web.requests[0]
    assert found.request.startswith(b"GET /x?y HTTP/1.1\r\nHost: a.example\r\n")


def test_https_goes_through_a_tunnel_whose_answer_is_not_the_servers(tmp_path: Path) -> None:
    found, between, _ = run(through(proxies.http, "https://a.example/", folder=tmp_path))
    assert found.response is not None
    assert between.asked[0].startswith("CONNECT a.example:443 HTTP/1.1\r\n")
    assert (found.outcome, found.response.head + found.response.body) == (Outcome.OK, HELLO)


def test_a_tunnel_refused_is_no_answer_of_the_server(tmp_path: Path) -> None:
    found, _, web = run(through(proxies.http, "https://a.example/", refuse=True, folder=tmp_path))
    assert (found.outcome, found.response, web.connections) == (Outcome.UNREACHABLE, None, 0)


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://[::ffff:10.0.0.1]/"])
def test_an_address_in_the_url_is_judged_even_when_the_proxy_resolves(url: str) -> None:
    found, between, _ = run(through(proxies.http, canonical(url)))
    assert (found.outcome, between.asked) == (Outcome.FORBIDDEN_ADDRESS, [])


def test_a_breaker_connects_where_we_say_and_the_server_notices_nothing() -> None:
    async def scenario() -> tuple[Visit, Scripted, int]:
        async with scripted(HELLO, address="127.0.0.7") as web, breaker() as between:
            settings = to(web, hosts={"*": "127.0.0.7"}, breaker=f"127.0.0.1:{between.port}")
            return await visit(settings, "http://a.example/x"), web, between.limiter.granted

    found, web, granted = run(scenario())
    assert (found.outcome, found.address, granted) == (Outcome.OK, "127.0.0.7", 1)
    assert (found.request, web.callers) == (web.requests[0], ["127.0.0.1"])


def test_what_a_breaker_refuses_was_no_visit_and_is_tried_again_later() -> None:
    async def scenario() -> tuple[Visit, Visit | Later, int]:
        async with scripted(HELLO) as web, breaker(per_server_per_minute=1) as between:
            settings = to(web, breaker=f"127.0.0.1:{between.port}")
            visitor = Visitor(settings, user_agent="joro/test", clock=FakeClock(1000.0))
            first, second = [await visitor.visit(Page("http://a.example/")) for _ in range(2)]
            await visitor.close()
            assert isinstance(first, Visit)
            return first, second, web.connections

    first, second, connections = run(scenario())
    assert (first.outcome, connections) == (Outcome.OK, 1)
    assert isinstance(second, Later)
    assert second.at > 1000.0


@pytest.mark.parametrize("word", [b"refused", b"unreachable", b"timeout", b"forbidden", b"malformed", b"?"])
def test_no_server_can_answer_as_if_it_were_the_breaker(
    word: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Else it would be asked again without a pause, and no crawl would end; or nobody saw what it says."""
    lie = HELLO.replace(b"\r\n", b"\r\nJoro-Breaker: " + word + b"; me\r\nRetry-After: 1\r\n", 1)

    async def scenario() -> tuple[Visit, Visit, list[bytes]]:
        async with scripted(lie) as web, breaker() as between:
            settings = to(web, breaker=f"127.0.0.1:{between.port}")
            async with visiting(settings) as ask:
                return await ask("http://a.example/"), await ask("http://b.example/"), web.requests

    first, second, requests = run(scenario())
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.OK)
    assert first.response is not None
    assert [first.request, second.request] == requests
    (line,) = (record.message for record in caplog.records)  # once: else who lies could fill a disk
    assert "or the breaker is of another version" in line


def test_with_a_breaker_requests_come_one_by_one() -> None:
    versions = [
        dict(route_of(Fetch(breaker=breaker)).options())[pycurl.HTTP_VERSION]
        for breaker in ("", "127.0.0.1:8766")
    ]
    assert versions == [pycurl.CURL_HTTP_VERSION_2TLS, pycurl.CURL_HTTP_VERSION_1_1]


def test_behind_a_breaker_a_dead_address_is_passed_over_too() -> None:
    async def scenario() -> Visit:
        zone = {"a.example": ["127.0.0.3", "127.0.0.4"]}
        async with scripted(HELLO, address="127.0.0.4") as web, names(zone) as server, breaker() as between:
            settings = replace(LOOPBACK, nameservers=server.nameservers, ports={"80": web.port})
            return await visit(replace(settings, breaker=f"127.0.0.1:{between.port}"), "http://a.example/")

    found = run(scenario())
    assert (found.outcome, found.address) == (Outcome.OK, "127.0.0.4")


def test_a_proxy_in_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async def scenario() -> Visit:
        async with scripted(HELLO) as web:
            return await visit(to(web), "http://a.example/")

    assert run(scenario()).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"proxy": "http://127.0.0.1:1"}, r"fetch\.proxy: an http proxy.*fetch\.proxy_resolves = true"),
        ({"proxy": "socks5h://127.0.0.1:1"}, r"fetch\.proxy: an socks5h proxy"),
        ({"proxy": "gopher://127.0.0.1:1"}, r"fetch\.proxy = 'gopher://127\.0\.0\.1:1' is not"),
        ({"proxy": "127.0.0.1:8080"}, r"fetch\.proxy = '127\.0\.0\.1:8080' is not"),
        ({"proxy": "socks5://127.0.0.1:99999"}, r"fetch\.proxy = 'socks5://127\.0\.0\.1:99999' is not"),
        ({"breaker": "x"}, r"fetch\.breaker = 'x' is not a host and a port"),
        ({"breaker": "127.0.0.1"}, r"fetch\.breaker = '127\.0\.0\.1' is not"),
        ({"breaker": "127.0.0.1:99999"}, r"fetch\.breaker = '127\.0\.0\.1:99999' is not"),
        ({"proxy": "socks5://p.example", "breaker": "127.0.0.1:1"}, r"fetch\.breaker and fetch\.proxy"),
        ({"proxy": "socks5://[::1"}, r"fetch\.proxy = 'socks5://\[::1' is not"),
        ({"bind_address": "192.0.2.1"}, r"fetch\.bind_address: '192\.0\.2\.1' is none of this machine's"),
        ({"bind_address": "eth99"}, r"fetch\.bind_address: 'eth99' is none"),
        ({"bind_address": "a\0b"}, r"fetch\.bind_address: 'a\\x00b' is none"),
        ({"ca_file": __file__}, r"fetch\.ca_file: .*test_visit\.py holds no PEM certificates we can read"),
        ({"ca_file": "no/such.pem"}, r"fetch\.ca_file: there is no file no/such\.pem"),
        ({"ports": {"eighty": 1}}, r'fetch\.ports: "eighty" = 1'),
        ({"ports": {"8" * 5_000: 1}}, r'fetch\.ports: "8+" = 1 are not two port numbers'),
        ({"ports": {"65536": 1}}, r'fetch\.ports: "65536" = 1'),
    ],
)
def test_a_mistake_in_the_settings_is_told_before_the_first_request(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(visit(Fetch(**settings), "http://a.example/"))


def test_nothing_is_left_open_after_closing() -> None:
    async def scenario() -> tuple[int, int]:
        async with scripted(HELLO) as web:
            await visit(
                to(web), "http://a.example/"
            )  # what a first visit leaves, like caches, it leaves once
            before = _lowest_free_number()
            await visit(to(web), "http://a.example/")
            await asyncio.sleep(0.05)
            return before, _lowest_free_number()

    before, after = run(scenario())
    assert after <= before


def _lowest_free_number() -> int:
    with socket.socket() as probe:
        return probe.fileno()


def test_nobody_is_asked_once_it_is_too_late() -> None:
    async def scenario() -> tuple[Visit | Later, int]:
        async with scripted(HELLO) as web:
            visitor = Visitor(to(web), user_agent="joro/test", clock=FakeClock(1000.0))
            visitor.closes_at = lambda: 1000.0
            found = await visitor.visit(Page("http://a.example/"))
            await visitor.close()
            return found, web.connections

    assert run(scenario()) == (Later(1000.0), 0)


def test_nobody_is_asked_whose_hours_ended_while_its_name_was_looked_up() -> None:
    async def scenario() -> tuple[Visit | Later, int]:
        clock = FakeClock(1000.0)

        def slowly(name: str) -> list[str]:
            clock._now = 1010.0
            return ["127.0.0.1"]

        async with scripted(HELLO) as web, names(slowly) as server:
            settings = replace(LOOPBACK, nameservers=server.nameservers, ports={"80": web.port})
            visitor = Visitor(settings, user_agent="joro/test", clock=clock)
            visitor.opens_at = lambda server, now: now if now < 1005.0 else 5000.0
            found = await visitor.visit(Page("http://a.example/"))
            await visitor.close()
            return found, web.connections

    assert run(scenario()) == (Later(5000.0), 0)


async def elsewhere(zone: Zone, held: str, path: Path) -> tuple[Visit | Later, list[str], int]:
    """A visit to a.example while somebody is at `held`: what came of it, and where the next begins."""
    limits = AddressLimits(path / "addresses", 1, alone=True)
    async with scripted(HELLO, address="127.0.0.4") as web, names(zone) as server:
        settings = replace(LOOPBACK, nameservers=server.nameservers, ports={"80": web.port})
        visitor = Visitor(settings, user_agent="joro/test", clock=FakeClock(1000.0), limits=limits)
        limits.try_hold(held, 1000.0)
        found = await visitor.visit(Page("http://a.example/"))
        order = visitor._resolver.known("a.example") or []
        await visitor.close()
        return found, order, web.connections


def test_where_too_many_are_at_a_hosts_second_address_nobody_goes_there(tmp_path: Path) -> None:
    zone = {"a.example": ["127.0.0.3", "127.0.0.4"]}
    found, order, connections = run(elsewhere(zone, "127.0.0.4", tmp_path))
    assert (found, connections) == (Later(1000.5, "127.0.0.4"), 0)
    assert order == ["127.0.0.4", "127.0.0.3"]  # the dead one need not be tried again


def test_of_several_addresses_only_the_one_in_use_is_held(tmp_path: Path) -> None:
    zone = {"a.example": ["127.0.0.3", "127.0.0.4", "127.0.0.5"]}
    found, _, connections = run(elsewhere(zone, "127.0.0.5", tmp_path))
    assert isinstance(found, Visit)
    assert (found.address, connections) == ("127.0.0.4", 1)
