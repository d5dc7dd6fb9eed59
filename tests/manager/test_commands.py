import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import trustme

from joro import cli
from joro.config.cooperate import Cooperate
from joro.coordinate.beat import BEAT, Beat, encode
from joro.errors import JoroError
from joro.robot.joining import token_of
from joro.store.collection import Collection
from tests.manager.desk import collection_at


def joro(*words: object, ok: bool = True) -> str:
    """What a command prints where there is no terminal; on stderr, if it is meant to fail."""
    command = [sys.executable, "-m", "joro", "manager", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, input="", start_new_session=True
    )
    assert (done.returncode == 0) is ok, done.stderr
    if not ok:
        assert done.stderr.count("\n") == 1, done.stderr
    return done.stdout if ok else done.stderr


@contextmanager
def serving(collection: Collection, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A manager in a process of its own, and its address as it printed it."""
    command = [sys.executable, "-m", "joro", "manager", "serve", "-C", str(collection.path), "--port", "0"]
    with subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"https?://\S+", process.stdout.readline())
            assert found
            yield process, found[0].rstrip("/")
        finally:
            process.kill()


@pytest.fixture
def hub(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "hub")


def beat(url: str, token: str, clock: float) -> int:
    request = Request(f"{url}{BEAT}", encode(Beat("tokyo", "x", clock, sockets=9)))
    request.add_header("Authorization", f"Bearer {token.strip()}")
    with urlopen(request, timeout=10) as answer:
        answer.read()
        return int(answer.status)


def now_of(hub: Collection) -> float:
    return float(json.loads(joro("status", "-C", hub.path, "--json"))["now"])


@pytest.mark.slow
def test_a_robot_that_is_added_can_beat_and_has_the_seeds_servers(hub: Collection) -> None:
    token = joro("robot", "add", "-C", hub.path, "tokyo")
    with serving(hub) as (_, url):
        assert beat(url, token, now_of(hub)) == 200
        joro("seeds", "-C", hub.path, "http://a.example/", "b.example")
        assert (
            joro("servers", "-C", hub.path)
            == "http://a.example  tokyo  0 KB\nhttps://b.example  tokyo  0 KB\n"
        )
        assert "tokyo  up; 2 servers; asked: " in joro("robot", "list", "-C", hub.path)
        assert "robots    1 of 1 up\nservers   2 known" in joro("status", "-C", hub.path)


def test_a_machine_of_several_robots_gets_a_file_of_tokens(hub: Collection, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(joro("robot", "add", "-C", hub.path, "osaka", "-p", 2))
    found = {token_of(Cooperate(token_file=str(tmp_path / "tokens")), f"osaka-{number}") for number in (0, 1)}
    assert len(found) == 2
    assert joro("robot", "list", "-C", hub.path).count("osaka-") == 2


@pytest.mark.slow
def test_a_robot_that_says_no_more_is_down(tmp_path: Path) -> None:
    hub = collection_at(tmp_path / "hub", lease_s=1.0, beat_s=0.5, grace_s=0.5)
    token = joro("robot", "add", "-C", hub.path, "tokyo")
    with serving(hub) as (_, url):
        beat(url, token, now_of(hub))
        while "tokyo  up" in (listed := joro("robot", "list", "-C", hub.path)):
            pass
        assert "tokyo  down" in listed


@pytest.mark.parametrize("polite", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_ends_it_cleanly(hub: Collection, polite: signal.Signals) -> None:
    with serving(hub) as (process, url):
        with urlopen(f"{url}/healthz", timeout=10) as answer:
            assert answer.read() == b"ok\n"
        process.send_signal(polite)
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_port_in_use_is_one_line(hub: Collection) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"127.0.0.1:{port} is in use; stop" in joro("serve", "-C", hub.path, "--port", port, ok=False)


def test_what_is_refused_is_in_the_log(hub: Collection) -> None:
    with serving(hub) as (_, url):
        with pytest.raises(OSError, match="403"):
            beat(url, "wrong", 0.0)
        log = (hub.logs / "manager.log").read_text()
    assert "WARNING refused POST /cooperate/beat to 127.0.0.1: 403 the token belongs to no robot" in log


@pytest.mark.slow
def test_seeds_and_status_travel_over_tls_with_the_password(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    for name, pem in (
        ("ca", authority.cert_pem),
        ("chain", issued.cert_chain_pems[0]),
        ("key", issued.private_key_pem),
    ):
        pem.write_to_path(str(tmp_path / f"{name}.pem"))
    files = {"certificate": str(tmp_path / "chain.pem"), "key": str(tmp_path / "key.pem")}
    hub = collection_at(tmp_path / "hub", **files)
    password = tmp_path / "password"
    password.write_text("correct horse battery\n")
    joro("password", "-C", hub.path, "--file", password)
    with serving(hub) as (_, url):
        assert url.startswith("https://")
        there = ("--manager", url, "--password-file", password, "--ca", tmp_path / "ca.pem")
        assert joro("seeds", "http://a.example/", *there) == "1 seed is on its way\n"
        assert json.loads(joro("status", "--json", *there))["servers"]["known"] == 1
        password.write_text("another horse")
        said = joro("status", *there, ok=False)
        assert "403" in said
        assert "joro manager password" in said
        assert "certificate" in joro("status", *there[:4], ok=False)


def test_the_password_never_travels_in_the_open(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("correct horse battery\n")
    there = ("--manager", "http://192.0.2.1:8768", "--password-file", password)
    assert "use https://" in joro("status", *there, ok=False)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("robot", "add", "../evil"), "is no name for a robot"),
        (("robot", "remove", "nobody"), "no robot is called 'nobody'"),
        (("restart", "nobody"), "no robot is called 'nobody'"),
        (("restart",), "nothing is to be done"),
        (("restart", "--pages", "50", "--unlimited"), "exclude each other"),
        (("restart", "--all", "nobody"), "--all and nobody exclude each other"),
        (("servers", "--robot", "nobody"), "no robot is called 'nobody'"),
        (("servers", "--robot", ""), "no robot is called ''"),
        (("seeds",), "no seed is given"),
        (("seeds", "ftp://a.example/"), "has the scheme 'ftp'"),
        (("seeds", f"http://{'a.' * 200}jp/"), "has an impossible host or port"),
        (("seeds", "http://a.jp:0/"), "'http://a.jp:0/' has an impossible host or port"),
        (("seeds", "--seeds", "absent.txt"), "absent.txt cannot be read"),
        (("status", "--manager", "http://127.0.0.1:1"), "wants the operator's password"),
        (("password", "--file", "absent"), "absent cannot be read"),
        (("measured", "--to", "run"), "no robot has received anything yet"),
    ],
)
def test_a_mistake_is_one_line(hub: Collection, words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(JoroError, match=problem):
        cli.joro.main(["manager", *words, "-C", str(hub.path)], standalone_mode=False)


def test_nothing_to_list_or_to_restart_is_said(hub: Collection) -> None:
    assert joro("servers", "-C", hub.path) == "none\n"
    assert joro("restart", "--all", "-C", hub.path) == "no robot takes part\n"
    joro("robot", "add", "-C", hub.path, "tokyo")
    assert joro("servers", "--robot", "tokyo", "-C", hub.path) == "none\n"


def test_a_password_in_the_address_of_a_manager_is_refused_and_not_repeated(hub: Collection) -> None:
    there = ("--manager", "https://me:swordfish@hub.example:8768")
    assert "swordfish" not in joro("status", *there, ok=False)
    said = joro("status", *there, "--password-file", _file(hub, "correct horse battery"), ok=False)
    assert "hub.example:8768 has a user in it" in said
    assert "swordfish" not in said


def test_a_certificate_needs_its_key_and_its_file(tmp_path: Path) -> None:
    one = collection_at(tmp_path / "one", certificate="chain.pem")
    assert "manager.certificate and manager.key go together" in joro("serve", "-C", one.path, ok=False)
    two = collection_at(tmp_path / "two", certificate="absent.pem", key="absent.pem")
    assert "there is no file absent.pem" in joro("serve", "-C", two.path, ok=False)


def test_a_password_has_twelve_characters_and_can_be_taken_back(hub: Collection) -> None:
    good = _file(hub, "correct horse battery")
    assert "the password is set" in joro("password", "-C", hub.path, "--file", good)
    assert "take at least 12" in joro("password", "-C", hub.path, "--file", _file(hub, "short"), ok=False)
    assert "is empty" in joro("password", "-C", hub.path, "--file", _file(hub, ""), ok=False)
    assert "only this machine" in joro("password", "-C", hub.path, "--none")


def test_a_password_that_no_command_can_send_is_neither_set_nor_sent(hub: Collection) -> None:
    file = _file(hub, "合言葉合言葉合言葉合言葉")
    there = ("--manager", "http://127.0.0.1:1", "--password-file", file)
    for words in (("password", "-C", hub.path, "--file", file), ("status", *there)):
        said = joro(*words, ok=False)
        assert (
            f"the password in {file} has characters that no request can carry; take one line of ASCII" in said
        )


def test_a_password_is_not_asked_for_without_a_terminal(hub: Collection) -> None:
    assert "there is no terminal to ask for the password on; give --file FILE" in joro(
        "password", "-C", hub.path, ok=False
    )


def _file(hub: Collection, text: str) -> Path:
    path = hub.path / "password"
    path.write_text(text)
    return path


def test_nobody_else_can_read_the_control_store(hub: Collection) -> None:
    joro("status", "-C", hub.path)
    assert os.stat(hub.path / "control.db").st_mode & 0o777 == 0o600


def test_what_was_measured_becomes_a_report(hub: Collection, tmp_path: Path) -> None:
    from joro.clock import RealClock
    from joro.coordinate import experiment
    from joro.store.control import open_control

    control = open_control("", hub.path, RealClock())
    with control.transaction() as transaction:
        transaction.insert(
            "efforts",
            "robot, server, pages, bytes, ms",
            [("osaka", "http://a.jp", 2, 2_048, 100), ("tokyo", "http://a.jp", 1, 1_024, 0)],
        )
        transaction.insert("servers", "name, owner, since, found_at", [("http://a.jp", "tokyo", 0.0, 0.0)])
    control.close()
    nowhere = joro("measured", "-C", hub.path, "--to", "/dev/null/run", ok=False)
    assert "--to /dev/null/run cannot be made" in nowhere
    joro("measured", "-C", hub.path, "--to", tmp_path / "run")
    read = experiment.read(tmp_path / "run")
    assert (read.robots, read.servers, read.sizes_kb.tolist()) == (
        ("osaka", "tokyo"),
        ("http://a.jp",),
        [3.0],
    )
    assert read.distances.tolist() == [[50.0], [1.0]]
    assert read.owners["present"].tolist() == [1]
