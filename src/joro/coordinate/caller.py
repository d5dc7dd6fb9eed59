"""How does a robot reach its managers?

In:    their addresses, the robot's token, an authority to trust.
Out:   the answer of the first one that gives any; the one that answered last is asked first.
Never: shows the token to anybody else: certificates are verified, redirections are not followed, and plain
       http is for this machine, unless the operator says otherwise. Waits for ever.
Paper: S1 5.1.1: the robot speaks first, over HTTP, if need be through a proxy (http_proxy and https_proxy).

A line is kept open between two calls, and is one thread's at a time.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec

from joro import __version__
from joro.errors import TransferError, UsageError
from joro.trust import is_here, is_plain, place_of, trusting

#: More than this no answer has.
ANSWER_LIMIT_BYTES = 64_000_000
MSGPACK = "application/msgpack"


class Managers:
    """The line of one thread to any of several managers of one control store."""

    def __init__(
        self, addresses: Sequence[str], token: str, *, ca: Path | None = None, plain: bool = False
    ) -> None:
        if not addresses:
            raise UsageError(
                "no manager is named", remedy="give --manager URL, or set cooperate.managers in joro.toml"
            )
        self._places = [
            place_of(
                address,
                "manager",
                plain=plain,
                plainly="set cooperate.plain = true if the network is your own",
            )
            for address in addresses
        ]
        self._trust = trusting(ca) if any(place.scheme == "https" for place in self._places) else None
        self._token = token
        self._now = 0  # the one to ask first
        self._line: http.client.HTTPConnection | None = None

    @property
    def address(self) -> str:
        """Who is asked first."""
        return self._places[self._now].geturl()

    def get(self, path: str, *, silence_s: float) -> bytes:
        """What a manager has to say about `path`."""
        return self._ask("GET", path, None, silence_s)

    def post(self, path: str, content: bytes, *, kind: str = MSGPACK, silence_s: float) -> bytes:
        """What a manager answers to `content`."""
        return self._ask("POST", path, content, silence_s, kind)

    def hang_up(self) -> None:
        """Let another thread that is waiting for an answer wait no longer."""
        sock = self._line.sock if self._line is not None else None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Be done with the line; for the thread whose it is."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _ask(
        self, method: str, path: str, content: bytes | None, silence_s: float, kind: str = MSGPACK
    ) -> bytes:
        """Ask one after the other; what the last one did is the answer if nobody is there."""
        away: TransferError | None = None
        for _ in self._places:
            try:
                return self._ask_one(method, path, content, silence_s, kind)
            except TransferError as error:
                if not is_passing(error):
                    raise
                self.close()
                self._now = (self._now + 1) % len(self._places)
                away = error
        assert away is not None
        raise away

    def _ask_one(self, method: str, path: str, content: bytes | None, silence_s: float, kind: str) -> bytes:
        was_open = self._line is not None
        try:
            try:
                return self._exchange(method, path, content, silence_s, kind)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                if not was_open:
                    raise
            self.close()  # it was hung up while nobody spoke: that is nobody's fault
            return self._exchange(method, path, content, silence_s, kind)
        except (OSError, http.client.HTTPException) as error:
            raise _failure(self.address, error) from None

    def _exchange(self, method: str, path: str, content: bytes | None, silence_s: float, kind: str) -> bytes:
        place = self._places[self._now]
        if self._line is None:
            self._line = _opened(place, self._trust)
        line = self._line
        line.timeout = silence_s
        if line.sock is not None:
            line.sock.settimeout(silence_s)
        target = place.path.rstrip("/") + path
        if _proxy(place) and place.scheme == "http":
            target = f"http://{place.netloc}{target}"
        fields = {"Authorization": f"Bearer {self._token}", "User-Agent": f"Joro/{__version__}"}
        if content is not None:
            fields["Content-Type"] = kind
        line.request(method, target, content, fields)
        answer = line.getresponse()
        body = answer.read(ANSWER_LIMIT_BYTES)
        if answer.will_close or not answer.isclosed():
            self.close()
        if answer.status != 200:
            raise _refusal(self.address, answer.status, answer.reason, body)
        return body


def is_passing(error: TransferError) -> bool:
    """Might another manager, or the same one a little later, answer better?"""
    return error.passes or error.status == 429


def _failure(address: str, error: OSError | http.client.HTTPException) -> TransferError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return TransferError(
            f"the certificate of {address} is not trusted ({error.verify_message})",
            remedy="name its authority in cooperate.ca",
            status=495,
        )
    if is_plain(error):
        return TransferError(
            f"{address} speaks http, not https",
            remedy="set manager.certificate and manager.key there; or, if the network is your own, "
            "write http:// here and set cooperate.plain = true",
            status=495,
        )
    return TransferError(
        f"{address} does not answer ({str(error) or type(error).__name__})",
        remedy="see whether the manager runs",
    )


def _refusal(address: str, status: int, reason: str, body: bytes) -> TransferError:
    try:
        said = msgspec.json.decode(body, type=dict[str, str]).get("problem", "") or reason
    except msgspec.DecodeError:
        said = reason
    remedies = {
        401: "give the robot's token: cooperate.token_file, from joro manager robot add NAME",
        403: "give the robot's own token: joro manager robot add NAME, at the manager",
        404: "see whether it is a manager of this version",
        409: "then start the robot again",
    }
    return TransferError(
        f"{address} refuses ({status}: {said})",
        remedy=remedies.get(status, "ask its operator"),
        status=status,
    )


def _proxy(place: SplitResult) -> SplitResult | None:
    """Whom to go through, by http_proxy, https_proxy and no_proxy."""
    host = place.hostname or ""
    if is_here(host) or urllib.request.proxy_bypass(host):
        return None
    proxy = urllib.request.getproxies().get(place.scheme)
    return urlsplit(proxy) if proxy else None


def _opened(place: SplitResult, trust: ssl.SSLContext | None) -> http.client.HTTPConnection:
    proxy = _proxy(place)
    host, port = place.hostname or "", place.port or (443 if place.scheme == "https" else 80)
    near = (proxy.hostname or "", proxy.port or 80) if proxy is not None else (host, port)
    if place.scheme == "http":
        return http.client.HTTPConnection(*near)
    line = http.client.HTTPSConnection(*near, context=trust)
    if proxy is not None:
        line.set_tunnel(host, port)
    return line
