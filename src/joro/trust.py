"""To which machines, and over which lines, may we show a token?

In:    a PEM file of an authority; the host of an address.
Out:   a context that verifies certificates; whether the host is this machine; a line to it.
Never: trusts a certificate that nobody vouches for; lets an answer send a token elsewhere.
"""

from __future__ import annotations

import ipaddress
import ssl
import urllib.request
from pathlib import Path
from typing import Any

from joro.errors import UsageError


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
