"""The supervisor as a process of its own, with releases of a few lines."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from joro.updater.shelf import Shelf
from tests.scenarios.crawls import wait_for
from tests.scenarios.stage import JORO, done, joro
from tests.updater.stand import INSTALLED, Shop, collection_at, open_shop
from tests.updater.wheels import FOR_EVER, tiny_wheel

pytestmark = pytest.mark.slow

#: A robot of a manager says that it was heard of.
HEARD = f"open(os.environ['JORO_HEALTHY_FILE'], 'w').close(); {FOR_EVER}"
GENTLE = """
import signal
def end(*_):
    with open(sys.argv[-1], "a") as file:
        file.write(__version__ + " ended\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
"""


class Stage:
    """A shop, a collection, and what was started."""

    def __init__(self, path: Path, shop: Shop, **other: object) -> None:
        self.shop = shop
        self.folder = path
        self.path = collection_at(path / "web", shop, **{"probation_s": 1.0, "patience_s": 10.0} | other).path
        self.starts = path / "starts.txt"
        self.starts.touch()

    def release(self, version: str, **habits: str) -> None:
        self.shop.release(tiny_wheel(self.folder, version, **habits))  # type: ignore[arg-type]

    def put(self, version: str, **habits: str) -> None:
        """A release that runs already: nothing of this tree is started but the supervisor."""
        self.release(version, **habits)
        done("update", "now", "-C", self.path)
        Shelf(self.path / "releases", INSTALLED).note(trial=None)

    @property
    def started(self) -> list[str]:
        return self.starts.read_text().split()

    @property
    def log(self) -> str:
        return (self.path / "logs" / "update.log").read_text()

    @property
    def running(self) -> str:
        return Shelf(self.path / "releases", INSTALLED).running()

    @contextmanager
    def supervised(self, command: str = "work") -> Iterator[subprocess.Popen[bytes]]:
        """`joro update run -- work`, until the block ends."""
        words = ["update", "run", "-C", str(self.path), "--every", "0.3", "--", command, str(self.starts)]
        process = subprocess.Popen([*JORO, *words], stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(timeout=30)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with open_shop(tmp_path / "shop") as shop:
        yield Stage(tmp_path, shop)


def test_a_newer_release_replaces_the_one_that_runs_gently(stage: Stage) -> None:
    stage.put("0.2.0", begin=GENTLE)
    with stage.supervised():
        wait_for(lambda: stage.started == ["0.2.0"])
        stage.release("0.3.0")
        wait_for(lambda: "its probation is over" in stage.log)
    assert stage.started == ["0.2.0", "0.2.0", "ended", "0.3.0"]
    assert stage.running == "0.3.0"


def test_a_release_that_dies_on_start_is_rolled_back_and_not_tried_again(stage: Stage) -> None:
    stage.put("0.2.0")
    with stage.supervised():
        stage.release("0.3.0", work="sys.exit(3)")
        wait_for(lambda: stage.started == ["0.2.0", "0.3.0", "0.2.0"])
        wait_for(lambda: "failed here before" in stage.log)
    assert "to 0.2.0: it ended with exit code 3" in stage.log
    assert (stage.started, stage.running) == (["0.2.0", "0.3.0", "0.2.0"], "0.2.0")


def test_a_release_that_fails_its_self_check_never_stops_the_one_that_runs(stage: Stage) -> None:
    stage.put("0.2.0")
    with stage.supervised():
        stage.release("0.3.0", check="import no_such_module")
        wait_for(lambda: "failed here before" in stage.log)
        stage.release("0.4.0")
        wait_for(lambda: stage.started == ["0.2.0", "0.4.0"])


def test_a_robot_of_a_manager_has_to_be_heard_of(stage: Stage) -> None:
    stage.put("0.2.0", work=HEARD)
    with stage.supervised("cooperate"):
        stage.release("0.3.0")  # runs, but says nothing
        wait_for(lambda: stage.started == ["0.2.0", "0.3.0", "0.2.0"])
        stage.release("0.4.0", work=HEARD)
        wait_for(lambda: "its probation is over" in stage.log)
    assert "no manager heard of it within 1 s" in stage.log
    assert stage.running == "0.4.0"


@pytest.mark.parametrize(("work", "code"), [("sys.exit(0)", 0), ("sys.exit(7)", 7)])
def test_a_command_that_ends_by_itself_ends_the_supervisor(stage: Stage, work: str, code: int) -> None:
    stage.put("0.2.0", work=work)
    with stage.supervised() as process:
        assert process.wait(timeout=30) == code
    assert stage.running == "0.2.0"


def test_told_to_stop_the_supervisor_lets_its_child_end(stage: Stage) -> None:
    stage.put("0.2.0", begin=GENTLE)
    with stage.supervised() as process:
        wait_for(lambda: stage.started)
        process.terminate()
        assert process.wait(timeout=30) == 0
    assert stage.started == ["0.2.0", "0.2.0", "ended"]


def test_a_child_that_does_not_end_is_killed_after_a_while(tmp_path: Path) -> None:
    with open_shop(tmp_path / "shop") as shop:
        stage = Stage(tmp_path, shop, patience_s=0.5)
        stage.put("0.2.0", begin="import signal; signal.signal(15, signal.SIG_IGN)")
        with stage.supervised() as process:
            wait_for(lambda: stage.started)
            process.terminate()
            assert process.wait(timeout=30) == 128 + 9


def test_the_child_of_a_killed_supervisor_ends_and_the_next_one_waits_for_it(stage: Stage) -> None:
    stage.put(
        "0.2.0",
        begin=GENTLE.replace('file.write(__version__ + " ended', 'time.sleep(1); file.write("was ended'),
    )
    with stage.supervised() as process:
        wait_for(lambda: stage.started)
        process.kill()
        process.wait()
        with stage.supervised():
            wait_for(lambda: len(stage.started) == 4)
    assert stage.started[:4] == ["0.2.0", "was", "ended", "0.2.0"]


def test_only_one_supervisor_keeps_a_robot(stage: Stage) -> None:
    stage.put("0.2.0")
    with stage.supervised() as process:
        wait_for(lambda: stage.started)
        second = joro("update", "run", "-C", stage.path, "--", "work", stage.starts)
        assert second.returncode == 2
        assert f"process {process.pid} updates" in second.stderr


def test_an_operator_rolls_back_while_it_runs(stage: Stage) -> None:
    stage.put("0.2.0")
    stage.put("0.3.0")
    with stage.supervised():
        wait_for(lambda: stage.started == ["0.3.0"])
        assert "does it" in done("update", "roll-back", "-C", stage.path)
        wait_for(lambda: stage.started == ["0.3.0", "0.2.0"])
        assert "runs: 0.2.0\n" in done("update", "status", "-C", stage.path)
    assert "an operator rolled it back" in stage.log


def test_an_operator_wants_the_newest_now(stage: Stage) -> None:
    stage.put("0.2.0")
    words = ["update", "run", "--", "work", "-C", str(stage.path), str(stage.starts)]
    process = subprocess.Popen([*JORO, *words], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: stage.started == ["0.2.0"])
        stage.release("0.3.0")
        done("update", "now", "-C", stage.path)
        wait_for(lambda: stage.started == ["0.2.0", "0.3.0"])
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=30)


def test_the_channel_may_be_down_for_a_while(stage: Stage) -> None:
    stage.put("0.2.0")
    newest = stage.shop.channel.directory / "newest.json"
    newest.rename(newest.with_name("hidden"))
    with stage.supervised():
        wait_for(lambda: stage.log.count("refuses (404") >= 2)
        newest.with_name("hidden").rename(newest)
        stage.release("0.3.0")
        wait_for(lambda: stage.started == ["0.2.0", "0.3.0"])
