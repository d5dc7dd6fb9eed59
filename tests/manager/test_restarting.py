from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Answer, Beat, Changes, Given, Link, Links, Post, Restart
from joro.manager import orders
from joro.manager.beats import beat
from joro.manager.restarting import restarts
from joro.manager.tokens import add_robot
from joro.store.control import Control, open_control

SETTINGS = Manager()
SERVER = "http://a.jp"


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    opened = open_control("", tmp_path, FakeClock(1_000.0))
    add_robot(opened, "one")
    yield opened
    opened.close()


def say(control: Control, read: int = 0, *posts: Post, more: bool = False) -> Answer:
    return beat(control, Beat("one", "x", 1_000.0, read, list(posts), sockets=9, more=more), SETTINGS)


def restart(control: Control) -> None:
    with control.transaction() as transaction:
        orders.restart(transaction, ["one"])


def told(control: Control) -> dict[str, str]:
    with control.reading() as transaction:
        return restarts(transaction)


def contents(answer: Answer) -> list[object]:
    return [letter.content for letter in answer.letters]


def begun(control: Control) -> int:
    """A robot that has a server and has told something of it; how far it has read."""
    say(control)
    orders.add_seeds(control, [f"{SERVER}/deep"], SETTINGS)
    letters = say(control).letters
    assert letters[0].content == Given(SERVER)
    say(control, letters[-1].number, Post(1, [Changes(SERVER, [(b"key", b"value")])]))
    return letters[-1].number


def test_a_robot_reads_that_it_restarts_before_it_gets_a_lease_or_a_server(control: Control) -> None:
    read = begun(control)
    restart(control)
    answer = say(control, read)
    assert (contents(answer), answer.lease_s) == ([Restart()], 0.0)
    assert told(control) == {"one": "wanted"}
    answer = say(control, answer.letters[-1].number)
    assert contents(answer) == [Given(SERVER, 1), Links([Link(f"{SERVER}/", hops=0)])]
    assert answer.lease_s == 60.0
    assert told(control) == {"one": "done"}


def test_what_was_known_of_its_servers_is_forgotten_also_what_it_told_last(control: Control) -> None:
    read = begun(control)
    restart(control)
    number = say(control, read).letters[-1].number
    say(control, number, Post(2, [Changes(SERVER, [(b"key", b"late")])]))
    with control.reading() as transaction:
        assert transaction.rows("SELECT * FROM journal") == []


def test_nothing_is_given_before_all_it_did_is_told(control: Control) -> None:
    read = begun(control)
    restart(control)
    number = say(control, read).letters[-1].number
    assert contents(say(control, number, more=True)) == []
    assert told(control) == {"one": "wanted"}


def test_a_server_it_had_given_back_before_is_given_once(control: Control) -> None:
    read = begun(control)
    restart(control)
    number = say(control, read).letters[-1].number
    answer = say(control, number, Post(2, released=[SERVER]))
    assert [type(content) for content in contents(answer)].count(Given) == 1


def test_a_robot_that_was_not_told_to_restart_keeps_what_it_has(control: Control) -> None:
    read = begun(control)
    assert contents(say(control, read)) == []
    assert told(control) == {}
