"""Killed at any moment, an update leaves one whole release to start, and the next attempt succeeds."""

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.scenarios.crawls import kill, wait_for
from tests.scenarios.stage import JORO
from tests.updater.stand import Robot, Shop, collection_at, open_shop, robot_at
from tests.updater.wheels import tiny_wheel

pytestmark = pytest.mark.slow

#: An update makes fewer changes than this; the stories below end by themselves.
MOST_CHANGES = 200
KILLS = 8


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    with open_shop(folder / "shop") as shop:
        shop.release(tiny_wheel(folder, "0.2.0"))
        yield shop


@pytest.fixture(scope="module")
def before(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A robot that runs 0.2.0; then 0.3.0 comes out."""
    folder = tmp_path_factory.mktemp("before")
    robot = robot_at(folder / "web", shop)
    robot.update()
    robot.keeper.keep()
    shop.release(tiny_wheel(folder, "0.3.0"))
    return robot.path


def killed_at(limit: int, story: str, path: Path, shop: Shop) -> bool:
    """Did the update live to its limit-th change?"""
    words = [str(limit), story, str(path), shop.url, shop.public]
    run = subprocess.run(
        [sys.executable, "-m", "tests.updater.killed", *words], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode in (0, -9), run.stderr
    return run.returncode == -9


def assert_whole(robot: Robot) -> None:
    """What would be started now is all there, and nothing but its own version."""
    version = robot.shelf.running()
    assert version in ("0.2.0", "0.3.0")
    folder = robot.shelf.directory / version
    assert f'"{version}"' in (folder / "joro" / "__init__.py").read_text()
    assert {"__init__.py", "__main__.py"} <= {path.name for path in (folder / "joro").iterdir()}
    assert (folder / f"joro-{version}.dist-info" / "RECORD").exists()


def assert_tidy(robot: Robot) -> None:
    robot.keeper.mend()
    assert list(robot.shelf.directory.glob(".*")) == []
    assert robot.shelf.notes().trial is None


def every_kill(shop: Shop, before: Path, folder: Path, story: str) -> Iterator[Robot]:
    """The robot after a kill at the first change, at the second … and after none."""
    for limit in range(1, MOST_CHANGES):
        path = folder / f"web{limit}"
        shutil.copytree(before, path, symlinks=True)
        was_killed = killed_at(limit, story, path, shop)
        robot = robot_at(path, shop)
        assert_whole(robot)
        robot.keeper.mend()
        assert_whole(robot)
        yield robot
        assert_tidy(robot)
        if not was_killed:
            return
    pytest.fail("it has no end")


def test_an_update_can_be_killed_before_any_change(shop: Shop, before: Path, tmp_path: Path) -> None:
    changes = 0
    for robot in every_kill(shop, before, tmp_path, "update"):
        changes += 1
        if robot.shelf.running() != "0.3.0":
            assert robot.update() == "0.3.0"
        if robot.keeper.is_on_trial():
            assert robot.keeper.begin() == "0.3.0"
            robot.keeper.keep()
        assert robot.shelf.running() == "0.3.0"
    assert changes > 30


def test_a_roll_back_can_be_killed_before_any_change(shop: Shop, before: Path, tmp_path: Path) -> None:
    shutil.copytree(before, tmp_path / "on-trial", symlinks=True)
    robot_at(tmp_path / "on-trial", shop).update()
    changes = 0
    for robot in every_kill(shop, tmp_path / "on-trial", tmp_path, "fail"):
        changes += 1
        if "0.3.0" not in robot.shelf.notes().bad:
            robot.keeper.fail("it ended with exit code 1")
            robot.keeper.mend()
        assert robot.shelf.running() == "0.2.0"
        assert robot.shelf.versions() == ["0.1.0", "0.2.0"]
        assert robot.update() is None
    assert changes > 5


def test_kills_of_the_supervisor_at_any_moment_lose_no_release(
    shop: Shop, before: Path, tmp_path: Path
) -> None:
    """At random moments: also while pip is at work, while the child is ended and the next one started."""
    chance, starts = random.Random(6), tmp_path / "starts.txt"
    path = collection_at(tmp_path / "web", shop, probation_s=0.5, patience_s=10.0).path
    shutil.copytree(before / "releases", path / "releases", symlinks=True)
    words = [*JORO, "update", "run", "-C", str(path), "--every", "0.1", "--", "work", str(starts)]
    for _ in range(KILLS):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        time.sleep(0.3 + chance.random() * 2.5)
        process.kill()
        process.wait()
        assert_whole(robot_at(path, shop))
    last = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: "its probation is over" in (path / "logs" / "update.log").read_text())
    finally:
        kill(last)
    assert robot_at(path, shop).shelf.running() == "0.3.0"
    assert set(starts.read_text().split()) == {"0.2.0", "0.3.0"}
