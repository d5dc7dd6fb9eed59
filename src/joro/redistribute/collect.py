"""How are captures fetched from the collections we receive them from?

In:    a source, and what an earlier transfer left of it.
Out:   all its packages in our archive; a mark, from which the next difference goes on.
Never: asks again for what arrived; loses its place when it is killed; runs two transfers from one source.
Paper: S1, 5.4.1: the data collection system compares its own log, and asks for the difference only.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from joro.clock import Clock
from joro.errors import TransferError
from joro.redistribute.caller import Caller
from joro.redistribute.download import Progress, download
from joro.redistribute.journal import Journal, Transferred
from joro.redistribute.package import Manifest
from joro.redistribute.receive import begin, done, is_placed, take_in, unfinished
from joro.redistribute.selection import Mark, Selection
from joro.redistribute.sources import Source, token_in
from joro.store.collection import Collection
from joro.store.durable import write_whole


class Progressed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the transfers from a source stand."""

    mark: Mark = {}  # behind the last package that arrived
    asked: Selection | None = None  # what it is the mark of: transfers that ask for something else begin anew
    again: bool = False  # captures may come that came before


def caller_of(collection: Collection, source: Source, *, plain: bool = False) -> Caller:
    """Somebody who talks to the source."""
    ca = collection.path / source.ca if source.ca else None
    return Caller(source.url, token_in(collection.path / source.token_file), ca=ca, plain=plain)


class Collector:
    """Fetches from one source."""

    def __init__(
        self,
        collection: Collection,
        source: Source,
        caller: Caller,
        clock: Clock,
        progress: Progress = lambda _done, _whole: None,
    ) -> None:
        self._collection = collection
        self._source = source
        self._caller = caller
        self._clock = clock
        self._progress = progress
        self._journal = Journal(collection.logs, clock.now)
        folder = collection.part("redistribution") / "sources"
        folder.mkdir(exist_ok=True)
        self._state = folder / f"{source.name}.json"

    def collect(self) -> Transferred:
        """Carry out one transfer, or end the one that was cut off."""
        name = self._source.name
        with self._journal.transfer("received", name) as received, self._collection.lock(f"collect-{name}"):
            finish(unfinished(self._collection, name), self._arrive, received)
            while self._fetch_next(received):
                pass
        return received

    def _fetch_next(self, received: Transferred) -> bool:
        """One package; is there more to come?"""
        asked = msgspec.structs.replace(self._wanted, after=self._place().mark)
        manifest = self._caller.post("/packages", asked, Manifest)
        if manifest.package:
            self._arrive(begin(self._collection, self._source.name, manifest), manifest, received)
        else:
            self._save(manifest)
        return manifest.more

    def _arrive(self, folder: Path, manifest: Manifest, received: Transferred) -> None:
        if not is_placed(folder):
            download(self._caller, manifest, folder, self._progress)
        fresh = not self._place().again
        take_in(self._collection, self._source.name, folder, self._clock, fresh=fresh)
        received.add(manifest.captures, manifest.bytes)
        self._save(manifest)
        done(folder)

    @property
    def _wanted(self) -> Selection:
        return self._source.selection({})

    def _place(self) -> Progressed:
        """Where the transfer stands; at the beginning, if the last one asked for something else."""
        place = read_state(self._state)
        if place.asked == self._wanted:
            return place
        return Progressed(asked=self._wanted, again=place.asked is not None)

    def _save(self, manifest: Manifest) -> None:
        place = self._place()
        if manifest.more:
            after = Progressed(manifest.mark, self._wanted, place.again)
        elif self._source.transfer == "difference":
            after = Progressed(manifest.mark, self._wanted)
        else:
            after = Progressed({}, self._wanted, again=True)
        write_whole(self._state, msgspec.json.encode(after))


def finish(
    begun: Iterable[tuple[Path, Manifest]],
    arrive: Callable[[Path, Manifest, Transferred], None],
    received: Transferred,
) -> None:
    """Packages that were on their way when something broke; some may be gone there by now."""
    for folder, manifest in list(begun):
        try:
            arrive(folder, manifest, received)
        except TransferError as error:
            if error.status not in (404, 410):
                raise
            shutil.rmtree(folder)


def read_state(path: Path) -> Progressed:
    """Where transfers stand; at the beginning, where there is no such file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Progressed)
    except FileNotFoundError:
        return Progressed()
