"""Where do releases lie for robots to fetch?

In:    a directory, which any web server or a manager hands out; wheels to be released.
Out:   each wheel, beside it its signed manifest, and the newest of these under one name.
Never: takes anything away, or changes what robots may be fetching; names a release newest before all of it
       is there.
Paper: S1 5.3.1: the URL where the program is kept.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from joro.errors import UsageError
from joro.store.durable import write_whole
from joro.updater.release import NEWEST, Manifest, Signed, described, is_newer, signed, version_of


class Channel:
    """The releases of one kind of robot: "stable", "testing" …"""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def add(self, wheel: Path, key: Path, now: float) -> Manifest:
        """Release a wheel: from now on it is the newest."""
        older = self.all()
        # Robots take what is signed earlier for a replay, be it that a clock was wrong.
        manifest = described(wheel, max([now, *(each.created + 1 for each in older)]))
        for other in older:
            if not is_newer(manifest.version, other.version):
                raise UsageError(
                    f"{manifest.version} is not newer than {other.version}, which {self.directory} has",
                    remedy="robots never go back: release it again under a higher version",
                )
        parcel = msgspec.json.encode(signed(manifest, key))
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._take(wheel)
            write_whole(self.directory / f"{manifest.file}.json", parcel)
            write_whole(self.directory / NEWEST, parcel)
        except OSError as error:
            raise UsageError(
                f"{self.directory} cannot be written ({error.strerror})", remedy="choose another with --to"
            ) from None
        return manifest

    def all(self) -> list[Manifest]:
        """Every release, oldest first."""
        found = [_manifest_in(path) for path in self.directory.glob("*.whl.json")]
        return sorted(found, key=lambda manifest: version_of(manifest.version))

    def _take(self, wheel: Path) -> None:
        draft = self.directory / f".{wheel.name}.new"
        with wheel.open("rb") as source, draft.open("wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        draft.replace(self.directory / wheel.name)


def _manifest_in(path: Path) -> Manifest:
    try:
        parcel = msgspec.json.decode(path.read_bytes(), type=Signed)
        return msgspec.json.decode(parcel.manifest, type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} is no signed manifest ({error})", remedy="remove it") from None
