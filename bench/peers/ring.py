"""Where do all contenders meet the same web under the same names?

In:    which contenders, how many rounds, how large a web.
Out:   one `Result` per run, as JSON on standard output; progress on standard error.
Never: lets a byte out: this runs as `unshare --net --mount python -m bench.peers.ring`, in a network that
       consists of loopback alone and with an `/etc/hosts` of its own that knows the hosts of the test web.

The test web is on port 80 and every host on its address, so that any crawler sees an ordinary web.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.peers import meter
from bench.peers.contenders import CONTENDERS, Contender, Course
from bench.peers.install import PY_SPY
from joro.testweb.running import Running, separate
from joro.testweb.settings import Settings

#: Begins a command that is to run in a network and with mounts of its own; whoever is not root needs a kernel
#: that lets users be root of such a room.
PRIVATE = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
#: A contender that takes longer is ended; it has then no figure.
LIMIT_S = 400.0
#: One that finds fewer of the pages has none either. Not 1: wget2 1.99 and the Rust spider do not decode
#: `&amp;` in links and so miss one page in nine. That costs them nothing: figures count pages fetched.
LEAST_SHARE = 0.85
#: Of Linux, for bringing up loopback: <linux/sockios.h>, <linux/if.h>.
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


@dataclass(frozen=True)
class Result:
    """One run of one contender."""

    name: str
    pages: int  # pages of the web it fetched
    all_pages: int  # pages of the web
    requests: int  # every request it made
    cpu_s: float
    wall_s: float
    memory_mb: float
    pages_per_s: float  # while the middle half of the pages was fetched: no start-up, no last server alone
    web_cpu_s: float
    failure: str = ""  # what it said when it did not do its part

    @property
    def pages_per_cpu_s(self) -> float:
        return self.pages / self.cpu_s

    @property
    def share(self) -> float:
        """How much of the web it found."""
        return self.pages / self.all_pages


def command(
    *, contenders: Sequence[str], rounds: int, hosts: int, pages: int, profile: str = ""
) -> list[str]:
    """How to start the ring."""
    words = [*contenders, f"--rounds={rounds}", f"--hosts={hosts}", f"--pages={pages}"]
    own = [f"--profile={profile}"] if profile else []
    return [*PRIVATE, sys.executable, "-m", "bench.peers.ring", *words, *own]


def main() -> None:
    """Let them run, round after round, each round in another order."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers.ring")
    parser.add_argument("contenders", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--profile", default="", help="sample the first contender into this file instead")
    wanted = parser.parse_args()
    settings = Settings(
        hosts=wanted.hosts, pages=wanted.pages, profile="bench", addresses="own", port=80, warm=True
    )
    chosen = [each for each in CONTENDERS if each.name in wanted.contenders]
    _bring_up_loopback()
    with separate(settings) as web, tempfile.TemporaryDirectory() as folder:
        match = Match(web, Path(folder))
        if wanted.profile:
            match.profile(chosen[0], Path(wanted.profile))
            return
        results = [match.run(each) for each in order(chosen, wanted.rounds)]
        limit = match.wrk() if shutil.which("wrk") else None
    print(json.dumps({"results": [asdict(result) for result in results], "wrk_pages_per_s": limit}))


def order(chosen: Sequence[Contender], rounds: int) -> Iterator[Contender]:
    """Round after round, each beginning with another contender."""
    for number in range(rounds):
        start = number * len(chosen) // rounds
        yield from (*chosen[start:], *chosen[:start])


class Match:
    """All contenders on one web."""

    def __init__(self, web: Running, folder: Path) -> None:
        self._web = web
        self._folder = folder
        hosts = web.oracle.get("/hosts")
        self._pages = {page["url"] for page in web.oracle.get("/pages")}
        self._course = Course(folder / "seeds", folder / "names", web.config)
        self._course.seeds.write_text("".join(f"{url}\n" for url in web.seeds))
        self._course.names.write_text("".join(f"{host['name']}\n" for host in hosts))
        names = "".join(f"{host['address']} {host['name']}\n" for host in hosts)
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        subprocess.run(["mount", "--bind", folder / "hosts", "/etc/hosts"], check=True)
        # It stands for other people's machines: it must not push whoever is measured off the core for every
        # single request, as none of theirs could.
        os.sched_setscheduler(web.pid, os.SCHED_BATCH, os.sched_param(0))
        self._cores = sorted(os.sched_getaffinity(0))

    def run(self, contender: Contender) -> Result:
        """One run, measured from both sides."""
        own, webs = self._shares(contender)
        os.sched_setaffinity(self._web.pid, webs)
        self._web.oracle.get("/reset")
        with _empty(self._folder / contender.name) as folder:
            words = contender.command(self._course, folder)
            before = meter.cpu_s(self._web.pid)
            cost = meter.run(words, folder, own, limit_s=LIMIT_S)
            result = self._result(contender, cost, meter.cpu_s(self._web.pid) - before)
        print(line(result), file=sys.stderr, flush=True)
        return result

    def _shares(self, contender: Contender) -> tuple[list[int], list[int]]:
        """One core for the contender and one for the web, where there are two; else all for both."""
        if contender.beside_the_web:
            return self._cores[:1], self._cores[:1]
        if contender.cores == 1 and len(self._cores) > 1:
            return self._cores[:1], self._cores[1:2]
        return self._cores, self._cores

    def _result(self, contender: Contender, cost: meter.Cost, web_cpu_s: float) -> Result:
        log = self._web.oracle.get("/log")
        ends = [entry["end"] for entry in log if entry["status"] == 200 and entry["url"] in self._pages]
        fetched = {entry["url"] for entry in log if entry["status"] == 200} & self._pages
        failure = ""
        if len(fetched) < LEAST_SHARE * len(self._pages):
            failure = f"fetched {len(fetched)} of {len(self._pages)} pages (code {cost.code}): {cost.words}"
        return Result(
            contender.name, len(fetched), len(self._pages), len(log), cost.cpu_s, cost.wall_s,
            cost.memory_mb, middle_rate(ends), web_cpu_s, failure,
        )  # fmt: skip

    def wrk(self) -> float:
        """Pages per second that a program fetches which does nothing else."""
        urls = self._folder / "urls"
        urls.write_text("".join(f"{url}\n" for url in sorted(self._pages)))
        own, webs = self._shares(CONTENDERS[0])
        os.sched_setaffinity(self._web.pid, webs)
        words = ["taskset", "-c", ",".join(map(str, own)), "wrk", "-t1", "-c50", "-d5"]
        script = Path(__file__).parent / "wrk.lua"
        run = subprocess.run(
            [*words, "-s", script, "http://127.0.0.1/", "--", urls],
            capture_output=True,
            text=True,
            check=True,
        )
        return next(float(line.split()[1]) for line in run.stdout.splitlines() if "Requests/sec" in line)

    def profile(self, contender: Contender, file: Path) -> None:
        """One run under a sampler, which writes folded stacks into `file`."""
        sampler = [str(PY_SPY), "record", "--native", "--subprocesses", "--rate=500"]
        own, webs = self._shares(contender)
        os.sched_setaffinity(self._web.pid, webs)
        with _empty(self._folder / contender.name) as folder:
            words = contender.command(self._course, folder)
            meter.run(
                [*sampler, "--format=raw", f"--output={file}", "--", *words], folder, own, limit_s=LIMIT_S
            )


def middle_rate(times: Sequence[float]) -> float:
    """Events per second between the first and the last quarter of them."""
    ordered = sorted(times)
    first, last = len(ordered) // 4, 3 * len(ordered) // 4
    return (last - first) / (ordered[last] - ordered[first]) if last > first else 0.0


def line(result: Result) -> str:
    """One run for a person."""
    if result.failure:
        return f"{result.name:<12} {result.failure}"
    return (
        f"{result.name:<12} {result.pages:>6,} pages of {result.all_pages:,} {result.requests:>6,} requests"
        f" {result.pages_per_cpu_s:>7,.0f} pages/CPU-s {result.cpu_s:>7.2f} CPU-s {result.wall_s:>7.2f} s"
        f" {result.pages_per_s:>7,.0f} pages/s {result.memory_mb:>5.0f} MB  web {result.web_cpu_s:.2f} CPU-s"
    )


@contextmanager
def _empty(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))


def results(text: str) -> tuple[list[Result], float | None]:
    """What a ring has written."""
    told: dict[str, Any] = json.loads(text)
    return [Result(**each) for each in told["results"]], told["wrk_pages_per_s"]


if __name__ == "__main__":
    main()
