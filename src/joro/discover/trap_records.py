"""What is remembered of the traps of a server, and of a domain?

In:    nothing: these are records.
Out:   accounts of kinds of URLs, and all that is known of one server or domain, packed and unpacked.
Never: judges: that is the business of `traps` and `domains`.
"""

from __future__ import annotations

import msgspec

from joro.discover.aliases import Aliases

#: The wider kind's share counts as much as this many pages.
PRIOR_PAGES = 3
#: A new kind is tried so often, and of so many barren new kinds in a row.
TRIES, CHANCES = 3, 12
#: Bytes of a server's first filter (`novelty`).
LEAST_BYTES = 2_048


class Memory(msgspec.Struct, array_like=True):
    """What a server has said lately: two Bloom filters."""

    recent: bytearray = msgspec.field(default_factory=lambda: bytearray(LEAST_BYTES))
    older: bytearray = msgspec.field(default_factory=bytearray)
    pieces: int = 0  # in `recent`


class Account(msgspec.Struct, array_like=True):
    """What came of the pages of one kind."""

    visits: int = 0
    tries: int = TRIES
    chances: int = CHANCES  # new narrower kinds that may still be tried
    refused: int = 0
    proven: bool = False
    pages: float = 0.0  # the last ones, older ones fading
    worth: float = 0.0  # of these

    def share(self, prior: float) -> float:
        """The estimated share of pages worth their visit."""
        return (self.worth + PRIOR_PAGES * prior) / (self.pages + PRIOR_PAGES)

    def enter(self, novelty: float, last_pages: int) -> None:
        """Book a page."""
        fade = 1.0 - 1.0 / last_pages
        self.visits += 1
        self.pages = self.pages * fade + 1.0
        self.worth = self.worth * fade + novelty


class State(msgspec.Struct, array_like=True):
    """All that is known about the traps of one server."""

    accounts: dict[str, Account] = msgspec.field(default_factory=dict)
    memory: Memory = msgspec.field(default_factory=Memory)
    aliases: Aliases = msgspec.field(default_factory=Aliases)
    doubles: int = 0  # pages known under an alias, which may be visited once more without blame
    unsaved: int = 0
    #: Kinds not known to be worth their visits → pages that led to new ones of them.
    leading: dict[str, list[str]] = msgspec.field(default_factory=dict)


pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(State).decode


class Domain(msgspec.Struct, array_like=True):
    """All that is known about the servers of one domain."""

    servers: int = 0  # found
    account: Account = msgspec.field(default_factory=Account)  # of their first pages
    said: Memory = msgspec.field(default_factory=Memory)
    words: Memory = msgspec.field(default_factory=Memory)  # used lately
    proven: list[int] = msgspec.field(default_factory=list)  # fingerprints of servers that said something new
    probes: list[str] = msgspec.field(default_factory=list)  # servers let in although the domain is closed
    unsaved: int = 0


pack_domain = msgspec.msgpack.Encoder().encode
unpack_domain = msgspec.msgpack.Decoder(Domain).decode
