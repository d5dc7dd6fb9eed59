import asyncio
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Beat, Changes, Effort, Given, Link, Post, Wanted
from joro.manager.beats import beat
from joro.manager.planning import planning_round, wished
from joro.manager.world import World, looked_at
from joro.store.control import Control
from tests.manager.robots import register

COUNT = 40
SERVERS = [f"http://{number}.example" for number in range(COUNT)]


def rules(rule: str, percent: float = 100.0) -> Manager:
    return Manager(rule=rule, plan_every_s=600.0, most_moves_percent=percent)


def call(control: Control, clock: FakeClock, robot: str, *posts: Post, read: int = 0) -> list[object]:
    told = Beat(robot, robot, clock.now(), read, list(posts), sockets=4)
    return [letter.content for letter in beat(control, told, rules("plan")).letters]


def filled(control: Control, clock: FakeClock, count: int = COUNT) -> None:
    """Robot a has 40 servers, each with 100 KB, 10 ms away by the KB; b knows 20 of them, and is nearer."""
    register(control, "a", "b")
    servers = SERVERS[:count]
    call(control, clock, "a", Post(1, links=[Link(f"{server}/", 0) for server in servers]))
    call(control, clock, "a", Post(2, efforts=[Effort(server, 5, 102_400, 1_000) for server in servers]))
    call(control, clock, "b", Post(1, efforts=[Effort(server, 1, 1_024, 5) for server in servers[:20]]))


def moving(control: Control) -> dict[str, str]:
    with control.reading() as transaction:
        return dict(transaction.rows("SELECT name, heir FROM servers WHERE heir IS NOT NULL"))


@pytest.mark.parametrize("rule", ["plan", "equalise"])
def test_a_robot_that_came_gets_its_part_of_the_work(control: Control, clock: FakeClock, rule: str) -> None:
    filled(control, clock)
    count = planning_round(control, rules(rule))
    assert 15 <= count <= 30
    assert set(moving(control).values()) == {"b"}


@pytest.mark.parametrize("rule", ["plan", "equalise", "hash"])
def test_where_there_are_few_servers_one_may_move_at_a_look(
    control: Control, clock: FakeClock, rule: str
) -> None:
    filled(control, clock, count=9)
    assert planning_round(control, rules(rule, percent=10.0)) == 1
    assert set(moving(control).values()) == {"b"}


def test_owners_are_asked_for_what_is_to_move_and_keep_it_until_they_gave_it_back(
    control: Control, clock: FakeClock
) -> None:
    filled(control, clock)
    before = len(call(control, clock, "a"))
    planning_round(control, rules("plan"))
    wanted = call(control, clock, "a")[before]
    assert isinstance(wanted, Wanted)
    assert sorted(wanted.servers) == sorted(moving(control))
    call(control, clock, "a", Post(3, released=wanted.servers))
    assert {letter.server for letter in call(control, clock, "b") if isinstance(letter, Given)} == set(
        wanted.servers
    )


def test_by_hash_everyone_gets_what_hash_says(control: Control, clock: FakeClock) -> None:
    filled(control, clock)
    assert 10 <= planning_round(control, rules("hash")) <= 30


def test_at_random_nothing_moves(control: Control, clock: FakeClock) -> None:
    filled(control, clock)
    assert planning_round(control, rules("random")) == 0


@pytest.mark.parametrize("rule", ["plan", "equalise", "hash"])
def test_no_more_moves_than_may(control: Control, clock: FakeClock, rule: str) -> None:
    filled(control, clock)
    assert planning_round(control, rules(rule, percent=10.0)) == 4


def test_what_is_on_its_way_is_not_moved_again(control: Control, clock: FakeClock) -> None:
    filled(control, clock)
    first = planning_round(control, rules("plan", percent=20.0))
    clock._now += 601.0
    call(control, clock, "a")
    call(control, clock, "b")
    assert first == planning_round(control, rules("plan", percent=20.0)) == 8
    assert len(moving(control)) == 16


def test_two_managers_plan_once(control: Control, clock: FakeClock) -> None:
    filled(control, clock)
    assert planning_round(control, rules("plan")) > 0
    assert planning_round(control, rules("plan")) == 0


def test_nobody_plans_for_one_robot(control: Control, clock: FakeClock) -> None:
    register(control, "a")
    call(control, clock, "a", Post(1, links=[Link(f"{server}/", 0) for server in SERVERS]))
    assert planning_round(control, rules("plan")) == 0


def test_a_sixth_robot_moves_less_than_two_sixths(control: Control, clock: FakeClock) -> None:
    names = [f"r{number}" for number in range(6)]
    register(control, *names)
    for name in names[:5]:
        call(control, clock, name)
    many = [f"http://{number}.example/" for number in range(600)]
    call(control, clock, names[0], Post(1, links=[Link(url, 0) for url in many]))
    assert planning_round(control, rules("plan")) == 0  # equal shares: nothing would be gained
    call(control, clock, names[5])
    clock._now += 601.0
    for name in names:
        call(control, clock, name)
    assert 60 <= planning_round(control, rules("plan")) < 200


def test_of_probed_servers_only_those_kept_too_long_are_wanted(control: Control, clock: FakeClock) -> None:
    filled(control, clock)
    with control.transaction() as transaction:
        transaction.run("UPDATE servers SET most_pages = 50, since = 399 WHERE name = ?", SERVERS[0])
        transaction.run("UPDATE servers SET most_pages = 50 WHERE name = ?", SERVERS[1])
        transaction.run("DELETE FROM letters")
    planning_round(control, rules("random"))
    assert call(control, clock, "a") == [Wanted([SERVERS[0]])]


def test_what_was_measured_is_distance_and_what_was_received_is_size(
    control: Control, clock: FakeClock
) -> None:
    filled(control, clock)
    with control.reading() as transaction:
        world = looked_at(transaction)
    place = world.servers.index(SERVERS[0])
    assert (world.robots, world.lanes, world.all_servers) == (["a", "b"], 4, 40)
    assert world.distances[:, place].tolist() == [10.0, 5.0]
    assert world.sizes_kb[place] == 101.0
    assert np.isnan(world.distances[1, world.servers.index(SERVERS[39])])


@given(st.integers(0, 2**32), st.sampled_from(["plan", "equalise", "hash"]), st.floats(0.0, 100.0))
def test_wishes_are_few_and_for_somebody_else(seed: int, rule: str, percent: float) -> None:
    chance = np.random.default_rng(seed)
    distances = chance.uniform(1.0, 100.0, (3, 12))
    distances[chance.random((3, 12)) < 0.5] = np.nan
    world = World(
        ["a", "b", "c"],
        SERVERS[:12],
        chance.integers(0, 3, 12),
        chance.uniform(1.0, 1_000.0, 12),
        distances,
        np.where(np.isnan(distances), 0.0, 50.0),
        chance.random(12) < 0.2,
        lanes=2,
        all_servers=12,
    )
    wishes = wished(world, rules(rule, percent))
    assert len(wishes) <= math.ceil(12 * percent / 100.0)
    assert len({server for server, _, _ in wishes}) == len(wishes)
    for server, owner, heir in wishes:
        place = world.servers.index(server)
        assert owner == world.robots[world.owners[place]] != heir
        assert not world.fixed[place]


def test_a_server_that_moved_stays_for_ten_looks(control: Control, clock: FakeClock) -> None:
    filled(control, clock)
    call(control, clock, "a", Post(3, changes=[Changes(server, [(b"s", b"")]) for server in SERVERS]))
    planning_round(control, rules("plan"))
    call(control, clock, "a", Post(4, released=sorted(moved := moving(control))))
    with control.reading() as transaction:
        world = looked_at(transaction, 6_000.0)
    assert {world.servers[place] for place in np.flatnonzero(world.fixed)} == set(moved)
    asyncio.run(clock.advance(6_000.0))
    with control.reading() as transaction:
        assert not looked_at(transaction, 6_000.0).fixed.any()


def test_a_server_on_its_way_counts_with_its_heir(control: Control, clock: FakeClock) -> None:
    filled(control, clock)
    planning_round(control, rules("plan"))
    with control.reading() as transaction:
        world = looked_at(transaction)
    assert {world.servers[place] for place in np.flatnonzero(world.fixed)} == set(moving(control))
    assert (world.owners[world.fixed] == 1).all()
    assert not (world.owners[~world.fixed] == 1).any()


HOUSE = ["http://h.example", "https://h.example", "http://www.h.example", "https://www.h.example"]


@pytest.mark.parametrize("rule", ["plan", "equalise", "hash", "random"])
def test_servers_that_answer_for_each_other_come_to_one_robot(
    control: Control, clock: FakeClock, rule: str
) -> None:
    register(control, "a", "b", "c")
    for robot in "abc":
        beat(control, Beat(robot, robot, clock.now(), sockets=4), rules(rule))
    for number, server in enumerate(HOUSE, 1):
        links = [Link(f"{server}/", 0), Link(f"http://{number}.example/", 0)]
        beat(control, Beat("a", "a", clock.now(), 0, [Post(number, links=links)], sockets=4), rules(rule))
    with control.reading() as transaction:
        owners: dict[str, str] = dict(transaction.rows("SELECT name, owner FROM servers"))
    assert len({owners[server] for server in HOUSE}) == 1
    assert rule == "random" or len(set(owners.values())) == 3


@pytest.mark.parametrize("rule", ["plan", "equalise"])
def test_they_move_together(rule: str) -> None:
    servers = [*HOUSE, *SERVERS]
    count = len(servers)
    distances = np.array([[10.0] * count, [1.0 if number % 2 else 30.0 for number in range(count)]])
    kb = np.linspace(100.0, 50.0, count)
    pages, fixed = np.full(distances.shape, 400.0), np.zeros(count, np.bool_)
    world = World(["a", "b"], servers, np.zeros(count, np.int64), kb, distances, pages, fixed, 1, count)
    moving = {server for server, _, _ in wished(world, rules(rule))}
    assert len(moving) > 5
    assert moving & set(HOUSE) in (set(), set(HOUSE))
