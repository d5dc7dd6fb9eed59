"""Has somebody told the robots of a collection to pause?

In:    the collection's directory.
Out:   since when and why, or nothing; robots ask twice a second.
Never: is forgotten over a restart: it is a file, and counts for whoever collects there. Fails to be seen
       because its content is no longer what we wrote: the file alone says it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from joro.store.durable import sync, write_whole

FILE_NAME = "paused"


class Pause(msgspec.Struct, frozen=True):
    """Somebody's wish that nothing be visited."""

    since: float
    why: str = ""

    def __str__(self) -> str:
        """For people."""
        moment = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"paused since {moment}" + (f" ({self.why})" if self.why else "")


def paused(directory: Path) -> Pause | None:
    """The pause that holds now."""
    file = directory / FILE_NAME
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(content, type=Pause)
    except msgspec.DecodeError:  # made by hand
        return Pause(file.stat().st_mtime)


def pause(directory: Path, now: float, why: str = "") -> Pause:
    """Let robots start nothing from now on; who pauses again changes the reason, if one is given."""
    before = paused(directory) or Pause(now)
    wished = Pause(before.since, " ".join(why.split()) or before.why)
    write_whole(directory / FILE_NAME, msgspec.json.encode(wished))
    return wished


def resume(directory: Path) -> Pause | None:
    """Let robots go on; the pause that is over now, if there was one."""
    before = paused(directory)
    (directory / FILE_NAME).unlink(missing_ok=True)
    sync(directory)
    return before
