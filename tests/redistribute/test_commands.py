import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from joro import cli
from joro.archive.check import check
from joro.errors import JoroError
from joro.store.collection import Collection
from tests.redistribute.stand import CuttingLine, captures_of, collection_at, fill, received_warcs


def joro(*words: object, ok: bool = True) -> str:
    """What a command prints; on stderr, if it is meant to fail."""
    command = [sys.executable, "-m", "joro", "redistribute", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) is ok, done.stderr
    return done.stdout if ok else done.stderr


@contextmanager
def serving(collection: Collection, *words: object) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "joro",
        "redistribute",
        "serve",
        "-C",
        str(collection.path),
        "--port",
        "0",
    ]
    with subprocess.Popen([*command, *map(str, words)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"https?://\S+", process.stdout.readline())
            assert found
            yield found[0].rstrip("/")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)


@pytest.fixture
def theirs(tmp_path: Path) -> Collection:
    collection = collection_at(tmp_path / "theirs")
    fill(collection, 40)
    return collection


@pytest.fixture
def ours(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "ours")


def token_file(collection: Collection, path: Path, *terms: str) -> Path:
    path.write_text(joro("party", "add", "-C", collection.path, "tokyo", *terms))
    return path


def listed(ours: Collection, url: str) -> None:
    (ours.path / "redistribution.toml").write_text(
        f'[[sources]]\nname = "tokyo"\nurl = "{url}"\ntoken_file = "token"\nschedule = "@daily"\n'
    )


@pytest.mark.slow
def test_from_registering_to_receiving_by_commands_alone(
    theirs: Collection, ours: Collection, tmp_path: Path
) -> None:
    token = token_file(theirs, ours.path / "token", "--purpose", "search", "--bytes-per-day", "9000000")
    assert "tokyo  purposes: search; 9,000,000 bytes a day" in joro("party", "list", "-C", theirs.path)
    with serving(theirs) as url:
        listed(ours, url)
        assert joro("collect", "-C", ours.path, "--now", "-q").startswith("tokyo: 40 captures")
        pages, files = tmp_path / "pages", tmp_path / "files"
        said = joro("fetch", url, "--token-file", token, "--to", pages, "--hosts", r"\.ac\.jp$", "-q")
        assert ": 20 captures" in said
        joro("fetch", url, "--token-file", token, "--to", files, "--format", "wacz", "-q")
    assert captures_of(ours) == captures_of(theirs)
    assert len(list(pages.rglob("*.zip"))) == 2
    (wacz,) = files.glob("*.wacz")
    with zipfile.ZipFile(wacz) as archive:
        assert {"datapackage.json", "indexes/index.cdx"} <= set(archive.namelist())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fetch", "http://127.0.0.1:9", "--token-file", "{t}", "--to", "{o}"], "cannot be reached"),
        (["fetch", "http://hub.example/", "--token-file", "{t}", "--to", "{o}"], "would show the token"),
        (["fetch", "gopher://x", "--token-file", "{t}", "--to", "{o}"], "'gopher://x' is no address"),
        (["fetch", "http://h:99999", "--token-file", "{t}", "--to", "{o}"], "'http://h:99999' is no address"),
        (["fetch", "https://me:no@h", "--token-file", "{t}", "--to", "{o}"], "at h has a user in it"),
        (["fetch", "http://127.0.0.1:9", "--token-file", "{o}/none", "--to", "{o}"], "cannot be read"),
        (
            ["fetch", "http://127.0.0.1:9", "--token-file", "{t}", "--to", "{o}", "--hosts", "("],
            "regular expression",
        ),
        (["fetch", "http://127.0.0.1:9", "--token-file", "{t}", "--to", "{o}", "--since", "soon"], "'soon'"),
        (
            ["fetch", "http://127.0.0.1:9", "--token-file", "{t}", "--to", "{o}", "--schedule", "1"],
            "1 fields",
        ),
        (
            ["fetch", "http://127.0.0.1:9", "--token-file", "{t}", "--to", "{t}/out"],
            "t/out cannot be made (Not a directory)",
        ),
        (["collect", "-C", "{c}", "--now"], "has no source to fetch from"),
        (["party", "add", "-C", "{c}", "../x"], "'../x' is no name"),
        (["party", "add", "-C", "{c}", "x", "--hosts", "["], "--hosts = '['"),
        (["party", "remove", "-C", "{c}", "nobody"], "no party is called 'nobody'"),
        (["serve", "-C", "{c}", "--certificate", "{t}"], "--key"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(
    ours: Collection, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "t").write_text("token")
    places = {"t": tmp_path / "t", "o": tmp_path / "out", "c": ours.path}
    typed = ["redistribute", *(word.format(**places) if word != "[" else word for word in words)]
    with pytest.raises(JoroError) as error:
        cli.joro.main(typed, standalone_mode=False)
    assert said in str(error.value)


@pytest.mark.slow
def test_a_wrong_token_is_told_to_the_caller(theirs: Collection, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("guessed")
    with serving(theirs) as url:
        message = joro("fetch", url, "--token-file", tmp_path / "t", "--to", tmp_path / "out", ok=False)
    assert "refuses (403: the token belongs to no registered party)" in message
    assert message.startswith("joro: ")
    assert message.count("\n") == 1


@pytest.mark.slow
def test_a_collector_killed_at_any_moment_ends_with_every_capture_once(
    ours: Collection, tmp_path: Path
) -> None:
    theirs = collection_at(tmp_path / "many")
    fill(theirs, 300, body_bytes=200_000)
    token_file(theirs, ours.path / "token")
    command = [sys.executable, "-m", "joro", "redistribute", "collect", "-C", str(ours.path), "--now", "-q"]
    with serving(theirs) as url, CuttingLine(url, 1 << 40, cuts=0) as line:
        listed(ours, line.url)
        for kill in range(8):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and line.passed < (kill + 1) * 4_000_000:
                os.sched_yield()
            process.kill()
            process.wait()
        joro("collect", "-C", ours.path, "--now", "-q")
    assert captures_of(ours) == captures_of(theirs)
    (warc,) = received_warcs(ours)
    assert check(ours.archive, warc.name).problems == []


@pytest.mark.slow
def test_the_service_speaks_tls_when_it_has_a_certificate(theirs: Collection, tmp_path: Path) -> None:
    authority = trustme.CA()
    ours = authority.issue_cert("127.0.0.1")
    ours.cert_chain_pems[0].write_to_path(tmp_path / "chain.pem")
    ours.private_key_pem.write_to_path(tmp_path / "key.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    token = token_file(theirs, tmp_path / "token")
    fetch = ("--token-file", token, "--to", tmp_path / "out", "-q")
    with serving(theirs, "--certificate", tmp_path / "chain.pem", "--key", tmp_path / "key.pem") as url:
        assert url.startswith("https://")
        assert "is not trusted" in joro("fetch", url, *fetch, ok=False)
        assert ": 40 captures" in joro("fetch", url, *fetch, "--ca", tmp_path / "ca.pem")
