"""Every way in which a page of a collection can be seen, each through the real program."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from tests.scenarios.stage import JORO, done, joro


@dataclass(frozen=True)
class Shown:
    """A page with two captures, a word that only this page has, and where to look for both."""

    collection: Path
    portal: str
    service: str
    token: Path
    url: str
    word: str
    stamps: tuple[str, str]

    def views(self) -> dict[str, Callable[[], bool]]:
        """Does each of the portal's pages show it?"""
        first, second = self.stamps
        at, page = quote(self.url, safe=""), self.url
        pages = {
            "search": f"/search?q={quote(self.word)}",
            "api search": f"/api/search?q={quote(self.word)}",
            "api captures": f"/api/captures?url={at}",
            "calendar": f"/archive/*/{page}",
            "capture": f"/archive/{first}/{page}",
            "replay": f"/replay/{second}/{page}",
            "raw": f"/raw/{second}/{page}",
            "TimeMap": f"/timemap/json/{page}",
            "TimeGate": f"/timegate/{page}",
            "comparison": f"/compare?url={at}&from={first}&to={second}",
        }
        return {name: partial(self._is_on, path) for name, path in pages.items()}

    def _is_on(self, path: str) -> bool:
        try:
            with urllib.request.urlopen(self.portal + path, timeout=30) as answer:
                said = answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            with error:
                return error.code not in (403, 404, 410, 451)
        if "search" in path:  # what was asked for stands on the page
            return self.url in said
        return self.word in said or self.stamps[1] in said

    def commands(self) -> dict[str, Callable[[], bool]]:
        """Does each of the commands?"""
        return {
            "joro search": self._in_search,
            "joro sql": self._in_tables,
            "joro archive list": lambda: bool(self._said("archive", "list", self.url).strip()),
            "joro export": self._in_export,
            "joro redistribute fetch": self._in_delivery,
        }

    def _said(self, *words: str) -> str:
        return joro(*words, "-C", self.collection).stdout

    def _in_search(self) -> bool:
        return bool(json.loads(self._said("search", "--json", self.word))["results"])

    def _in_tables(self) -> bool:
        return self.url in self._said("sql", "--csv", "select url from captures")

    def _in_export(self) -> bool:
        target = self.collection.parent / "seen.wacz"
        target.unlink(missing_ok=True)
        done("export", "-q", "-C", self.collection, "--to", target)
        with zipfile.ZipFile(target) as opened:
            listed = [name for name in opened.namelist() if name.startswith("pages/")]
            return any(self.url.encode() in opened.read(name) for name in listed)

    def _in_delivery(self) -> bool:
        target = self.collection.parent / f"delivery-{len(list(self.collection.parent.glob('delivery-*')))}"
        host = self.url.split("/")[2]
        done("redistribute", "fetch", "-q", self.service, "--token-file", self.token, "--to", target)
        return any(host in path.name for path in target.rglob("*.zip"))


@contextmanager
def serving(collection: Path) -> Iterator[tuple[str, str, Path]]:
    """Portal and redistribution service of a collection: their addresses, and a party's token."""
    token = collection.parent / "party.token"
    token.write_text(done("redistribute", "party", "add", "-C", collection, "reader").split()[-1])
    with ExitStack() as stack:
        portal = stack.enter_context(_running("portal", "--port", "0", "-C", collection))
        service = stack.enter_context(_running("redistribute", "serve", "--port", "0", "-C", collection))
        yield portal, service, token


@contextmanager
def _running(*words: object) -> Iterator[str]:
    """A program that says on its first line where it can be reached."""
    process = subprocess.Popen([*JORO, *map(str, words)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield next(word for word in line.split() if word.startswith("http")).rstrip("/.,")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
