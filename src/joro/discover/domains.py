"""Is there an end to the servers of this domain?

In:    every server when the first link to it is found; its first pages, in the order of the visits.
Out:   whether another server of a domain is let in; why those that wait are not asked any more, in words.
Never: knows names of hosts or what they look like; judges a domain with few servers, or one whose servers
       each say something of their own; forgets a verdict over a restart, if its states are saved.

Whoever answers to every name below a domain (`*.trap.example`) can link to a new server on every page. Each
has few pages then, and `traps` never sees enough of one. So a domain has an account, as kinds of URLs have:
of the first pages of its last servers, how many said something new? A page did not, if others of the domain
have said all of it; nor if it leads to still more servers of the domain and has no word that they have not
used: endless pages are made by rote, out of a stock of words. Where the share falls under LEAST, servers that
have said nothing new themselves are not asked. Now and then one is all the same, and if it has something
to say, the account starts again. The domain itself and its `www` are never refused.

So a provider with a hundred thousand blogs is collected whole, each with its own text; where the public
suffix list names him, each blog is a domain of its own anyway.
"""

from __future__ import annotations

import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator

from xxhash import xxh3_64_intdigest

from joro.discover.novelty import learn, novelty_of
from joro.discover.trap_records import Domain, pack_domain, unpack_domain
from joro.url import fingerprint, host_of, registrable_domain, server_of

#: A domain is judged from so many servers on, and looked at from half as many.
FIRST_SERVERS = 50
WATCHED_FROM = 25
#: Of each server so many pages count.
FIRST_PAGES = 2
#: A domain with a smaller share of pages worth their visit is closed; about the last 32 pages count.
LEAST, LAST_PAGES = 0.2, 32
#: Another try after so many refusals, and each time after twice as many.
FIRST_PROBE = 64
#: Servers that are remembered: those on trial, and those that said something new.
PROBES, PROVEN = 16, 1_024
#: Words of a page its neighbours have not used; fewer may be a code it was given.
NEW_WORDS = 3
#: Domains of which the servers are counted, and those of which more is known (some 10 KB each).
COUNTED, KEPT = 65_536, 1_024
#: A state is saved after so many pages.
SAVED_EVERY = 32
#: Before the name of a domain, where its state is kept beside those of servers.
PREFIX = "*."

#: Shorter words are too many and too common; where words are not told apart, three letters of three bytes.
_WORD = re.compile(rb"[A-Za-z]{4,}|[\x80-\xff]{1,9}")


class Domains:
    """The accounts of one process; `load` finds a saved one, `is_known` tells whether a server has pages."""

    def __init__(self, load: Callable[[str], bytes | None], is_known: Callable[[str], bool]) -> None:
        self._load = load
        self._is_known = is_known
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._states: OrderedDict[str, Domain] = OrderedDict()
        self._leaving: dict[str, bytes] = {}
        #: Domains of which no more servers are wanted, as far as their states are at hand.
        self.closed: set[str] = set()

    def lets_in(self, server: str) -> bool:
        """May a server to which a link was found have pages from now on?"""
        if self._is_known(server):
            return True
        domain = domain_of(server)
        state = self._state(domain)
        if not domain:
            return True
        if state is None:
            self._count(domain)
            return True
        state.servers += 1
        return domain not in self.closed or self._probe(state, server)

    def shuns(self, server: str) -> str | None:
        """Why a server, as long as it has few pages, should not be asked, in words; None when it may."""
        domain = domain_of(server)
        state = self._state(domain)
        if domain not in self.closed or state is None:
            return None
        if server in state.probes or fingerprint(server) in state.proven:
            return None
        account = state.account
        return (
            f"of the last {round(account.pages)} first pages of servers of {domain} "
            f"{round(100 * account.worth / max(1.0, account.pages))} % said something new"
        )

    def watches(self, server: str, visit: int) -> bool:
        """Should the `visit`-th page of a server be observed, counted from 0?"""
        return visit < FIRST_PAGES and self._state(domain_of(server)) is not None

    def observe(self, url: str, pieces: Collection[bytes], links: Collection[str]) -> None:
        """One of the first pages of a server was visited for the first time."""
        server = server_of(url)
        domain = domain_of(server)
        state = self._state(domain)
        leads_on = self._leads_on(server, domain, links)
        if state is None or not (pieces or leads_on):
            return  # a front page without text, or a redirect to elsewhere, is no part of something endless
        novelty = novelty_of(state.said, url, pieces)
        is_worded = _new_words(state, pieces, (url, *links)) >= NEW_WORDS
        if leads_on and not is_worded:
            novelty = 0.0
        if server in state.probes:
            state.probes = [one for one in state.probes if one != server]
            if novelty >= 0.5 and is_worded:
                state.account.pages = state.account.worth = 0.0
        if novelty >= 0.5 and (mark := fingerprint(server)) not in state.proven[-FIRST_PAGES:]:
            state.proven = [*state.proven[1 - PROVEN :], mark]
        state.account.enter(novelty, LAST_PAGES)
        state.unsaved += 1
        self._judge(domain, state)

    def unsaved(self, *, all_states: bool = False) -> Iterator[tuple[str, bytes]]:
        """(name, state) of domains about which enough is new, or about which anything is."""
        yield from self._leaving.items()
        self._leaving.clear()
        least = 1 if all_states else SAVED_EVERY
        for domain, state in self._states.items():
            if state.unsaved >= least:
                state.unsaved = 0
                yield PREFIX + domain, pack_domain(state)

    def _leads_on(self, server: str, domain: str, links: Collection[str]) -> bool:
        """Does a page lead to a server of its domain that nobody knows? Another scheme makes no other one."""
        host = _plain(server)
        others = {server_of(link) for link in links} - {server}
        return any(
            domain_of(other) == domain and _plain(other) != host and not self._is_known(other)
            for other in others
        )

    def _count(self, domain: str) -> None:
        count = self._counts.pop(domain, 0) + 1
        if count >= WATCHED_FROM:
            self._keep(domain, Domain(servers=count))
            return
        self._counts[domain] = count
        if len(self._counts) > COUNTED:
            self._counts.popitem(last=False)

    def _probe(self, state: Domain, server: str) -> bool:
        """Count a refusal; now and then it is lifted."""
        state.unsaved += 1
        state.account.refused += 1
        refused = state.account.refused
        if refused < FIRST_PROBE or refused & refused - 1:
            return False
        state.probes = [*state.probes[1 - PROBES :], server]
        return True

    def _state(self, domain: str) -> Domain | None:
        state = self._states.get(domain)
        if state is not None:
            self._states.move_to_end(domain)
            return state
        if not domain or domain in self._counts:
            return None
        saved = self._leaving.pop(PREFIX + domain, None) or self._load(PREFIX + domain)
        if saved:
            state = unpack_domain(saved)
            self._keep(domain, state)
            self._judge(domain, state)
        return state

    def _keep(self, domain: str, state: Domain) -> None:
        self._states[domain] = state
        if len(self._states) > KEPT:
            oldest, leaving = self._states.popitem(last=False)
            self.closed.discard(oldest)
            self._leaving[PREFIX + oldest] = pack_domain(leaving)

    def _judge(self, domain: str, state: Domain) -> None:
        if state.servers >= FIRST_SERVERS and state.account.share(1.0) < LEAST:
            self.closed.add(domain)
        else:
            self.closed.discard(domain)


@functools.lru_cache(maxsize=8_192)
def domain_of(server: str) -> str:
    """The domain of which a server's host is one of many; "" for an address, a domain itself, its `www`."""
    host = host_of(server + "/")
    domain = registrable_domain(host)
    return "" if host in (domain, f"www.{domain}") else domain


def _plain(server: str) -> str:
    return host_of(server + "/").removeprefix("www.")


def _new_words(state: Domain, pieces: Collection[bytes], urls: Collection[str]) -> int:
    """How many words of a page its domain has not used lately; those of names it links to do not count."""
    names = " ".join({host_of(url) for url in urls}).encode().translate(None, b"0123456789")  # as in pieces
    words = {word.lower() for piece in pieces for word in _WORD.findall(piece)}
    new = words - set(_WORD.findall(names))
    return sum(learn(state.words, xxh3_64_intdigest(word)) for word in new)
