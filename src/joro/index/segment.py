"""Where do indexed pages lie, and how do they get in and out?

In:    entries, one per page, and the URLs of pages that are gone.
Out:   an index on disk that is whole after each commit, whatever kills us in between.
Never: decides which capture of a page is worth an entry; never lets two writers in.

One directory holds one tantivy index. Its name carries the format, so an index of an older form is
simply not seen, and `joro index` makes a new one from the archive.
"""

from __future__ import annotations

import operator
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec
import tantivy

from joro.errors import CollectionError, DiskFull
from joro.url import host_of, is_address, server_of

#: Changes whenever the fields, the terms or the entry below change their form.
FORMAT = 2
#: Memory for terms not yet written; tantivy writes a segment when it is used up.
HEAP_BYTES = 50_000_000
#: With less room than this no segment can be written.
ROOM_BYTES = 1_000_000
#: Text beyond is not searchable: a longer page is a dump, and must not take the memory of the others.
INDEXED_LIMIT_CHARS = 1_000_000
#: Text beyond is searchable but not kept for snippets.
STORED_LIMIT_CHARS = 100_000
#: How pages are marked that are only shown to whoever asks for everything.
SOFT_404 = "soft404"
FOUNDERS = "founders"
#: Names of the engine's: the list of what a commit holds, and of what it may remove one day; its locks.
_META, _MANAGED = "meta.json", ".managed.json"
_META_LOCK = ".tantivy-meta.lock"
_NOT_LINKED = (_MANAGED, _META_LOCK, ".tantivy-writer.lock")
#: To open an index that changes meanwhile.
_ATTEMPTS = 5


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """What a result list shows of one page; stored as it is beside the terms."""

    url: str
    title: str
    text: str
    time: float  # of the capture, seconds since 1970
    language: str = ""
    charset: str = ""
    digest: str = ""
    rights: str = ""  # what its owner reserves, as `parse.rights` spells it
    soft_404: bool = False  # it says that there is no such page
    mark: bytes = b""  # of its text, on its way into the index; there the group stands for it
    group: int = 0  # what near copies have in common; 0 for a page that is not compared with others
    since: float = 0.0  # when the first capture of the page was indexed


def group_name(group: int) -> str:
    """A group as the index has it, for keys are text."""
    return f"{group:016x}"


def place(index: Path) -> Path:
    """The directory of the present format inside a collection's `index/`."""
    return index / f"pages-{FORMAT}"


def sites(url: str) -> list[str]:
    """What `site:` may call the server of a canonical URL: its host and every domain above it."""
    host = host_of(url)
    labels = host.split(".")
    names = [host] if is_address(host) else [".".join(labels[i:]) for i in range(len(labels))]
    authority = server_of(url).partition("://")[2]
    return names if authority == host else [*names, authority]


def languages(language: str) -> list[str]:
    """What `lang:` may call a language: zh-hant is also zh."""
    tag = language.lower()
    return list(dict.fromkeys([tag, tag.partition("-")[0]])) if tag else []


def _schema() -> tantivy.Schema:
    # Keys are raw text: deleting by a number finds nothing, silently.
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("site", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("lang", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("mark", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("group", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("alike", fast=True)  # the group, to be read without the entry
    builder.add_float_field("since", fast=True)
    builder.add_text_field("title", tokenizer_name="terms")
    builder.add_text_field("body", tokenizer_name="terms")
    builder.add_bytes_field("entry", stored=True)
    return builder.build()


def _opened(directory: Path) -> tantivy.Index:
    """The index in a directory; its tokenizer is not remembered on disk, hence registered each time."""
    with _explained(directory):
        return _index_at(directory)


def _index_at(directory: Path) -> tantivy.Index:
    index = tantivy.Index(_schema(), path=str(directory))
    index.register_tokenizer("terms", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


def _may_lock(directory: Path) -> bool:
    """Can the engine have its lock, for the moment in which it opens the files of a commit?"""
    lock = directory / _META_LOCK
    return os.access(lock if lock.exists() else directory, os.W_OK)


def _opened_beside(directory: Path) -> tantivy.Index:
    """The newest commit of an index that we may only read: by links to its files, with a lock beside them.

    The files stay open when the links go. They may be another's to write to, whom our lock does not keep
    from removing what we have not opened yet; then there is a newer commit to open.
    """
    with _explained(directory):
        for attempt in count(1):
            with _passing_directory() as links:
                for each in directory.iterdir():
                    if each.is_file() and each.name not in _NOT_LINKED:
                        (links / each.name).symlink_to(each.absolute())
                try:
                    index = _index_at(links)
                    index.reload()
                except ValueError as error:
                    if attempt == _ATTEMPTS or _is_denied(error):
                        raise
                else:
                    return index
    raise AssertionError


@contextmanager
def _passing_directory() -> Iterator[Path]:
    """A directory of our own, which goes although a thread of the engine may put its lock there once more."""
    directory = Path(tempfile.mkdtemp(prefix="joro-index-"))
    try:
        yield directory
    finally:
        for _ in range(_ATTEMPTS):
            if directory.exists():
                shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    """Every failure of the engine is a ValueError; say what it means and what to do."""
    try:
        yield
    except (ValueError, OSError) as error:
        if _is_full(directory, str(error)):
            raise DiskFull(f"no room left for {directory}", remedy="make room and run it again") from None
        if _is_denied(error):
            remedy = "run it as the owner of the files there, or get permission"
        elif "LockBusy" in str(error):
            remedy = "wait until whoever writes to it has ended"
        else:
            remedy = "run: joro index --rebuild"
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CollectionError(f"the index in {directory} cannot be used ({reason})", remedy=remedy) from None


def _is_denied(error: Exception) -> bool:
    """The engine tells the system's errors in words only."""
    return isinstance(error, PermissionError) or any(
        word in str(error) for word in ("PermissionDenied", "ReadOnlyFilesystem")
    )


def _let_read(directory: Path) -> None:
    """Whoever may look into the directory may read it all; the engine gives its lists to us alone."""
    for name in (_META, _MANAGED):
        with suppress(OSError):
            os.chmod(directory / name, directory.stat().st_mode & 0o666)


def _is_full(directory: Path, reason: str) -> bool:
    """A writing thread of the engine that died does not say of what; then we look at the disk ourselves."""
    return "os error 28" in reason or shutil.disk_usage(directory).free < ROOM_BYTES


class _Known(NamedTuple):
    """What must be known of a page in the index."""

    time: float
    since: float


class Writer:
    """The one who changes an index. Nothing counts before `commit`."""

    def __init__(self, directory: Path, alike: Callable[[bytes, bytes], bool] = operator.eq) -> None:
        # They load NumPy and RocksDB, for which searching should not wait.
        from joro.index.columns import joined
        from joro.index.founders import Founders

        self._joined = joined
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._index = _opened(directory)
        with _explained(directory):
            # One thread: the caller keeps it busy, and more would leave more and smaller segments.
            self._writer = self._index.writer(HEAP_BYTES, num_threads=1)
            # What a killed commit left behind has the very names the next commit will want.
            self._writer.garbage_collect_files()
        self._founders = Founders(directory / FOUNDERS, alike)
        self._searcher = self._index.searcher()
        self._since_commit: dict[str, _Known | None] = {}

    def time_of(self, url: str) -> float | None:
        """The capture time of a page in the index; None when it is not there."""
        known = self._known(url)
        return known.time if known else None

    def _known(self, url: str) -> _Known | None:
        if url in self._since_commit:
            return self._since_commit[url]
        found = entry_at(self._searcher, self._index.schema, url)
        return _Known(found.time, found.since) if found else None

    def put(self, entry: Entry) -> None:
        """Add a page, or replace it."""
        known = self._known(entry.url)
        if known is not None:
            self._delete(entry.url)
        entry = msgspec.structs.replace(
            entry,
            mark=b"",
            group=self._founders.group(entry.mark) if entry.mark else entry.group,
            since=known.since if known else entry.since or entry.time,
        )
        document = tantivy.Document()
        document.add_text("url", entry.url)
        for site in sites(entry.url):
            document.add_text("site", site)
        for language in languages(entry.language):
            document.add_text("lang", language)
        if entry.soft_404:
            document.add_text("mark", SOFT_404)
        if entry.group:
            document.add_text("group", group_name(entry.group))
        document.add_unsigned("alike", entry.group)
        document.add_float("since", entry.since)
        document.add_text("title", self._joined(entry.title))
        document.add_text("body", self._joined(entry.text[:INDEXED_LIMIT_CHARS]))
        document.add_bytes("entry", msgspec.msgpack.encode(_shortened(entry)))
        with _explained(self._directory):
            self._writer.add_document(document)
        self._since_commit[entry.url] = _Known(entry.time, entry.since)

    def remove(self, url: str) -> bool:
        """Take a page out; says whether it was in."""
        if self.time_of(url) is None:
            return False
        self._delete(url)
        self._since_commit[url] = None
        return True

    def forget(self, groups: Iterable[int]) -> None:
        """Keep nothing of texts that no page in the index is like, as of the last commit."""
        for group in filter(None, groups):
            query = tantivy.Query.term_query(self._index.schema, "group", group_name(group))
            if not self._searcher.search(query, 1).hits:
                self._founders.forget(group)

    def segments(self) -> Iterator[Iterator[Entry]]:
        """What was stored of every page as of the last commit, segment by segment; replaced and removed ones
        too, as long as their segment is there. Whether one counts says `time_of`."""
        for number in range(self._searcher.num_segments):
            yield self._stored_in(number)

    def _stored_in(self, segment: int) -> Iterator[Entry]:
        for number in count():
            try:
                yield entry_of(self._searcher, tantivy.DocAddress(segment, number))
            except ValueError:  # there is no such document
                return

    def _delete(self, url: str) -> None:
        with _explained(self._directory):
            self._writer.delete_documents_by_term("url", url)

    def commit(self) -> None:
        """Make all changes so far visible and lasting."""
        with _explained(self._directory):
            self._writer.commit()
            self._index.reload()
        _let_read(self._directory)
        self._searcher = self._index.searcher()
        self._since_commit.clear()

    def __len__(self) -> int:
        """Pages in the index as of the last commit."""
        return self._searcher.num_docs

    def close(self) -> None:
        """Let running merges finish; uncommitted changes are forgotten."""
        self._founders.close()
        with _explained(self._directory):
            self._writer.wait_merging_threads()
        _let_read(self._directory)  # a merge writes the lists anew


def _shortened(entry: Entry) -> Entry:
    if len(entry.text) <= STORED_LIMIT_CHARS:
        return entry
    return msgspec.structs.replace(entry, text=entry.text[:STORED_LIMIT_CHARS])


class Reader:
    """Looks at an index that someone else may be changing; threads may share one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = threading.Lock()
        self._index: tantivy.Index | None = None
        self._searcher: tantivy.Searcher | None = None
        self._seen: tuple[int, int] | None = None

    def searcher(self) -> tantivy.Searcher | None:
        """The index as of its newest commit; None while there is no index at all.

        Asking the file system costs a microsecond, so every search may ask; the engine's own watcher
        would be a thread that looks twice a second.
        """
        with self._lock:
            committed = self._newest_commit()
            if committed is not None and committed != self._seen:
                self._reload()
                self._seen = committed
            return self._searcher

    def _newest_commit(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.directory / _META)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _reload(self) -> None:
        if not self._may_lock:
            self._index = _opened_beside(self.directory)
        else:
            if self._index is None:
                self._index = _opened(self.directory)
            with _explained(self.directory):
                self._index.reload()
        self._searcher = self._index.searcher()

    @cached_property
    def _may_lock(self) -> bool:
        return _may_lock(self.directory)

    @property
    def schema(self) -> tantivy.Schema:
        assert self._index is not None
        return self._index.schema

    def __len__(self) -> int:
        """Searchable pages."""
        searcher = self.searcher()
        return searcher.num_docs if searcher else 0


def entry_of(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> Entry:
    """What was stored of one page."""
    stored = searcher.doc(address).get_first("entry")
    assert isinstance(stored, bytes)
    return msgspec.msgpack.decode(stored, type=Entry)


def entry_at(searcher: tantivy.Searcher, schema: tantivy.Schema, url: str) -> Entry | None:
    """What was stored of the page at a URL; None when it is not in the index."""
    if not searcher.doc_freq("url", url):
        return None
    hits = searcher.search(tantivy.Query.term_query(schema, "url", url), 1).hits
    return entry_of(searcher, hits[0][1]) if hits else None


def discard(index: Path, *, keep: Path | None = None) -> None:
    """Remove what lies in a collection's `index/`, except one directory; the archive can bring it back."""
    for each in index.glob("pages-*"):
        if each != keep:
            shutil.rmtree(each)
