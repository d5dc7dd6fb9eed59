"""May we connect to this address?

In:    the address a name resolved to, at the moment of connecting.
Out:   the reason for a refusal, or None.
Never: trusts a name: only the address that is really connected to counts, so neither a redirect
       nor a second DNS answer can lead us inside.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from joro.errors import ConfigError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Special by RFC 6890 and its successors but called "global" by some Python versions.
_ALSO_SPECIAL: tuple[Network, ...] = (
    ipaddress.ip_network("192.0.0.0/24"),  # IETF protocol assignments, RFC 6890
    ipaddress.ip_network("100.64.0.0/10"),  # carrier-grade NAT, RFC 6598
    ipaddress.ip_network("192.88.99.0/24"),  # 6to4 relay anycast, RFC 7526
    ipaddress.ip_network("168.63.129.16/32"),  # what Azure tells its machines, their secrets among it
    ipaddress.ip_network("fec0::/10"),  # site-local, RFC 3879
    ipaddress.ip_network("2001::/23"),  # IETF protocol assignments (Teredo among them), RFC 2928
    ipaddress.ip_network("3fff::/20"),  # documentation, RFC 9637
    ipaddress.ip_network("64:ff9b:1::/48"),  # translation inside a network, RFC 8215
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: The lower half of an ISATAP address (RFC 5214) is one of these, then an IPv4 address.
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


class Guard:
    """Lets public addresses pass, and those networks the operator opened."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._allow = [_network(each) for each in allow]
        self._verdicts: dict[str, str | None] = {}

    def refusal(self, text: str) -> str | None:
        """Why `text` (an IP address) must not be visited, or None if it may."""
        try:
            return self._verdicts[text]
        except KeyError:
            pass
        if len(self._verdicts) > 100_000:
            self._verdicts.clear()
        verdict = self._verdicts[text] = self._judge(text)
        return verdict

    def _judge(self, text: str) -> str | None:
        address = ipaddress.ip_address(text.partition("%")[0])
        if any(_is_special(each) and not self._is_opened(each) for each in _readings(address)):
            return f"{text} is a private or special address"
        return None

    def _is_opened(self, address: Address) -> bool:
        return any(address.version == net.version and address in net for net in self._allow)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise ConfigError(
            f"fetch.allow_addresses: {text!r} is not a network ({error})",
            remedy='write it like "127.0.0.0/8"',
        ) from None


def _readings(address: Address) -> list[Address]:
    """All addresses this one may lead to: an IPv6 address can carry an IPv4 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]  # the kernel connects to the IPv4 address itself
    if address.sixtofour is not None:
        return [address, address.sixtofour]
    last = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _NAT64:
        return [last]  # how a machine without IPv4 reaches the old web (RFC 6052)
    if 1 < int(address) < 1 << 32 or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:  # :: and ::1 carry none
        return [address, last]
    return [address]


def _is_special(address: Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return True
    return any(address.version == net.version and address in net for net in _ALSO_SPECIAL)
