import logging
from types import SimpleNamespace

import pytest

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Beat, Link, Post
from joro.manager.beats import beat
from joro.manager.rounds import Rounds
from joro.store.control import Control
from tests.manager.robots import register

RULES = Manager(lease_s=60.0, grace_s=10.0)


@pytest.fixture
def rounds(control: Control, clock: FakeClock) -> Rounds:
    """Robot a has a server, and robot b is there."""
    register(control, "a", "b")
    beat(control, Beat("a", "a", clock.now(), posts=[Post(1, links=[Link("http://s.example/", 0)])]), RULES)
    beat(control, Beat("b", "b", clock.now()), RULES)
    return Rounds(control, RULES)


def owner(control: Control) -> str:
    with control.reading() as transaction:
        return str(transaction.rows("SELECT owner FROM servers")[0][0])


def silence(control: Control, clock: FakeClock) -> None:
    """Let a say nothing for 71 seconds."""
    clock._now += 71.0
    beat(control, Beat("b", "b", clock.now()), RULES)


def test_servers_of_silent_robots_move(control: Control, clock: FakeClock, rounds: Rounds) -> None:
    silence(control, clock)
    rounds.once()
    assert owner(control) == "b"


def test_a_manager_that_just_started_lets_robots_call_first(
    control: Control, clock: FakeClock, rounds: Rounds
) -> None:
    silence(control, clock)
    rounds.start()
    rounds.once()
    rounds.stop()
    assert owner(control) == "a"


def test_a_clock_that_jumps_ends_nobodys_lease_at_once(
    control: Control, clock: FakeClock, rounds: Rounds, caplog: pytest.LogCaptureFixture
) -> None:
    rounds.once()
    silence(control, clock)
    with caplog.at_level(logging.WARNING):
        rounds.once()
    assert "the clock of the control store has jumped by 7" in caplog.text
    assert owner(control) == "a"


@pytest.mark.parametrize(("passed_s", "expected"), [(69.0, "a"), (71.0, "b")])
def test_a_robot_that_is_cut_off_when_the_clock_jumps_keeps_its_servers_as_long_as_its_lease(
    control: Control,
    clock: FakeClock,
    rounds: Rounds,
    monkeypatch: pytest.MonkeyPatch,
    passed_s: float,
    expected: str,
) -> None:
    real = SimpleNamespace(now=5_000.0)
    monkeypatch.setattr("joro.manager.rounds.time", SimpleNamespace(monotonic=lambda: real.now))
    rounds.once()
    clock._now += 100.0
    rounds.once()
    clock._now += passed_s
    real.now += passed_s
    beat(control, Beat("b", "b", clock.now()), RULES)
    rounds.once()
    assert owner(control) == expected
