from __future__ import annotations

import itertools
import socket
import zlib

import pytest

from joro.testweb import hostile
from joro.testweb.answer import Stop
from joro.testweb.plan import Plan
from joro.testweb.running import Running
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site
from tests.testweb.ask import ask, converse, request
from tests.testweb.conftest import a_host


def taste(web: Running, plan: Plan, kind: str, number: int, limit: int = 300_000) -> bytes:
    """The first bytes of a hostile answer."""
    return converse(
        web.port, request(a_host(plan, "hostile", kind).name, f"/x/{number}"), limit, timeout_s=0.5
    )


def test_the_front_page_is_honest_and_leads_to_the_rest(web: Running, plan: Plan) -> None:
    reply = ask(web.port, a_host(plan, "hostile", "bomb").url)
    assert reply.status == 200
    assert b'"/x/1"' in reply.body


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_endless_body_goes_on(web: Running, plan: Plan, number: int) -> None:
    assert len(taste(web, plan, "endless", number, limit=5_000_000)) >= 5_000_000


def test_others_are_served_while_an_endless_body_runs(web: Running, plan: Plan) -> None:
    with socket.create_connection(("127.0.0.1", web.port)) as connection:
        connection.sendall(request(a_host(plan, "hostile", "endless").name, "/x/1"))
        assert connection.recv(10)
        assert ask(web.port, plan.hosts[0].url).status == 200


def test_a_bomb_grows_a_thousandfold(web: Running, plan: Plan) -> None:
    _, body = taste(web, plan, "bomb", 1, limit=100_000).split(b"\r\n\r\n", 1)
    assert len(zlib.decompressobj(wbits=31).decompress(body)) > 900 * len(body)


def test_a_bomb_packed_twice_hides_more_than_a_hundred_megabytes_in_kilobytes(plan: Plan) -> None:
    answer = hostile.answer(a_host(plan, "hostile", "bomb"), b"/x/3")
    assert answer is not None
    assert answer.play is not None
    sent = next(answer.play)
    assert isinstance(sent, bytes)
    assert len(sent) < 50_000


@pytest.mark.parametrize("number", [1, 2, 3])
def test_garbage_is_not_http(web: Running, plan: Plan, number: int) -> None:
    assert not taste(web, plan, "garbage", number).startswith((b"HTTP/1.1 2", b"HTTP/1.0 2"))


def test_headers_are_malformed(web: Running, plan: Plan) -> None:
    assert b"No colon at all" in taste(web, plan, "headers", 1)
    assert taste(web, plan, "headers", 2).count(b"Content-Length") == 2
    assert b"Content-Length: -5" in taste(web, plan, "headers", 3)


def test_lengths_lie_both_ways(web: Running, plan: Plan) -> None:
    short = taste(web, plan, "short", 1)
    assert b"Content-Length: 100000" in short
    assert len(short) < 1_000
    assert taste(web, plan, "long", 1).endswith(b"stolen")


def test_a_header_can_be_a_megabyte(web: Running, plan: Plan) -> None:
    assert len(taste(web, plan, "bighead", 1, limit=2_000_000).split(b"\r\n\r\n")[0]) > 1_000_000
    assert len(taste(web, plan, "bighead", 3, limit=500_000)) >= 500_000


def test_parser_bombs_are_small(web: Running, plan: Plan) -> None:
    assert all(50_000 < len(taste(web, plan, "parserbomb", number)) < 65_000 for number in (1, 2, 3))
    assert taste(web, plan, "nested", 1, limit=2_000_000).count(b"<div>") == 100_000


def test_chunks_codings_and_nulls_are_wrong(web: Running, plan: Plan) -> None:
    assert b"\r\n\r\nzz\r\n" in taste(web, plan, "badchunk", 1)
    assert b"Content-Encoding: gzip" in taste(web, plan, "notgzip", 1)
    assert b"\0" in taste(web, plan, "nulls", 1)


def test_a_header_can_come_byte_by_byte(site: Site, plan: Plan) -> None:
    answer = site.answer(a_host(plan, "hostile", "drip"), b"/x/1", False, EPOCH)
    assert answer.play is not None
    assert list(itertools.islice(answer.play, 4)) == [b"H", 1.0, b"T", 1.0]


def test_a_short_answer_can_end_in_silence(plan: Plan) -> None:
    answer = hostile.answer(a_host(plan, "hostile", "short"), b"/x/3")
    assert answer is not None
    assert answer.play is not None
    assert list(answer.play)[-1] is Stop.HANG
