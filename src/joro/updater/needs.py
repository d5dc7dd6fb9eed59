"""Can a release run on this machine, as it is?

In:    its manifest, its wheel.
Out:   nothing, or a `ReleaseError` that names all that is missing and how to get it.
Never: installs or changes anything: what a release needs is the operator's to bring.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path

from joro.errors import ReleaseError
from joro.updater.release import Manifest, read_metadata

#: The extras whose libraries a robot that updates itself has to have.
EXTRAS = ("", "update")


def check_python(manifest: Manifest) -> None:
    """Complain if another Python is needed."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    here = platform.python_version()
    try:
        is_met = SpecifierSet(manifest.python).contains(here, prereleases=True)
    except InvalidSpecifier:
        is_met = False
    if not is_met:
        raise ReleaseError(
            f"joro {manifest.version} needs Python {manifest.python}, here is {here}",
            remedy="install it, and joro anew with it",
        )


def check_libraries(manifest: Manifest, wheel: Path) -> None:
    """Complain if a library is missing or too old, or if the wheel is for another kind of machine."""
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        tags = parse_wheel_filename(wheel.name)[3]
    except InvalidWheelFilename as error:
        raise ReleaseError(f"{wheel.name} is no wheel ({error})", remedy="sign a new release") from None
    if tags.isdisjoint(sys_tags()):
        raise ReleaseError(f"{wheel.name} is for other machines", remedy="release a wheel for this kind, too")
    missing = list(_missing(wheel))
    if missing:
        said = ", ".join(f"{wanted} (here: {here})" for wanted, here in missing)
        names = " ".join(f"'{wanted}'" for wanted, _ in missing)
        raise ReleaseError(
            f"joro {manifest.version} needs what this machine has not: {said}",
            remedy=f"run: pip install {names}",
        )


def _missing(wheel: Path) -> Iterator[tuple[str, str]]:
    """Requirements that are not met, and what is here instead."""
    from packaging.requirements import Requirement

    lines = BytesParser().parsebytes(read_metadata(wheel)).get_all("Requires-Dist", [])
    for wanted in map(Requirement, lines):
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in EXTRAS):
            continue
        here = _version_here(wanted.name)
        if here is None or not wanted.specifier.contains(here, prereleases=True):
            yield f"{wanted.name}{wanted.specifier}", here or "none"


def _version_here(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
