"""How does a collection behind a firewall hand over what it holds?

In:    the address of a service that wants our captures.
Out:   packages brought there, as its schedule asks for.
Never: brings again what arrived; loses its place when it is killed or cut off; brings what is withheld.
Paper: S1, 5.4.1: a collection client behind a proxy reads its schedule and transfers by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import msgspec

from joro.clock import Clock
from joro.errors import TransferError
from joro.redistribute.allowed import Allowed, purposes_named
from joro.redistribute.caller import Caller
from joro.redistribute.download import TRIES, Progress
from joro.redistribute.journal import Journal, Transferred
from joro.redistribute.package import NO_LIMITS, Limits, Maker, Manifest
from joro.redistribute.selection import Mark, Selection
from joro.redistribute.shelf import Package, Shelf, Withdrawn
from joro.redistribute.sources import Source
from joro.redistribute.uploads import State
from joro.store.collection import Collection
from joro.store.durable import write_whole


class Pushed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where our transfers to a service stand."""

    mark: Mark = {}
    package: str = ""  # on its way
    wanted: Selection | None = None  # what it is the mark of


class Pusher:
    """Brings packages to one service."""

    def __init__(
        self,
        collection: Collection,
        caller: Caller,
        clock: Clock,
        progress: Progress = lambda _done, _whole: None,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self._collection = collection
        self._caller = caller
        self._clock = clock
        self._progress = progress
        self._journal = Journal(collection.logs, clock.now)
        self._allowed = Allowed(collection, purposes_named(()), clock)
        self._shelf = Shelf(collection, self._allowed.orders)
        self._maker = Maker(collection, self._shelf.folder, limits)
        folder = collection.part("redistribution") / "pushed"
        folder.mkdir(exist_ok=True)
        self._state = folder / f"{hashlib.sha256(caller.url.encode()).hexdigest()[:16]}.json"

    def schedule(self) -> Source:
        """What the service wants of us, and when."""
        return self._caller.get("/schedule", Source)

    def push(self, wanted: Source | None = None) -> Transferred:
        """Carry out one transfer, or end the one that was cut off."""
        wanted = wanted or self.schedule()
        with self._journal.transfer("pushed", self._caller.url) as pushed, self._collection.lock("push"):
            self._shelf.tidy(self._clock.now())
            self._finish(pushed)
            place = self._read()
            after: Mark | None = place.mark if place.wanted == wanted.selection({}) else {}
            while after is not None:
                after = self._push_next(wanted, after, pushed)
        return pushed

    def _finish(self, pushed: Transferred) -> None:
        """A package that was on its way when something broke, if it may still go."""
        place = self._read()
        package = self._found(place.package)
        if package is not None:
            self._bring(package, pushed)
            self._save(Pushed(package.manifest.mark, wanted=place.wanted))

    def _push_next(self, wanted: Source, after: Mark, pushed: Transferred) -> Mark | None:
        """One package; from where the next one goes on, None where nothing is left."""
        base = wanted.selection({})
        selection = msgspec.structs.replace(base, after=after)
        manifest = self._maker.make(selection, self._allowed)
        package = self._found(manifest.package)
        if package is not None:
            self._save(Pushed(after, manifest.package, base))
            self._bring(package, pushed)
        is_over = not manifest.more and wanted.transfer != "difference"
        self._save(Pushed({} if is_over else manifest.mark, wanted=base))
        return manifest.mark if manifest.more else None

    def _found(self, name: str) -> Package | None:
        try:
            return self._shelf.find(name, self._clock.now())
        except Withdrawn:
            return None

    def _bring(self, package: Package, pushed: Transferred) -> None:
        manifest = package.manifest
        at = f"/uploads/{manifest.package}"
        state = self._caller.post("/uploads", manifest, State)
        failures = 0
        while not state.done:
            file, have, size, pieces = _lacking(state, manifest, package)
            try:
                content = self._seen(package, pieces(have, size), have, size)
                now = self._caller.put(f"{at}/{file}", content, have, size, State)
            except TransferError as error:
                if not error.passes and error.status != 409:
                    raise
                now = self._after(error, at)
            failures = failures + 1 if now == state else 0
            if failures >= TRIES:
                raise TransferError(
                    f"{self._caller.url} takes no more of package {manifest.package}",
                    remedy="see its log, and run the same command again",
                )
            state = now
        pushed.packages += 1
        pushed.captures += manifest.captures
        pushed.bytes += manifest.bytes

    def _after(self, error: TransferError, at: str) -> State:
        """How far it had got when it was cut off; asked a few times, for the line may still be down."""
        for _ in range(TRIES):
            try:
                return self._caller.get(at, State)
            except TransferError as again:
                if not again.passes:
                    raise
        raise error

    def _seen(self, package: Package, pieces: Iterator[bytes], have: int, size: int) -> Iterator[bytes]:
        for piece in pieces:
            try:
                self._shelf.see(package, self._clock.now())
            except Withdrawn:
                raise TransferError(
                    "a capture on its way was withheld", remedy="run the same command again", status=410
                ) from None
            have += len(piece)
            self._progress(have, size)
            yield piece

    def _read(self) -> Pushed:
        try:
            return msgspec.json.decode(self._state.read_bytes(), type=Pushed)
        except FileNotFoundError:
            return Pushed()

    def _save(self, pushed: Pushed) -> None:
        write_whole(self._state, msgspec.json.encode(pushed))


def _lacking(
    state: State, manifest: Manifest, package: Package
) -> tuple[str, int, int, Callable[[int, int], Iterator[bytes]]]:
    """Which file is not there in full, how much is, how much it has, and where its bytes are."""
    if state.index < manifest.index_bytes:
        return "index", state.index, manifest.index_bytes, package.index
    return "warc", state.warc, manifest.bytes, package.pieces
