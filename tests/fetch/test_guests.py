"""A server's own process and guests from others are never there together."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from joro.errors import CollectionError
from joro.fetch.guests import MOMENT_S, Guests

HUB, PAUSE_S, LONGEST_S = "http://hub.example", 20.0, 60.0

#: Another process, a guest wherever it comes: reads "enter NOW", "leave NOW", "promise THEN", and answers.
GUEST = f"""
import sys
from pathlib import Path
from joro.fetch.guests import Guests

guests = Guests(Path(sys.argv[1]), lambda server: False, lambda server: {PAUSE_S}, {LONGEST_S})
for line in sys.stdin:
    verb, now = line.split()
    print(getattr(guests, verb)("{HUB}", float(now)), flush=True)
"""


class Guest:
    """A process that comes and goes when told to."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", GUEST, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def enter(self, now: float) -> float:
        return float(self._say(f"enter {now}"))

    def leave(self, now: float) -> None:
        self._say(f"leave {now}")

    def promise(self, ready_at: float) -> None:
        self._say(f"promise {ready_at}")

    def _say(self, line: str) -> str:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(line + "\n")
        stdin.flush()
        return stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def guest_at(path: Path) -> Iterator[Guest]:
    guest = Guest(path)
    yield guest
    guest.kill()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Guests]:
    guests = Guests(tmp_path / "g", lambda server: True, lambda server: PAUSE_S, LONGEST_S)
    yield guests
    guests.close()


def test_a_host_without_guests_may_always_come(host: Guests) -> None:
    assert host.enter(HUB, 100.0) == 100.0
    host.leave(HUB, 101.0)
    assert host.enter(HUB, 101.0) == 101.0


def test_a_guest_lets_a_moment_pass_before_it_comes(host: Guests, tmp_path: Path) -> None:
    with guest_at(tmp_path / "g") as guest:
        assert guest.enter(100.0) == 100.0 + MOMENT_S
        assert guest.enter(100.0 + MOMENT_S) == 100.0 + MOMENT_S


def test_a_guest_waits_until_the_host_has_left_and_the_pause_is_over(host: Guests, tmp_path: Path) -> None:
    with guest_at(tmp_path / "g") as guest:
        host.enter(HUB, 100.0)
        guest.enter(100.0)
        assert guest.enter(101.0) == 101.0 + MOMENT_S
        host.leave(HUB, 103.0)
        assert guest.enter(104.0) == 123.0
        assert guest.enter(123.0) == 123.0


def test_a_host_stays_away_while_a_guest_is_announced_and_for_the_pause(host: Guests, tmp_path: Path) -> None:
    with guest_at(tmp_path / "g") as guest:
        guest.enter(100.0)
        assert host.enter(HUB, 100.1) == 100.1 + MOMENT_S
        assert guest.enter(101.0) == 101.0
        assert host.enter(HUB, 102.0, in_run=True) == 102.0 + MOMENT_S
        guest.leave(103.0)
        assert host.enter(HUB, 104.0) == 123.0
        assert host.enter(HUB, 123.0) == 123.0


def test_what_a_server_asked_its_host_for_binds_a_guest(host: Guests, tmp_path: Path) -> None:
    host.enter(HUB, 100.0)
    host.leave(HUB, 103.0)
    host.promise(HUB, 3703.0)
    with guest_at(tmp_path / "g") as guest:
        guest.enter(200.0)
        assert guest.enter(201.0) == 3703.0
        assert guest.enter(3703.0) == 3703.0


def test_what_a_server_asked_a_guest_for_binds_its_host_and_other_guests(
    host: Guests, tmp_path: Path
) -> None:
    with guest_at(tmp_path / "g") as guest, guest_at(tmp_path / "g") as other:
        guest.enter(100.0)
        guest.enter(101.0)
        guest.leave(102.0)
        guest.promise(3702.0)
        assert host.enter(HUB, 200.0) == 3702.0
        other.enter(200.0)
        assert other.enter(201.0) == 3702.0


def test_two_guests_are_never_there_together(host: Guests, tmp_path: Path) -> None:
    with guest_at(tmp_path / "g") as one, guest_at(tmp_path / "g") as other:
        one.enter(100.0)
        assert other.enter(100.1) == 100.1 + MOMENT_S
        assert one.enter(101.0) == 101.0
        assert other.enter(102.0) == 102.0 + MOMENT_S
        one.leave(103.0)
        other.enter(104.0)
        assert other.enter(105.0) == 123.0


def test_a_guest_that_was_killed_keeps_nobody_away_but_for_the_pause(host: Guests, tmp_path: Path) -> None:
    guest = Guest(tmp_path / "g")
    guest.enter(100.0)
    assert guest.enter(101.0) == 101.0
    guest.kill()
    assert host.enter(HUB, 102.0) == 121.0
    assert host.enter(HUB, 121.0) == 121.0


def test_a_host_that_was_killed_is_there_no_longer_than_a_visit_lasts(host: Guests, tmp_path: Path) -> None:
    host.enter(HUB, 100.0)
    with guest_at(tmp_path / "g") as guest:
        guest.enter(101.0)
        assert guest.enter(159.0) == 159.0 + MOMENT_S
        assert guest.enter(160.0) == 160.0


def test_a_host_that_was_not_let_in_elsewhere_is_in_nobodys_way(host: Guests, tmp_path: Path) -> None:
    host.enter(HUB, 100.0)
    host.step_back(HUB)
    with guest_at(tmp_path / "g") as guest:
        guest.enter(101.0)
        assert guest.enter(102.0) == 102.0


def test_a_clock_set_back_keeps_nobody_away(host: Guests, tmp_path: Path) -> None:
    host.enter(HUB, 1e9)
    host.leave(HUB, 1e9)
    host.promise(HUB, 1e9 + 20.0)
    with guest_at(tmp_path / "g") as guest:
        guest.enter(100.0)
        assert guest.enter(101.0) == 101.0
        guest.leave(5000.0)
    assert host.enter(HUB, 200.0) == 200.0


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="cannot be used"):
        Guests(tmp_path / "missing" / "g", lambda server: True, lambda server: PAUSE_S, LONGEST_S)
