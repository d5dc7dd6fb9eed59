"""To which machines, and over which lines, may we show a token?

In:    a PEM file of an authority; an address, and the host in it; a token or password.
Out:   a context that verifies certificates; whether the host is this machine; a line to it; the parts of an
       address that a token may go to; the token, if a request can carry it; why a line cannot be secure.
Never: trusts a certificate that nobody vouches for; lets an answer send a token elsewhere; repeats a password
       that somebody wrote into an address.
"""

from __future__ import annotations

import ipaddress
import ssl
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from joro.errors import UsageError

#: Addresses as they should be written.
EXAMPLES = {"manager": "https://example.org:8768", "service": "https://example.org:8767"}


def trusting(ca: Path | None) -> ssl.SSLContext:
    """The authorities everybody trusts, and that one."""
    context = ssl.create_default_context()
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"{ca} holds no certificates ({error})", remedy="name a PEM file") from None
    return context


def is_here(host: str) -> bool:
    """Is it this machine, so that nobody can listen on the way?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def place_of(address: str, kind: str, *, plain: bool, plainly: str) -> SplitResult:
    """The parts of the address of a manager or service; `plainly`: how to let a token travel in the clear."""
    remedy = f"write it like {EXAMPLES[kind]}"
    try:
        parts = urlsplit(address.rstrip("/"))
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not address.isprintable() or " " in address or not parts.path.isascii():
        raise UsageError(f"{address.rpartition('@')[2]!r} is no address of a {kind}", remedy=remedy)
    if "@" in parts.netloc or parts.query or parts.fragment:
        more = "a user" if "@" in parts.netloc else "a query" if parts.query else "a fragment"
        host = parts.netloc.rpartition("@")[2]
        raise UsageError(
            f"the address of the {kind} at {host} has {more} in it",
            remedy=f"{remedy}; secrets belong into their files",
        )
    if parts.scheme == "http" and not plain and not is_here(parts.hostname or ""):
        raise UsageError(
            f"{address} would show the token to everybody on the way", remedy=f"use https://, or {plainly}"
        )
    return parts


def sendable(secret: str, what: str, *, remedy: str) -> str:
    """The token or password, if every program of ours can send it; `what`: it and its place, for people."""
    if not (secret.isascii() and secret.isprintable()):
        raise UsageError(f"{what} has characters that no request can carry", remedy=remedy)
    return secret


def is_plain(error: object) -> bool:
    """Did somebody answer in plain http who was asked by https?"""
    return isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def line_to(host: str, ca: Path | None, proxy: str = "") -> urllib.request.OpenerDirector:
    """What asks that host and nobody else; this machine is asked without the proxy that others may need."""
    secure = urllib.request.HTTPSHandler(context=trusting(ca))
    if proxy:
        return urllib.request.build_opener(
            _NoRedirects(), secure, urllib.request.ProxyHandler({"http": proxy, "https": proxy})
        )
    if is_here(host):
        return urllib.request.build_opener(_NoRedirects(), secure, urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(_NoRedirects(), secure)
