"""Which releases lie on this machine, which of them runs, and what came of each?

In:    the directory `releases/` of a robot.
Out:   the version to start; the switch to another; notes that outlive us.
Never: changes a file that may be read in place: everything is written under another name and renamed, so
       whoever is killed leaves either what was before or what should be.

    releases/1.2.0/         a release, whole: it has its name only then
    releases/current        a symbolic link to the one that runs; none: the one that pip installed
    releases/notes.json     what was seen, what is on trial, what failed
    releases/downloads/     wheels on their way
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from joro.errors import ReleaseError
from joro.store.durable import sync, write_whole
from joro.updater.release import is_newer, version_of

CURRENT = "current"
NOTES = "notes.json"
#: Older releases that are kept beside the one that runs.
KEPT = 2


class Trial(msgspec.Struct, frozen=True):
    """A release that has to prove itself."""

    version: str
    starts: int = 0


class Notes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What must not be forgotten when we are killed."""

    source: str = ""  # the channel that the next two speak of
    seen_version: str = ""  # the newest it ever offered: it may not go back behind
    seen_created: float = 0.0
    looked_at: float = 0.0
    said: str = ""  # what came of that look
    trial: Trial | None = None
    bad: dict[str, str] = {}  # releases that failed here, and why


class Shelf:
    """The releases of one robot; `installed` is the version that runs when there are none."""

    def __init__(self, directory: Path, installed: str) -> None:
        self.directory = directory
        self.installed = installed
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def downloads(self) -> Path:
        folder = self.directory / "downloads"
        folder.mkdir(exist_ok=True)
        return folder

    def folder(self, version: str) -> Path | None:
        """Where a release lies; None: it is the installed one."""
        return None if version == self.installed else self.directory / version

    def running(self) -> str:
        """The version to start: the current release, unless it is gone or somebody installed a newer one."""
        try:
            version = os.readlink(self.directory / CURRENT)
        except OSError:
            return self.installed
        is_there = (self.directory / version).is_dir()
        return version if is_there and not is_newer(self.installed, version) else self.installed

    def versions(self) -> list[str]:
        """Every release that is whole, and the installed one, oldest first."""
        found = {self.installed}
        for path in self.directory.iterdir():
            with contextlib.suppress(ReleaseError):
                if path.is_dir() and not path.is_symlink():
                    found.add(str(version_of(path.name)))
        return sorted(found, key=version_of)

    def before(self, version: str) -> str | None:
        """The newest release that is older and did not fail."""
        bad = self.notes().bad
        older = [each for each in self.versions() if is_newer(version, each) and each not in bad]
        return older[-1] if older else None

    def switch(self, version: str) -> None:
        """Let another release be the one that runs, in one step."""
        link = self.directory / CURRENT
        if version == self.installed:
            link.unlink(missing_ok=True)
        else:
            draft = self.directory / f".{CURRENT}.new"
            draft.unlink(missing_ok=True)
            draft.symlink_to(version)
            draft.replace(link)
        sync(self.directory)

    def notes(self) -> Notes:
        """What was noted."""
        path = self.directory / NOTES
        try:
            return msgspec.json.decode(path.read_bytes(), type=Notes)
        except FileNotFoundError:
            return Notes()
        except msgspec.DecodeError as error:
            raise ReleaseError(f"{path} is damaged ({error})", remedy="remove it and start again") from None

    def note(self, **changes: object) -> Notes:
        """Note something else than before."""
        notes = msgspec.structs.replace(self.notes(), **changes)
        write_whole(self.directory / NOTES, msgspec.json.encode(notes))
        return notes

    def tidy(self) -> None:
        """Remove what a kill left half made, and releases that nobody goes back to."""
        running, bad = self.running(), self.notes().bad
        older = [each for each in self.versions() if is_newer(running, each) and each != self.installed]
        for version in [*older[:-KEPT], *(each for each in bad if each != running)]:
            self.remove(version)
        if any(is_newer(running, each) for each in bad):  # nobody would try those anyway
            self.note(bad={each: reason for each, reason in bad.items() if is_newer(each, running)})
        for path in self.directory.glob(".*"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def remove(self, version: str) -> None:
        """Remove a release: its name first, so that it is never seen half gone."""
        folder = self.folder(version)
        if folder is not None and folder.is_dir():
            away = self.directory / f".{version}.gone"
            shutil.rmtree(away, ignore_errors=True)
            folder.rename(away)
            shutil.rmtree(away)

    @contextmanager
    def lock(self, patience_s: float = 0.0) -> Iterator[str]:
        """Hold the shelf: "". If somebody else has it, and goes on having it: who that is."""
        path = self.directory / "keeper.lock"
        with held(path, patience_s) as is_ours:
            if is_ours:
                path.write_text(f"process {os.getpid()}\n")
            yield "" if is_ours else path.read_text().strip() or "another process"


@contextmanager
def held(path: Path, patience_s: float) -> Iterator[bool]:
    """A lock that the kernel frees if we die; True when it is ours."""
    deadline = time.monotonic() + patience_s
    with path.open("a") as file:
        while not (is_ours := flock(file.fileno())) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield is_ours


def flock(file: int) -> bool:
    """Take the lock on an open file; True when it is ours."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
