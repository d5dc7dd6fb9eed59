"""Does this release work on this machine?

In:    this very program; a collection of the robot's, if there is one.
Out:   the steps that went well, one by one; a `ReleaseError` that names the first that did not.
Never: changes the collection, or asks anybody but this machine: what is collected comes from a server of our
       own on loopback, into a scratch collection.
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import joro
from joro.archive.index import CaptureIndex
from joro.archive.read import response_at
from joro.config import from_tables
from joro.errors import JoroError, ReleaseError
from joro.store.collection import Collection
from joro.store.layout import counts_in

HOST = "http://self-check.example"
PAGES = {"/": '<html><title>one</title><a href="/two">two</a>', "/two": "<html><title>two</title>"}
#: Seconds that the crawl may take.
CRAWL_S = 120.0


def prove(collection: Path | None, tell: Callable[[str], object]) -> None:
    """Go through all steps; `tell` hears of each that went well."""
    with _step("imports"):
        count = import_all()
    tell(f"imports: {count} modules")
    with TemporaryDirectory(prefix="joro-self-check-") as scratch:
        with _step("scratch collection"), _site() as port:
            made = Collection.create(Path(scratch) / "web", from_tables(_tables(port)))
            tell("scratch collection: made")
            _crawl(made.path)
        tell("crawl: two pages from loopback")
        with _step("archive"):
            read_archive(made)
        tell("archive: written and read")
        with _step("frontier"):
            visited = counts_in(made.frontier).visited
            _expect(visited == len(PAGES), f"{visited} pages are known as visited, not {len(PAGES)}")
        tell("frontier: opened again")
    if collection is not None:
        with _step(str(collection)):
            visited = counts_in(Collection.open(collection).frontier).visited
        tell(f"{collection}: opened, read only; {visited:,} pages visited")


def import_all() -> int:
    """Import every module of ours; those whose libraries are extras that are not here are left out."""
    count = 0
    for module in pkgutil.walk_packages(joro.__path__, "joro.", onerror=lambda _name: None):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
            count += 1
        except ModuleNotFoundError as error:
            if (error.name or "joro").split(".")[0] == "joro":
                raise
    return count


def _tables(port: int) -> dict[str, dict[str, object]]:
    place = {"hosts": {"*": "127.0.0.1"}, "ports": {"80": port}, "allow_addresses": ["127.0.0.0/8"]}
    no_guard: dict[str, object] = {"disk_reserve_mb": 0}  # two pages find room, or an error says so
    return {"fetch": place, "politeness": {"interval_s": 0.0}, "machine": no_guard}


def _crawl(path: Path) -> None:
    words = [sys.executable, "-m", "joro", "crawl", "--quiet", "-C", str(path), f"{HOST}/"]
    run = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CRAWL_S, check=False
    )
    _expect(run.returncode == 0, f"joro crawl ends with {run.returncode}: {run.stderr.strip()[-200:]}")


def read_archive(collection: Collection) -> None:
    """Every page has its capture, and the bytes in it are those that were served."""
    index = CaptureIndex(collection.archive)
    for path, page in PAGES.items():
        capture = index.newest(HOST + path)
        _expect(capture is not None, f"no capture of {path}")
        if capture is not None:
            body = response_at(collection.archive, capture, index).body
            _expect(body == page.encode(), f"the capture of {path} is not what was served")


def _expect(is_so: bool, problem: str) -> None:
    if not is_so:
        raise ReleaseError(problem, remedy="do not use this release here")


@contextmanager
def _step(name: str) -> Iterator[None]:
    try:
        yield
    except JoroError as error:
        raise ReleaseError(f"{name}: {error.problem}", remedy=error.remedy) from error
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ReleaseError(f"{name}: {said}", remedy="do not use this release here") from error


@contextmanager
def _site() -> Iterator[int]:
    """A server with the pages; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Clerk)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Clerk(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = PAGES.get(self.path)
        body = (page or "").encode()
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...
