"""Is there an end to this?

In:    every new link before it is registered, and again before it is visited; every page after its first
       visit.
Out:   the links worth registering, each in its proper spelling; a verdict in words on any URL.
Never: knows names of calendars, shops or session parameters; judges a page it has not seen pages like;
       forgets a verdict over a restart, if its states are saved.

Every kind of URL (`patterns.kinds`) has an account: of its last pages, how many said something new
(`novelty`), or led to new pages of a kind that does? The share is estimated with the wider kind's share as
a prior, so a new kind in a barren section starts poor and one on a rich server starts rich. A kind whose
share falls under LEAST is closed: no more of its URLs are registered or visited. A kind not seen before is
tried a few times, whatever its section is like, as long as the section's attempts with new kinds do
not mostly fail. A closed kind gets another try when the links refused number 64, 128, 256 …

So an archive of a million different articles is collected whole, and a calendar that has nothing more to
say costs some tens of visits, whatever its URLs look like.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from typing import Protocol

from joro.discover.domains import Domains
from joro.discover.novelty import novelty_of
from joro.discover.patterns import kinds
from joro.discover.trap_records import CHANCES, TRIES, Account, State, pack, unpack
from joro.url import server_of

#: A server is watched from this visit on: most servers are small, and cost nothing here.
WATCHED_FROM = 50
#: A kind with a smaller share of pages worth their visit is closed.
LEAST = 0.2
#: Where nearly all pages are worth their visit, in a kind tried often or on the whole server, only one in
#: SAMPLE is observed: looking at a page costs half as much as reading its links.
TRUSTED_SHARE, TRIED, TRUSTED_FROM, SAMPLE = 0.75, 4, 32, 8
#: Later pages count, not those of long ago: a kind is judged by about its last 32, a server by its last 256.
LAST_PAGES, LAST_PAGES_SERVER = 32, 256
#: Another try after so many refusals, and each time after twice as many.
FIRST_PROBE = 64
#: With fewer visits it may not show whether a kind is worth them. Until it does, pages that led to it are
#: remembered: so many to a kind, of so many kinds, with URLs of so many characters.
YOUNG, LEADING, LEADING_CHARS = 8, 8, 200
#: Accounts of one server; the least used gives way.
ACCOUNT_LIMIT = 96
#: Text under which a page says nothing that could be compared.
SAYS_BYTES = 160
#: Servers in memory; a state takes some 10 KB.
KEPT = 4_096
#: A state is saved after so many visits.
SAVED_EVERY = 32

SERVER = "*"


class Text(Protocol):
    """What a page says, as `parse.likeness` describes it."""

    @property
    def sketch(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def pieces(self) -> Collection[bytes]: ...


class Traps:
    """The guard of one process; `load` finds a saved state, `is_known` tells whether a server has pages."""

    def __init__(
        self,
        load: Callable[[str], bytes | None] = lambda server: None,
        is_known: Callable[[str], bool] = lambda server: True,
    ) -> None:
        self._load = load
        self._domains = Domains(load, is_known)
        self._states: OrderedDict[str, State | None] = OrderedDict()
        self._leaving: dict[str, bytes] = {}

    def admit(self, urls: list[str], source: str = "") -> list[str]:
        """Those of a page's links, none known yet, that are worth registering, in their proper spelling."""
        admitted = []
        for url in urls:
            server = server_of(url)
            if server not in self._states and not self._domains.lets_in(server):
                continue
            state = self._state(server)
            if state is None:
                admitted.append(url)
                continue
            proper = state.aliases.proper(url) if state.aliases.idle else url
            chain = kinds(proper)
            if _reason(state, chain) is None or _probe(state, chain):
                admitted.append(proper)
        if source:
            found = set(urls)  # what was spelled anew may be known
            self._reward(source, [url for url in admitted if url in found])
        return admitted

    def watches(self, url: str, visit: int) -> bool:
        """Should the `visit`-th page of a server be observed? Of kinds that keep their word, some."""
        server = server_of(url)
        if self._domains.watches(server, visit):
            return True
        state = self._state(server)
        if state is None:
            return visit >= WATCHED_FROM
        account = state.accounts.get(kinds(url)[-1])
        if account is None or account.visits < TRIED or account.share(0.0) < TRUSTED_SHARE:
            return True
        whole = state.accounts[SERVER]
        is_trusted = account.visits >= TRUSTED_FROM or whole.share(0.0) >= TRUSTED_SHARE
        return not is_trusted or visit % SAMPLE == 0

    def observe(self, url: str, text: Text, visit: int, links: Collection[str] = ()) -> float | None:
        """A page was visited for the first time, as the `visit`-th of its server; its novelty if watched."""
        server = server_of(url)
        if self._domains.watches(server, visit):
            self._domains.observe(url, text.pieces, links)
        state = self._state(server)
        if state is None:
            if visit < WATCHED_FROM:
                return None
            state = self._states[server] = State()
        novelty = novelty_of(state.memory, url, text.pieces)
        if text.length >= SAYS_BYTES:
            for slot in state.aliases.learn(url, text.sketch, new=novelty >= 0.5):
                _start_again(state, state.aliases.evidence[slot].pages)
        if novelty < 0.5 and state.doubles > 0:
            state.doubles -= 1
        else:
            _book(state, kinds(url), novelty)
        state.unsaved += 1
        return novelty

    def verdict(self, url: str) -> str | None:
        """Why the URL should not be visited, in words; None when it may."""
        state = self._state(server_of(url))
        if state is None:
            return None
        proper = state.aliases.proper(url)
        if proper != url:
            return f"a part of the URL makes no difference here; the same page is {proper}"
        return _reason(state, kinds(url))

    def shuns(self, server: str) -> str | None:
        """Why a server, as long as it is not watched, should not be asked, in words; None when it may."""
        return self._domains.shuns(server)

    @property
    def is_wary(self) -> bool:
        """Are there any such servers?"""
        return len(self._domains.closed) > 0

    def recall(self, server: str, saved: bytes | None) -> None:
        """What another process saved about a server counts, and nothing that was known here."""
        self._leaving.pop(server, None)
        self._states.pop(server, None)
        if saved:
            self._states[server] = unpack(saved)

    def unsaved(self, *, all_states: bool = False) -> Iterator[tuple[str, bytes]]:
        """(name, state) of servers and domains about which enough is new, or about which anything is."""
        yield from self._domains.unsaved(all_states=all_states)
        yield from self._leaving.items()
        self._leaving.clear()
        least = 1 if all_states else SAVED_EVERY
        for server, state in self._states.items():
            if state is not None and state.unsaved >= least:
                state.unsaved = 0
                yield server, pack(state)

    def shed(self) -> None:
        """Keep no state in memory; what is new in them is saved with the next commit."""
        for server, state in self._states.items():
            if state is not None and state.unsaved:
                self._leaving[server] = pack(state)
        self._states.clear()

    def _state(self, server: str) -> State | None:
        if server in self._states:
            self._states.move_to_end(server)
            return self._states[server]
        saved = self._leaving.pop(server, None) or self._load(server)
        state = self._states[server] = unpack(saved) if saved else None
        if len(self._states) > KEPT:
            oldest, leaving = self._states.popitem(last=False)
            if leaving is not None and leaving.unsaved:
                self._leaving[oldest] = pack(leaving)
        return state

    def _reward(self, source: str, admitted: list[str]) -> None:
        """A page that says nothing is worth its visit all the same if it leads to pages that do."""
        server = server_of(source)
        state = self._states.get(server)
        if state is None:
            return
        own = kinds(source)
        inside = (kinds(url)[-1] for url in admitted if url.startswith(server + "/"))
        others = [kind for kind in inside if kind != own[-1]]
        if any(_is_rich(state, kind) for kind in others):
            _credit(state, own)
        elif len(source) <= LEADING_CHARS:
            young = next((kind for kind in others if _is_young(state, kind)), None)
            if young is not None:
                _note(state.leading, young, source)


def _note(leading: dict[str, list[str]], young: str, source: str) -> None:
    sources = leading.setdefault(young, [])
    if len(sources) < LEADING:
        sources.append(source)
    if len(leading) > LEADING:
        del leading[next(iter(leading))]


def _credit(state: State, chain: tuple[str, ...]) -> None:
    """A page of this kind led to new pages that say something."""
    for kind in chain:
        account = state.accounts.get(kind)
        if account is not None:
            account.worth = min(account.pages, account.worth + 0.5)


def _is_rich(state: State, kind: str) -> bool:
    account = state.accounts.get(kind)
    return account is not None and account.worth >= 2 and account.share(0) >= 0.5


def _is_young(state: State, kind: str) -> bool:
    account = state.accounts.get(kind)
    return account is None or account.visits < YOUNG


def _reason(state: State, chain: tuple[str, ...]) -> str | None:
    """Why no more URLs of this kind are wanted."""
    parent = state.accounts.get(SERVER)
    if parent is None:
        return None
    share = parent.share(1.0)
    for kind in chain:
        account = state.accounts.get(kind)
        if account is None:
            if parent.chances > 0:
                return None
            return f"the last {CHANCES} kinds of URL like {kind} brought nothing new"
        share = account.share(share)
        parent = account
    if parent.visits < parent.tries or share >= LEAST:
        return None
    return (
        f"of the last {round(parent.pages)} pages like {chain[-1]} "
        f"{round(100 * parent.worth / max(1.0, parent.pages))} % brought something new"
    )


def _probe(state: State, chain: tuple[str, ...]) -> bool:
    """Count a refusal; now and then it is lifted."""
    for kind in reversed((SERVER, *chain)):
        account = state.accounts.get(kind)
        if account is None:
            continue
        account.refused += 1
        if account.refused < FIRST_PROBE or account.refused & account.refused - 1:
            return False
        if kind == chain[-1]:
            account.tries = account.visits + 1
        else:
            account.chances = max(account.chances, 1)
        return True
    return False


def _book(state: State, chain: tuple[str, ...], novelty: float) -> None:
    accounts = state.accounts
    parent: Account | None = None
    for kind in (SERVER, *chain):
        account = accounts.get(kind)
        if account is None:
            account = accounts[kind] = Account()
            if parent is not None:
                parent.chances -= 1
        account.enter(novelty, LAST_PAGES_SERVER if kind == SERVER else LAST_PAGES)
        if novelty >= 0.5 and not account.proven:
            account.proven = True
            if parent is not None:
                parent.chances = min(CHANCES, parent.chances + 2)  # one of them was used up
        parent = account
    _settle(state, chain[-1])
    if len(accounts) > ACCOUNT_LIMIT:
        del accounts[min(list(accounts)[1:-4], key=lambda kind: accounts[kind].visits)]


def _settle(state: State, kind: str) -> None:
    """Once it shows whether a kind is worth its visits, so does what leading to it was worth."""
    if kind not in state.leading:
        return
    if _is_rich(state, kind):
        for source in state.leading.pop(kind):
            _credit(state, kinds(source))
    elif not _is_young(state, kind):
        del state.leading[kind]


def _start_again(state: State, doubles: int) -> None:
    """Aliases are found out: what they did to the accounts is undone."""
    state.doubles += doubles
    for account in state.accounts.values():
        account.pages = account.worth = 0.0
        account.tries = account.visits + TRIES
        account.chances = CHANCES
