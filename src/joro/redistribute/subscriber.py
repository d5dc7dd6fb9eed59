"""How does a third party receive what it is registered for?

In:    a service, a token, a selection, a directory.
Out:   deliveries in the directory, in the form the party wants; what a later difference goes on from.
Never: needs a collection; leaves anything partial where it could be taken for whole; fetches anything twice.
Paper: S1, 5.4.1: the third-party client; requests by host names, date and period.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from joro.archive.cdx import line_of, write_sorted
from joro.archive.names import number_of, sorted_index, warc_name, warcs
from joro.archive.times import stamp, warc_date
from joro.clock import Clock
from joro.redistribute.caller import Caller
from joro.redistribute.collect import Progressed, finish, read_state
from joro.redistribute.download import Progress, download
from joro.redistribute.journal import Journal, Transferred
from joro.redistribute.package import INDEX, MANIFEST, WARC_NAME, Manifest
from joro.redistribute.receive import captures_in
from joro.redistribute.selection import Selection
from joro.store.durable import write_whole

#: Where deliveries lie until they are whole, and what is remembered.
HIDDEN = ".joro"
STREAM = "delivery"

#: Does something with a package that arrived whole, in a folder of its own; may be called again for the same.
Keep = Callable[[Path], None]


class Subscriber:
    """Fetches deliveries from one service into one directory."""

    def __init__(
        self,
        caller: Caller,
        directory: Path,
        keep: Keep,
        clock: Clock,
        progress: Progress = lambda _done, _whole: None,
    ) -> None:
        self._caller = caller
        self._keep = keep
        self._clock = clock
        self._progress = progress
        self._hidden = directory / HIDDEN
        (self._hidden / "incoming").mkdir(parents=True, exist_ok=True)
        self._journal = Journal(self._hidden / "logs", clock.now)

    def fetch(self, selection: Selection, *, difference: bool = False) -> Transferred:
        """Fetch what is selected; with `difference`, what came to the service since the last time."""
        asked = msgspec.json.encode((self._caller.url, selection, difference))
        state = self._hidden / f"{hashlib.sha256(asked).hexdigest()[:16]}.json"
        with self._journal.transfer("fetched", self._caller.url) as received:
            finish(self._unfinished(), self._arrive, received)
            while self._fetch_next(selection, difference, state, received):
                pass
        return received

    def _fetch_next(self, selection: Selection, difference: bool, state: Path, received: Transferred) -> bool:
        asked = msgspec.structs.replace(selection, after=read_state(state).mark)
        manifest = self._caller.post("/packages", asked, Manifest)
        after = Progressed(manifest.mark if difference or manifest.more else {})
        if manifest.package:
            folder = self._hidden / "incoming" / manifest.package
            folder.mkdir(exist_ok=True)
            write_whole(folder / "after.json", msgspec.json.encode((state.name, after)))
            write_whole(folder / MANIFEST, msgspec.json.encode(manifest))
            self._arrive(folder, manifest, received)
        else:
            write_whole(state, msgspec.json.encode(after))
        return manifest.more

    def _arrive(self, folder: Path, manifest: Manifest, received: Transferred) -> None:
        if not ((folder / "kept").exists() or (folder / "target").exists()):
            download(self._caller, manifest, folder, self._progress)
        if not (folder / "kept").exists():
            self._keep(folder)
            (folder / "kept").touch()
        received.add(manifest.captures, manifest.bytes)
        state, after = msgspec.json.decode((folder / "after.json").read_bytes(), type=tuple[str, Progressed])
        write_whole(self._hidden / state, msgspec.json.encode(after))
        shutil.rmtree(folder)

    def _unfinished(self) -> Iterator[tuple[Path, Manifest]]:
        for folder in sorted((self._hidden / "incoming").iterdir()):
            try:
                yield folder, msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
            except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
                shutil.rmtree(folder, ignore_errors=True)


def keep_warc(directory: Path, clock: Clock) -> Keep:
    """Keep packages as WARC files with their indexes."""
    directory.mkdir(parents=True, exist_ok=True)

    def keep(folder: Path) -> None:
        if not (folder / "target").exists():
            earlier = warcs(directory, STREAM)
            number = number_of(earlier[-1]) + 1 if earlier else 1
            name = warc_name(STREAM, stamp(warc_date(clock.now())), number)
            write_whole(folder / "target", name.encode())
        warc = directory / (folder / "target").read_text()
        content = folder / WARC_NAME if (folder / WARC_NAME).exists() else warc
        lines = [
            line_of(msgspec.structs.replace(each, warc=warc.name))
            for each in captures_in(folder / INDEX, content, "")
        ]
        content.replace(warc)
        write_sorted(warc, lines)

    return keep


def opened_folder(folder: Path) -> Path:
    """The folder of a package as an archive of its own: its index lies beside its WARC."""
    warc = folder / WARC_NAME
    if not sorted_index(warc).exists():
        write_sorted(warc, map(line_of, captures_in(folder / INDEX, warc, WARC_NAME)))
    return folder
