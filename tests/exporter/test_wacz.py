import hashlib
import io
import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from joro.exporter.wacz import pack
from tests.conftest import ROOT
from tests.exporter.exports import exported, filled
from tests.index.archived import START

#: AGPL, so in an environment of its own and never one of our dependencies.
VALIDATOR = ROOT / ".peers/readers/python/bin/wacz"


@pytest.fixture
def wacz(tmp_path: Path) -> zipfile.ZipFile:
    exported(filled(tmp_path), tmp_path / "out")
    return zipfile.ZipFile(pack(tmp_path / "out", tmp_path / "x.wacz", title="My web", now=START))


def test_every_file_has_the_digest_and_size_that_are_told(wacz: zipfile.ZipFile) -> None:
    package = wacz.read("datapackage.json")
    told = json.loads(package)
    assert (told["profile"], told["wacz_version"], told["title"]) == ("data-package", "1.1.1", "My web")
    for resource in told["resources"]:
        content = wacz.read(resource["path"])
        assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert resource["bytes"] == len(content)
    digest = json.loads(wacz.read("datapackage-digest.json"))["hash"]
    assert digest == f"sha256:{hashlib.sha256(package).hexdigest()}"
    named = {resource["path"] for resource in told["resources"]}
    assert named == set(wacz.namelist()) - {"datapackage.json", "datapackage-digest.json"}


def test_nothing_is_compressed_twice(wacz: zipfile.ZipFile) -> None:
    assert {entry.compress_type for entry in wacz.infolist()} == {zipfile.ZIP_STORED}


def test_the_index_leads_to_every_record(wacz: zipfile.ZipFile) -> None:
    lines = wacz.read("indexes/index.cdx").splitlines()
    assert len(lines) == 7
    assert lines == sorted(lines)
    for line in lines:
        place = json.loads(line.split(b" ", 2)[2])
        content = wacz.read(f"archive/{place['filename']}")[int(place["offset"]) :]
        record = next(iter(ArchiveIterator(io.BytesIO(content))))
        assert record.rec_headers["WARC-Target-URI"] == place["url"]


def test_pages_are_listed_with_their_titles(wacz: zipfile.ZipFile) -> None:
    head, *pages = map(json.loads, wacz.read("pages/pages.jsonl").splitlines())
    assert head["format"] == "json-pages-1.0"
    assert {page["url"]: page.get("title") for page in pages} == {
        "http://b.example/": "Title",
        "http://b.example/mine": None,
        "http://www.a.jp/": "題名",
        "http://www.a.jp/same": "変わらない",
    }
    assert pages[0]["ts"] == "2026-11-17T05:55:00Z"


@pytest.mark.skipif(not VALIDATOR.exists(), reason="run scripts/reader-tools.sh")
def test_the_formats_own_validator_accepts_it(wacz: zipfile.ZipFile) -> None:
    run = subprocess.run(
        [str(VALIDATOR), "validate", "-f", str(wacz.filename)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "is valid" in run.stdout
