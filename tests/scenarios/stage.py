"""The props every story needs: the real `joro` command, and a test web in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joro import config
from joro.testweb.running import OracleClient

JORO = [sys.executable, "-m", "joro"]


def joro(*words: object, timeout: float = 300, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever its exit code."""
    command = [*JORO, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, **options)


def done(*words: object, **options: Any) -> str:
    """Run a command that must succeed; its standard output."""
    result = joro(*words, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


@dataclass(frozen=True)
class Web:
    """A test web that is up."""

    settings: Path  # a joro.toml with which a collection sees it
    oracle: OracleClient
    seeds: list[str]

    def collection(self, path: Path, **sections: dict[str, Any]) -> Path:
        """A new collection that sees this web, with changes: `politeness={"interval_s": 0.0}`."""
        done("init", path, "--settings", self.settings)
        tables = tomllib.loads((path / config.FILE_NAME).read_text())
        for section, values in sections.items():
            tables.setdefault(section, {}).update(values)
        (path / config.FILE_NAME).write_text(config.render(config.from_tables(tables)))
        return path

    def truth(self, url: str) -> Any:
        """All the oracle knows of one page."""
        return self.oracle.get("/page", url=url)


@contextmanager
def serve_web(directory: Path, *options: object) -> Iterator[Web]:
    """`joro testweb` until the block ends."""
    settings, ready = directory / "testweb.toml", directory / "ready"
    command = [*JORO, "testweb", "--settings", settings, "--ready-file", ready, *options]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not ready.exists() or not ready.read_text().strip():
            assert process.poll() is None, "the test web did not start"
            assert time.monotonic() < deadline, "the test web did not get ready"
            time.sleep(0.02)
        oracle = OracleClient(int(ready.read_text().split()[0]))
        yield Web(settings, oracle, oracle.get("/summary")["seeds"])
    finally:
        process.terminate()
        process.wait(timeout=30)


def is_root() -> bool:
    """True where a test may mount a file system."""
    return os.geteuid() == 0
