"""How much memory a crawl takes at its worst, with and without hostile servers on the web."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenarios.archived import responses
from tests.scenarios.stage import JORO, Web

#: Patience is short, so that the run ends within a minute; limits of size and memory are the defaults.
MANNERS: dict[str, Any] = {"interval_s": 0.0, "retry_wait_s": 0.5}
PATIENCE: dict[str, Any] = {"timeout_s": 20.0, "connect_timeout_s": 5.0, "stall_s": 3.0}


@dataclass(frozen=True)
class Appetite:
    """Two crawls of one web: without its hostile servers, and with all of them."""

    alone_mb: float
    among_hostile_mb: float
    honest: int  # pages the oracle says can be reached: of honest servers, and the honest ones of hostile
    collected: int  # of those, with hostile servers around

    @property
    def grown_mb(self) -> float:
        return self.among_hostile_mb - self.alone_mb


def measure(web: Web, directory: Path) -> Appetite:
    """Crawl twice. All servers are seeds: so the hostile ones are met early, and many at once."""
    hosts = web.oracle.get("/hosts")
    hostile = [host["url"] for host in hosts if host["role"] == "hostile"]
    seeds = [host["url"] for host in hosts]
    alone_mb, _ = _crawl(web, directory / "alone", seeds, [f"{url}*" for url in hostile])
    among_mb, collection = _crawl(web, directory / "among", seeds, [])
    honest = set(web.oracle.get("/reachable"))
    return Appetite(alone_mb, among_mb, len(honest), len(honest & responses(collection).keys()))


def _crawl(web: Web, path: Path, seeds: list[str], exclude: Iterable[str]) -> tuple[float, Path]:
    scope = {"exclude": list(exclude)}
    collection = web.collection(path, politeness=MANNERS, fetch=PATIENCE, scope=scope)
    seed_file = collection / "seeds.txt"
    seed_file.write_text("\n".join(seeds), encoding="utf-8")
    return peak_mb([*JORO, "crawl", "-q", "-C", str(collection), "--seeds", str(seed_file)]), collection


def peak_mb(command: list[str]) -> float:
    """The most memory a command had resident at any time; it must succeed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, _high_water_mb(process.pid))  # the kernel keeps it, so what passes is not missed
        time.sleep(0.02)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return peak


def _high_water_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)  # a process that has just ended has none
    return int(found[1]) * 1024 / 1e6 if found else 0.0
