from __future__ import annotations

import ssl
import warnings
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop

from joro.archive.read import Record, records
from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.fetch.http import Client, Exchange, Limits
from joro.fetch.route import Route
from joro.model import Outcome, Response, Truncated, Visit
from joro.model import Page as Place
from tests.web.authority import Authority, authority
from tests.web.http2 import Page, http2
from tests.web.scripted import scripted

T = TypeVar("T")
LIMITS = Limits(timeout_s=5.0, connect_timeout_s=2.0, body_bytes=100_000, head_bytes=10_000)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
FIELDS = [(":status", "200"), ("content-type", "text/html"), ("x-a", "1")]


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(coroutine)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


async def get(port: int, route: Route, host: str = "a.example", times: int = 1) -> list[Exchange]:
    client = Client(user_agent="joro/test", limits=LIMITS, connections=10, route=route)
    try:
        return [
            await client.get(f"https://{host}/{number}", address="127.0.0.1", port=port)
            for number in range(times)
        ]
    finally:
        await client.close()


def over_http1(tls: ssl.SSLContext, route: Route, host: str = "a.example") -> Exchange:
    async def scenario() -> Exchange:
        async with scripted(HELLO, tls=tls) as web:
            return (await get(web.port, route, host))[0]

    return run(scenario())


def over_http2(page: Page, tls: ssl.SSLContext) -> Response:
    async def scenario() -> Exchange:
        async with http2(lambda _: page, tls) as web:
            return (await get(web.port, Route()))[0]

    response = run(scenario()).response
    assert response is not None
    return response


def test_a_certificate_nobody_knows_is_no_obstacle_but_kept(trusted: Authority) -> None:
    exchange = over_http1(trusted.server("other.example"), Route())
    assert exchange.outcome is None
    assert exchange.certificate.startswith("-----BEGIN CERTIFICATE-----")


def test_who_wants_certificates_verified_gets_only_valid_ones(trusted: Authority) -> None:
    server = trusted.server("a.example")
    verifying = Route(verify_tls=True, ca_file=str(trusted.ca_file))
    assert over_http1(server, verifying).outcome is None
    assert over_http1(server, verifying, host="b.example").outcome is Outcome.UNREACHABLE
    stranger = over_http1(server, Route(verify_tls=True))
    assert (stranger.outcome, "certificate" in stranger.detail) == (Outcome.UNREACHABLE, True)


def test_a_server_that_stopped_at_tls_1_0_is_collected(trusted: Authority) -> None:
    old = trusted.server("a.example")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1
    old.set_ciphers("ALL:@SECLEVEL=0")
    assert over_http1(old, Route()).outcome is None


def test_a_tls_session_is_resumed_on_the_next_connection(trusted: Authority) -> None:
    answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    tls = trusted.server("a.example")

    async def scenario() -> int:
        async with scripted(answer, close=True, tls=tls) as web:
            exchanges = await get(web.port, Route(), times=3)
            return sum(bool(each.certificate) for each in exchanges)

    assert run(scenario()) == 1  # only a full handshake shows the certificate
    assert tls.session_stats()["hits"] == 2


def test_http2_is_spoken_where_it_is_offered(trusted: Authority) -> None:
    response = over_http2(Page(FIELDS, b"hello"), trusted.server("a.example", alpn=("h2", "http/1.1")))
    assert response.head == b"HTTP/2 200 \r\ncontent-type: text/html\r\nx-a: 1\r\n\r\n"
    assert (response.status, response.body, response.headers["x-a"]) == (200, b"hello", "1")


def test_http2_is_not_spoken_by_those_who_switched_it_off(trusted: Authority) -> None:
    exchange = over_http1(trusted.server("a.example", alpn=("h2", "http/1.1")), Route(http2=False))
    assert exchange.response is not None
    assert exchange.response.head.startswith(b"HTTP/1.1 200")


def test_the_requests_to_a_server_share_one_http2_connection_one_after_another(trusted: Authority) -> None:
    async def scenario() -> tuple[int, int, list[bool]]:
        tls = trusted.server("a.example", alpn=("h2",))
        async with http2(lambda _: Page(FIELDS, b"x" * 90_000), tls) as web:
            exchanges = await get(web.port, Route(), times=5)
            return web.connections, web.most_at_once, [each.kept_alive for each in exchanges]

    assert run(scenario()) == (1, 1, [True] * 5)


def test_our_fields_reach_an_http2_server(trusted: Authority) -> None:
    async def scenario() -> dict[str, str]:
        async with http2(lambda _: Page(FIELDS), trusted.server("a.example", alpn=("h2",))) as web:
            await get(web.port, Route())
            return web.requests[0]

    request = run(scenario())
    assert (request[":authority"], request[":path"]) == ("a.example", "/0")
    assert (request["user-agent"], request["accept-encoding"]) == ("joro/test", "gzip, deflate, br, zstd")


def test_http2_bodies_are_cut_and_marked_as_others_are(trusted: Authority) -> None:
    tls = trusted.server("a.example", alpn=("h2",))
    long = over_http2(Page(FIELDS, b"x" * 300_000), tls)
    assert (len(long.body), long.truncated) == (100_000, Truncated.LENGTH)
    broken = over_http2(Page(FIELDS, b"half", reset=True), tls)
    assert (broken.body, broken.truncated) == (b"half", Truncated.DISCONNECT)


def test_an_http2_answer_is_archived_so_that_every_reader_understands_it(
    trusted: Authority, tmp_path: Path
) -> None:
    response = over_http2(Page(FIELDS, b"hello"), trusted.server("a.example", alpn=("h2",)))
    writer = WarcWriter(tmp_path, limit_bytes=10**9, clock=FakeClock(0.0), robot="joro/test")
    writer.append(Visit(Place("https://a.example/0"), 0.0, Outcome.OK, response=response))
    writer.close()
    found: list[Record] = [each for path in tmp_path.glob("*.warc.gz") for each in records(path)]
    assert found[-1].block.startswith(b"HTTP/1.1 200 \r\ncontent-type: text/html\r\n")
    assert found[-1].fields["warc-protocol"] == "h2"
