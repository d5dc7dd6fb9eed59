"""What lets a running robot stand still, and go on: a pause, new settings, a full disk, too much memory."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from joro import config
from tests.scenarios.archived import responses
from tests.scenarios.crawls import wait_for
from tests.scenarios.hub import Working, serve_hub
from tests.scenarios.laws import Row, by
from tests.scenarios.stage import JORO, Web, done, is_root, joro, serve_web

pytestmark = pytest.mark.slow

#: Slow enough to be interrupted. An address is a server's own here.
SLOWLY: dict[str, Any] = {
    "interval_s": 0.5,
    "fast_servers_percent": 0,
    "slow_delay_percent": 0,
    "error_delay_percent": 0,
}
#: Long enough for a robot to do what it should not.
A_WHILE_S = 2.5


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    options = ("--seed", 11, "--hosts", 20, "--pages", 300, "--roles", "normal", "--latency", 5)
    with serve_web(tmp_path_factory.mktemp("web"), *options) as web:
        yield web


class AtWork:
    """A robot in the background, and what it says."""

    def __init__(self, process: subprocess.Popen[bytes], file: Path) -> None:
        self.process = process
        self._file = file

    @property
    def said(self) -> str:
        return self._file.read_text()

    def says(self, text: str) -> bool:
        assert self.process.poll() is None or text in self.said, f"it ended, having said: {self.said}"
        return text in self.said


@contextmanager
def at_work(collection: Path, *words: object) -> Iterator[AtWork]:
    """A command on the collection, until it ends, or in peace at the end of the block."""
    file = collection.parent / "said"
    with file.open("w") as stream:
        command = [*JORO, *map(str, words), "-q", "-C", str(collection)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stream)
    try:
        yield AtWork(process, file)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=40) == 0, file.read_text()


def asked(web: Web) -> list[Row]:
    rows: list[Row] = web.oracle.get("/log")
    return rows


def change(collection: Path, **sections: dict[str, Any]) -> None:
    """Edit the settings as a person would: the file is written anew."""
    file = collection / config.FILE_NAME
    tables = tomllib.loads(file.read_text())
    for section, values in sections.items():
        tables.setdefault(section, {}).update(values)
    file.write_text(config.render(config.from_tables(tables)))


def is_quiet(web: Web) -> bool:
    """Was nobody asked for a while, from now on?"""
    before = len(asked(web))
    time.sleep(A_WHILE_S)
    return len(asked(web)) == before


@pytest.mark.parametrize("words", [("crawl",), ("crawl", "-p", 2), ("crawl", "--keep-fresh")])
def test_nobody_is_asked_while_robots_are_paused(web: Web, tmp_path: Path, words: tuple[object, ...]) -> None:
    web.oracle.get("/reset")
    collection = web.collection(tmp_path / "c", politeness=SLOWLY)
    with at_work(collection, *words, *web.seeds) as robot:
        wait_for(lambda: len(asked(web)) > 40)
        assert "a storm" in done("pause", "-C", collection, "--why", "a storm")
        wait_for(lambda: robot.says("(a storm); to go on: joro resume"))
        time.sleep(1.0)  # the other process has seen it, and visits under way have ended
        assert is_quiet(web)
        captured = len(responses(collection))
        stats = json.loads(done("stats", "-C", collection, "--json"))
        assert stats["paused"]["why"] == "a storm"
        assert stats["visited"] == len({row["url"] for row in asked(web) if row["path"] != "/robots.txt"})
        assert "paused since" in done("stats", "-C", collection)
        before = len(asked(web))
        assert "goes on" in done("resume", "-C", collection)
        wait_for(lambda: len(asked(web)) > before + 20)
        assert robot.said.count("\n") == 2, robot.said
    assert len(responses(collection)) > captured
    assert set(responses(collection).values()) == {1}
    done("archive", "check", "-C", collection)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_robot_started_while_paused_waits(web: Web, tmp_path: Path, processes: int) -> None:
    web.oracle.get("/reset")
    collection = web.collection(tmp_path / "c", politeness={"interval_s": 0.0})
    done("pause", "-C", collection)
    with at_work(collection, "crawl", "-p", processes, *web.seeds) as robot:
        wait_for(lambda: robot.says("paused since"))
        assert is_quiet(web)
    assert asked(web) == []
    with at_work(collection, "crawl", "-p", processes) as robot:
        wait_for(lambda: robot.says("paused since"))
        done("resume", "-C", collection)
        assert robot.process.wait(timeout=120) == 0
    assert len(responses(collection)) > 200


def test_a_robot_that_works_for_a_manager_pauses_and_keeps_in_touch(web: Web, tmp_path: Path) -> None:
    web.oracle.get("/reset")
    with serve_hub(web, tmp_path / "hub") as hub:
        collection = web.collection(tmp_path / "one", politeness=SLOWLY)
        robot = Working(hub, collection, "one", hub.token("one", tmp_path), *web.seeds)
        try:
            wait_for(lambda: hub.robots()["one"]["visited"] > 20)
            done("pause", "-C", collection)
            wait_for(lambda: "paused since" in robot.log.read_text())
            time.sleep(1.0)
            assert is_quiet(web)
            assert hub.robots()["one"]["state"] == "up"
            before = len(asked(web))
            done("resume", "-C", collection)
            wait_for(lambda: len(asked(web)) > before + 20)
        finally:
            assert robot.end() == 0
    assert set(responses(collection).values()) == {1}


def test_pausing_and_resuming_twice_is_no_mistake(web: Web, tmp_path: Path) -> None:
    collection = web.collection(tmp_path / "c")
    first, again = done("pause", "-C", collection), done("pause", "-C", collection)
    assert first == again
    assert "goes on" in done("resume", "-C", collection)
    assert "not paused" in done("resume", "-C", collection)
    refused = joro("pause", "-C", tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "is not a collection" in refused.stderr


@pytest.mark.parametrize("processes", [1, 2])
def test_new_settings_hold_without_a_restart(web: Web, tmp_path: Path, processes: int) -> None:
    """Longer pauses, and a host that is left out, by the servers' own log."""
    web.oracle.get("/reset")
    collection = web.collection(tmp_path / "c", politeness=SLOWLY)
    with at_work(collection, "crawl", "-p", processes, *web.seeds) as robot:
        wait_for(lambda: len(asked(web)) > 60)
        rows = by(asked(web))
        out = max(rows, key=lambda host: len(rows[host]))
        change(
            collection,
            politeness={"interval_s": 2.0},
            scope={"exclude": [f"http://{out}/*"]},
            archive={"warc_limit_bytes": 5_000_000},
        )
        wait_for(lambda: robot.says("joro.toml has changed"))
        time.sleep(1.2)  # all processes have seen it
        since = time.time()  # noqa: TID251
        time.sleep(7.0)
        assert "politeness.interval_s = 2.0" in robot.said
        assert "takes effect at the next start: archive.warc_limit_bytes" in robot.said
        (collection / config.FILE_NAME).write_text("[politeness]\ninterval_s = 'none'\n")
        wait_for(lambda: robot.says("stay in force"))
        assert robot.said.count("\n") == 2, robot.said
        pauses = [
            after["start"] - before["end"]
            for rows in by(asked(web)).values()
            for before, after in pairwise(rows)
            if after["start"] > since
        ]
    assert len(pauses) > 20
    assert min(pauses) > 1.9
    assert [row["url"] for row in asked(web) if row["host"] == out and row["start"] > since] == []


@pytest.mark.root
@pytest.mark.skipif(not is_root(), reason="mounting a small tmpfs needs root")
@pytest.mark.parametrize("processes", [1, 2])
def test_robots_stand_still_before_the_disk_is_full_and_go_on_when_there_is_room(
    web: Web, tmp_path: Path, processes: int
) -> None:
    web.oracle.get("/reset")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(disk)], check=True)
    try:
        collection = web.collection(disk / "c", politeness=SLOWLY, machine={"disk_reserve_mb": 20})
        with at_work(collection, "crawl", "-p", processes, *web.seeds) as robot:
            wait_for(lambda: len(asked(web)) > 40)
            (disk / "ballast").write_bytes(bytes(50_000_000))
            wait_for(lambda: robot.says("less than machine.disk_reserve_mb = 20 is free"))
            time.sleep(1.0)
            assert is_quiet(web)
            before = len(asked(web))
            (disk / "ballast").unlink()
            wait_for(lambda: len(asked(web)) > before + 20)
            assert robot.said.count("\n") == 2, robot.said
        assert set(responses(collection).values()) == {1}
        done("archive", "check", "-C", collection)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_robot_that_takes_too_much_memory_stands_still_until_it_may_have_it(
    web: Web, tmp_path: Path
) -> None:
    web.oracle.get("/reset")
    collection = web.collection(tmp_path / "c", politeness=SLOWLY)
    with at_work(collection, "crawl", *web.seeds) as robot:
        wait_for(lambda: len(asked(web)) > 40)
        change(collection, machine={"memory_limit_mb": 10})
        wait_for(lambda: robot.says("more memory taken than machine.memory_limit_mb = 10"))
        time.sleep(1.0)
        assert is_quiet(web)
        before = len(asked(web))
        change(collection, machine={"memory_limit_mb": 4_000})
        wait_for(lambda: len(asked(web)) > before + 20)
        assert robot.said.count("standing still") == 1, robot.said
    rules = [row["host"] for row in asked(web) if row["path"] == "/robots.txt"]
    assert len(rules) == len(set(rules))  # what was dropped from memory was known all the same
    assert set(responses(collection).values()) == {1}
    done("archive", "check", "-C", collection)
