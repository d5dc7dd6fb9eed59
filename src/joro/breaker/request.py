"""Where does a request want to go?

In:    the head of a request as a client sends it to a proxy.
Out:   a `Wish`: the server, the address to connect to, and the head as the server will see it; or why not.
Never: forwards a field meant for us: what the server sees is what it would see without a breaker.

`Joro-Connect: ADDRESS:PORT` says where to connect. The robot resolves and checks names itself, so the address
it approved is the one we connect to and count. Without the field the system's resolver is asked.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from dataclasses import dataclass

from joro.breaker.framing import Body, fields_of, request_body
from joro.url import server_of, try_canonical

#: The field by which the robot tells us where to connect.
CONNECT_FIELD = "Joro-Connect"
#: A word of the client's that no server gets to see; our own answers repeat it, so that none passes for one.
SIGN_FIELD = "Joro-Sign"
#: The field that marks an answer as ours; its first word is one of refused, unreachable, timeout, forbidden,
#: malformed, connected.
ANSWER_FIELD = "Joro-Breaker"

_OURS = re.compile(
    rb"\r\n(joro-connect|joro-sign|proxy-connection|proxy-authorization)[ \t]*:[ \t]*([^\r\n]*)",
    re.IGNORECASE,
)
_BARE = re.compile(rb"\r(?!\n)|(?<!\r)\n|\x00")
_PLACE = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/@\s]+)):(\d{1,5})")


class Malformed(Exception):
    """Not a request we can pass on; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere to connect to."""

    host: str  # an address, unless `is_name`
    port: int
    is_name: bool = False


@dataclass(slots=True)
class Wish:
    """One request that wants to leave."""

    server: str  # server key
    place: Place
    method: bytes
    head: bytes  # for the server; empty for a tunnel
    body: Body
    close: bool  # the client wants no further request on this connection
    sign: bytes = b""  # what the client will know our own answers by

    @property
    def is_tunnel(self) -> bool:
        """True when what follows is none of our business."""
        return self.method == b"CONNECT"


def own_target(head: bytes) -> str | None:
    """The path, when the request is for the breaker itself."""
    words = head.split(b"\r\n", 1)[0].split(b" ")
    is_own = len(words) == 3 and words[0] == b"GET" and words[1][:1] == b"/"
    return words[1].decode("latin-1") if is_own else None


def wish_of(head: bytes) -> Wish:
    """What the head (with its empty line) asks for; raises `Malformed`."""
    if _BARE.search(head):
        raise Malformed("bare line ends")
    line, _, rest = head.partition(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or words[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise Malformed("not an HTTP/1 request line")
    method, target, version = words
    fields = fields_of(head)
    body = request_body(fields)
    if body is None:
        raise Malformed("no telling where the body ends")
    server, default, path = _target(method, target)
    ours = _ours(head)
    wanted, sign = ours.get(b"joro-connect"), ours.get(b"joro-sign", b"")
    place = _place(wanted.decode("latin-1")) if wanted is not None else default
    if place is None:
        raise Malformed(f"{CONNECT_FIELD} is not ADDRESS:PORT")
    close = version == b"HTTP/1.0" or b"close" in fields.get(b"connection", b"")
    if method == b"CONNECT":
        return Wish(server, place, method, b"", body, close, sign)
    kept = _OURS.sub(b"", b"\r\n" + rest)
    return Wish(server, place, method, method + b" " + path + b" " + version + kept, body, close, sign)


def sign_of(head: bytes) -> bytes:
    """What the client will know our own answers by; also in a head that is malformed, or not yet whole."""
    return _ours(head).get(b"joro-sign", b"")


def _ours(head: bytes) -> dict[bytes, bytes]:
    return {name.lower(): value.strip() for name, value in reversed(_OURS.findall(head))}


def _target(method: bytes, target: bytes) -> tuple[str, Place, bytes]:
    if method == b"CONNECT":
        return *_server("http" if target.endswith(b":80") else "https", target), b""
    if target[:7].lower() != b"http://":
        raise Malformed("neither an absolute http URL nor CONNECT")
    authority, slash, path = target[7:].partition(b"/")
    authority, mark, query = authority.partition(b"?")
    return *_server("http", authority), b"/" + mark + query + (slash if mark else b"") + path


@functools.lru_cache(maxsize=65_536)
def _server(scheme: str, authority: bytes) -> tuple[str, Place]:
    """Server key and default place of an authority."""
    url = try_canonical(f"{scheme}://{authority.decode('latin-1')}/")
    if url is None or b"@" in authority or b"/" in authority or b"#" in authority:
        raise Malformed("no such server")
    server = server_of(url)
    name = server.partition("://")[2]
    found = _PLACE.fullmatch(name)
    port = int(found[3]) if found else 443 if scheme == "https" else 80
    host = ((found[1] or found[2]) if found else name).strip("[]")
    return server, _address_place(host, port) or Place(host, port, is_name=True)


@functools.lru_cache(maxsize=65_536)
def _place(text: str) -> Place | None:
    found = _PLACE.fullmatch(text)
    return _address_place(found[1] or found[2], int(found[3])) if found else None


def _address_place(host: str, port: int) -> Place | None:
    address = plain_address(host)
    return Place(address, port) if address is not None and 0 < port < 65_536 else None


def plain_address(host: str) -> str | None:
    """One spelling per IP address, so that none is counted twice; None for names."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
    431: "Header Too Large",
}
_REASONS |= {200: "OK", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}


def answer(status: int, said: str, *more: str) -> bytes:
    """A whole answer of the breaker's own, without a body."""
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", f"{ANSWER_FIELD}: {said}", "Content-Length: 0", *more]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def signed(said: bytes, sign: bytes) -> bytes:
    """The same answer with the word of the client whom it is for."""
    return b"%b%b: %b\r\n\r\n" % (said[:-2], SIGN_FIELD.encode(), sign) if sign else said


def page(kind: str, body: bytes) -> bytes:
    """A whole answer with a body."""
    lines = (
        "HTTP/1.1 200 OK",
        f"{ANSWER_FIELD}: status",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + body


#: The answer to CONNECT; without a length, as RFC 9110 wants it.
CONNECTED = f"HTTP/1.1 200 Connection established\r\n{ANSWER_FIELD}: connected\r\n\r\n".encode()
