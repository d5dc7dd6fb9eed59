"""How do we ask the channel of releases?

In:    the section `[update]`; the token of `[cooperate]` where the channel is our manager's.
Out:   the newest manifest as it was signed; the bytes of a wheel, from any place on.
Never: shows a password or token to anybody else: redirections are not followed, certificates are verified,
       a password over plain http is for this machine only, unless the operator says so. Waits for ever.
Paper: S1 5.3.1: source, id, pass, and a proxy, whose port is 80 where none is given.

What arrives is not believed here: `release` and `download` see to that.
"""

from __future__ import annotations

import base64
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from joro import __version__
from joro.config import Cooperate, Update
from joro.errors import TransferError, UsageError
from joro.trust import is_here, line_to, sendable
from joro.updater.release import NEWEST

#: A silence this long ends an attempt.
SILENCE_S = 60.0
#: And so does one that goes on for so long: a line this slow is none.
LONGEST_S = 6 * 3_600.0
#: A longer answer is no manifest.
MANIFEST_BYTES = 65_536
_PIECE_BYTES = 1 << 18


class Source:
    """A channel, wherever it is served."""

    def __init__(self, settings: Update, cooperate: Cooperate, base: Path, *, silence_s: float = SILENCE_S):
        if not settings.source:
            raise UsageError("no channel is set", remedy="set update.source in joro.toml")
        self.url = settings.source.rstrip("/")
        self._silence_s = silence_s
        self._secret = _authorization(settings, cooperate, base)
        host = urlsplit(self.url).hostname or ""
        may_be_plain = (
            settings.plain or is_here(host) or (cooperate.plain and _is_manager(self.url, cooperate))
        )
        if self._secret and self.url.startswith("http:") and not may_be_plain:
            raise UsageError(
                f"{self.url} would show the password to everybody on the way",
                remedy="use https://, or set update.plain if the network is your own",
            )
        ca = settings.ca or (cooperate.ca if _is_manager(self.url, cooperate) else "")
        proxy = _proxy(settings.proxy) if settings.proxy else ""
        self._opener = line_to(host, base / ca if ca else None, proxy)

    def newest(self) -> bytes:
        """The newest manifest, signed."""
        with self._open(NEWEST, 0) as answer, self._told():
            content = answer.read(MANIFEST_BYTES + 1)
        if len(content) > MANIFEST_BYTES:
            raise TransferError(
                f"{self.url}/{NEWEST} has more than {MANIFEST_BYTES:,} bytes",
                remedy="see whether update.source leads to a channel",
                status=413,
            )
        return content

    def pieces(self, name: str, start: int) -> tuple[int, Iterator[bytes]]:
        """The bytes of a file and where they begin: at 0 instead of `start` if the server knows no ranges."""
        answer = self._open(name, start)
        place = answer.headers.get("Content-Range", "")
        is_part = answer.status == 206 and place.startswith(f"bytes {start}-")
        return start if is_part else 0, self._read(answer)

    def _read(self, answer: http.client.HTTPResponse) -> Iterator[bytes]:
        until = time.monotonic() + LONGEST_S
        with answer, self._told():
            while (piece := answer.read1(_PIECE_BYTES)) and time.monotonic() < until:
                yield piece

    def _open(self, name: str, start: int) -> http.client.HTTPResponse:
        request = urllib.request.Request(f"{self.url}/{name}")
        request.add_header("User-Agent", f"Joro/{__version__}")
        if self._secret:
            request.add_unredirected_header("Authorization", self._secret)
        if start:
            request.add_header("Range", f"bytes={start}-")
        with self._told():
            answer: http.client.HTTPResponse = self._opener.open(request, timeout=self._silence_s)
        return answer

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong, in one line."""
        try:
            yield
        except urllib.error.HTTPError as error:
            with error:
                raise TransferError(
                    f"{self.url} refuses ({error.code} {error.reason})",
                    remedy=_remedy(error.code),
                    status=error.code,
                ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise TransferError(
                f"{self.url} cannot be reached, or broke off ({reason or type(error).__name__})",
                remedy="see whether it runs, and whether update.proxy and update.ca are right",
            ) from None


def _remedy(status: int) -> str:
    if status in (401, 403, 407):
        return "see update.id and update.password_file, or the token in [cooperate]"
    return f"see whether update.source leads to a channel: SOURCE/{NEWEST}"


def _authorization(settings: Update, cooperate: Cooperate, base: Path) -> str:
    """The value of Authorization; "" where nothing has to be shown."""
    password, place = "", settings.password_file
    if place:
        password = _content(base / place, "update.password_file")
    if settings.id:
        return "Basic " + base64.b64encode(f"{settings.id}:{password}".encode()).decode()
    if not place and _is_manager(settings.source, cooperate):
        password, place = _token(cooperate), cooperate.token_file or "[cooperate]"
    if not password:
        return ""
    return "Bearer " + sendable(password, f"the token in {place}", remedy="write it as it was given to you")


def _token(cooperate: Cooperate) -> str:
    """What the robot shows its manager; of several in a file (lines of NAME TOKEN) any will do."""
    if not cooperate.token_file:
        return cooperate.token
    lines = _content(Path(cooperate.token_file), "cooperate.token_file").splitlines()
    tokens = [line.split()[-1] for line in lines if line.strip() and not line.startswith("#")]
    return tokens[0] if tokens else ""


def _content(path: Path, setting: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{setting} = {str(path)!r} cannot be read ({error})", remedy="name a readable file"
        ) from None


def _is_manager(url: str, cooperate: Cooperate) -> bool:
    return any(urlsplit(url)[:2] == urlsplit(manager)[:2] for manager in cooperate.managers)


def _proxy(text: str) -> str:
    address = text if "://" in text else f"http://{text}"
    parts = urlsplit(address)
    return address if parts.port else f"{parts.scheme}://{parts.netloc}:80"
