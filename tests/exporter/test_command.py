"""`joro export`, as it is typed."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from joro.exporter.selection import Selection
from joro.indexer import index_new
from tests.exporter.exports import exported, filled, pages, taken_down


def joro(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "joro", *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_each_format_is_written_and_told(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    index_new(collection)
    out = joro("export", "-C", collection.path, "--to", tmp_path / "all.wacz").stdout
    assert out.startswith("captures: 7 of 8, reserved by its owner: 1; ")
    assert zipfile.is_zipfile(tmp_path / "all.wacz")
    assert not (tmp_path / "all.wacz.parts").exists()
    words = ("--format", "warc", "--query", "english", "--since", "2026-11-17")
    joro("export", "-C", collection.path, "--to", tmp_path / "warc", *words)
    assert pages(tmp_path / "warc") == [("http://b.example/", 1.0)]
    proof = subprocess.run(
        ["sha256sum", "-c", "_SHA256SUMS"], cwd=tmp_path / "warc", capture_output=True, text=True, check=True
    )
    assert proof.stdout.count(": OK") == 2
    out = joro(
        "export", "-C", collection.path, "--to", tmp_path / "s1", "--format", "s1", "--host", "^b"
    ).stdout
    assert out.startswith("pages: 2 of 4, redirect or error: 1, reserved by its owner: 1; ")
    assert [path.name for path in (tmp_path / "s1" / "html").glob("*/*/*")] == ["b.example:80"]
    told = joro(
        "export", "-C", collection.path, "--to", tmp_path / "t", "--format", "parquet", "--language", "ja"
    )
    assert told.stdout.startswith("rows: 4 of 8, another language: 3, reserved by its owner: 1; ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--host", "("], "is no regular expression"),
        (["--since", "soon"], "is no time"),
        (["--since", "2027", "--until", "2026"], "is not before"),
        (["--query", "x"], "--query needs an index"),
        (["--format", "zip"], "'zip' is not one of"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(words: list[str], complaint: str, tmp_path: Path) -> None:
    collection = filled(tmp_path)
    answered = joro("export", "-C", collection.path, "--to", tmp_path / "out", *words)
    assert answered.returncode == 2
    assert complaint in answered.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("form", "complaint"),
    [("wacz", "holds something else"), ("warc", "is a file"), ("s1", "is a file"), ("parquet", "is a file")],
)
def test_a_file_that_is_no_export_is_never_overwritten(form: str, complaint: str, tmp_path: Path) -> None:
    kept = tmp_path / "letter.txt"
    kept.write_text("dear")
    answered = joro("export", "-C", filled(tmp_path).path, "--to", kept, "--format", form)
    assert (answered.returncode, len(answered.stderr.splitlines())) == (2, 1)
    assert complaint in answered.stderr
    assert kept.read_text() == "dear"


def test_a_newer_export_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    collection, target = filled(tmp_path), tmp_path / "all.wacz"
    for words in ([], ["--host", "^b"]):
        assert joro("export", "-C", collection.path, "--to", target, *words).returncode == 0


@pytest.mark.parametrize("form", ["warc", "s1", "parquet"])
def test_an_export_that_was_finished_before_says_so(form: str, tmp_path: Path) -> None:
    words = ("export", "-C", filled(tmp_path).path, "--to", tmp_path / "out", "--format", form)
    joro(*words)
    assert "out was finished before and stays as it is (" in joro(*words).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [("s1", "warc"), ("warc", "parquet"), ("parquet", "s1")])
def test_an_export_in_another_format_is_never_taken_for_this_one(
    first: str, second: str, tmp_path: Path
) -> None:
    words = ("export", "-C", filled(tmp_path).path, "--to", tmp_path / "out", "--format")
    joro(*words, first)
    answered = joro(*words, second)
    assert answered.returncode == 2
    assert "holds an export of another selection, format or collection" in answered.stderr


def test_a_file_packed_from_parts_older_than_an_order_is_begun_anew(tmp_path: Path) -> None:
    collection, target = filled(tmp_path), tmp_path / "k.wacz"
    exported(collection, tmp_path / "k.wacz.parts", Selection())
    taken_down(collection, "b.example")
    told = joro("export", "-C", collection.path, "--to", target).stdout
    assert told.startswith("begun anew: what was copied before is older than an order\ncaptures: 4 of 4; ")
    with zipfile.ZipFile(target) as archive:
        assert b"b.example" not in archive.read("indexes/index.cdx")
