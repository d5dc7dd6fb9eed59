"""Does this domain have as many host names as one likes?

In:    the first page of every server that was read, with its links.
Out:   whether a server of a domain is worth a visit that nobody has visited yet.
Never: judges a domain by a few hosts, or one where many have pages of their own; a server that has.

A name server that knows every name makes a trap of hosts: each has one page, which leads to further hosts of
the domain and to nothing else. `traps` sees no such thing, because it looks at one server at a time. So of
each domain someone registered (`url.registrable_domain`; hosts of bloggers have domains of their own there)
two counts are kept: hosts whose first page led on to pages of their own, and hosts whose first page led only
to other hosts of the domain. Where nearly all are of the second sort, no more of them are visited.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

import msgspec

from joro.url import fingerprint, host_of, is_address, registrable_domain

#: A domain is shut when so many of its hosts led nowhere else, and so many for each that did.
BARREN, BARREN_FOR_ONE = 16, 8
#: With so many hosts that have pages of their own a domain is never shut.
TRUSTED = 1_000
#: Domains in memory, and how many hosts one has to have to be remembered for longer.
KEPT, REMEMBERED = 20_000, 8


class Crowd(msgspec.Struct, array_like=True):
    """The hosts of one domain."""

    barren: int = 0
    fruitful: set[int] = msgspec.field(default_factory=set)  # fingerprints of their servers
    unsaved: bool = False

    @property
    def is_shut(self) -> bool:
        """Are its hosts a trap, all but the fruitful ones?"""
        few = len(self.fruitful)
        return self.barren >= BARREN and few < TRUSTED and self.barren >= BARREN_FOR_ONE * few


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Crowd).decode


class Crowds:
    """The domains of one process; `load` finds what was saved of one."""

    def __init__(self, load: Callable[[str], bytes | None] = lambda domain: None) -> None:
        self._load = load
        self._crowds: OrderedDict[str, Crowd] = OrderedDict()
        self._leaving: dict[str, bytes] = {}

    def note(self, url: str, links: Iterable[str]) -> None:
        """The first page of a server was read."""
        server, domain = url[: url.index("/", 8)], _domain_of(url[: url.index("/", 8)])
        if not domain:
            return
        crowd = self._crowd(domain)
        if any(link.startswith(server + "/") and link != url for link in links):
            if len(crowd.fruitful) < TRUSTED:
                crowd.fruitful.add(fingerprint(server))
        elif any(domain in link and _domain_of(link[: link.index("/", 8)]) == domain for link in links):
            crowd.barren += 1
        else:
            return
        crowd.unsaved = True

    def why_shut(self, server: str) -> str:
        """Why a server should not be visited, in words; "" when it may."""
        domain = _domain_of(server)
        if not domain or not (crowd := self._crowd(domain)).is_shut or fingerprint(server) in crowd.fruitful:
            return ""
        return f"{crowd.barren} hosts of {domain} led only to further hosts of it"

    def unsaved(self) -> Iterator[tuple[str, bytes]]:
        """(domain, state) of domains with many hosts about which something is new."""
        yield from self._leaving.items()
        self._leaving.clear()
        for domain, crowd in self._crowds.items():
            if packed := _saved(crowd):
                yield domain, packed

    def _crowd(self, domain: str) -> Crowd:
        crowd = self._crowds.get(domain)
        if crowd is not None:
            return crowd
        saved = self._leaving.pop(domain, None) or self._load(domain)
        crowd = self._crowds[domain] = _unpack(saved) if saved else Crowd()
        if len(self._crowds) > KEPT:
            oldest, leaving = self._crowds.popitem(last=False)
            if packed := _saved(leaving):
                self._leaving[oldest] = packed
        return crowd


def _saved(crowd: Crowd) -> bytes:
    """What is worth saving of a domain; b"" if nothing is."""
    if not crowd.unsaved or crowd.barren + len(crowd.fruitful) < REMEMBERED:
        return b""
    crowd.unsaved = False
    return _pack(crowd)


@functools.lru_cache(maxsize=65_536)
def _domain_of(server: str) -> str:
    """The domain a server's host is one of many of; "" for an address, the domain itself and its `www`."""
    host = host_of(server + "/")
    if is_address(host):
        return ""
    domain = registrable_domain(host)
    return "" if host in (domain, f"www.{domain}") else domain
