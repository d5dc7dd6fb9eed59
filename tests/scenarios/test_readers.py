"""What others' programs make of an archive that robots wrote, of whom twenty were killed on the way."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from joro.archive.cdx import REVISIT
from joro.archive.index import CaptureIndex
from joro.archive.payload import is_framed
from joro.archive.read import response_at
from joro.model import Capture
from joro.parse.payload import payload
from tests.archive.examples import FastIterator
from tests.scenarios.readers import get, node, pywb, tool
from tests.scenarios.stage import done, serve_web
from tests.scenarios.test_kill import crawl_with_kills

pytestmark = pytest.mark.slow

KILLS = 20
SETTINGS: dict[str, dict[str, Any]] = {
    "politeness": {"interval_s": 0.0, "per_address": 64, "address_interval_s": 0.0},
    "archive": {"commit_every_s": 0.2, "warc_limit_bytes": 1_000_000},
    "refresh": {
        "policy": "uniform",
        "visits_per_day": 10_000_000,
        "first_interval_s": 1.0,
        "least_interval_s": 1.0,
        "plan_every_s": 1.0,
        "watch": False,
    },
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Responses of a crawl with kills, then revisits: identical payloads and 304s."""
    path = tmp_path_factory.mktemp("readers")
    with serve_web(path, "--hosts", 40, "--pages", 1500, "--roles", "normal", "--latency", 10) as web:
        collection = web.collection(path / "c", **SETTINGS)
        crawl_with_kills(web, collection, 1, KILLS, random.Random(11))
        done("refresh", "-q", "-C", collection, "--limit", 2_500, timeout=300)
    done("archive", "check", "-C", collection)
    return collection / "archive"


def warcs(archive: Path) -> list[Path]:
    return sorted(archive.glob("*.warc.gz"))


def some_of_each(archive: Path, of_each: int = 15) -> list[Capture]:
    """Some pages, some revisits that brought the same payload, some that brought none."""
    found, chance = list(CaptureIndex(archive).all()), random.Random(3)
    kinds = [
        [each for each in found if (each.mime, each.status) == kind]
        for kind in (("text/html", 200), (REVISIT, 200), (REVISIT, 304))
    ]
    return [capture for kind in kinds for capture in chance.sample(kind, of_each)]


def came_in_chunks(archive: Path, capture: Capture) -> bool:
    response = response_at(archive, capture)
    return is_framed(response.head, response.body)


def assert_replayed(archive: Path, captures: list[Capture], address: str) -> None:
    """pywb answers 304 where the server did, whoever made the WARC; we show the page that stood."""
    for capture in captures:
        stamp = datetime.fromtimestamp(capture.time, UTC).strftime("%Y%m%d%H%M%S")
        original = response_at(archive, capture)
        expected = payload(original) if capture.status == 200 else b""
        assert original.status == 200
        assert get(f"{address}/{stamp}id_/{capture.url}") == (capture.status, expected), capture


def test_warcio_finds_every_digest_right(archive: Path) -> None:
    warcio = Path(sys.executable).parent / "warcio"
    result = subprocess.run([warcio, "check", *warcs(archive)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_fastwarc_reads_every_record_and_finds_every_digest_right(archive: Path) -> None:
    kinds: Counter[str] = Counter()
    for warc in warcs(archive):
        for record in FastIterator(warc, parse_http=False):
            kinds[record.headers["WARC-Type"]] += 1
            if "WARC-Block-Digest" in record.headers:
                assert record.verify_block_digest()
    ours = list(CaptureIndex(archive).all())
    assert kinds["revisit"] == sum(each.mime == REVISIT for each in ours) > 500
    assert kinds["response"] == sum(each.mime != REVISIT for each in ours)


def test_the_warcio_of_npm_lists_the_same_captures(archive: Path) -> None:
    program = tool("node_modules/warcio/dist/cli.js")
    words = [node(), program, "cdx-index", "--format", "cdxj", *map(str, warcs(archive))]
    listed = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout
    theirs = {
        (line["url"], line["filename"], int(line["offset"]), int(line["length"]))
        for line in (json.loads(text.split(" ", 2)[2]) for text in listed.splitlines())
    }
    ours = {(each.url, each.warc, each.offset, each.length) for each in CaptureIndex(archive).all()}
    assert {(url, Path(name).name, *place) for url, name, *place in theirs} == ours


def test_pywb_replays_responses_and_revisits_byte_for_byte(archive: Path, tmp_path: Path) -> None:
    """But for revisits of a body in chunk frames: pywb looks for its digest with the frames, in vain, and
    shows the nearest capture that it can."""
    captures = some_of_each(archive)
    found = [each for each in captures if each.mime != REVISIT or not came_in_chunks(archive, each)]
    assert len(found) > len(captures) / 2
    with pywb(tmp_path, warcs(archive)) as address:
        assert_replayed(archive, found, address)


def test_pywb_replays_all_of_them_byte_for_byte_by_our_index(archive: Path, tmp_path: Path) -> None:
    index = (line for each in archive.glob("*.cdxj") for line in each.read_text().splitlines(keepends=True))
    with pywb(tmp_path, warcs(archive), index) as address:
        assert_replayed(archive, some_of_each(archive, 60), address)


def test_the_validator_of_wacz_accepts_an_export_of_it(archive: Path, tmp_path: Path) -> None:
    package = tmp_path / "all.wacz"
    done("export", "-q", "-C", archive.parent, "--to", package)
    words = [tool("python/bin/wacz"), "validate", "-f", str(package)]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
