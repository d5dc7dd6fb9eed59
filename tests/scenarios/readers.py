"""Readers of archives that others wrote; `scripts/reader-tools.sh` installs them."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import pytest

READERS = Path(__file__).parents[2] / ".peers/readers"
OPENER = build_opener(ProxyHandler({}))


def tool(path: str) -> str:
    """The program at `path` among the readers; a test that needs one that is not there skips."""
    program = READERS / path
    if not program.exists():
        pytest.skip(f"{program.name} is not installed: run scripts/reader-tools.sh")
    return str(program)


@contextmanager
def pywb(directory: Path, warcs: list[Path], index: Iterable[str] | None = None) -> Iterator[str]:
    """A pywb that replays the WARCs, indexed by itself, or by lines of CDXJ; its address."""
    manager, server = tool("python/bin/wb-manager"), tool("python/bin/pywb")
    for words in (["init", "ours"], ["add", "ours", *map(str, warcs)]):
        subprocess.run([manager, *words], cwd=directory, check=True, capture_output=True)
    if index is not None:
        (directory / "collections/ours/indexes/index.cdxj").write_text("".join(sorted(index)))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [server, "-b", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(f"http://127.0.0.1:{port}/", process)
        yield f"http://127.0.0.1:{port}/ours"
    finally:
        process.terminate()
        process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes], patience_s: float = 60) -> None:
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        assert process.poll() is None, "pywb ended"
        try:
            OPENER.open(address, timeout=5).close()
            return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError("pywb does not answer")


def get(address: str) -> tuple[int, bytes]:
    """Status and body of an answer; redirects are followed."""
    try:
        with OPENER.open(address, timeout=30) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def node() -> str:
    """The Node.js interpreter."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("there is no Node.js here")
    return program
