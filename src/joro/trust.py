"""To which machines, and over which lines, may we show a token?

In:    a PEM file of an authority; the host of an address.
Out:   a context that verifies certificates; whether the host is this machine.
Never: trusts a certificate that nobody vouches for.
"""

from __future__ import annotations

import ipaddress
import ssl
from pathlib import Path

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
