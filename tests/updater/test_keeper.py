import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from joro.errors import ReleaseError, TransferError, UsageError
from joro.updater.keeper import STARTS_LIMIT, next_time
from joro.updater.release import NEWEST, described, new_key, signed
from joro.updater.shelf import Shelf, Trial
from tests.updater.stand import NOON, Robot, Shop, open_shop, robot_at
from tests.updater.wheels import tiny_wheel


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path / "shop") as shop:
        yield shop


@pytest.fixture
def robot(tmp_path: Path, shop: Shop) -> Robot:
    return robot_at(tmp_path / "web", shop)


def test_a_newer_release_is_brought_proven_and_switched_to(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0"))
    assert robot.update() == "0.2.0"
    assert robot.shelf.running() == "0.2.0"
    assert robot.keeper.is_on_trial()
    assert (robot.path / "releases" / "current" / "joro" / "__main__.py").exists()
    assert list(robot.shelf.downloads.iterdir()) == []


@pytest.mark.slow
def test_every_step_is_in_the_log(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0"))
    robot.update()
    robot.keeper.keep()
    lines = [line.split()[:3] for line in robot.log.splitlines()]
    steps = ["look", "download", "install", "check", "switch", "keep"]
    assert [step for _, step, _ in lines] == steps
    assert {version for _, _, version in lines} == {"0.2.0"}


def test_nothing_newer_is_nothing_done(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.1.0"))
    assert robot.update() is None
    assert robot.shelf.running() == "0.1.0"
    assert "nothing newer than 0.1.0" in robot.log


@pytest.mark.slow
def test_a_release_that_fails_its_self_check_is_refused_and_not_tried_again(
    shop: Shop, robot: Robot, tmp_path: Path
) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0", check="sys.exit('the frontier is broken')"))
    with pytest.raises(ReleaseError, match="the frontier is broken"):
        robot.update()
    assert robot.shelf.versions() == ["0.1.0"]
    assert robot.update() is None
    assert "failed here before" in robot.log
    shop.release(tiny_wheel(tmp_path, "0.3.0"))
    assert robot.update() == "0.3.0"


@pytest.mark.slow
def test_a_release_that_calls_itself_otherwise_is_refused(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0", says="9.9.9"))
    with pytest.raises(ReleaseError, match="self-check"):
        robot.update()


def test_what_a_machine_lacks_is_named_before_anything_changes(
    shop: Shop, robot: Robot, tmp_path: Path
) -> None:
    wanted = ("no-such-library>=2", "click>=999", "numpy>=2", 'absent; extra == "charts"')
    shop.release(tiny_wheel(tmp_path, "0.2.0", requires=wanted))
    with pytest.raises(
        ReleaseError, match=r"no-such-library>=2 \(here: none\), click>=999 \(here: 8"
    ) as told:
        robot.update()
    assert told.value.remedy == "run: pip install 'no-such-library>=2' 'click>=999'"
    assert robot.shelf.versions() == ["0.1.0"]
    assert robot.shelf.notes().bad == {}  # somebody may install them


def test_another_python_is_asked_for_before_the_download(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0", python=">=9.1"))
    with pytest.raises(ReleaseError, match=r"needs Python >=9\.1, here is 3\."):
        robot.update()
    assert [path for path, _ in shop.asked] == [f"/stable/{NEWEST}"]


def test_a_release_that_is_too_large_is_not_even_asked_for(shop: Shop, tmp_path: Path) -> None:
    robot = robot_at(tmp_path / "web", shop, most_bytes=100)
    shop.release(tiny_wheel(tmp_path, "0.2.0"))
    with pytest.raises(ReleaseError, match=r"update\.most_bytes"):
        robot.update()
    assert [path for path, _ in shop.asked] == [f"/stable/{NEWEST}"]


def test_a_wrong_signature_changes_nothing(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    new_key(tmp_path / "thief.key")
    shop.channel.add(tiny_wheel(tmp_path, "0.2.0"), tmp_path / "thief.key", NOON)
    with pytest.raises(ReleaseError, match="signature"):
        robot.update()
    assert "failed: the signature of the manifest is wrong" in robot.log


def replay(shop: Shop, wheel: Path, created: float) -> None:
    """Let the channel offer something that was once signed."""
    parcel = signed(msgspec.structs.replace(described(wheel, created)), shop.key)
    (shop.channel.directory / NEWEST).write_bytes(msgspec.json.encode(parcel))


@pytest.mark.parametrize(("version", "age_s"), [("0.2.0", 1.0), ("0.4.0", -1000.0), ("0.3.0", 1.0)])
def test_what_is_older_than_what_was_seen_is_a_replay(
    shop: Shop, robot: Robot, tmp_path: Path, version: str, age_s: float
) -> None:
    shop.release(tiny_wheel(tmp_path, "0.3.0"))
    robot.keeper.look()
    replay(shop, tiny_wheel(tmp_path / "old", version), NOON + 1 + age_s)
    with pytest.raises(ReleaseError, match="replaying an old manifest"):
        robot.keeper.look()


def test_another_channel_may_begin_anew_but_leads_no_robot_back(
    shop: Shop, robot: Robot, tmp_path: Path
) -> None:
    shop.release(tiny_wheel(tmp_path, "0.3.0"))
    robot.place("0.3.0")
    robot.shelf.note(source="https://other.example/testing", seen_version="0.9.0")
    assert robot.update() is None
    assert robot.shelf.running() == "0.3.0"


def test_a_failed_release_is_rolled_back_and_forgotten_until_a_newer_comes(
    shop: Shop, robot: Robot, tmp_path: Path
) -> None:
    robot.place("0.2.0")
    robot.keeper.keep()
    shop.release(tiny_wheel(tmp_path, "0.3.0"))
    robot.place("0.3.0")
    robot.keeper.fail("it ended with exit code 1")
    assert robot.shelf.running() == "0.2.0"
    assert robot.update() is None
    robot.keeper.mend()
    assert robot.shelf.versions() == ["0.1.0", "0.2.0"]


def test_the_installed_version_is_what_one_comes_back_to_in_the_end(robot: Robot) -> None:
    robot.place("0.2.0")
    assert robot.keeper.fail("no") == "0.1.0"
    assert not (robot.path / "releases" / "current").is_symlink()
    with pytest.raises(UsageError, match=r"no release before 0\.1\.0"):
        robot.keeper.fail("no")


def test_a_release_that_takes_the_supervisor_along_is_rolled_back_in_the_end(robot: Robot) -> None:
    robot.place("0.2.0")
    assert [robot.keeper.begin() for _ in range(STARTS_LIMIT + 1)] == ["0.2.0"] * STARTS_LIMIT + ["0.1.0"]


def test_a_newer_version_installed_by_hand_wins(robot: Robot) -> None:
    robot.place("0.2.0")
    assert Shelf(robot.shelf.directory, "0.3.0").running() == "0.3.0"
    assert Shelf(robot.shelf.directory, "0.2.0").running() == "0.2.0"


def test_what_an_operator_installed_by_hand_is_not_judged(robot: Robot, shop: Shop) -> None:
    robot.place("0.2.0")
    robot.shelf.note(bad={"0.2.0": "it ended"})
    again = robot_at(robot.path, shop, installed="0.2.0")
    again.keeper.mend()
    assert (again.shelf.running(), again.keeper.begin(), again.keeper.is_on_trial()) == (
        "0.2.0",
        "0.2.0",
        False,
    )


def test_two_older_releases_are_kept(robot: Robot) -> None:
    for number in range(2, 7):
        robot.place(f"0.{number}.0")
        robot.keeper.keep()
    assert robot.shelf.versions() == ["0.1.0", "0.4.0", "0.5.0", "0.6.0"]


def test_a_roll_back_that_was_cut_off_is_finished(robot: Robot) -> None:
    robot.place("0.2.0")
    robot.shelf.note(bad={"0.2.0": "it ended"}, trial=None)
    robot.keeper.mend()
    assert (robot.shelf.running(), robot.shelf.versions()) == ("0.1.0", ["0.1.0"])


@pytest.mark.slow
def test_a_switch_that_was_cut_off_is_looked_for_again(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0"))
    robot.shelf.note(trial=Trial("0.2.0"), looked_at=NOON)
    robot.keeper.mend()
    assert robot.keeper.due_at() == 0.0
    assert not robot.keeper.is_on_trial()
    assert robot.update() == "0.2.0"


def test_a_channel_that_is_down_is_one_line(shop: Shop, tmp_path: Path) -> None:
    robot = robot_at(tmp_path / "web", shop, source="http://127.0.0.1:9/stable")
    with pytest.raises(TransferError, match="cannot be reached"):
        robot.update()
    assert "failed: http://127.0.0.1:9/stable cannot be reached" in robot.log


def test_a_disk_that_cannot_be_used_is_one_line(shop: Shop, robot: Robot, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0"))
    (robot.shelf.directory / "downloads").write_text("a file")
    with pytest.raises(ReleaseError, match="downloads: File exists; make room"):
        robot.update()
    assert "download   0.2.0      failed: " in robot.log


def test_releases_that_failed_are_forgotten_when_a_newer_one_is_kept(robot: Robot) -> None:
    robot.shelf.note(bad={"0.2.0": "it ended", "0.9.0": "it ended"})
    robot.place("0.3.0")
    robot.keeper.keep()
    assert robot.shelf.notes().bad == {"0.9.0": "it ended"}


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_the_daily_look_is_at_the_set_local_time() -> None:
    three = datetime.fromisoformat("2026-11-16T03:00+09:00").timestamp()
    four = datetime.fromisoformat("2026-11-16T04:00+09:00").timestamp()
    assert next_time(three, "04:00") == four
    assert next_time(four, "04:00") == four + 86_400


def test_a_robot_that_never_looked_looks_at_once_and_then_daily(robot: Robot) -> None:
    assert robot.keeper.due_at() == 0.0
    robot.shelf.note(looked_at=NOON)
    assert NOON < robot.keeper.due_at() <= NOON + 86_400
    assert robot.keeper.due_at(every_s=60) == NOON + 60


def test_a_clock_that_was_wrong_keeps_nobody_from_looking(robot: Robot) -> None:
    robot.shelf.note(looked_at=NOON + 1e9)
    assert robot.keeper.due_at() == 0.0


def test_a_channel_that_was_down_is_asked_again_after_a_restart(shop: Shop, tmp_path: Path) -> None:
    robot = robot_at(tmp_path / "web", shop, source="http://127.0.0.1:9/stable")
    with pytest.raises(TransferError):
        robot.update()
    assert robot.keeper.due_at() == 0.0


def test_damaged_notes_are_named(robot: Robot) -> None:
    (robot.shelf.directory / "notes.json").write_text("{")
    with pytest.raises(ReleaseError, match=r"notes\.json is damaged"):
        robot.keeper.mend()
