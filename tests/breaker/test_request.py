import pytest

from joro.breaker.request import Malformed, Place, answer, own_target, signed, wish_of

HEAD = (
    b"GET http://WWW.Example.jp:80/a%20b?c=d HTTP/1.1\r\nHost: www.example.jp\r\n"
    b"proxy-connection: Keep-Alive\r\nUser-Agent: joro\r\nJORO-Connect: 192.0.2.7:8080\r\nX-Last: 1\r\n\r\n"
)


def place(target: bytes, field: bytes = b"", method: bytes = b"GET") -> Place:
    return wish_of(method + b" " + target + b" HTTP/1.1\r\nHost: x\r\n" + field + b"\r\n").place


def test_the_server_sees_what_it_would_see_without_us() -> None:
    wanted = b"GET /a%20b?c=d HTTP/1.1\r\nHost: www.example.jp\r\nUser-Agent: joro\r\nX-Last: 1\r\n\r\n"
    assert wish_of(HEAD).head == wanted


def test_the_word_our_answers_are_known_by_goes_no_further() -> None:
    wish = wish_of(HEAD.replace(b"X-Last", b"joro-sign: 4711\r\nX-Last"))
    assert (wish.sign, wish.head) == (b"4711", wish_of(HEAD).head)
    assert signed(answer(429, "refused"), wish.sign).endswith(b"\r\nJoro-Sign: 4711\r\n\r\n")
    assert signed(answer(429, "refused"), b"") == answer(429, "refused")


def test_the_address_is_the_one_the_robot_approved() -> None:
    wish = wish_of(HEAD)
    assert (wish.server, wish.place) == ("http://www.example.jp", Place("192.0.2.7", 8080))


@pytest.mark.parametrize(
    ("target", "line"),
    [(b"http://a.example", b"/"), (b"http://a.example?q/r", b"/?q/r"), (b"http://a.example/?q", b"/?q")],
)
def test_every_request_line_has_a_path(target: bytes, line: bytes) -> None:
    wish = wish_of(b"GET " + target + b" HTTP/1.1\r\nHost: a.example\r\n\r\n")
    assert wish.head.split(b" ")[1] == line


def test_without_our_field_the_name_is_looked_up() -> None:
    assert place(b"http://a.example:81/") == Place("a.example", 81, is_name=True)
    assert place(b"a.example:443", method=b"CONNECT") == Place("a.example", 443, is_name=True)


def test_an_address_has_one_spelling() -> None:
    assert place(b"http://[::ffff:192.0.2.7]/") == Place("192.0.2.7", 80)
    assert place(b"http://a.example/", b"Joro-Connect: [2001:DB8:0::1]:80\r\n") == Place("2001:db8::1", 80)


def test_a_tunnel_and_plain_requests_to_one_server_have_one_key() -> None:
    tunnel = wish_of(b"CONNECT A.example:80 HTTP/1.1\r\nHost: a.example:80\r\n\r\n")
    plain = wish_of(b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
    assert tunnel.server == plain.server == "http://a.example"
    assert (tunnel.is_tunnel, plain.is_tunnel) == (True, False)


@pytest.mark.parametrize(
    "head",
    [
        b"GET https://a.example/ HTTP/1.1\r\n\r\n",
        b"GET ftp://a.example/ HTTP/1.1\r\n\r\n",
        b"GET http://me@a.example/ HTTP/1.1\r\n\r\n",
        b"GET http:/// HTTP/1.1\r\n\r\n",
        b"GET http://a.example/ HTTP/2\r\n\r\n",
        b"GET http://a.example/ x HTTP/1.1\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nJoro-Connect: a.example:80\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nJoro-Connect: 192.0.2.7:0\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nX: 1\nJoro-Connect: 192.0.2.7:80\r\n\r\n",
        b"POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"CONNECT / HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_what_cannot_be_passed_on_is_malformed(head: bytes) -> None:
    with pytest.raises(Malformed):
        wish_of(head)


def test_a_path_alone_asks_the_breaker_itself() -> None:
    assert own_target(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") == "/metrics"
    assert own_target(HEAD) is None
