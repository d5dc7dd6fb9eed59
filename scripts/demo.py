"""Does the whole journey work, from nothing to a search result?

In:    an installed Joro. `--check`: end after the checks instead of serving the search page.
Out:   `demo/`, a collection of the bundled test web; a search in Japanese and one in English; the address to
       open. Exit code 1 when a search misses the page that the test web's oracle says it must find.
Never: leaves the machine, leaves a process behind, or deletes a directory that it did not make.
"""

from __future__ import annotations

import argparse
import dataclasses
import fcntl
import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from joro import config
from joro.testweb.running import OracleClient

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "demo"
#: The test web's settings, and our mark: a demo/ without it is somebody else's.
SETTINGS = "testweb.toml"
HOSTS, PAGES = 150, 2_500
#: Every vice but slowness: hosts that answer late or ask us to wait would double the time of the demo.
ROLES = "flaky,dead,huge,redirecting,soft404,restricted,news,sitemap,trap,hostile,copy"


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.demo", description="Collect and search a test web."
    )
    parser.add_argument("--check", action="store_true", help="end after the checks")
    check = parser.parse_args().check
    signal.signal(signal.SIGTERM, _leave)
    with only_one(), test_web() as oracle:
        seeds = oracle.get("/summary")["seeds"]
        joro("init", str(DEMO), "--settings", str(DEMO / SETTINGS), quiet=True)
        joro("run", "-C", str(DEMO), "--once", *seeds)
        show(oracle)
        if not check:
            joro("portal", "-C", str(DEMO))


@contextmanager
def only_one() -> Iterator[None]:
    """A second demo would delete the first one's collection under its feet."""
    with open(__file__, encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail("another demo runs from this directory; end it with Ctrl-C first")
        yield


@contextmanager
def test_web() -> Iterator[OracleClient]:
    """The synthetic internet, up and with settings to see it by."""
    make_room()
    ready = DEMO / "testweb.port"
    words = ("testweb", "--hosts", HOSTS, "--pages", PAGES, "--roles", ROLES, "--settings", DEMO / SETTINGS)
    with (
        open(DEMO / "testweb.log", "wb") as log,
        process(*words, "--ready-file", ready, output=log, shielded=True) as child,
    ):
        while not ready.exists():
            try:
                child.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                continue
            fail(f"the test web did not start:\n{(DEMO / 'testweb.log').read_text(encoding='utf-8')}")
        port = int(ready.read_text(encoding="utf-8").split()[0])
        adapt_settings()
        print(f"a synthetic internet of {HOSTS} hosts is up on 127.0.0.1:{port}", flush=True)
        yield OracleClient(port)


def make_room() -> None:
    """Every demo starts afresh: the ports of the last one are gone."""
    if DEMO.exists() and not (DEMO / SETTINGS).exists():
        fail(f"{DEMO} is not a collection of an earlier demo; move it away")
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    (DEMO / SETTINGS).touch()


def adapt_settings() -> None:
    """What the test web wrote, with a free portal port, and less patience than the real web deserves."""
    seen = config.load(DEMO / SETTINGS)
    port = free_port(seen.portal.address, seen.portal.port)
    chosen = dataclasses.replace(
        seen,
        fetch=dataclasses.replace(seen.fetch, timeout_s=3.0, connect_timeout_s=2.0),
        politeness=dataclasses.replace(
            seen.politeness, interval_s=0.02, crawl_delay_limit_s=0.05, retry_limit=1, retry_wait_s=0.5
        ),
        scope=dataclasses.replace(seen.scope, pages_per_server=200),
        portal=dataclasses.replace(seen.portal, port=port),
    )
    (DEMO / SETTINGS).write_text(config.render(chosen), encoding="utf-8")


def free_port(address: str, wished: int) -> int:
    """The port we would like, or any other one when it is taken."""
    for port in (wished, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    fail(f"no free port on {address}")


def show(oracle: OracleClient) -> None:
    """What was collected, and a search for a word of one Japanese and one English page."""
    facts = json.loads(joro("stats", "-C", str(DEMO), "--json", quiet=True))
    print(f"pages collected:  {facts['visited']:,}")
    marks = facts["search"]
    print(f"pages searchable: {marks['searchable']:,}")
    print(
        f"    near copies:  {marks['near_copies']:,}, pages that say they are missing: {marks['soft_404']:,}"
    )
    for language, name in (("ja", "Japanese"), ("en", "English")):
        page = sample(oracle, language)
        answer = json.loads(joro("search", "-C", str(DEMO), "--json", page["needle"], quiet=True))
        found = [result for result in answer["results"] if is_or_folds(result, page["url"])]
        if not found:
            fail(f"searching for {page['needle']} does not find {page['url']}")
        print(f"search, {name}: {page['needle']} → {page['url']} ({page['charset']})")
        print(f"    {found[0]['title']} … {found[0]['snippet'][:100]}", flush=True)


def is_or_folds(result: dict[str, Any], url: str) -> bool:
    """Is it the page, or a copy of it that was known before? Not all of many copies are named."""
    return url in (result["url"], *result["copies"]) or result["similar"] > len(result["copies"])


def sample(oracle: OracleClient, language: str) -> dict[str, Any]:
    """A page of that language that was collected and may be searched, in an old character set if possible."""
    answered = oracle.get("/fetched")
    pages = [
        page
        for page in oracle.get("/pages")
        if page["language"] == language
        and "200" in answered.get(page["url"], {})
        and not (page["noindex"] or page["copy_of"] or page["gone"])
    ]
    if not pages:
        fail(f"no page in {language} was collected")
    old: dict[str, Any] = min(pages, key=lambda page: (page["charset"] == "utf-8", page["number"]))
    return old


def joro(*words: str, quiet: bool = False) -> str:
    """Run one command to its end; its output if `quiet`. Ctrl-C is for the command: we wait until it ends."""
    with process(*words, output=subprocess.PIPE if quiet else None) as child:
        interrupted = False
        while True:
            try:
                output, _ = child.communicate()
                break
            except KeyboardInterrupt:
                interrupted = True
    if interrupted:
        sys.exit(130)
    if child.returncode != 0:
        fail(f"joro {words[0]} ended with exit code {child.returncode}")
    return (output or b"").decode()


@contextmanager
def process(*words: object, output: Any, shielded: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A joro command in a process that ends with the block, gently; `shielded` from the terminal's Ctrl-C."""
    command = [sys.executable, "-m", "joro", *map(str, words)]
    child = subprocess.Popen(command, stdout=output, cwd=ROOT, start_new_session=shielded)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            child.wait()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def fail(message: str) -> NoReturn:
    """One line, exit code 1."""
    print(f"demo: {message}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
