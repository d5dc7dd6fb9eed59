from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.errors import CollectionError
from joro.fetch.address import BUSY_WAIT_S, AddressLimits, Hold

#: Another process: reads "hold ADDRESS NOW INTERVAL", "release N NOW", answers with N or "no".
OTHER = """
import sys
from pathlib import Path
from joro.fetch.address import AddressLimits

limits = AddressLimits(Path(sys.argv[1]), int(sys.argv[2]))
holds = []
for line in sys.stdin:
    verb, *words = line.split()
    if verb == "hold":
        hold = limits.try_hold(words[0], float(words[1]), float(words[2]))
        holds.append(hold)
        print("no" if hold is None else len(holds) - 1, flush=True)
    else:
        holds[int(words[0])].release(float(words[1]))
        print("done", flush=True)
"""

#: Another process: from a common moment on it holds and releases one address as often as it can.
BUSY = """
import sys, time
from pathlib import Path
from joro.fetch.address import AddressLimits

limits = AddressLimits(Path(sys.argv[1]), int(sys.argv[2]))
start = float(sys.argv[3])
while time.monotonic() < start:
    pass
while time.monotonic() < start + 0.2:
    hold = limits.try_hold("10.0.0.1", time.monotonic())
    if hold is not None:
        print("+", time.monotonic_ns())
        print("-", time.monotonic_ns())
        hold.release(time.monotonic())
"""


class Other:
    """A process that holds addresses when told to."""

    def __init__(self, path: Path, per_address: int) -> None:
        command = [sys.executable, "-c", OTHER, str(path), str(per_address)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line: str) -> str:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(line + "\n")
        stdin.flush()
        return stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def limits_at(path: Path, per_address: int = 1) -> Iterator[AddressLimits]:
    limits = AddressLimits(path, per_address)
    yield limits
    limits.close()


@contextmanager
def another(path: Path, per_address: int = 1) -> Iterator[Other]:
    other = Other(path, per_address)
    yield other
    other.kill()


def test_no_more_than_so_many_hold_an_address_within_a_process(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a", 2) as limits:
        holds = [limits.try_hold("10.0.0.1", 0.0) for _ in range(3)]
        assert [hold is not None for hold in holds] == [True, True, False]
        assert limits.try_hold("10.0.0.2", 0.0) is not None


@pytest.mark.parametrize("other", ["::ffff:10.0.0.1", "::ffff:a00:1", "64:ff9b::a00:1"])
def test_an_ipv4_address_that_is_reached_by_ipv6_is_the_same_one(tmp_path: Path, other: str) -> None:
    with limits_at(tmp_path / "a", 1) as limits:
        assert limits.try_hold(other, 100.0) is not None
        assert limits.try_hold("10.0.0.1", 100.0) is None
        assert limits.free_at("10.0.0.1", 101.0, 10.0) == 110.0
        assert limits.try_hold("::a00:1", 100.0) is not None
        assert limits.try_hold("fe80::1%eth0", 100.0) is not None


def test_as_many_hold_an_address_as_may_now(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a", 1) as limits:
        limits.renew(2)
        holds = [limits.try_hold("10.0.0.1", 0.0) for _ in range(3)]
        assert [hold is not None for hold in holds] == [True, True, False]


def test_what_is_released_can_be_held_again_and_twice_does_no_harm(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a") as limits:
        first = limits.try_hold("::1", 0.0)
        assert first is not None
        first.release(1.0)
        assert limits.try_hold("::1", 2.0) is not None
        first.release(3.0)
        assert limits.try_hold("::1", 4.0) is None


def test_an_address_rests_between_visits(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a") as limits:
        hold = limits.try_hold("10.0.0.1", 100.0, 10.0)
        assert hold is not None
        assert limits.free_at("10.0.0.1", 101.0) == 101.0 + BUSY_WAIT_S
        hold.release(103.0)
        assert limits.try_hold("10.0.0.1", 112.9, 10.0) is None
        assert limits.free_at("10.0.0.1", 112.9, 10.0) == 113.0
        assert limits.try_hold("10.0.0.1", 113.0, 10.0) is not None


def test_the_rest_outlives_the_process(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a") as limits:
        limits.try_hold("10.0.0.1", 100.0)
    with limits_at(tmp_path / "a") as limits:
        assert limits.try_hold("10.0.0.1", 105.0, 10.0) is None
        assert limits.try_hold("10.0.0.1", 110.0, 10.0) is not None


def test_a_clock_set_back_does_not_close_an_address(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a") as limits:
        hold = limits.try_hold("10.0.0.1", 1e9)
        assert hold is not None
        hold.release(1e9)
        assert limits.try_hold("10.0.0.1", 5.0, 10.0) is not None


def test_processes_count_together(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with limits_at(path, 2) as limits, another(path, 2) as other:
        assert other.say("hold 10.0.0.1 0 0") == "0"
        ours = limits.try_hold("10.0.0.1", 0.0)
        assert ours is not None
        assert other.say("hold 10.0.0.1 0 0") == "no"
        ours.release(7.0)
        assert other.say("hold 10.0.0.1 8 2") == "no"
        assert other.say("hold 10.0.0.1 9 2") == "3"
        assert limits.try_hold("10.0.0.1", 20.0) is None


def test_a_killed_process_holds_nothing_but_the_address_still_rests(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with limits_at(path) as limits:
        other = Other(path, 1)
        assert other.say("hold 10.0.0.1 50 0") == "0"
        assert limits.try_hold("10.0.0.1", 51.0) is None
        other.kill()
        assert limits.try_hold("10.0.0.1", 52.0, 10.0) is None
        assert limits.try_hold("10.0.0.1", 60.0, 10.0) is not None


@pytest.mark.parametrize("per_address", [1, 2])
def test_busy_processes_are_never_more_than_so_many_at_once(tmp_path: Path, per_address: int) -> None:
    start = time.monotonic() + 0.5
    command = [sys.executable, "-c", BUSY, str(tmp_path / "a"), str(per_address), str(start)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    events = []
    for process in running:
        output, _ = process.communicate(timeout=60)
        events += [(int(line[2:]), 1 if line[0] == "+" else -1) for line in output.splitlines()]
    present, most = 0, 0
    for _, change in sorted(events):
        present += change
        most = max(most, present)
    assert 1 <= most <= per_address


@given(
    st.lists(st.tuples(st.sampled_from(["10.0.0.1", "::1"]), st.booleans(), st.floats(0, 30)), max_size=40)
)
def test_never_more_holders_nor_sooner_than_allowed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bool, float]]
) -> None:
    with limits_at(tmp_path_factory.mktemp("law") / "a", 2) as limits:
        now, holds, used_at = 1e9, list[tuple[str, Hold]](), dict[str, float]()
        for address, enter, passed_s in steps:
            now += passed_s
            mine = [each for each in holds if each[0] == address]
            if enter:
                hold = limits.try_hold(address, now, 10.0)
                allowed = len(mine) < 2 and now - 10.0 >= used_at.get(address, 0.0)
                assert (hold is not None) == allowed
                holds += [(address, hold)] if hold else []
            elif mine:
                mine[0][1].release(now)
                holds.remove(mine[0])
            if (enter and hold) or (not enter and mine):
                used_at[address] = now


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="cannot be used"):
        AddressLimits(tmp_path / "missing" / "a", 1)


def test_the_file_takes_little_room(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a") as limits:
        for number in range(50):
            limits.try_hold(f"10.0.0.{number}", time.monotonic())
    assert (tmp_path / "a").stat().st_blocks * 512 < 300_000


def test_thousands_of_locks_do_not_lie_in_one_file_through_which_the_kernel_looks(tmp_path: Path) -> None:
    with limits_at(tmp_path / "a") as limits:
        holds = [limits.try_hold(f"10.0.{number >> 8}.{number & 255}", 0.0) for number in range(640)]
        assert sum(hold is not None for hold in holds) > 630  # but for those that share a cell
        inodes = {place.stat().st_ino for place in (tmp_path / "a-locks").iterdir()}
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" not in line]
        counts = Counter(inode for line in lines if (inode := int(line[5].split(":")[2])) in inodes)
        assert counts.total() > 630
        assert max(counts.values()) < 40
