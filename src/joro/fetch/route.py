"""Which way do requests leave this machine?

In:    the settings about proxies, our own address, HTTP versions and TLS.
Out:   what libcurl has to know about them; operators' mistakes raise before the first request.
Never: opens a connection.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pycurl

from joro.config import Fetch
from joro.errors import ConfigError

#: Proxies that are told an address, and those that are told a name and look it up themselves.
_PINNED_PROXIES = ("socks5",)
_RESOLVING_PROXIES = ("http", "https", "socks5h")


@dataclass(frozen=True, slots=True)
class Route:
    """How requests leave this machine."""

    proxy: str = ""  # http://, https://, socks5:// or socks5h://host:port
    breaker: str = ""  # host:port; it is told the address to connect to
    bind_address: str = ""  # an address or interface of ours
    http2: bool = True
    verify_tls: bool = False
    ca_file: str = ""
    keep_alive_s: float = 60.0  # a connection idle for longer is closed

    @property
    def is_direct(self) -> bool:
        """From no special address of ours straight to the server."""
        return not (self.proxy or self.breaker or self.bind_address)

    @property
    def between(self) -> str:
        """Whom every request goes through, in words for people; nobody: ""."""
        if self.breaker:
            return f"the breaker at {self.breaker}"
        place = self.proxy.partition("://")[2].rpartition("@")[2]  # without a password
        return f"the proxy at {place}" if place else ""

    def pools(self, url: str) -> bool:
        """Does whoever is in between keep connections for everybody, so that an open one says nothing about
        the server? So it is with plain requests; a tunnel ends when the server hangs up.
        """
        return url.startswith("http:") and bool(self.breaker or self.proxy.lower().startswith("http"))

    def options(self) -> Iterator[tuple[int, Any]]:
        """What libcurl has to know."""
        yield (
            pycurl.PROXY,
            f"http://{self.breaker}" if self.breaker else self.proxy,
        )  # "": nor the environment's
        yield pycurl.NOPROXY, ""
        yield pycurl.MAXAGE_CONN, max(1, round(self.keep_alive_s))
        version = pycurl.CURL_HTTP_VERSION_2TLS if self.http2 else pycurl.CURL_HTTP_VERSION_1_1
        yield pycurl.HTTP_VERSION, version
        yield pycurl.OPT_CERTINFO, 1
        yield pycurl.SSL_VERIFYPEER, int(self.verify_tls)
        yield pycurl.SSL_VERIFYHOST, 2 if self.verify_tls else 0
        if not self.verify_tls:
            # What is not trusted need not be strong: old servers are part of the web, too.
            yield pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_0
            yield pycurl.SSL_CIPHER_LIST, "ALL:@SECLEVEL=0"
        if self.ca_file:
            yield pycurl.CAINFO, self.ca_file
        if self.bind_address:
            yield pycurl.INTERFACE, self.bind_address


def route_of(settings: Fetch) -> Route:
    """The operator's wishes, checked."""
    if settings.ca_file:
        _check_authorities(settings.ca_file)
    if settings.breaker and settings.proxy:
        raise ConfigError(
            "fetch.breaker and fetch.proxy are both set, and a request can take only one way",
            remedy="leave one of them out",
        )
    if settings.breaker and not _port_of(f"//{settings.breaker}"):
        raise ConfigError(
            f"fetch.breaker = {settings.breaker!r} is not a host and a port",
            remedy='write it like "127.0.0.1:8766"',
        )
    return Route(
        proxy=settings.proxy,
        breaker=settings.breaker,
        bind_address=settings.bind_address,
        http2=settings.http2 and not settings.breaker,  # it counts requests that come one by one
        verify_tls=settings.verify_tls,
        ca_file=settings.ca_file or _system_authorities(),
        keep_alive_s=settings.keep_alive_s,
    )


def _check_authorities(file: str) -> None:
    """Every server with https would be called unreachable because of a file that libcurl cannot read."""
    if not Path(file).is_file():
        raise ConfigError(f"fetch.ca_file: there is no file {file}", remedy="give a file of PEM certificates")
    try:
        ssl.create_default_context(cafile=file)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise ConfigError(
            f"fetch.ca_file: {file} holds no PEM certificates we can read ({error})",
            remedy="give a file of PEM certificates",
        ) from None


def _port_of(url: str) -> int | None:
    """The port a URL names, None where it names none; 0 is no port, nor is what cannot be one."""
    try:
        parts = urlsplit(url)
        return parts.port if parts.hostname else 0
    except ValueError:
        return 0


def _system_authorities() -> str:
    """Where this system keeps the authorities it trusts; "": where libcurl's builder thought."""
    return ssl.get_default_verify_paths().cafile or ""


def proxy_resolves(settings: Fetch) -> bool:
    """Whether names are looked up by the proxy, where our guard cannot see the address."""
    if not settings.proxy:
        return False
    known = (*_PINNED_PROXIES, *_RESOLVING_PROXIES)
    scheme = settings.proxy.partition(":")[0].lower()
    if scheme not in known or _port_of(settings.proxy) == 0:
        raise ConfigError(
            f"fetch.proxy = {settings.proxy!r} is not a proxy we know",
            remedy=f"write one of {', '.join(f'{each}://host:port' for each in known)}",
        )
    if scheme in _RESOLVING_PROXIES and not settings.proxy_resolves:
        raise ConfigError(
            f"fetch.proxy: an {scheme} proxy looks names up, so private addresses are not refused",
            remedy="let the proxy refuse them and set fetch.proxy_resolves = true, or use socks5://",
        )
    return scheme in _RESOLVING_PROXIES


def family_of(bind_address: str) -> socket.AddressFamily | None:
    """The kind of addresses that can be reached from ours; None: no matter which."""
    if not bind_address:
        return None
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(bind_address).version == 6 else socket.AF_INET
    except ValueError:
        family = None
    try:
        if family is None:
            socket.if_nametoindex(bind_address)
        else:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((bind_address, 0))
    except (OSError, ValueError) as error:  # a name with a zero byte in it is no name at all
        reason = error.strerror if isinstance(error, OSError) else None
        raise ConfigError(
            f"fetch.bind_address: {bind_address!r} is none of this machine's ({reason or error})",
            remedy="give one of its addresses or interfaces (`ip address` lists them)",
        ) from None
    return family
