from __future__ import annotations

import gzip
import socket
import threading
from dataclasses import replace

import pytest

from joro.testweb.plan import Host, Plan
from joro.testweb.running import Running, running
from joro.testweb.settings import Settings
from tests.testweb.ask import ask, converse, request

SMALL = Settings(hosts=20, pages=60, roles=("normal",))


def habit(plan: Plan, **wanted: str) -> Host:
    """A normal host with these habits."""
    return next(
        host
        for host in plan.hosts
        if host.role == "normal" and all(getattr(host, name) == value for name, value in wanted.items())
    )


def test_a_connection_is_kept_alive(web: Running, plan: Plan) -> None:
    host = habit(plan, connection="keep-alive", transfer="length")
    first = request(host.name, "/style.css")
    reply = converse(web.port, first + first, timeout_s=0.3)
    assert reply.count(b"HTTP/1.1 200 OK") == 2


def test_pipelined_requests_are_answered_in_order(web: Running, plan: Plan) -> None:
    name = habit(plan, connection="keep-alive", transfer="length").name
    wire = (
        request(name, "/style.css")
        + request(name, "/none")
        + request(name, "/img/a.gif", "Connection: close")
    )
    reply = converse(web.port, wire)
    assert reply.index(b"text/css") < reply.index(b"404 Not Found") < reply.index(b"image/gif")


def test_a_long_pipeline_is_answered_whole(web: Running, plan: Plan) -> None:
    name = habit(plan, connection="keep-alive", transfer="length").name
    wire = request(name, "/style.css") * 1_500 + request(name, "/style.css", "Connection: close")
    assert converse(web.port, wire).count(b"HTTP/1.1 200 OK") == 1_501


def test_a_request_may_come_in_pieces(web: Running, plan: Plan) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=5) as connection:
        for byte in request(habit(plan, connection="close").name, "/style.css"):
            connection.sendall(bytes([byte]))
        assert connection.recv(15) == b"HTTP/1.1 200 OK"


def test_hosts_that_close_say_so_and_do(web: Running, plan: Plan) -> None:
    reply = converse(web.port, request(habit(plan, connection="close").name))
    assert b"Connection: close\r\n" in reply


def test_an_old_server_speaks_http_1_0_and_hangs_up(web: Running, plan: Plan) -> None:
    assert converse(web.port, request(habit(plan, connection="http/1.0").name)).startswith(b"HTTP/1.0 200 OK")


def test_chunked_and_plain_and_gzip_bodies_say_the_same(web: Running, plan: Plan) -> None:
    chunked = ask(web.port, habit(plan, connection="keep-alive", transfer="chunked").url)
    packed = ask(web.port, habit(plan, transfer="gzip").url, Accept_Encoding="gzip")
    plain = ask(web.port, habit(plan, transfer="gzip").url)
    assert chunked.headers["transfer-encoding"] == "chunked"
    assert chunked.body.rstrip().lower().endswith(b"</html>")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body


def test_head_sends_no_body(web: Running, plan: Plan) -> None:
    host = habit(plan, connection="keep-alive", transfer="length")
    wire = request(host.name, "/", "Connection: close").replace(b"GET", b"HEAD")
    assert converse(web.port, wire).endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (b"junk\r\n\r\n", b"400"),
        (b"GET /\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: stranger.example\r\n\r\n", b"421"),
        (b"GET / HTTP/1.1\r\n\r\n", b"421"),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
        (b"a" * 70_000, b"400"),
    ],
)
def test_bad_requests_are_refused(web: Running, wire: bytes, status: bytes) -> None:
    assert converse(web.port, wire).startswith(b"HTTP/1.1 " + status)


def test_names_are_read_without_case_and_port(web: Running, plan: Plan) -> None:
    name = habit(plan, connection="close").name
    assert b"200 OK" in converse(web.port, request(f"{name.upper()}:80", "/style.css"))


def test_a_proxys_request_line_names_the_host(web: Running, plan: Plan) -> None:
    name = habit(plan, connection="close").name
    wire = f"GET http://{name}/style.css HTTP/1.1\r\nHost: other\r\n\r\n".encode()
    assert b"200 OK" in converse(web.port, wire)


@pytest.mark.parametrize("validators", ["both", "etag"])
def test_a_known_version_is_not_sent_again(web: Running, plan: Plan, validators: str) -> None:
    url = habit(plan, validators=validators).url
    first = ask(web.port, url)
    again = ask(web.port, url, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert ask(web.port, url, If_None_Match='"other"').status == 200


def test_last_modified_is_honoured_too(web: Running, plan: Plan) -> None:
    url = habit(plan, validators="modified").url
    first = ask(web.port, url)
    assert ask(web.port, url, If_Modified_Since=first.headers["last-modified"]).status == 304
    assert ask(web.port, url, If_Modified_Since="Mon, 01 Jan 2035 00:00:00 GMT").status == 304
    assert ask(web.port, url, If_Modified_Since="Mon, 01 Jan 1990 00:00:00 GMT").status == 200
    assert ask(web.port, url, If_Modified_Since="nonsense").status == 200


def test_some_hosts_send_no_validators_or_wrong_ones(web: Running, plan: Plan) -> None:
    absent, restless = habit(plan, validators="absent").url, habit(plan, validators="restless").url
    assert "etag" not in ask(web.port, absent).headers
    tag = ask(web.port, restless).headers["etag"]
    assert ask(web.port, restless, If_None_Match=tag).status == 200


def test_two_requests_at_once_are_seen_as_two() -> None:
    with running(replace(SMALL, latency_s=0.2)) as web:
        visitors = [threading.Thread(target=ask, args=(web.port, web.seeds[0])) for _ in range(3)]
        for visitor in visitors:
            visitor.start()
        for visitor in visitors:
            visitor.join()
        entries = web.oracle.get("/log")
    assert sorted(entry["concurrent"] for entry in entries) == [1, 2, 3]
    assert max(entry["connections"] for entry in entries) == 3


def test_hosts_on_one_address_share_it() -> None:
    with running(replace(SMALL, latency_s=0.2)) as web:
        visitors = [threading.Thread(target=ask, args=(web.port, url)) for url in web.seeds[:2]]
        for visitor in visitors:
            visitor.start()
        for visitor in visitors:
            visitor.join()
        entries = web.oracle.get("/log")
    assert sorted(entry["sharing"] for entry in entries) == [1, 2]
    assert {entry["concurrent"] for entry in entries} == {1}


def test_own_addresses_answer_and_are_logged() -> None:
    with running(replace(SMALL, addresses="own")) as web:
        host = web.oracle.get("/hosts")[3]
        assert ask(web.port, host["url"], address=host["address"]).status == 200
        (entry,) = web.oracle.get("/log")
    assert entry["address"] == host["address"] != "127.0.0.1"
