"""How does a robot work for a manager?

In:    letters: servers that come and go, links that others found, what was told late.
Out:   posts: what each commit changed, found and gave back; a frontier that holds exactly our servers.
Never: visits a server without a lease, or one that is on its way to somebody else; takes a letter twice or
       forgets a post: both share a commit with all they led to. Waits for the manager: `pulse` talks to it.
Paper: S1 5.1.2, M1 to M4, in the form of `coordinate.beat`; docs/decisions/0008.

Letters change the frontier right after a commit, when all it knows is on disk. What they lead to is in the
next one, which comes at once, together with their numbers:

    leaving servers that nobody visits → dropped        what was told late → merged
    Given → adopted     Wanted, Lost, Restart → leaving     Links → mail, added before the next commit
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from joro import __version__
from joro.clock import Clock
from joro.coordinate.beat import (
    BEAT_BYTES,
    Answer,
    Beat,
    Changes,
    Effort,
    Given,
    Late,
    Letter,
    Link,
    Links,
    Lost,
    Restart,
    Wanted,
    encode,
)
from joro.coordinate.jetstream import Straight
from joro.coordinate.mail import sound
from joro.coordinate.portions import posts
from joro.coordinate.units import server_in
from joro.errors import CollectionError
from joro.model import Visit
from joro.robot.pieces import Pieces
from joro.robot.premises import Premises
from joro.robot.pulse import Pulse
from joro.robot.transfers import Transfers
from joro.store.journal import Keys, fold
from joro.url import server_of

#: Nobody is out any more when so much of a lease is left, and at most so many seconds of it.
SPARE, MOST_SPARE_S = 0.1, 1.0

#: Pages that come or go with one commit, about: a thousand of them take some 10 ms, and all the others wait.
MOVED_AT_ONCE = 20_000

#: Under which names the frontier remembers servers, posts, and what was told late.
_OURS, _POST, _LATE = "ours ", "post ", "late "
_WANTED, _LOST = b"wanted", b"lost"

#: What became of a server: entries of its journal.
History = Sequence[tuple[bool, Changes]]


@dataclass(frozen=True, slots=True)
class _Read:
    """A letter that can be acted upon."""

    letter: Letter
    history: History
    came_at: float


class Member:
    """One robot among those of a manager (see `coordinate.post.Neighbours`)."""

    alone = False
    sent: dict[int, int] = {}  # noqa: RUF012 - nobody counts batches by robot here
    read: dict[int, int] = {}  # noqa: RUF012

    def __init__(
        self,
        premises: Premises,
        pulse: Pulse,
        transfers: Transfers,
        clock: Clock,
        *,
        name: str,
        identity: str,
        sockets: int,
        straight: Straight | None = None,
    ) -> None:
        self._premises = premises
        self._frontier = premises.frontier
        self._pulse = pulse
        self._transfers = transfers
        self._clock = clock
        self._name, self._identity, self._sockets = name, identity, sockets
        self._straight = straight  # to other robots, past the manager
        self.open_until = 0.0
        self._pieces = Pieces(premises.frontier)
        self._offered: list[Link] = []
        self._released: list[str] = []
        self._efforts: dict[str, list[int]] = {}
        self._closing: list[tuple[int, bytes]] = []  # posts in the commit under way
        self._incoming: deque[Letter] = deque()
        self._ready: deque[_Read] = deque()
        self._mail: list[Link] = []
        self._is_started = False
        self._commits_soon = False
        self._moved = 0  # pages, since the last commit
        self.has_more_posts = False  # than the last beat told
        self._hurries = self._has_more = False  # the manager should hear of it; it has more letters for us
        self._recall()
        self._frontier.tell = self._tell
        pulse.member = self

    def _recall(self) -> None:
        """What the last commit wrote down."""
        kept = self._frontier.kept
        servers = {name.removeprefix(_OURS): value for name, value in kept(_OURS).items()}
        self._here = {server: int(value) if value.isdigit() else None for server, value in servers.items()}
        self._leaving = {
            server: value == _WANTED for server, value in servers.items() if value in (_WANTED, _LOST)
        }
        self._posts = deque((int(name.split()[1]), packed) for name, packed in sorted(kept(_POST).items()))
        self._late = {
            name: msgspec.msgpack.decode(packed, type=Changes) for name, packed in kept(_LATE).items()
        }
        self._number = int(kept("posted").get("posted", b"0"))
        self._taken = self._read = int(kept("letter").get("letter", b"0"))
        self._heard = self._opened = self._read  # letters up to these numbers are here, and being read
        self._restarts = bool(kept("restarts"))
        self._late_number = max((int(name.split()[1]) for name in self._late), default=0)

    @property
    def failure(self) -> Exception | None:
        """Why the managers want nothing to do with us."""
        return self._pulse.failure

    @property
    def word(self) -> str:
        """For people: what keeps us from collecting; nothing when all is well."""
        if self._pulse.away:
            return self._pulse.away
        return "" if self._clock.now() < self.open_until else "waiting for a lease"

    @property
    def wants_commit(self) -> bool:
        """There are letters to act upon, or servers that can leave."""
        if self._commits_soon or self._can_take:
            return True
        return any(not self._premises.is_busy(server) for server in self._leaving)

    def has_mail(self) -> bool:
        """Have links come straight from others? What the manager sends is in `wants_commit`."""
        return self._straight is not None and self._straight.has_mail

    @property
    def is_parting(self) -> bool:
        return bool(self._leaving)

    @property
    def is_empty(self) -> bool:
        """Nothing to tell, and nothing that was told to us is left to do."""
        to_tell = self._offered or self._released or self._closing or self._posts
        if self._straight is not None and not self._straight.is_empty:
            return False
        return not (to_tell or self._incoming or self._ready or self._mail or self._leaving or self._late)

    def is_ours(self, url: str) -> bool:
        server = server_of(url)
        return server in self._here and self._pieces.has(server, url)

    def stretch(self, server: str) -> float:
        return self._pieces.stretch(server)

    def may_enter(self, server: str) -> bool:
        """One that leaves has had its last turn."""
        return server in self._here and server not in self._leaving

    def sow(self, seeds: list[str]) -> list[str]:
        """Who has a seed's server is the manager's business, if it is not us."""
        self._offered += [Link(url, 0) for url in seeds if not self.is_ours(url)]
        return [url for url in seeds if self.is_ours(url)]

    def offer(self, link: Link) -> None:
        if self._straight is None or not self._straight.offer(link):
            self._offered.append(link)

    def note(self, visit: Visit, *, is_page: bool) -> None:
        """Count what a visit cost; a server that was given for a probe goes after its last page."""
        server, response = visit.page.server, visit.response
        size = len(response.head) + len(response.body) if response is not None else 0
        effort = self._efforts.setdefault(self._pieces.unit(server), [0, 0, 0])
        for place, more in enumerate((int(is_page), size, round(visit.elapsed_s * 1_000))):
            effort[place] += more
        self._transfers.note(visit)
        left = self._here.get(server)
        if is_page and left is not None:
            self._here[server] = left - 1
            self._frontier.keep(_OURS + server, str(max(left - 1, 0)).encode())
            if left <= 1:
                self._let_go(self._pieces.unit(server), is_wanted=True)

    def start(self) -> None:
        self._is_started = True
        self._pulse.start()
        if self._straight is not None:
            self._straight.start()

    async def leave(self) -> None:
        """Tell the last posts, and give the lease back."""
        self.open_until = 0.0
        self._transfers.flush()
        await self._pulse.stop()
        if self._straight is not None:
            await self._straight.close()

    def before_commit(self) -> list[Link]:
        """Links that came; if one's server has left since, it goes back to the manager."""
        while self._can_take and isinstance(self._ready[0].letter.content, Links):
            self._take(self._ready.popleft())
        if self._straight is not None:
            self._mail += self._straight.before_commit()
        mail, self._mail = sound(self._mail), []
        self._offered += [link for link in mail if not self.is_ours(link.url)]
        return [link for link in mail if self.is_ours(link.url)]

    def _tell(self, changes: dict[str, Keys]) -> None:
        """Write a post into the commit, or more where there is much to tell."""
        unit = self._pieces.unit
        ours = {unit(server): keys for server, keys in changes.items() if server in self._here}
        efforts = [Effort(name, *numbers) for name, numbers in self._efforts.items()]
        for post in posts(self._number + 1, ours, self._offered, self._released, efforts):
            self._number = post.number
            self._closing.append((post.number, encode(post)))
            self._frontier.keep(f"{_POST}{post.number:012d}", self._closing[-1][1])
            self._frontier.keep("posted", str(post.number).encode())
        self._hurries |= bool(self._released) or (self._has_more and self._taken != self._read)
        self._offered, self._released, self._efforts = [], [], {}
        self._frontier.keep("letter", str(self._taken).encode())

    def after_commit(self) -> list[str]:
        """What was committed can be told; then letters are acted upon. Servers that should have a turn."""
        if self._hurries:
            self._pulse.hurry()
            self._hurries = False
        if self._straight is not None:
            self._straight.after_commit()
        self._posts += self._closing
        self._closing, self._read, self._commits_soon = [], self._taken, False
        self._transfers.flush()
        if not self._is_started:
            return []
        self._start_afresh()
        self._moved = 0
        servers = self._part() + self._merge_late()
        while self._can_take and self._moved < MOVED_AT_ONCE:
            self._take(self._ready.popleft())
        if self._commits_soon:
            self._premises.wake()
            self._pulse.read_on()  # what had to wait for a server that leaves
        return servers

    @property
    def _can_take(self) -> bool:
        return bool(self._ready) and self._is_started and not self._restarts

    def _start_afresh(self) -> None:
        """All servers have left because we were told to restart: what we knew of their pages goes, too."""
        if self._restarts and not self._here:
            self._frontier.forget_marks()
            self._frontier.keep("restarts", None)
            self._restarts, self._commits_soon = False, True

    def _part(self) -> list[str]:
        """Drop the servers that leave, unless somebody is still there."""
        busy = self._premises.is_busy
        awaited = {server_in(changes.server) for changes in self._late.values()}
        leaving = [server for server in self._leaving if not busy(server) and server not in awaited]
        stranded: list[str] = []
        for server in leaving:
            if self._moved >= MOVED_AT_ONCE:
                break
            self._moved += self._premises.pages_of(server)
            stranded += self._premises.give_up(server)
            if self._leaving.pop(server):
                self._released.append(self._pieces.unit(server))
            del self._here[server]
            self._pieces.drop(server)
            self._frontier.keep(_OURS + server, None)
            self._commits_soon = True
        return stranded

    def _merge_late(self) -> list[str]:
        late, self._late = self._late, {}
        for name, changes in late.items():
            if self._has(changes.server):
                self._premises.take_late(server_in(changes.server), changes.keys)
            self._frontier.keep(name, None)
            self._commits_soon = True
        return [server_in(changes.server) for changes in late.values()]

    def _has(self, unit: str) -> bool:
        """Is it here, and not another part of the same server?"""
        server = server_in(unit)
        return server in self._here and self._pieces.unit(server) == unit

    def _take(self, read: _Read) -> None:
        """Act upon a letter; the commit that writes what it led to writes its number."""
        self._taken, self._commits_soon = read.letter.number, True
        self._hurries |= not isinstance(read.letter.content, Links)
        match read.letter.content:
            case Links(links):
                self._mail += links
            case Given() as given:
                self._adopt(given, read.history, read.came_at)
            case Wanted(servers):
                for unit in servers:
                    self._let_go(unit, is_wanted=True)
            case Lost(servers):
                for unit in servers:
                    self._let_go(unit, is_wanted=False)
            case Late(changes):
                self._note_late(changes)
            case Restart():
                self._restarts = True
                self._frontier.keep("restarts", b"yes")
                for server in list(self._here):
                    self._let_go(self._pieces.unit(server), is_wanted=False)

    def _adopt(self, given: Given, history: History, came_at: float) -> None:
        server = server_in(given.server)
        if server not in self._here:
            self._pieces.take(given)
            state, late = fold((is_late, changes.keys) for is_late, changes in history)
            self._moved += len(state)
            is_new = not given.journal and not given.wait_s
            free_at = 0.0 if is_new else came_at + given.wait_s
            self._premises.take_over(server, state, free_at, 1.0 + self._pieces.phase(server))
            for keys in late:
                self._note_late(Changes(given.server, keys))
        self._here[server] = given.most_pages
        self._frontier.keep(_OURS + server, str(given.most_pages or "").encode())

    def _let_go(self, unit: str, *, is_wanted: bool) -> None:
        server = server_in(unit)
        if self._has(unit):
            self._leaving[server] = is_wanted and self._leaving.get(server, True)
            self._frontier.keep(_OURS + server, _WANTED if self._leaving[server] else _LOST)
        elif is_wanted:
            self._released.append(unit)  # as wished: we have it not

    def _note_late(self, changes: Changes) -> None:
        self._late_number += 1
        name = f"{_LATE}{self._late_number:012d}"
        self._late[name] = changes
        self._frontier.keep(name, msgspec.msgpack.encode(changes))

    def beat(self, *, leaves: bool = False, most_bytes: int = BEAT_BYTES) -> bytes:
        """What to tell the manager now, posts of about so many bytes among it."""
        report, size = self._premises.report(), 0
        told_now: list[msgspec.Raw] = []
        for _, packed in self._posts:
            if told_now and size + len(packed) > most_bytes:
                break
            told_now.append(msgspec.Raw(packed))
            size += len(packed)
        more = self.has_more_posts = len(told_now) < len(self._posts)
        told = Beat(
            self._name,
            self._identity,
            self._clock.now(),
            self._read,
            told_now,  # type: ignore[arg-type]  # packed already
            self._sockets,
            max(report.waiting, 0),
            max(report.visited, 0),
            report.idle,
            __version__,
            more,
            leaves=leaves and not more,
            exchange=self._straight is not None,
        )
        return encode(told)

    @property
    def has_posts(self) -> bool:
        """Is anything committed that the manager does not know?"""
        return bool(self._posts)

    def is_over(self) -> None:
        """The managers will not have us: let the robot notice."""
        self._premises.wake()

    def answered(self, answer: Answer, sent_at: float) -> None:
        """Take in what a manager answered to a beat sent then."""
        if answer.received > self._number:  # it would take our next ones for repetitions
            raise CollectionError(
                f"the manager has {answer.received:,} posts of {self._name}, and {self._number:,} were "
                "written here: this collection is an old copy",
                remedy="register it under another name: joro manager robot add NAME",
            )
        while self._posts and self._posts[0][0] <= answer.received:
            number, _ = self._posts.popleft()
            self._frontier.keep(f"{_POST}{number:012d}", None)
        if self._straight is not None:
            self._straight.learn(answer.owners, answer.silent)
        self._has_more = answer.more
        spare_s = min(SPARE * answer.lease_s, MOST_SPARE_S)
        self.open_until = sent_at + answer.lease_s - spare_s if answer.lease_s else 0.0
        for letter in answer.letters:
            if letter.number > self._heard:
                self._heard = letter.number
                self._incoming.append(letter)
        self._premises.wake()

    def next_letter(self) -> Letter | None:
        """The next letter to be read; a server that is here, and may have to leave before, must wait."""
        if not self._incoming:
            return None
        content = self._incoming[0].content
        may_leave = self._restarts or self._taken < self._opened
        if isinstance(content, Given):
            server = server_in(content.server)
            if server in self._leaving or (may_leave and server in self._here):
                return None
        self._opened = self._incoming[0].number
        return self._incoming.popleft()

    def is_read(self, letter: Letter, history: History, came_at: float) -> None:
        """A letter can be acted upon: the journal of a server that is given is here."""
        self._ready.append(_Read(letter, history, came_at))
        self._premises.wake()
