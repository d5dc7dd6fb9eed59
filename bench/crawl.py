"""How many pages does a CPU-second collect, by us and by others?

Measured: whole commands, from start to exit, on one web of the bench profile (300 hosts, 20,000 pages of
20 KB with 30 links) in a private network, each contender on one core and the web on another; best of three
rounds, each in another order. Ours is `joro crawl` with robots.txt, politeness (no pause, but one request per
server and per address), WARC and durable frontier on. Peers and their tuning: `bench/peers/contenders.py`.
What was fetched is counted by the web, not by the crawler.

`pages_per_s` counts while the middle half of the pages was fetched: neither start-up nor the wait for the
largest server at the end, which one request at a time cannot shorten.

What a second process brings is measured on a web of 1,000 hosts: where 300 hosts are asked one thing at a
time, and one of them has a quarter of all pages, two processes soon have too few left to ask, and both cores
stand still for a tenth of the time. Two processes share their cores with the web, so there are two figures:
`scaling_2` against one process that has a core to itself and the web another; `scaling_cores` against one
that shares its core with the web as two share theirs. `scaling_2_few` is the first on the web of 300, which
was `scaling_2` until November 2026. The web is a batch process (SCHED_BATCH): it does not push anybody off a
core for a single request, which matters where it shares one.
Left out: TLS, DNS answers from afar, slow servers.

    python -m bench.crawl                           everything, twenty minutes or so
    python -m bench.crawl --only joro,spider --rounds 1
    python -m bench.crawl --profile                 where our own CPU time goes
    python -m bench.crawl --profile --only joro_2   the same of two processes
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import CannotRun
from bench.peers import install, ring, stacks
from bench.peers.contenders import CONTENDERS
from bench.peers.ring import Result

ROOT = Path(__file__).parent.parent
ROUNDS = 3
#: Ten thousand pages would take us three seconds, a tenth of it start-up.
HOSTS, PAGES = 300, 20_000
#: Where processes are compared: who takes part, and on how many hosts.
SCALING, SCALING_HOSTS = ("joro", "joro_2", "joro_beside"), 1_000
#: Without these the comparison says too little: their ratios have floors.
FLOORED = ("scrapy", "spider")

Figures = dict[str, tuple[float, str]]


def figures() -> Figures:
    """Ours, the ratios to every peer, and the limit."""
    names = _runnable()
    for name in FLOORED:
        if name not in names:
            raise CannotRun(f"{name} could not be installed")
    peers = [name for name in names if name != "joro_beside"]
    results, limit = _meet(peers, rounds=ROUNDS, pages=PAGES)
    several, _ = _meet(SCALING, rounds=ROUNDS, pages=PAGES, hosts=SCALING_HOSTS)
    return compared(best(results), limit) | scaled(best(several))


def _runnable() -> list[str]:
    """Fetch the peers; who can take part."""
    is_here = shutil.which("unshare") is not None
    if not is_here or subprocess.run([*ring.PRIVATE, "true"], capture_output=True).returncode:
        raise CannotRun("no private network can be made here (unshare --net --mount): be root on Linux")
    install.install()
    for contender in CONTENDERS:
        if reason := contender.missing():
            print(f"crawl: without {contender.name}: {reason}", file=sys.stderr)
    return [contender.name for contender in CONTENDERS if not contender.missing()]


def _meet(
    names: Sequence[str], *, rounds: int, pages: int, hosts: int = HOSTS
) -> tuple[list[Result], float | None]:
    command = ring.command(contenders=names, rounds=rounds, hosts=hosts, pages=pages)
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return ring.results(run.stdout)


def best(results: Sequence[Result]) -> dict[str, Result]:
    """The round in which each contender needed least CPU time per page; failed ones count for nothing."""
    found: dict[str, Result] = {}
    for result in results:
        known = found.get(result.name)
        if not result.failure and (known is None or result.pages_per_cpu_s > known.pages_per_cpu_s):
            found[result.name] = result
    return found


def compared(results: Mapping[str, Result], limit: float | None) -> Figures:
    """The figures of everyone who finished."""
    ours = results["joro"]
    told: Figures = {
        "crawl.pages_per_cpu_s": (ours.pages_per_cpu_s, "pages/CPU-s"),
        "crawl.pages_per_s_1": (ours.pages_per_s, "pages/s"),
        "crawl.memory_mb": (ours.memory_mb, "MB"),
        "crawl.web_share": (ours.web_cpu_s / (ours.web_cpu_s + ours.cpu_s), "of all CPU time"),
    }
    if two := results.get("joro_2"):
        told["crawl.pages_per_s_2"] = (two.pages_per_s, "pages/s")
        told["crawl.scaling_2_few"] = (two.pages_per_s / ours.pages_per_s, "x")
    for name, result in results.items():
        if not name.startswith("joro"):
            told[f"crawl.{name}_pages_per_cpu_s"] = (result.pages_per_cpu_s, "pages/CPU-s")
            told[f"crawl.ratio_{name}"] = (ours.pages_per_cpu_s / result.pages_per_cpu_s, "x")
    if limit:
        told["crawl.limit_wrk_pages_per_s"] = (limit, "pages/s")
    return told


def scaled(results: Mapping[str, Result]) -> Figures:
    """What a second process brings."""
    if not results.keys() >= set(SCALING):
        return {}
    one, two, beside = (results[name].pages_per_s for name in SCALING)
    return {"crawl.scaling_2": (two / one, "x"), "crawl.scaling_cores": (two / beside, "x")}


def table(results: Mapping[str, Result]) -> str:
    """Markdown, for the README and for notes."""
    notes = {contender.name: contender.note for contender in CONTENDERS}
    rows = ["| | pages/CPU-s | pages/s | memory | found | |", "|---|---|---|---|---|---|"]
    for result in sorted(results.values(), key=lambda each: -each.pages_per_cpu_s):
        rows.append(
            f"| {result.name} | {result.pages_per_cpu_s:,.0f} | {result.pages_per_s:,.0f} |"
            f" {result.memory_mb:.0f} MB | {result.share:.0%} | {notes[result.name]} |"
        )
    return "\n".join(rows)


def profile(name: str, pages: int, hosts: int = HOSTS) -> str:
    """Where the CPU time of a crawl goes, by a sampler that sees Python functions and C below them."""
    if not install.PY_SPY.exists():
        raise CannotRun("py-spy could not be installed")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stacks"
        command = ring.command(contenders=[name], rounds=1, hosts=hosts, pages=pages, profile=str(file))
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        return stacks.report(file.read_text(encoding="utf-8"), pages)


def main() -> None:
    """For a person: chosen contenders, a table, or a profile."""
    parser = argparse.ArgumentParser(prog="python -m bench.crawl", description="Crawl against others.")
    parser.add_argument("--only", default="", metavar="NAME,…", help="these contenders instead of all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--profile", action="store_true", help="where the CPU time goes")
    wanted = parser.parse_args()
    names = _runnable()
    if wanted.profile:
        print(profile(wanted.only or "joro", wanted.pages, wanted.hosts))
        return
    chosen = [name for name in names if not wanted.only or name in wanted.only.split(",")]
    results, limit = _meet(chosen, rounds=wanted.rounds, pages=wanted.pages, hosts=wanted.hosts)
    print(table(best(results)))
    if limit:
        print(f"\nwrk fetches {limit:,.0f} pages/s from the same web")


if __name__ == "__main__":
    main()
