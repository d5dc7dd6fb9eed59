import pytest

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Beat, Changes, Given, Link, Links, Post
from joro.manager import failover
from joro.manager.beats import beat
from joro.manager.failover import failover_round
from joro.manager.status import status
from joro.store.control import Control
from tests.manager.robots import register

RULES = Manager(lease_s=60.0, grace_s=10.0, rule="hash")
URLS = [f"http://{number}.example/" for number in range(30)]


@pytest.fixture(autouse=True)
def robots(control: Control) -> None:
    register(control, "a", "b", "c")


def call(control: Control, clock: FakeClock, robot: str, *posts: Post, read: int = 0) -> list[object]:
    answer = beat(control, Beat(robot, robot, clock.now(), read, list(posts), 10), RULES)
    return [letter.content for letter in answer.letters]


def owners(control: Control) -> dict[str, str | None]:
    with control.reading() as transaction:
        return dict(transaction.rows("SELECT name, owner FROM servers"))


def state(control: Control, robot: str) -> str:
    with control.reading() as transaction:
        return str(transaction.rows("SELECT state FROM robots WHERE name = ?", robot)[0][0])


def start(control: Control, clock: FakeClock) -> dict[str, str | None]:
    for robot in "abc":
        call(control, clock, robot)
    call(control, clock, "a", Post(1, links=[Link(url, 0) for url in URLS]))
    return owners(control)


def test_nothing_moves_within_lease_and_grace(control: Control, clock: FakeClock) -> None:
    before = start(control, clock)
    clock._now += 69.9
    assert failover_round(control, RULES) == 0
    assert owners(control) == before


def test_only_what_a_silent_robot_had_moves(control: Control, clock: FakeClock) -> None:
    before = start(control, clock)
    clock._now += 70.1
    call(control, clock, "a")
    call(control, clock, "b")
    assert failover_round(control, RULES) == list(before.values()).count("c") > 0
    after = owners(control)
    assert {name for name in after if after[name] != before[name]} == {
        name for name in before if before[name] == "c"
    }
    assert (state(control, "c"), set(after.values())) == ("down", {"a", "b"})


def test_pages_whose_server_moved_are_not_counted_twice(control: Control, clock: FakeClock) -> None:
    start(control, clock)
    beat(control, Beat("c", "c", clock.now(), 0, [], 10, waiting=7, visited=20), RULES)
    clock._now += 70.1
    call(control, clock, "a")
    failover_round(control, RULES)
    [lost] = [robot for robot in status(control)["robots"] if robot["name"] == "c"]
    assert (lost["state"], lost["servers"], lost["waiting"], lost["visited"]) == ("down", 0, 0, 0)


def test_links_nobody_read_come_along_after_their_server(control: Control, clock: FakeClock) -> None:
    before = start(control, clock)
    clock._now += 70.1
    moved = {name for name, owner in before.items() if owner == "c"}
    letters = {robot: call(control, clock, robot) for robot in "ab"}
    failover_round(control, RULES)
    for robot in "ab":
        new = call(control, clock, robot)[len(letters[robot]) :]
        given = [letter.server for letter in new if isinstance(letter, Given)]
        [links] = [letter for letter in new if isinstance(letter, Links)]
        assert isinstance(new[-1], Links)
        assert sorted(f"{name}/" for name in given) == sorted(link.url for link in links.links)
        moved -= set(given)
    assert not moved


@pytest.mark.parametrize("heir", [None, "b"])
def test_a_server_its_owner_never_told_of_is_not_given_as_one_that_nobody_asked(
    control: Control, clock: FakeClock, heir: str | None
) -> None:
    call(control, clock, "a")
    call(control, clock, "a", Post(1, links=[Link(URLS[0], 0)]))
    with control.transaction() as transaction:
        transaction.run("UPDATE servers SET heir = ?", heir)
    clock._now += 70.1
    call(control, clock, "b")
    failover_round(control, RULES)
    assert call(control, clock, "b")[0] == Given("http://0.example", journal=1)


def test_many_servers_move_in_several_transactions(
    control: Control, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failover, "MOVES", 3)
    before = start(control, clock)
    clock._now += 70.1
    call(control, clock, "a")
    assert failover_round(control, RULES) == sum(owner in ("b", "c") for owner in before.values())
    assert set(owners(control).values()) == {"a"}


def test_the_last_robot_keeps_its_servers_and_goes_on_with_them(control: Control, clock: FakeClock) -> None:
    call(control, clock, "a", Post(1, links=[Link(URLS[0], 0)]))
    clock._now += 1_000.0
    assert failover_round(control, RULES) == 0
    assert state(control, "a") == "down"
    call(control, clock, "a", Post(2, changes=[Changes("http://0.example", [(b"k", b"v")])]), read=2)
    with control.reading() as transaction:
        assert transaction.rows("SELECT late FROM journal") == [(0,)]


def test_a_silent_robots_servers_wait_for_the_next_who_comes(control: Control, clock: FakeClock) -> None:
    call(control, clock, "a", Post(1, links=[Link(URLS[0], 0)]))
    clock._now += 1_000.0
    failover_round(control, RULES)
    call(control, clock, "b")
    failover_round(control, RULES)
    assert owners(control) == {"http://0.example": "b"}


def test_an_heir_comes_before_the_rule_and_none_that_is_silent(control: Control, clock: FakeClock) -> None:
    before = start(control, clock)
    servers = sorted(name for name, owner in before.items() if owner == "c")
    with control.transaction() as transaction:
        transaction.run("UPDATE servers SET heir = 'a' WHERE owner = 'c'")
        transaction.run("UPDATE servers SET heir = 'c' WHERE owner <> 'c'")
    clock._now += 70.1
    call(control, clock, "a")
    call(control, clock, "b")
    failover_round(control, RULES)
    after = owners(control)
    assert {after[name] for name in servers} == {"a"}
    with control.reading() as transaction:
        assert transaction.rows("SELECT count(*) FROM servers WHERE heir IS NOT NULL") == [(0,)]


def test_a_robot_that_was_dismissed_keeps_its_lease_and_no_more(control: Control, clock: FakeClock) -> None:
    before = start(control, clock)
    with control.transaction() as transaction:
        transaction.run("UPDATE robots SET state = 'left' WHERE name = 'c'")
    failover_round(control, RULES)
    assert owners(control) == before
    clock._now += 70.1
    call(control, clock, "a")
    failover_round(control, RULES)
    assert set(owners(control).values()) == {"a"}
    assert state(control, "c") == "left"
