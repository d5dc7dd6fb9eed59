import json
from pathlib import Path

import msgspec
import pytest

from joro.archive.read import records
from joro.clock import FakeClock
from joro.errors import TransferError
from joro.redistribute.package import Limits
from joro.redistribute.push import Pusher
from joro.redistribute.receive import begin
from joro.redistribute.shelf import Package
from joro.redistribute.uploads import State
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from tests.archive.examples import NOON
from tests.redistribute.stand import (
    CuttingLine,
    caller,
    captures_of,
    collection_at,
    fill,
    received_warcs,
    register,
    serving,
)


@pytest.fixture
def robot(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "robot")


@pytest.fixture
def hub(tmp_path: Path) -> Collection:
    hub = collection_at(tmp_path / "hub")
    (hub.path / "redistribution.toml").write_text('[[sources]]\nname = "tokyo"\nschedule = "@daily"\n')
    return hub


def push(robot: Collection, url: str, token: str, limits: Limits | None = None) -> int:
    pusher = Pusher(robot, caller(url, token), FakeClock(NOON), limits=limits or Limits())
    return pusher.push().captures


def test_a_robot_behind_a_firewall_brings_what_the_schedule_asks_for(
    robot: Collection, hub: Collection
) -> None:
    fill(robot, 30)
    token = register(hub, may_push=True)
    with serving(hub) as url:
        assert push(robot, url, token) == 30
        assert captures_of(hub) == captures_of(robot)
        fill(robot, 3, first=30)
        assert push(robot, url, token) == 3
        assert push(robot, url, token) == 0
    assert captures_of(hub) == captures_of(robot)


def test_a_push_goes_on_after_every_cut(robot: Collection, hub: Collection) -> None:
    fill(robot, 60, body_bytes=200_000)
    token = register(hub, may_push=True)
    with serving(hub) as url, CuttingLine(url, 1_000_000, cuts=3, upwards=True) as line:
        assert push(robot, line.url, token) == 60
        assert line.left == 0
        assert line.passed < 60 * 100_000 * 1.6  # a cut costs what was under way, not what had arrived
    assert captures_of(hub) == captures_of(robot)
    assert list(hub.path.rglob("*.part")) == []


def test_a_package_whose_last_answer_was_lost_is_not_taken_in_twice(
    robot: Collection, hub: Collection
) -> None:
    fill(robot, 10)
    token = register(hub, may_push=True)
    with serving(hub) as url:
        push(robot, url, token)
        for state in (robot.path / "redistribution" / "pushed").iterdir():
            state.unlink()  # as if we had been killed before we noted it down
        push(robot, url, token)
    assert len(received_warcs(hub)) == 1


def test_what_does_not_fit_its_digest_is_not_taken_in(robot: Collection, hub: Collection) -> None:
    fill(robot, 10)
    token = register(hub, may_push=True)
    with serving(hub) as url:
        pusher = Pusher(robot, caller(url, token), FakeClock(NOON))
        manifest = pusher._maker.make(pusher.schedule().selection({}), pusher._allowed)
        ask = caller(url, token)
        ask.post("/uploads", manifest, State)
        at = f"/uploads/{manifest.package}"
        lies = ask.put(f"{at}/index", [bytes(manifest.index_bytes)], 0, manifest.index_bytes, State)
        assert lies == State(0, 0, False)
        assert ask.put(f"{at}/warc", [bytes(manifest.bytes)], 0, manifest.bytes, State) == State(0, 0, False)
        assert received_warcs(hub) == []
        assert push(robot, url, token) == 10


def test_only_a_party_that_may_push_can(robot: Collection, hub: Collection) -> None:
    fill(robot, 4)
    token = register(hub)
    with serving(hub) as url:
        with pytest.raises(TransferError, match="nothing is wanted of tokyo"):
            push(robot, url, token)
        with pytest.raises(TransferError, match="may fetch, but not bring"):
            caller(url, token).post("/uploads", {}, State)


@pytest.mark.parametrize(
    "change", [b'"package":"../../x"', b'"part_bytes":1', b'"bytes":99999999999999', b'"parts":[]']
)
def test_a_manifest_that_makes_no_sense_is_refused(robot: Collection, hub: Collection, change: bytes) -> None:
    fill(robot, 4)
    token = register(hub, may_push=True)
    with serving(hub) as url:
        pusher = Pusher(robot, caller(url, token), FakeClock(NOON))
        manifest = pusher._maker.make(pusher.schedule().selection({}), pusher._allowed)
        wrong = msgspec.to_builtins(manifest) | json.loads(b"{%s}" % change)
        with pytest.raises(TransferError, match="this is no manifest"):
            caller(url, token).post("/uploads", wrong, State)


def test_our_own_orders_hold_for_what_others_bring(robot: Collection, hub: Collection) -> None:
    fill(robot, 40)
    OrderBook(hub.orders, lambda: NOON).give(Order(0, TAKEDOWN, "host", "b.ac.jp", 0.0))
    token = register(hub, may_push=True)
    with serving(hub) as url:
        push(robot, url, token)
    assert len(captures_of(hub)) == 30
    (warc,) = received_warcs(hub)
    assert not any("b.ac.jp" in record.url for record in records(warc))


def test_a_hub_killed_when_all_had_arrived_takes_it_in_when_the_robot_asks_again(
    robot: Collection, hub: Collection
) -> None:
    fill(robot, 10)
    token = register(hub, may_push=True)
    with serving(hub) as url:
        pusher = Pusher(robot, caller(url, token), FakeClock(NOON))
        manifest = pusher._maker.make(pusher.schedule().selection({}), pusher._allowed)
        package = Package(robot.path / "redistribution" / "packages" / manifest.package, robot.archive)
        folder = begin(hub, "tokyo", manifest)
        (folder / "index.cdxj.gz.part").write_bytes(b"".join(package.index(0, manifest.index_bytes)))
        (folder / "package.warc.gz.part").write_bytes(b"".join(package.pieces(0, manifest.bytes)))
        assert push(robot, url, token) == 10
    assert captures_of(hub) == captures_of(robot)
    assert len(received_warcs(hub)) == 1


def test_a_robot_that_brings_more_than_its_share_goes_on_the_next_day(
    robot: Collection, hub: Collection
) -> None:
    fill(robot, 10, body_bytes=4_000)
    token, clock = register(hub, may_push=True, bytes_per_day=25_000), FakeClock(NOON)
    with serving(hub, clock) as url:
        small = Limits(bytes=12_000)
        with pytest.raises(TransferError, match="more bytes today"):
            push(robot, url, token, small)
        brought = len(captures_of(hub))
        assert 0 < brought < 10
        clock._now += 86_400
        assert push(robot, url, token, small) == 10 - brought
    assert captures_of(hub) == captures_of(robot)
    (line,) = [
        line for log in hub.logs.iterdir() for line in log.read_text().splitlines() if "refused" in line
    ]
    assert json.loads(line)["who"] == "tokyo"
