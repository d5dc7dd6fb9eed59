"""How does one request become bytes?

In:    a URL, the address to connect to, and extra header fields.
Out:   the response exactly as received, or what went wrong.
Never: resolves names, follows redirects, decodes bodies, retries elsewhere, or decides anything.

libcurl does the work, but for plain http:// on the direct way, where `lean` does it for half the cost. Each
transfer is told the very address the guard approved (CONNECT_TO), so there is no second look-up an attacker
could bend.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Sequence
from io import BytesIO

import pycurl

from joro.fetch.exchange import Exchange, Limits
from joro.fetch.head import fields_of, final_head, status_of, stays_open
from joro.fetch.lean import Lean
from joro.fetch.multi import Multi
from joro.fetch.room import Room
from joro.fetch.route import Route
from joro.model import Outcome, Response, Truncated

__all__ = ["Client", "Exchange", "Limits"]

log = logging.getLogger(__name__)

#: Every coding that `parse.payload` takes off again.
ACCEPT_ENCODING = "gzip, deflate, br, zstd"


#: libcurl's options and error numbers that pycurl gives no name.
_SUPPRESS_CONNECT_HEADERS = 265
_WEIRD_SERVER_REPLY, _HTTP2_STREAM, _PROXY, _TOO_LARGE = 8, 92, 97, 100

#: What libcurl's error numbers mean to us; every other one is UNREACHABLE.
_OUTCOMES = {
    pycurl.E_OPERATION_TIMEDOUT: Outcome.TIMEOUT,
    pycurl.E_UNSUPPORTED_PROTOCOL: Outcome.MALFORMED,  # HTTP/0.9 garbage
    _WEIRD_SERVER_REPLY: Outcome.MALFORMED,
    _TOO_LARGE: Outcome.MALFORMED,  # headers beyond libcurl's own limit
    pycurl.E_HTTP2: Outcome.MALFORMED,
    _HTTP2_STREAM: Outcome.MALFORMED,
}

#: How we tell a breaker where to connect, and how it marks an answer as its own (docs/guides/breaker.md).
_CONNECT_FIELD, _ANSWER_FIELD, _SIGN_FIELD = "Joro-Connect", "joro-breaker", "joro-sign"
#: What an exchange says that the breaker refused; why, comes behind it.
REFUSED = "breaker: refused; "
#: When the breaker does not say how long, or nothing at all.
_HELD_OFF_S = 60.0
_BREAKER_WORDS = {
    "timeout": Outcome.TIMEOUT,
    "forbidden": Outcome.FORBIDDEN_ADDRESS,
    "malformed": Outcome.MALFORMED,
}

#: What the other side has not received for so long is thrown away, with the connection. Else the kernel goes
#: on sending a request for minutes after we gave it up, or were killed: it would be heard when the line is
#: whole again, when others may be asking that server (`line` is stricter; libcurl leaves us only this).
UNRECEIVED_S = 5.0

#: Nobody was there; a timeout may mean that as well.
_UNCONNECTED = (pycurl.E_COULDNT_CONNECT, pycurl.E_INTERFACE_FAILED, _PROXY)
#: Where a breaker or proxy is set, we connect to nobody else; one that refuses a tunnel is there and says so.
_NOT_EVEN_BETWEEN = (pycurl.E_COULDNT_CONNECT, pycurl.E_COULDNT_RESOLVE_PROXY)


def _forget_soon(number: int, _purpose: int) -> int:
    with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as made:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(UNRECEIVED_S * 1_000))
    return pycurl.SOCKOPT_OK  # type: ignore[no-any-return]


class Client:
    """All transfers of one event loop. Use inside a running loop; `close` when done."""

    def __init__(
        self,
        *,
        user_agent: str,
        limits: Limits,
        connections: int,
        route: Route | None = None,
        idle: int = 0,
        lean: bool = True,
    ) -> None:
        self._fields = [f"User-Agent: {user_agent}", "Accept: */*", f"Accept-Encoding: {ACCEPT_ENCODING}"]
        self._request_end = "\r\n".join([*self._fields, "", ""]).encode("latin-1")
        self._limits = limits
        self._body_bytes = limits.body_bytes
        self._rules_bytes = max(limits.body_bytes, limits.rules_bytes)
        self._route = route or Route()
        self._room = Room(limits.memory_bytes, connections, asyncio.get_running_loop().call_soon)
        half = connections + idle // 2  # each keeps connections of its own
        self._multi = Multi(connections=half)
        self._lean = Lean(limits, self._room, connections=half, keep_alive_s=self._route.keep_alive_s)
        self._is_lean = lean and self._route.is_direct
        self._spare: list[_Line] = []
        self._sign = secrets.token_hex(8)
        self._has_told_forgery = False
        self._is_cut_off = False  # from the breaker or proxy, and it was told

    @property
    def open_transfers(self) -> int:
        """Requests under way."""
        return self._multi.under_way + self._lean.under_way

    async def get(
        self,
        url: str,
        *,
        address: str,
        port: int,
        fields: Sequence[str] = (),
        proxy_fields: Sequence[str] = (),
        once: bool = True,
        kept: bool = False,
    ) -> Exchange:
        """GET one URL from exactly `address`:`port`; from "" only a proxy can, which then resolves the name.

        `proxy_fields` are for the proxy alone: they are neither passed on nor archived. Without `once` a
        request that found its connection cut is sent again at once on a new one. `kept`: on no connection but
        one that is open already; where there is none, `hung_up` says so.
        """
        body_bytes = self._rules_bytes if url.endswith("/robots.txt") else self._body_bytes
        if self._is_lean and address and (host := _plain_host(url)):
            place, request = (address, port, host), self._request(url, fields)
            return await self._lean.get(place, request, body_bytes=body_bytes, once=once, kept=kept)
        line = self._spare.pop() if self._spare else self._new_line()
        line.body_bytes = body_bytes
        goal = _place(address, port)
        if self._route.breaker:
            proxy_fields = [f"{_CONNECT_FIELD}: {goal}", f"{_SIGN_FIELD}: {self._sign}", *proxy_fields]
            goal = ""
        kept = kept and not self._route.pools(url)
        line.prepare(url, goal, fields, proxy_fields, once=once, kept=kept)
        try:
            code, message = await self._multi.perform(line.curl)
            exchange = line.exchange(code, message, self._request(url, fields))
            is_told = bool(self._route.between) and not exchange.hung_up  # else nobody was called
            if is_told and self._see_whether_cut_off(line.curl, code, message):
                return Exchange(Outcome.UNREACHABLE, exchange.request, None, message, held_off_s=_HELD_OFF_S)
            is_heard = self._route.breaker and not self._is_forged(exchange)
            return _heed(exchange, line.curl) if is_heard else exchange
        finally:
            self._room.leave(line)
            if line.reset():
                self._spare.append(line)

    def _is_forged(self, exchange: Exchange) -> bool:
        """Does a server answer as if it were the breaker? We would ask on at once, and keep nothing of it."""
        headers = exchange.response.headers if exchange.response else {}
        if _ANSWER_FIELD not in headers or headers.get(_SIGN_FIELD) == self._sign:
            return False
        if not self._has_told_forgery:
            self._has_told_forgery = True
            log.warning(
                "an answer says that it comes from %s, and lacks our sign: its server is lying,"
                " or the breaker is of another version than this robot (then start it anew, with this one)",
                self._route.between,
            )
        return True

    def _see_whether_cut_off(self, curl: pycurl.Curl, code: int, message: str) -> bool:
        """Is nobody there whom every request goes through? That says nothing about the server."""
        is_cut_off = code in _NOT_EVEN_BETWEEN and not curl.getinfo(pycurl.HTTP_CONNECTCODE)
        if is_cut_off and not self._is_cut_off:
            log.warning(
                "%s does not answer (%s): nobody is asked until it does", self._route.between, message
            )
        elif self._is_cut_off and not is_cut_off:
            log.warning("%s answers again", self._route.between)
        self._is_cut_off = is_cut_off
        return is_cut_off

    async def close(self) -> None:
        """End every transfer and free all sockets."""
        await self._lean.close()
        await self._multi.close()
        for line in self._spare:
            line.curl.close()
        self._spare.clear()

    def _new_line(self) -> _Line:
        curl = pycurl.Curl()
        limits = self._limits
        options = (
            (pycurl.NOSIGNAL, 1),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.HTTP_TRANSFER_DECODING, 0),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.PATH_AS_IS, 1),
            (pycurl.TCP_NODELAY, 1),
            (pycurl.BUFFERSIZE, 32_768),
            (pycurl.HEADEROPT, pycurl.HEADER_SEPARATE),
            (_SUPPRESS_CONNECT_HEADERS, 1),
            (pycurl.TIMEOUT_MS, int(limits.timeout_s * 1000)),
            (pycurl.CONNECTTIMEOUT_MS, int(limits.connect_timeout_s * 1000)),
            (pycurl.LOW_SPEED_TIME, round(limits.stall_s)),
            (pycurl.LOW_SPEED_LIMIT, limits.stall_bytes_per_s if limits.stall_s else 0),
        )
        for option, value in (*options, *self._route.options()):
            curl.setopt(option, value)
        curl.setopt(pycurl.SOCKOPTFUNCTION, _forget_soon)
        return _Line(curl, limits, self._room, self._fields)

    def _request(self, url: str, fields: Sequence[str]) -> bytes:
        """The request as the server receives it over HTTP/1.1 (a test compares the two)."""
        first = f"GET {url[url.index('/', 8) :]} HTTP/1.1\r\nHost: {_host(url)}\r\n".encode("latin-1")
        if not fields:
            return first + self._request_end
        return first + "\r\n".join([*self._fields, *fields, "", ""]).encode("latin-1")


def _host(url: str) -> str:
    return url[url.index("//") + 2 : url.index("/", 8)]


def _plain_host(url: str) -> str:
    """Its host, if it can be asked for as it is written; whatever is odd about others, libcurl knows it."""
    if not url.startswith("http://") or not url.isascii() or not url.isprintable():
        return ""
    if " " in url or "#" in url:
        return ""
    host = _host(url)
    return "" if "@" in host else host


def _place(address: str, port: int) -> str:
    if not address:
        return ""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _heed(exchange: Exchange, curl: pycurl.Curl) -> Exchange:
    """An answer that is the breaker's own is no response: nothing came from the server."""
    headers = exchange.response.headers if exchange.response else {}
    said = headers.get(_ANSWER_FIELD)
    if said is None and curl.getinfo(pycurl.HTTP_CONNECTCODE) in (429, 503):
        said = "refused; a tunnel"
    if said is None:
        return exchange
    word = said.partition(";")[0].strip()
    outcome = _BREAKER_WORDS.get(word, Outcome.UNREACHABLE)
    connected = word not in ("unreachable", "timeout")
    asked = headers.get("retry-after", "")
    held_off_s = float(asked) if asked.isdecimal() else _HELD_OFF_S
    return Exchange(
        outcome,
        exchange.request,
        None,
        f"breaker: {said}",
        connected,
        held_off_s=held_off_s if word == "refused" else 0.0,
    )


class _Line:
    """One of libcurl's easy handles with what its transfer has received so far; used again and again."""

    def __init__(self, curl: pycurl.Curl, limits: Limits, room: Room, usual_fields: list[str]) -> None:
        self.curl = curl
        self.size = 0
        self._limits, self.body_bytes = limits, limits.body_bytes
        self._room = room
        self._usual_fields = usual_fields
        self._fields: Sequence[str] | None = None  # set at present, beside the usual ones
        self._proxy_fields: Sequence[str] = ()
        self._place = ""
        self._head = BytesIO()
        self._body = BytesIO()  # grows in place and gives its content away without a copy
        self._is_tls = False
        self._is_full = False
        self._is_paused = False
        self._once = False
        self._was_asked = False
        self._kept = False
        self._wanted_another = False
        curl.setopt(pycurl.PREREQFUNCTION, self._may_ask)
        curl.setopt(pycurl.HEADERFUNCTION, self._head.write)
        curl.setopt(pycurl.WRITEFUNCTION, self._take)

    def prepare(
        self, url: str, place: str, fields: Sequence[str], proxy_fields: Sequence[str], *,
        once: bool, kept: bool,
    ) -> None:  # fmt: skip
        """Say what to ask for; what has not changed since the last transfer is not said again."""
        self._once = once
        setopt = self.curl.setopt
        if kept != self._kept:
            setopt(pycurl.OPENSOCKETFUNCTION, self._open_none if kept else None)
            self._kept = kept
        setopt(pycurl.URL, url)
        self._is_tls = url.startswith("https:")
        if place != self._place:
            setopt(pycurl.CONNECT_TO, [f"::{place}"] if place else [])
            self._place = place
        if fields != self._fields:
            setopt(pycurl.HTTPHEADER, [*self._usual_fields, *fields])
            self._fields = fields
        if proxy_fields != self._proxy_fields:
            setopt(pycurl.PROXYHEADER, list(proxy_fields))
            self._proxy_fields = proxy_fields

    def reset(self) -> bool:
        """Forget what was received; False when the handle is not fit for another transfer."""
        if self._is_paused:
            self._is_paused = False
            self.curl.close()
            return False
        self._head.seek(0)
        self._head.truncate()
        self._body = BytesIO()
        self.size = 0
        self._is_full = False
        self._was_asked = self._wanted_another = False
        return True

    def resume(self) -> None:
        """There is room again."""
        if self._is_paused:
            self._is_paused = False
            self.curl.pause(pycurl.PAUSE_CONT)

    def _may_ask(self, *_: object) -> int:
        """libcurl asks again, without a pause, if a connection it used before is cut at our request."""
        verdict: int = pycurl.PREREQFUNC_ABORT if self._once and self._was_asked else pycurl.PREREQFUNC_OK
        self._was_asked = True
        return verdict

    def _open_none(self, *_: object) -> int:
        self._wanted_another = True
        bad: int = pycurl.SOCKET_BAD
        return bad

    def _take(self, chunk: bytes) -> int | None:
        """Keep body bytes up to the limit; -1 tells libcurl to hang up."""
        room = self.body_bytes - self.size
        piece = chunk if len(chunk) <= room else chunk[:room]
        if not self._room.admits(self, len(piece)):
            self._is_paused = True
            pause: int = pycurl.WRITEFUNC_PAUSE
            return pause
        self._body.write(piece)
        self.size += len(piece)
        if piece is chunk:
            return None
        self._is_full = True
        return -1

    def exchange(self, code: int, message: str, request: bytes) -> Exchange:
        """The verdict, once libcurl is done."""
        head = final_head(self._head.getvalue())
        if not head:
            outcome = _OUTCOMES.get(code, Outcome.UNREACHABLE)
            connected = self._was_asked or self._was_connected(code)
            hung_up = self._wanted_another and not self._was_asked
            return Exchange(outcome, request, None, message, connected, hung_up=hung_up)
        status = status_of(head)
        if len(head) > self._limits.head_bytes or status is None:
            return Exchange(Outcome.MALFORMED, request, None, message or "malformed response head")
        headers = fields_of(head)
        chunked = headers.get("transfer-encoding", "").lower().endswith("chunked")
        response = Response(status, head, self._body.getvalue(), headers, self._truncation(code), chunked)
        kept_alive = not code and stays_open(head, status, headers)
        certificate = self._certificate() if self._is_tls else ""
        return Exchange(None, request, response, message, True, kept_alive, certificate)

    def _certificate(self) -> str:
        """The server's own certificate, when this transfer made the handshake."""
        chain = self.curl.getinfo(pycurl.INFO_CERTINFO)
        return next((value for key, value in chain[0] if key == "Cert"), "") if chain else ""

    def _was_connected(self, code: int) -> bool:
        if code == pycurl.E_OPERATION_TIMEDOUT:
            return bool(self.curl.getinfo(pycurl.CONNECT_TIME_T))
        return code not in _UNCONNECTED

    def _truncation(self, code: int) -> Truncated | None:
        if self._is_full:
            return Truncated.LENGTH
        if code == pycurl.E_OPERATION_TIMEDOUT:
            return Truncated.TIME
        return Truncated.DISCONNECT if code else None
