"""A robot in mid-crawl is offered releases: one that cannot work, one that pretends to, and good ones."""

from __future__ import annotations

import signal
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from joro import __version__
from tests.conftest import ROOT
from tests.scenarios.archived import responses
from tests.scenarios.crawls import wait_for
from tests.scenarios.stage import JORO, Web, done, serve_web
from tests.updater.stand import Shop, open_shop
from tests.updater.wheels import real_wheel

pytestmark = pytest.mark.slow

#: Works nowhere: the first import of the robot ends it.
BROKEN = {"robot__robot": '\nraise RuntimeError("no robot today")\n'}
#: Works in its self-check, but not in earnest.
SNEAKY = {"cli__crawl": '\nimport os\nif "JORO_HEALTHY_FILE" in os.environ:\n    os._exit(3)\n'}


@dataclass
class Kept:
    """A robot that a supervisor keeps, and what is said of it."""

    web: Web
    shop: Shop
    path: Path

    @property
    def log(self) -> str:
        path = self.path / "logs" / "update.log"
        return path.read_text() if path.exists() else ""

    def heard(self, words: str) -> None:
        wait_for(lambda: words in self.log, patience_s=300)

    @contextmanager
    def supervised(self) -> Iterator[subprocess.Popen[bytes]]:
        words = [
            "update",
            "run",
            "--every",
            "0.5",
            "--",
            "crawl",
            "-q",
            "-C",
            str(self.path),
            *self.web.seeds,
        ]
        process = subprocess.Popen([*JORO, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """A crawl that takes minutes, so politely does it ask."""
    options = ("--hosts", 40, "--pages", 4000, "--roles", "normal", "--latency", 10)
    with serve_web(tmp_path, *options) as web, open_shop(tmp_path / "shop") as shop:
        update: dict[str, Any] = {
            "source": shop.url,
            "public_keys": [shop.public],
            "probation_s": 3.0,
            "patience_s": 30.0,
        }
        path = web.collection(tmp_path / "web", politeness={"interval_s": 2.0}, update=update)
        yield Kept(web, shop, path)


def test_a_crawl_survives_good_and_bad_updates_and_nothing_is_lost(kept: Kept, tmp_path: Path) -> None:
    with kept.supervised() as first:
        kept.shop.release(real_wheel(tmp_path, "0.2.0", **BROKEN))
        kept.heard("failed: joro 0.2.0 fails its self-check (joro: imports: RuntimeError: no robot today")
        kept.shop.release(real_wheel(tmp_path, "0.3.0", **SNEAKY))
        kept.heard(f"to {__version__}: it ended with exit code 3")
        kept.shop.release(real_wheel(tmp_path, "0.4.0"))
        kept.heard("0.4.0      its probation is over")
        first.kill()
    kept.shop.release(real_wheel(tmp_path, "0.5.0"))
    with kept.supervised() as second:
        kept.heard("0.5.0      its probation is over")
        second.terminate()
        assert second.wait(timeout=60) == 0
    assert "runs: 0.5.0\n" in done("update", "status", "-C", kept.path)
    finish(kept)
    assert_nothing_lost(kept, tmp_path)
    assert {__version__, "0.4.0", "0.5.0"} <= collected_by(kept.path)


def finish(kept: Kept) -> None:
    """Collect the rest without waiting."""
    settings = kept.path / "joro.toml"
    settings.write_text(settings.read_text().replace("interval_s = 2.0", "interval_s = 0.0", 1))
    done("crawl", "-q", "-C", kept.path, timeout=900)


def assert_nothing_lost(kept: Kept, tmp_path: Path) -> None:
    found = responses(kept.path)
    assert {url: count for url, count in found.items() if count > 1} == {}
    asked = {url for url in kept.web.oracle.get("/fetched") if not url.endswith("/robots.txt")}
    assert asked == set(found)
    assert kept.web.oracle.get("/politeness", interval_s=0)["most_concurrent"] == 1
    done("archive", "check", "-C", kept.path)
    whole = kept.web.collection(tmp_path / "whole", politeness={"interval_s": 0.0})
    done("crawl", "-q", "-C", whole, *kept.web.seeds, timeout=900)
    assert set(found) == set(responses(whole))


def collected_by(path: Path) -> set[str]:
    """The versions that wrote WARCs."""
    found = set()
    for warc in (path / "archive").glob("*.warc.gz"):
        with warc.open("rb") as file:
            text = next(iter(ArchiveIterator(file))).content_stream().read().decode()
        found |= {line.split("/")[1].split()[0] for line in text.splitlines() if line.startswith("software")}
    return found


def test_a_wheel_holds_every_file_of_the_program(tmp_path: Path) -> None:
    with zipfile.ZipFile(real_wheel(tmp_path, "0.2.0")) as wheel:
        packed = set(wheel.namelist())
    source = ROOT / "src"
    files = {str(path.relative_to(source)) for path in (source / "joro").rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} <= packed
