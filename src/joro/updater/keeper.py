"""Which steps lead from one release to the next, and back?

In:    the shelf, the channel, settings, a clock.
Out:   a newer release, proven, and switched to; or the one before, again.
Never: goes back to an older version because a channel says so; tries again what failed here, until a newer
       one comes; leaves a step half done: a kill at any moment leaves one whole release to start, and `mend`
       finishes what was begun.
Paper: S1 5.3.1, steps (a) to (i).

    look      ask the channel; its answer is verified, and newer than anything before
    download  the wheel, to the byte that was signed
    install   beside the others
    check     by its own `joro self-check`
    switch    from here on it is the one that starts; it is on trial
    keep      its probation is over   |   roll-back   it failed: the one before is switched to
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from joro.clock import Clock
from joro.config import Update
from joro.errors import JoroError, ReleaseError, TransferError, UsageError
from joro.updater.download import download
from joro.updater.install import install, self_check
from joro.updater.journal import Journal, spelled
from joro.updater.needs import check_libraries, check_python
from joro.updater.release import Manifest, is_newer, verified
from joro.updater.shelf import Shelf, Trial
from joro.updater.source import Source

#: A release on trial that was started so often without living through its probation takes us along.
STARTS_LIMIT = 3


@dataclass
class _Progress:
    """Where an update has got to, for the log."""

    step: str = "look"
    version: str = ""


class Keeper:
    """Keeps one robot up to date; whoever uses it holds the shelf's lock. Going back needs no source."""

    def __init__(
        self,
        shelf: Shelf,
        settings: Update,
        source: Source | None,
        journal: Journal,
        clock: Clock,
        collection: Path,
    ) -> None:
        self.shelf = shelf
        self._settings = settings
        self._source = source
        self._journal = journal
        self._clock = clock
        self._collection = collection

    def mend(self) -> None:
        """Finish what a kill cut off; the one that runs is whole already."""
        notes, running = self.shelf.notes(), self.shelf.running()
        if running in notes.bad and running != self.shelf.installed:
            self._go_back(running, f"not finished before: {notes.bad[running]}")
        elif notes.trial is not None and notes.trial.version != running:
            self._journal.write("mend", notes.trial.version, "was not switched to; look again")
            self.shelf.note(trial=None, looked_at=0.0)
        self.shelf.tidy()

    def look(self) -> Manifest | None:
        """A release that we want; None: there is nothing newer."""
        manifest = verified(self._channel.newest(), self._settings.public_keys)
        self._refuse_replays(manifest)
        self.shelf.note(
            source=self._channel.url, seen_version=manifest.version, seen_created=manifest.created
        )
        bad = self.shelf.notes().bad.get(manifest.version)
        if not is_newer(manifest.version, self.shelf.running()):
            self._said("look", manifest.version, f"nothing newer than {self.shelf.running()}")
        elif bad is not None:
            self._said("look", manifest.version, f"failed here before ({bad}); wait for a newer one")
        else:
            self._refuse_unfit(manifest)
            self._said("look", manifest.version, f"newer than {self.shelf.running()}")
            return manifest
        return None

    def bring(self) -> str | None:
        """Look, download, install, check: the version that can be switched to; None: nothing new.

        Why it failed is in the log, too; a release that fails its self-check is not tried again.
        """
        progress = _Progress()
        try:
            version = self._bring(progress)
        except (JoroError, OSError) as error:
            problem = error if isinstance(error, JoroError) else _unusable(error)
            self._said(progress.step, progress.version, f"failed: {problem}")
            if not isinstance(problem, TransferError):  # which may be over when we start again
                self.shelf.note(looked_at=self._clock.now())
            raise problem from None
        self.shelf.note(looked_at=self._clock.now())
        return version

    def _bring(self, progress: _Progress) -> str | None:
        manifest = self.look()
        if manifest is None:
            return None
        version = progress.version = manifest.version
        progress.step = "download"
        wheel = download(self._channel, manifest, self.shelf.downloads)
        self._journal.write("download", version, f"{manifest.bytes:,} bytes, SHA-256 and signature are right")
        progress.step = "install"
        check_libraries(manifest, wheel)
        install(self.shelf, version, wheel)
        self._journal.write("install", version, "ok")
        progress.step = "check"
        self._prove(version)
        wheel.unlink()
        return version

    def adopt(self, version: str) -> None:
        """Switch to a release, on trial."""
        self.shelf.note(trial=Trial(version))
        self.shelf.switch(version)
        self._said("switch", version, "on trial from its next start on")

    def begin(self) -> str:
        """The version to start now; one on trial that was started too often is rolled back first."""
        running, trial = self.shelf.running(), self.shelf.notes().trial
        if trial is None or not self.is_on_trial():
            return running
        if trial.starts >= STARTS_LIMIT:
            return self.fail(f"started {trial.starts} times without living through its probation")
        self.shelf.note(trial=Trial(running, trial.starts + 1))
        return running

    def is_on_trial(self) -> bool:
        """Has the one that runs yet to prove itself? What an operator installed by hand has not."""
        trial, running = self.shelf.notes().trial, self.shelf.running()
        return trial is not None and trial.version == running != self.shelf.installed

    def keep(self) -> None:
        """The release on trial has lived through its probation."""
        self.shelf.note(trial=None)
        self._said("keep", self.shelf.running(), "its probation is over")
        self.shelf.tidy()

    def fail(self, reason: str) -> str:
        """Roll back to the release before; its version."""
        running = self.shelf.running()
        before = self.shelf.before(running)
        if before is None or running == self.shelf.installed:
            raise UsageError(
                f"there is no release before {running}", remedy="install another version with pip"
            )
        bad = {**self.shelf.notes().bad, running: reason}
        self.shelf.note(bad=bad, trial=None)
        return self._go_back(running, reason)

    def due_at(self, every_s: float | None = None) -> float:
        """When to look next, in seconds since 1970."""
        looked_at = self.shelf.notes().looked_at
        if looked_at > self._clock.now():
            return 0.0  # noted by a clock that was wrong
        if every_s is not None:
            return looked_at + every_s
        return next_time(looked_at, self._settings.check_at) if looked_at else 0.0

    def _go_back(self, version: str, reason: str) -> str:
        before = self.shelf.before(version) or self.shelf.installed
        self.shelf.switch(before)
        self._said("roll-back", version, f"to {before}: {reason}")
        return before

    def _prove(self, version: str) -> None:
        try:
            self_check(self.shelf, version, self._collection)
        except ReleaseError as error:
            self.shelf.note(bad={**self.shelf.notes().bad, version: str(error)})
            self.shelf.remove(version)
            raise
        self._journal.write("check", version, "ok")

    @property
    def _channel(self) -> Source:
        assert self._source is not None
        return self._source

    def _refuse_replays(self, manifest: Manifest) -> None:
        notes = self.shelf.notes()
        if notes.source != self._channel.url or not notes.seen_version:
            return
        is_older = is_newer(notes.seen_version, manifest.version) or manifest.created < notes.seen_created
        is_changed = manifest.version == notes.seen_version and manifest.created != notes.seen_created
        if is_older or is_changed:
            raise ReleaseError(
                f"the channel offers {manifest.version} of {spelled(manifest.created)}, but had offered "
                f"{notes.seen_version} of {spelled(notes.seen_created)}",
                remedy="see who serves it: somebody may be replaying an old manifest",
            )

    def _refuse_unfit(self, manifest: Manifest) -> None:
        if manifest.bytes > self._settings.most_bytes:
            raise ReleaseError(
                f"{manifest.file} has {manifest.bytes:,} bytes, more than update.most_bytes allows",
                remedy="raise it in joro.toml, if that is right",
            )
        check_python(manifest)

    def _said(self, step: str, version: str, outcome: str) -> None:
        self._journal.write(step, version, outcome)
        self.shelf.note(said=f"{step} {version}: {outcome}" if version else f"{step}: {outcome}")


def _unusable(error: OSError) -> ReleaseError:
    return ReleaseError(
        f"{error.filename or 'the disk'}: {error.strerror}", remedy="make room, or check the permissions"
    )


def next_time(after: float, clock_time: str) -> float:
    """The first moment after another at which clocks here show "04:00"."""
    hour, minute = map(int, clock_time.split(":"))
    day = datetime.datetime.fromtimestamp(after)
    moment = day.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if moment.timestamp() <= after:
        moment += datetime.timedelta(days=1)
    return moment.timestamp()
