import pytest

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Beat, Link, Post
from joro.manager.beats import beat
from joro.manager.status import status
from joro.store.control import Control
from tests.manager.robots import register

RULES = Manager()


def test_it_says_what_everyone_does(control: Control, clock: FakeClock) -> None:
    register(control, "a", "b")
    post = Post(1, links=[Link("http://s.example/", 0)])
    beat(
        control,
        Beat("a", "a", clock.now(), posts=[post], sockets=4, waiting=7, visited=3, version="1"),
        RULES,
    )
    clock._now += 10.0
    found = status(control)
    assert found["robots"][0] == {
        "name": "a",
        "kind": "joro",
        "state": "up",
        "lease_s": 50.0,
        "silent_s": 10.0,
        "waiting": 7,
        "visited": 3,
        "idle": False,
        "sockets": 4,
        "version": "1",
        "servers": 1,
        "letters": 2,
    }
    assert (found["robots"][1]["state"], found["robots"][1]["silent_s"]) == ("new", None)
    assert found["servers"] == {"known": 1, "owned": 1, "of_nobody": 0, "on_their_way": 0, "probed": 0}
    assert found["store_bytes"] > 0


@pytest.mark.parametrize(
    ("statement", "is_quiet"),
    [
        ("SELECT 1", True),
        ("UPDATE robots SET idle = 0 WHERE name = 'a'", False),
        ("UPDATE robots SET state = 'down' WHERE name = 'b'", True),
        ("UPDATE robots SET state = 'down' WHERE name = 'a'", False),
        ("UPDATE robots SET state = 'down'", False),
        ("UPDATE servers SET owner = NULL", False),
        ("INSERT INTO letters (robot, number, body) VALUES ('', 1, 'x')", False),
        ("INSERT INTO letters (robot, number, body) VALUES ('b', 1, 'x')", False),
    ],
)
def test_it_is_quiet_when_nobody_has_anything_left(
    control: Control, clock: FakeClock, statement: str, is_quiet: bool
) -> None:
    register(control, "a", "b")
    post = Post(1, links=[Link("http://s.example/", 0)])
    beat(control, Beat("a", "a", clock.now(), posts=[post]), RULES)
    beat(control, Beat("a", "a", clock.now(), read=2, idle=True), RULES)
    beat(control, Beat("b", "b", clock.now(), idle=True), RULES)
    with control.transaction() as transaction:
        transaction.run(statement)
    assert status(control)["quiet"] is is_quiet
