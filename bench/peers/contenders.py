"""Who takes part, and with which settings?

In:    what is installed, and the course: hosts and seeds of the web to crawl.
Out:   for each contender the command a user of it would type, tuned for this crawl.
Never: runs anything.

The same for all: start at the seeds, fetch, find the links, follow every one, fetch nothing twice, until no
page is left. Peers are tuned as far as we know how, and spared work where the choice is ours: they do not ask
for robots.txt, write nothing but what they cannot avoid, and keep their queues in memory. Ours asks for
robots.txt, one request per server and per address at a time, archives every page as WARC with fsync and
commits its frontier.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.peers import install
from joro import config
from joro.config import Config

HERE = Path(__file__).parent
#: Requests at once where one per server is kept: more than there are servers, where peers take part.
CONCURRENCY = 400

Command = list[str]


@dataclass(frozen=True)
class Course:
    """What a contender must know of the web."""

    seeds: Path  # a file, one URL a line
    names: Path  # a file, one host a line
    settings: Config  # with which a collection sees it


@dataclass(frozen=True)
class Contender:
    """One crawler with one set of settings."""

    name: str
    note: str
    command: Callable[[Course, Path], Command]  # the folder is empty, and the command's working directory
    needs: tuple[Path | str, ...] = ()  # files, or programs on the PATH
    cores: int = 1
    beside_the_web: bool = False  # on the very core that the web is on, where others have one to themselves

    def missing(self) -> str:
        """The first thing it needs that is not here, "" when it can run."""
        for need in self.needs:
            if isinstance(need, Path) and not need.exists():
                return f"{need.name} is not in {install.ROOM.name}"
            if isinstance(need, str) and shutil.which(need) is None:
                return f"{need} is not installed"
        return ""


def _joro(processes: int) -> Callable[[Course, Path], Command]:
    def command(course: Course, folder: Path) -> Command:
        tables = tomllib.loads(config.render(course.settings))
        tables.setdefault("fetch", {})["sockets"] = max(CONCURRENCY, len(course.names.read_text().split()))
        tables.setdefault("politeness", {})["interval_s"] = 0.0
        tables.setdefault("scope", {}).update(hops=255, cgi_hops=255)
        collection = folder / "web"
        collection.mkdir()
        (collection / config.FILE_NAME).write_text(config.render(config.from_tables(tables)))
        words = ["crawl", "-C", str(collection), "--seeds", str(course.seeds), "--quiet"]
        return [
            sys.executable,
            "-m",
            "joro",
            *words,
            *(["--processes", str(processes)] if processes > 1 else []),
        ]

    return command


def _scrapy(*options: str) -> Callable[[Course, Path], Command]:
    program = [str(install.PYTHON), str(HERE / "with_scrapy.py"), f"--concurrency={CONCURRENCY}", *options]
    return lambda course, _: [*program, str(course.seeds)]


def _crawlee(course: Course, _: Path) -> Command:
    return [str(install.PYTHON), str(HERE / "with_crawlee.py"), str(course.seeds)]


def _rust(course: Course, _: Path) -> Command:
    return [
        "node",
        str(HERE / "with_spider.mjs"),
        str(install.NODE_ROOM),
        str(course.seeds),
        str(course.names),
    ]


def _wget(program: str, *options: str) -> Callable[[Course, Path], Command]:
    """Only pages are wanted, so only `a` is followed; it starts at one seed: wget repeats itself for each."""

    def command(course: Course, _: Path) -> Command:
        names = ",".join(course.names.read_text().split())
        seed = course.seeds.read_text().split()[0]
        words = ["--quiet", "--recursive", "--level=inf", "--span-hosts", f"--domains={names}"]
        return [program, *words, "--ignore-tags=img,link,script,area,iframe", *options, seed]

    return command


#: In the order of their turns: who is nearly as fast as we are runs in the same minute as we do.
CONTENDERS = (
    Contender("joro", "robots.txt, politeness, WARC and durable frontier on", _joro(1)),
    Contender(
        "spider",
        "Rust, through npm, one crawl over all hosts",
        _rust,
        needs=("node", install.NODE_ROOM / "node_modules" / "@spider-rs" / "spider-rs"),
    ),
    Contender("joro_2", "the same with --processes 2", _joro(2), cores=2),
    Contender("joro_beside", "the same as joro, on one core with the web", _joro(1), beside_the_web=True),
    Contender("scrapy", "tuned, its own duplicate filter", _scrapy(), needs=(install.PYTHON,)),
    Contender(
        "scrapy_plain",
        "log off, as many at once, one per server, no pause; the rest as it comes",
        _scrapy("--settings=plain"),
        needs=(install.PYTHON,),
    ),
    Contender(
        "scrapy_set",
        "tuned, and no known link ever reaches it: a set in our code",
        _scrapy("--known=set"),
        needs=(install.PYTHON,),
    ),
    Contender("crawlee", "Python, ParselCrawler, in memory, 50 at once", _crawlee, needs=(install.PYTHON,)),
    Contender(
        "wget2",
        "10 threads, a file per page",
        _wget("wget2", "--max-threads=10", "--robots=off", "--compression=identity"),
        needs=("wget2",),
    ),
    Contender("wget", "one connection, a file per page", _wget("wget", "-e", "robots=off"), needs=("wget",)),
)
