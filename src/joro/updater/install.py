"""How does a wheel become a release that can be started?

In:    a wheel that was verified, the shelf.
Out:   the release in a directory of its own; how to start a release; what its own self-check says.
Never: touches what is installed or another release; gives a release its name before all of it is on the disk.

pip unpacks the wheel with `--target`; libraries stay those of this Python, which `needs` has looked at. A
release is started by putting its directory before them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

from joro.errors import ReleaseError
from joro.store.durable import sync
from joro.updater.shelf import Shelf

#: pip took 2 s for a wheel of 1 MB; a machine whose disk is busy takes longer.
INSTALL_S = 600.0
#: The self-check took 4 s.
CHECK_S = 600.0
_PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>
_LIBRARY = ctypes.CDLL(None)


def install(shelf: Shelf, version: str, wheel: Path) -> Path:
    """Put a release beside the others; at once, if it is there."""
    folder = shelf.directory / version
    if folder.is_dir():
        return folder
    stage = shelf.directory / f".{version}.new"
    shutil.rmtree(stage, ignore_errors=True)
    words = ["install", "--isolated", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    run = _run([sys.executable, "-m", "pip", *words, "--target", str(stage), str(wheel)], None, INSTALL_S)
    if run.returncode:
        raise ReleaseError(
            f"pip cannot install {wheel.name} ({last_line(run.stderr)})",
            remedy="make room, or mend pip: python -m ensurepip",
        )
    for path in stage.rglob("*"):
        sync(path)
    sync(stage)
    stage.rename(folder)
    sync(shelf.directory)
    return folder


def self_check(shelf: Shelf, version: str, collection: Path) -> None:
    """Let a release look whether it works here, on a scratch collection and on ours (which it only reads)."""
    run = _run(command(["self-check", "-C", str(collection)]), environment(shelf, version), CHECK_S)
    last = last_line(run.stdout)
    if run.returncode or not last.startswith(f"joro {version} "):
        reason = last_line(run.stderr) or last or f"exit code {run.returncode}"
        raise ReleaseError(
            f"joro {version} fails its self-check ({reason})",
            remedy="wait for a newer release, or ask its makers",
        )


def command(words: list[str]) -> list[str]:
    """How joro is called."""
    return [sys.executable, "-m", "joro", *words]


def environment(shelf: Shelf, version: str) -> dict[str, str]:
    """In which surroundings that starts a certain release, and whatever it starts, too."""
    folder = shelf.folder(version)
    if folder is None:
        return dict(os.environ)
    paths = [str(folder.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])]
    # Safe path: else a folder called joro where we were started would come first.
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


def die_with_parent(number: int, parent: int) -> None:
    """Between fork and exec: have this process get a signal when the one that starts it dies."""
    with contextlib.suppress(AttributeError):  # other systems have no such call: there it lives on
        _LIBRARY.prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)  # it died before we had asked


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _run(words: list[str], env: dict[str, str] | None, patience_s: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience_s,
            check=False,
            preexec_fn=partial(die_with_parent, signal.SIGKILL, os.getpid()),
        )
    except subprocess.TimeoutExpired:
        said = f"it took more than {patience_s:g} s"
        return subprocess.CompletedProcess(words, 1, "", said)
