"""What kind of synthetic internet is wanted?

Out:   one frozen `Settings`; seed, hosts, pages, addresses, profile, sizes and roles alone decide every byte
       the web ever serves at a given virtual time.
Never: holds anything that changes while the web runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from joro.errors import UsageError

#: 2026-01-01T00:00Z: virtual time starts here, whatever today is, so that bytes do not depend on today.
EPOCH = 1_767_225_600.0


ADDRESSING = ("one", "own")
PROFILES = ("mixed", "bench")
SIZES = ("power-law", "even")
LOOPBACK = "127.0.0.0/8"
#: As long as a robot waits by default (fetch.timeout_s): behind more, there is nothing to see.
MOST_LATENCY_S = 60.0
MOST_PORT = 65_535


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen about a test web."""

    seed: int = 7
    hosts: int = 1_000
    pages: int = 20_000
    addresses: str = "one"  # all hosts on the network's first address, or each on its "own"
    network: str = LOOPBACK  # 10.…: of a machine on a network of ours, see `scaling.network`
    profile: str = "mixed"  # "bench": only well-behaved hosts, 20 KB pages with exactly 30 links
    sizes: str = "power-law"  # pages of a host; "even": all have as many
    roles: tuple[str, ...] = ()  # only these roles (and normal); none = all of them
    speed: float = 1.0  # virtual seconds per real second; 0: they pass when the oracle is told so
    latency_s: float = 0.0  # real time every answer is held back, so that overlapping requests show
    memory_bytes: int = 1_000_000_000  # ready answers kept
    warm: bool = False  # make every page before serving the first
    port: int = 0  # 0: any free one
    dns_port: int = 0  # UDP; -1: no name server
    log: Path | None = None  # access log also written here, as TSV

    def __post_init__(self) -> None:
        _check(self.hosts >= 1, f"hosts = {self.hosts}", "give 1 or more")
        _check(self.hosts <= 4_000_000, f"hosts = {self.hosts}", "give 4,000,000 or fewer")
        _check(
            self.pages >= self.hosts, f"pages = {self.pages}", f"give at least one per host ({self.hosts})"
        )
        _check(0 <= self.port <= MOST_PORT, f"port = {self.port}", f"give 0 (any free one) to {MOST_PORT}")
        _check(
            -1 <= self.dns_port <= MOST_PORT,
            f"dns_port = {self.dns_port}",
            f"give -1 (none), 0 (any free one) or up to {MOST_PORT}",
        )
        _check(self.memory_bytes >= 0, f"memory = {self.memory_bytes / 1e6:g} MB", "give 0 or more")
        _check(0 <= self.speed < math.inf, f"speed = {self.speed}", "give 0 or more")
        _check(
            0 <= self.latency_s <= MOST_LATENCY_S,
            f"latency = {self.latency_s:g} s",
            f"give 0 to {MOST_LATENCY_S * 1_000:,.0f} ms",
        )
        _check(
            self.dns_port >= 0 or self.addresses == "one", "own addresses without DNS", "drop one of the two"
        )
        _check(self.addresses in ADDRESSING, f"addresses = {self.addresses!r}", "give one or own")
        _check(_is_ours(self.network), f"network = {self.network!r}", "give one in 10.0.0.0/8")
        _check(self.profile in PROFILES, f"profile = {self.profile!r}", "give mixed or bench")
        _check(self.sizes in SIZES, f"sizes = {self.sizes!r}", "give power-law or even")

    def address(self, place: int = 1) -> str:
        """The address at that place of the network."""
        network = IPv4Network(self.network)
        _check(place < network.num_addresses, f"network = {self.network!r}", "give a larger one")
        return str(network[place])


def _is_ours(network: str) -> bool:
    try:
        return any(IPv4Network(network).subnet_of(IPv4Network(each)) for each in (LOOPBACK, "10.0.0.0/8"))
    except ValueError:
        return False


def _check(right: bool, what: str, remedy: str) -> None:
    if not right:
        raise UsageError(f"test web: {what} cannot be", remedy=remedy)
