"""How do we talk to another collection's service?

In:    its address, our token, certificates to trust.
Out:   answers as JSON, ranges of bytes as they come, bytes brought there.
Never: shows the token to anybody else: certificates are verified, redirections are not followed, and plain
       http is for this machine only, unless the operator says otherwise. Waits for ever.
Paper: S1, 5.4.2: clients may stand behind a proxy (http_proxy and https_proxy are honoured).

This is for partners who have registered us; other people's web servers are the business of `fetch`.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from joro import __version__
from joro.errors import TransferError
from joro.trust import is_plain, line_to, place_of

#: A silence this long ends an attempt; making a package of 1 GB takes half a minute.
SILENCE_S = 300.0
_ANSWER_LIMIT_BYTES = 16_000_000
#: What helps where a service refuses.
REMEDIES = {
    401: "register there, and give the token",
    403: "ask its operator for a token: joro redistribute party add",
    429: "wait until the time it names",
}

T = TypeVar("T")


class Caller:
    """Asks one service."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        ca: Path | None = None,
        plain: bool = False,
        silence_s: float = SILENCE_S,
        remedies: Mapping[int, str] = REMEDIES,
        kind: str = "service",
    ) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._silence_s = silence_s
        self._remedies = remedies
        parts = place_of(
            url,
            kind,
            plain=plain,
            plainly="say --plain if the network is your own",
        )
        self._opener = line_to(parts.hostname or "", ca)

    def get(self, path: str, kind: type[T]) -> T:
        return self._answer(self._request(path), kind)

    def post(self, path: str, value: object, kind: type[T]) -> T:
        request = self._request(path, msgspec.json.encode(value))
        request.add_header("Content-Type", "application/json")
        return self._answer(request, kind)

    def put(self, path: str, content: Iterable[bytes], start: int, whole: int, kind: type[T]) -> T:
        """Bring the bytes from `start` on, of so many in all."""
        request = self._request(path, content)
        request.method = "PUT"
        request.add_header("Content-Length", str(whole - start))
        request.add_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        request.add_header("Content-Type", "application/octet-stream")
        return self._answer(request, kind)

    def pieces(self, path: str, start: int, piece_bytes: int = 1 << 18) -> Iterator[bytes]:
        """The bytes of a file from `start` on, until its end or until the line is cut."""
        request = self._request(path)
        if start:
            request.add_header("Range", f"bytes={start}-")
        with self._opened(request) as answer:
            if start and answer.status != 206:
                raise TransferError(
                    f"{self.url} ignores ranges", remedy="ask its operator what stands before the service"
                )
            with self._told():
                while piece := answer.read(piece_bytes):
                    yield piece

    def _request(self, path: str, content: Any = None) -> urllib.request.Request:
        request = urllib.request.Request(self.url + path, content)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("User-Agent", f"Joro/{__version__}")
        return request

    def _answer(self, request: urllib.request.Request, kind: type[T]) -> T:
        with self._opened(request) as answer, self._told():
            content = answer.read(_ANSWER_LIMIT_BYTES)
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise TransferError(
                f"{self.url} answers what we do not understand ({error})",
                remedy="see whether it is a redistribution service of this version",
            ) from None

    @contextmanager
    def _opened(self, request: urllib.request.Request) -> Iterator[http.client.HTTPResponse]:
        with self._told():
            answer = self._opener.open(request, timeout=self._silence_s)
        with answer:
            yield answer

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong, in one line."""
        try:
            yield
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(self.url, error, self._remedies) from None
        except (OSError, http.client.HTTPException) as error:
            raise _failure(self.url, getattr(error, "reason", None) or error) from None


def _failure(url: str, reason: object) -> TransferError:
    if isinstance(reason, ssl.SSLCertVerificationError):
        return TransferError(
            f"the certificate of {url} is not trusted ({reason.verify_message})",
            remedy="name its authority: --ca FILE, or ca in redistribution.toml",
            status=495,
        )
    if is_plain(reason):
        return TransferError(
            f"{url} speaks http, not https",
            remedy="give it a certificate, or write http:// and say --plain if the network is your own",
            status=495,
        )
    return TransferError(
        f"{url} cannot be reached, or broke off ({str(reason) or type(reason).__name__})",
        remedy="see whether it runs; the same command goes on where this one ended",
    )


def _refusal(url: str, error: urllib.error.HTTPError, remedies: Mapping[int, str]) -> TransferError:
    try:
        said = msgspec.json.decode(error.read(100_000), type=dict[str, str]).get("problem", "")
    except (msgspec.DecodeError, OSError, http.client.HTTPException):
        said = ""
    remedy = remedies.get(error.code, "mend the request, or ask its operator")
    return TransferError(
        f"{url} refuses ({error.code}: {said or error.reason})", remedy=remedy, status=error.code
    )
