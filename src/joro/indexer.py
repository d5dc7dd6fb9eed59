"""How do archived pages become searchable, each in its newest version?

In:    a collection: what its archive holds beyond the position reached last time.
Out:   its index, and beside it the new position.
Never: asks the web; leaves a page half changed; loses or doubles one when killed; makes searchable what its
       owner, or an order, wants not to be found; keeps quiet about captures that cannot be read.

    archive ── replay ──▶ capture ──▶ entry ── put ──▶ index ── commit ──▶ position
                              └────▶ gone, noindex, no text, taken down ── remove ──▲

The position is written after the commit. Killed in between, we read the same captures again and put the
same entries in the place of themselves.
"""

from __future__ import annotations

import enum
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from joro.archive.cdx import index_of, whole_lines
from joro.archive.check import missing
from joro.archive.far import size_of
from joro.archive.index import CaptureIndex, Limits
from joro.archive.names import Position, number_of, sorted_index, streams, warcs
from joro.archive.read import (
    CAPTURES,
    Record,
    capture_in,
    offsets,
    read_at,
    readable,
    response_at,
    response_of,
)
from joro.clock import RealClock
from joro.errors import ArchiveError
from joro.index.erase import erase
from joro.index.segment import Entry, Writer, discard, place
from joro.index.terms import legible
from joro.model import Capture, Document, Response
from joro.parse.copies import is_near_copy, text_mark
from joro.parse.missing import is_sent_home, is_soft_404, target_of
from joro.parse.page import document
from joro.parse.payload import is_html, mime_of, unwrap
from joro.parse.rights import ROBOTS_FILE, TDM_FILE, Purpose, TermsBook, may, page_rights
from joro.store.collection import Collection
from joro.store.durable import write_whole
from joro.store.orders import COLLECTED, OrderBook
from joro.url import path_of

log = logging.getLogger(__name__)

#: Captures between two commits. A commit costs about as much as indexing a hundred pages.
BATCH = 5_000
#: How long `follow` rests when the archive has not grown.
REST_S = 1.0
#: A longer title is no title; it would crowd out everything else in a result.
TITLE_LIMIT_CHARS = 300
#: What to do about captures that cannot be read; once read past, they are not looked for again.
RESTORE = "see joro archive check, restore the file from a copy, and run: joro index --rebuild"
#: Where nobody knows what servers say.
NO_BOOK = TermsBook(lambda url: b"")


class Decision(enum.Enum):
    """What became of one capture."""

    INDEXED = "indexed"
    SOFT_404 = "soft 404"  # indexed, but found by whoever asks for all only
    REMOVED = "removed"  # the page was searchable and is no longer
    UNCHANGED = "as before"
    OLDER = "older than the searchable version"
    NO_PAGE = "redirect or error"  # it may be a page again: what is searchable stays so
    SENT_HOME = "sent to the front page"  # the same, though most often it means that the page is gone
    GONE = "gone"
    NOT_HTML = "not HTML"
    NOINDEX = "noindex"  # or Content-Signal: search=no
    TAKEN_DOWN = "taken down"
    EMPTY = "without text"
    UNREADABLE = "unreadable"


#: Decisions that say nothing about the page itself.
_INCONCLUSIVE = frozenset({Decision.NO_PAGE, Decision.SENT_HOME, Decision.UNREADABLE})


@dataclass(slots=True)
class Counts:
    """How far the indexer has come."""

    decisions: Counter[Decision] = field(default_factory=Counter)
    searchable: int = 0  # pages in the index
    read_bytes: int = 0  # of the archive
    waiting_bytes: int = 0  # of the archive, when the present pass began
    lost: dict[str, int] = field(default_factory=dict)  # captures that could not be read, by WARC

    @property
    def captures(self) -> int:
        return self.decisions.total()


Progress = Callable[[Counts], None]


def index_new(collection: Collection, progress: Progress | None = None, *, rebuild: bool = False) -> Counts:
    """Make everything searchable that the archive holds by now."""
    with _indexing(collection, progress, rebuild) as indexer:
        indexer.miss()
        indexer.catch_up()
        return indexer.counts


def follow(collection: Collection, stop: threading.Event, progress: Progress | None = None) -> Counts:
    """Make pages searchable as the robot archives them, until `stop` is set."""
    with _indexing(collection, progress) as indexer:
        indexer.miss()
        while not stop.is_set():
            indexer.catch_up(stop)
            stop.wait(REST_S)
        return indexer.counts


def forget(collection: Collection) -> int:
    """Erase from the index what `joro takedown collect` erased from the archive; how many pages that were."""
    with collection.lock("indexer"):
        return _Forgetting(collection, place(collection.index)).forget_if_due()


@contextmanager
def _indexing(collection: Collection, progress: Progress | None, rebuild: bool = False) -> Iterator[_Indexer]:
    with collection.lock("indexer"):
        directory = place(collection.index)
        discard(collection.index, keep=None if rebuild else directory)
        _Forgetting(collection, directory).forget_if_due()
        indexer = _Indexer(collection, directory, progress or (lambda counts: None))
        yield indexer
        indexer.close()


class _Indexer:
    def __init__(self, collection: Collection, directory: Path, progress: Progress) -> None:
        self._archive = collection.archive
        self._captures = CaptureIndex(collection.archive)
        self._robot = collection.config.identity.name
        self._progress = progress
        self._orders = OrderBook(collection.orders, RealClock().now)
        self._terms = TermsBook(lambda url: _archived(self._captures, url), self._robot)
        self._forgetting = _Forgetting(collection, directory)
        self._directory = directory
        self._positions = _Positions(directory / "positions.json")
        self._writer = Writer(directory, is_near_copy)
        self._compared: dict[str, int] = {}  # WARC → from where on its index was compared last
        self.counts = Counts(searchable=len(self._writer))

    def catch_up(self, stop: threading.Event | None = None) -> None:
        """Read the archive to its present end, or until told to stop."""
        uncommitted = 0
        if self._forgetting.is_due():
            self._writer.close()
            self._forgetting.forget_if_due()
            self._writer = Writer(self._directory, is_near_copy)
        self.counts.waiting_bytes = self.counts.read_bytes + self._behind_bytes()
        for stream, record, position in self._new():
            self.counts.decisions[self._take(record)] += 1
            self.counts.read_bytes += self._positions.advance(stream, position)
            uncommitted += 1
            if uncommitted == BATCH:
                self._commit()
                uncommitted = 0
            if stop and stop.is_set():
                break
            self._progress(self.counts)
        if uncommitted:
            self._commit()

    def miss(self) -> None:
        """Tell of WARCs of which only the index is left."""
        for name in missing(self._archive):
            lost = len(whole_lines(index_of(self._archive / name)))
            self.counts.lost[name] = lost
            log.warning("%s is gone; captures in it: %d; %s", name, lost, RESTORE)

    def _new(self) -> Iterator[tuple[str, Record, Position]]:
        for stream in streams(self._archive):
            for name in warcs(self._archive, stream):
                start = self._positions.start_in(stream, name)
                if start is not None:
                    for record in self._captures_in(name, start):
                        yield stream, record, Position(name, record.end)

    def _captures_in(self, name: str, start: int) -> Iterator[Record]:
        """The captures of one WARC from `start` on; those that cannot be read are counted and told."""
        path = self._archive / name
        is_closed = sorted_index(path).exists()  # asked first: of an open one the rest may come yet
        seen: set[int] = set()
        end, read_bytes = start, 0
        for record in readable(path, start):
            end = record.end
            read_bytes += record.length
            if record.type in CAPTURES:
                seen.add(record.offset)
                yield record
        has_gap = read_bytes < end - start
        if has_gap or (is_closed and self._compared.get(name) != start):
            self._compared[name] = start
            listed = (offset for offset in offsets(path) if offset >= start and (is_closed or offset < end))
            self._tell_lost(name, sum(offset not in seen for offset in listed))

    def _tell_lost(self, name: str, number: int) -> None:
        if number:
            self.counts.lost[name] = number
            log.warning("%s: captures that could not be read: %d; %s", name, number, RESTORE)

    def close(self) -> None:
        self._writer.close()

    def _commit(self) -> None:
        self._writer.commit()
        self._positions.write()
        self.counts.searchable = len(self._writer)
        self._progress(self.counts)

    def _behind_bytes(self) -> int:
        return sum(
            self._positions.left_in(stream, name, size_of(self._archive / name))
            for stream in streams(self._archive)
            for name in warcs(self._archive, stream)
        )

    def _take(self, record: Record) -> Decision:
        searchable = self._writer.time_of(record.url)
        if self._is_taken_down(record):
            return Decision.TAKEN_DOWN  # and what is searchable of the page is hidden, or not meant
        if searchable is not None and searchable > record.time:
            return Decision.OLDER
        if record.type == "revisit" and searchable is not None:
            return Decision.UNCHANGED
        try:
            response = self._answered(record)
        except ArchiveError as error:  # what it says is "as before", and that is damaged
            log.warning("left out %s: %s", record.url, error)
            return Decision.UNREADABLE
        if path_of(record.url) in (ROBOTS_FILE, TDM_FILE) and response.status < 500:
            self._terms.learn(record.url, _content(response))
        found = entry_in(record, response, self._robot, self._terms)
        if isinstance(found, Entry):
            self._writer.put(found)
            return Decision.SOFT_404 if found.soft_404 else Decision.INDEXED
        if found not in _INCONCLUSIVE and self._writer.remove(record.url):
            return Decision.REMOVED
        return found

    def _answered(self, record: Record) -> Response:
        """What the server said, or meant: a page that was gone for a while may come back unchanged."""
        if record.type == "revisit":
            return response_at(self._archive, capture_in(record), self._captures)
        return response_of(record)

    def _is_taken_down(self, record: Record) -> bool:
        orders = self._orders.latest()
        return bool(orders) and orders.erases(record.url, record.time, _digest(record)) is not None


class _Forgetting:
    """Erases taken-down pages from the index, once for each collection of them."""

    def __init__(self, collection: Collection, directory: Path) -> None:
        self._orders = OrderBook(collection.orders, RealClock().now)
        self._asked = collection.orders / COLLECTED
        self._done = directory / COLLECTED
        self._directory = directory
        self._captures = CaptureIndex(collection.archive, withheld=self._orders.is_withheld)
        self._robot = collection.config.identity.name
        self._terms = TermsBook(lambda url: _archived(self._captures, url), self._robot)

    def is_due(self) -> bool:
        return _text(self._asked) != _text(self._done)

    def forget_if_due(self) -> int:
        asked = _text(self._asked)
        if asked == _text(self._done):
            return 0
        number = 0
        if (self._directory / "meta.json").exists():
            number = erase(self._directory, self._is_erased, self._successor, self._whole, is_near_copy)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._done.write_text(asked)
        return number

    def _is_erased(self, entry: Entry) -> bool:
        return self._orders.latest().erases(entry.url, entry.time, entry.digest) is not None

    def _successor(self, entry: Entry) -> Entry | None:
        """The page in the newest version that is left of it."""
        for capture in reversed(list(self._captures.versions(entry.url))):
            found = self._entry_at(capture)
            if found not in _INCONCLUSIVE:
                return found if isinstance(found, Entry) else None
        return None

    def _whole(self, entry: Entry) -> Entry:
        """The page with all of its text, if that can still be had."""
        at = Limits(since=entry.time - 1e-6, until=entry.time + 1e-6)
        for capture in self._captures.versions(entry.url, at):
            found = self._entry_at(capture)
            if isinstance(found, Entry):
                return found
        return entry

    def _entry_at(self, capture: Capture) -> Entry | Decision:
        try:
            record = read_at(self._captures.directory / capture.warc, capture.offset, capture.length)
            response = response_at(self._captures.directory, capture, self._captures)
        except ArchiveError:
            return Decision.UNREADABLE
        return entry_in(record, response, self._robot, self._terms)


def _archived(index: CaptureIndex, url: str) -> bytes:
    """What the newest capture of a URL holds that can be read; `archive check` tells of the others."""
    for capture in reversed(list(index.versions(url))):
        with suppress(ArchiveError):
            return _content(response_at(index.directory, capture, index))
    return b""


def _content(response: Response) -> bytes:
    return unwrap(response).content if 200 <= response.status < 300 else b""


def _digest(record: Record) -> str:
    """Of the payload; where readers disagree about it the record does not have it."""
    return record.fields.get("warc-payload-digest") or capture_in(record).digest


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def entry_in(record: Record, response: Response, robot: str, terms: TermsBook = NO_BOOK) -> Entry | Decision:
    """What a capture makes searchable, or why it does not."""
    if response.status in (404, 410):
        return Decision.GONE
    if not 200 <= response.status < 300:
        is_home = is_sent_home(record.url, target_of(record.url, response))
        return Decision.SENT_HOME if is_home else Decision.NO_PAGE
    try:
        page, content = _page(record.url, response, robot)
    except Exception as error:  # one page that breaks the parser must not stop all pages behind it
        log.warning("left out %s: %r", record.url, error)
        return Decision.UNREADABLE
    if page is None:
        return Decision.NOT_HTML
    rights = page_rights(record.url, response.headers, page.directives, content, terms.of(record.url))
    if not may(rights, Purpose.SEARCH):
        return Decision.NOINDEX
    title, text = " ".join(legible(page.title).split())[:TITLE_LIMIT_CHARS], legible(page.text).strip()
    if not title and not text:
        return Decision.EMPTY
    soft_404 = is_soft_404(page.title, page.text)
    return Entry(
        url=record.url,
        title=title,
        text=text,
        time=record.time,
        language=page.language,
        charset=page.charset,
        digest=_digest(record),
        rights=str(rights),
        soft_404=soft_404,
        mark=b"" if soft_404 else text_mark(page.title, page.text),
    )


def _page(url: str, response: Response, robot: str) -> tuple[Document | None, bytes]:
    """The readable form of HTML, and its source; where it could not be unpacked, its bytes must say so."""
    mime = mime_of(response.headers)
    if not is_html(mime, b"<p>"):
        return None, b""  # do not unpack what cannot be a page
    body = unwrap(response)
    if not is_html("" if body.undecoded else mime, body.content):
        return None, b""
    content_type, x_robots = (response.headers.get(name, "") for name in ("content-type", "x-robots-tag"))
    return document(body.content, url, content_type, x_robots, robot), body.content


class _Positions:
    """Up to where each stream of the archive has been read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._of: dict[str, Position] = {}
        try:
            self._of = msgspec.json.decode(path.read_bytes(), type=dict[str, Position])
        except (FileNotFoundError, msgspec.DecodeError):
            return  # reading all of it again is slow, not wrong

    def advance(self, stream: str, position: Position) -> int:
        """Go on to `position`; how many bytes that is."""
        before = self._of.get(stream)
        self._of[stream] = position
        return position.offset - (before.offset if before and before.name == position.name else 0)

    def start_in(self, stream: str, name: str) -> int | None:
        """Where to go on in a WARC; None if it lies behind us."""
        position = self._of.get(stream)
        if position is None or number_of(name) > number_of(position.name):
            return 0
        return position.offset if name == position.name else None

    def left_in(self, stream: str, name: str, size: int) -> int:
        """Bytes of a WARC that have not been read."""
        start = self.start_in(stream, name)
        return 0 if start is None else max(0, size - start)

    def write(self) -> None:
        """All of it or, if we are killed, what stood there before."""
        write_whole(self._path, msgspec.json.encode(self._of))
