"""Where do the peers come from?

In:    `requirements.txt` (pip), `package.json` (npm), Debian packages.
Out:   `.peers/` beside `.venv/`, made when first needed and again when those lists change.
Never: puts a peer's libraries beside Joro's own, or fails: what is missing is simply not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOM = HERE.parent.parent / ".peers"
PYTHON = ROOM / "venv" / "bin" / "python"
PY_SPY = ROOM / "venv" / "bin" / "py-spy"
NODE_ROOM = ROOM / "node"
#: Programs of the system, each in the Debian package of its own name.
PROGRAMS = ("wget2", "wget", "wrk")


def install() -> None:
    """Fetch what is not here yet; needs the package registries only then."""
    ROOM.mkdir(exist_ok=True)
    if _is_stale("requirements.txt") or not _is_our_python():
        _say("Scrapy, Crawlee")
        # Else a room emptied for another Python, which pip then failed to fill, would pass for furnished.
        (ROOM / "requirements.txt").unlink(missing_ok=True)
        if _try(sys.executable, "-m", "venv", "--clear", ROOM / "venv") and _try(
            PYTHON,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "-r",
            HERE / "requirements.txt",
        ):
            _keep("requirements.txt")
    if shutil.which("npm") and _is_stale("package.json"):
        _say("the Rust spider")
        NODE_ROOM.mkdir(exist_ok=True)
        shutil.copy(HERE / "package.json", NODE_ROOM)
        if _try("npm", "install", "--silent", "--no-audit", "--no-fund", folder=NODE_ROOM):
            _keep("package.json")
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        _say(", ".join(missing))
        _try("apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing)


def _is_stale(name: str) -> bool:
    kept = ROOM / name
    return not kept.exists() or kept.read_bytes() != (HERE / name).read_bytes()


def _is_our_python() -> bool:
    """Whose interpreter is another build of Python would be measured by that."""
    command = [str(PYTHON), "-c", "import sys; print(sys.version, sys.base_prefix)"]
    said = subprocess.run(command, capture_output=True, text=True).stdout if PYTHON.exists() else ""
    return said.strip() == f"{sys.version} {sys.base_prefix}"


def _keep(name: str) -> None:
    """Written last: an installation cut short is made again."""
    shutil.copy(HERE / name, ROOM / name)


def _say(what: str) -> None:
    print(f"fetching peers: {what}", file=sys.stderr, flush=True)


def _try(*command: object, folder: Path | None = None) -> bool:
    run = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        last = (run.stderr.strip() or run.stdout.strip()).splitlines()[-1:]
        print(f"  that failed: {''.join(last)}", file=sys.stderr, flush=True)
    return run.returncode == 0


if __name__ == "__main__":
    install()
