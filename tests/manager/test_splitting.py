"""A server too big for one robot, shared by directory."""

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Beat, Changes, Effort, Given, Late, Link, Links, Lost, Post, Wanted
from joro.coordinate.units import homes, lies_in, server_in
from joro.manager.beats import beat
from joro.manager.failover import failover_round
from joro.manager.journals import page
from joro.manager.recount import recounted
from joro.manager.restarting import order_restart
from joro.manager.splitting import Known, cuts, parts_of, splitting_round
from joro.store.control import Control
from joro.store.control_postgres import PostgresControl
from joro.store.cutting import joined, urls_of
from joro.store.journal import Keys, fold
from joro.store.queue import queue_key, queue_value
from joro.store.records import PageRecord, ServerRecord, Upkeep
from joro.url import fingerprint
from tests.manager.robots import register
from tests.postgres import postgres_server

S = "http://big.example"
SPLITTING = Manager(lease_s=3.0, grace_s=1.0, skew_s=1e9, plan_every_s=10.0, split_above_mb=1.0)
URLS = [f"{S}/{directory}/{page}" for directory in ("a", "b", "c") for page in range(8)]

encode = msgspec.msgpack.encode


def waiting(url: str) -> tuple[bytes, bytes]:
    return queue_key(S, 3, fingerprint(url)), queue_value(0, 0, url)


def visited(url: str, time: float = 10.0, care: Upkeep | None = None) -> tuple[bytes, bytes]:
    page = PageRecord(url, 3, time, "ok", 200, upkeep=care)
    return b"p" + fingerprint(url).to_bytes(8, "big"), encode(page)


def record() -> tuple[bytes, bytes]:
    return b"s" + S.encode(), encode(ServerRecord(ready_at=77.0))


def pages(keys: Keys) -> set[str]:
    return set(urls_of(keys).values())


states = st.dictionaries(
    st.tuples(st.sampled_from(["", "a/", "b/", "a/c/", "d/e/f/"]), st.integers(0, 9)).map(
        lambda page: f"{S}/{page[0]}{page[1]}.html"
    ),
    st.sampled_from(["waits", "visited", "both"]),
    min_size=2,
)


def state_of(drawn: dict[str, str]) -> dict[bytes, bytes]:
    state = dict([record(), (b"r" + S.encode(), encode((1.0, 200, b""))), (b"t" + S.encode(), b"trap")])
    for url, kind in drawn.items():
        state |= dict([waiting(url)] if kind != "visited" else [])
        care = Upkeep(interval_s=3_600.0)
        state |= dict([visited(url, care=care)] if kind != "waits" else [])
        state[b"f%b\0\0%b" % (S.encode(), fingerprint(url).to_bytes(8, "big"))] = b"seen"
    return recounted(S, state)


def server(state: dict[bytes, bytes]) -> ServerRecord:
    return msgspec.msgpack.decode(state[b"s" + S.encode()], type=ServerRecord)


@given(states, st.integers(2, 4))
def test_every_page_is_in_exactly_one_part_and_the_counts_add_up(drawn: dict[str, str], robots: int) -> None:
    state = state_of(drawn)
    known = Known(S, 5, state, [])
    made, parts = cuts(known, parts_of(known, 10_240.0, robots, SPLITTING), 0)
    by_page = [key for part, _ in parts.values() for key in part if key[:1] in b"qpf"]
    if not parts:
        return
    assert sorted(by_page) == sorted(key for key in state if key[:1] in b"qpf")
    for name, (part, _) in parts.items():
        assert {made.part_of(url) for url in urls_of(part.items()).values()} <= {name}
        assert part[b"t" + S.encode()] == b"trap"
        assert server(part).ready_at == 77.0
    records = [server(part) for part, _ in parts.values()]
    for count in ("found", "visited", "collected", "due"):
        assert sum(getattr(each, count) for each in records) == getattr(server(state), count)
    for each in records:
        assert sum(pages for pages, *_ in each.waiting.values()) == each.due
    assert abs(sum(1.0 / stretch for stretch in made.stretches.values()) - 1.0) < 1e-9


@given(states, st.integers(2, 4))
def test_parts_put_together_are_the_server_as_it_was(drawn: dict[str, str], robots: int) -> None:
    state = state_of(drawn)
    known = Known(S, 5, state, [])
    _, parts = cuts(known, parts_of(known, 10_240.0, robots, SPLITTING), 0)
    if parts:
        assert recounted(S, joined(S, [part for part, _ in parts.values()])) == state


class Stage:
    """Robots that tell what a test wants them to tell."""

    def __init__(self, control: Control, clock: FakeClock, *robots: str) -> None:
        self.control, self.clock = control, clock
        self.posted = dict.fromkeys(robots, 0)
        self.read = dict.fromkeys(robots, 0)
        register(control, *robots)

    def call(self, robot: str, **told: object) -> list[object]:
        """A beat that reads all letters; what was in them."""
        posts = []
        if told:
            self.posted[robot] += 1
            posts = [
                Post(self.posted[robot], **told)  # type: ignore[arg-type]
            ]
        message = Beat(robot, robot, self.clock.now(), self.read[robot], posts, sockets=4)
        answer = beat(self.control, message, SPLITTING)
        self.read[robot] = answer.letters[-1].number if answer.letters else self.read[robot]
        return [letter.content for letter in answer.letters]

    def all_call(self, *robots: str) -> dict[str, list[object]]:
        return {robot: self.call(robot) for robot in robots}

    def owners(self) -> dict[str, str | None]:
        with self.control.reading() as transaction:
            return dict(transaction.rows("SELECT name, owner FROM servers ORDER BY name"))

    def journal(self, unit: str) -> tuple[dict[bytes, bytes], list[Keys]]:
        return fold((late, changes.keys) for _, late, changes in page(self.control, "a", unit, 0).changes)

    def rounds(self) -> None:
        failover_round(self.control, SPLITTING)
        splitting_round(self.control, SPLITTING)


def big(control: Control, clock: FakeClock, *robots: str) -> Stage:
    """Robot a has collected 3 MB of a server; then the others came."""
    stage = Stage(control, clock, *robots)
    stage.call("a", links=[Link(f"{S}/", 0)])
    keys: Keys = [record(), *map(visited, URLS[::2]), *map(waiting, URLS[1::2])]
    stage.call("a", changes=[Changes(S, keys)], efforts=[Effort(S, 12, 3 * 2**20, 1_000)])
    stage.all_call(*robots)
    return stage


def split_up(control: Control, clock: FakeClock, *robots: str) -> tuple[Stage, dict[str, Given]]:
    """The same, and who got which part."""
    stage = big(control, clock, *robots)
    stage.rounds()
    assert Wanted([S]) in stage.call("a")
    stage.call("a", released=[S])
    stage.rounds()
    letters = stage.all_call(*robots)
    given = {robot: [each for each in letters[robot] if isinstance(each, Given)] for robot in robots}
    return stage, {robot: each[0] for robot, each in given.items() if each}


def test_a_big_server_is_asked_for_and_shared_by_directory(control: Control, clock: FakeClock) -> None:
    stage, given = split_up(control, clock, "a", "b", "c")
    assert sorted(given) == ["a", "b", "c"]
    assert sorted(stage.owners()) == [f"{S}#{number}" for number in (1, 2, 3)]
    for each in given.values():
        state, _ = stage.journal(each.server)
        assert each.piece is not None
        assert pages(list(state.items())) == {url for url in URLS if lies_in(homes(each.piece), url)}
        assert server(state).found == 8
        assert abs(each.piece.stretch - 3.0) < 1e-9
    assert sorted(each.piece.phase for each in given.values() if each.piece) == [0.0, 1 / 3, 2 / 3]


def test_a_server_stays_whole_while_it_is_small_or_one_robot_is_there(
    control: Control, clock: FakeClock
) -> None:
    stage = big(control, clock, "a")
    stage.rounds()
    assert stage.call("a") == []
    with control.transaction() as transaction:
        transaction.run("UPDATE servers SET kb = 1000")
    register(control, "b")
    stage.posted["b"] = stage.read["b"] = 0
    stage.call("b")
    asyncio.run(clock.advance(11.0))
    stage.rounds()
    assert not any(isinstance(letter, Wanted) for letter in stage.call("a"))


def test_links_go_to_whoever_has_the_directory_also_those_found_meanwhile(
    control: Control, clock: FakeClock
) -> None:
    stage = big(control, clock, "a", "b", "c")
    stage.rounds()
    stage.call("a", released=[S])
    found = [Link(f"{S}/{directory}/new", 2) for directory in ("a", "b", "c")]
    stage.call("b", links=found)
    assert stage.owners() == {S: None}
    stage.rounds()
    stage.rounds()
    letters = stage.all_call("a", "b", "c")
    more = stage.call("c", links=[Link(f"{S}/unheard/of", 2)])
    for robot, contents in letters.items():
        [given] = [each for each in contents if isinstance(each, Given)]
        links = [link for each in contents if isinstance(each, Links) for link in each.links]
        assert given.piece is not None
        assert [lies_in(homes(given.piece), link.url) for link in links] == [True], robot
    assert sum(isinstance(each, Links) for each in more + stage.call("a") + stage.call("b")) == 1


def test_what_is_told_late_of_the_whole_server_reaches_the_parts(control: Control, clock: FakeClock) -> None:
    stage, given = split_up(control, clock, "a", "b", "c")
    register(control, "d")
    stage.posted["d"] = stage.read["d"] = 0
    stage.call("d", changes=[Changes(S, [visited(url, 99.0) for url in URLS])])
    letters = stage.all_call("a", "b", "c")
    for robot, each in given.items():
        [late] = [letter for letter in letters[robot] if isinstance(letter, Late)]
        assert late.changes.server == each.server
        assert each.piece is not None
        assert pages(late.changes.keys) == {url for url in URLS if lies_in(homes(each.piece), url)}
        assert len(stage.journal(each.server)[1]) == 1


def test_a_dead_robots_part_goes_to_one_that_has_none(control: Control, clock: FakeClock) -> None:
    stage, given = split_up(control, clock, "a", "b", "c")
    register(control, "d")
    stage.posted["d"] = stage.read["d"] = 0
    stage.call("d")
    for _ in range(5):
        asyncio.run(clock.advance(1.0))
        stage.all_call("a", "b", "d")
    stage.rounds()
    stage.rounds()
    assert stage.owners()[given["c"].server] == "d"
    [anew] = [each for each in stage.call("d") if isinstance(each, Given)]
    assert anew.piece == given["c"].piece


def test_with_fewer_robots_than_parts_they_become_one_server_again(
    control: Control, clock: FakeClock
) -> None:
    stage, given = split_up(control, clock, "a", "b", "c")
    for _ in range(5):
        asyncio.run(clock.advance(1.0))
        stage.all_call("a", "b")
    stage.rounds()
    letters = stage.all_call("a", "b")
    for robot in ("a", "b"):
        assert Wanted([given[robot].server]) in letters[robot]
        stage.call(robot, released=[given[robot].server])
    stage.call("a", links=[Link(f"{S}/a/new", 2)])
    stage.rounds()
    owner = stage.owners()[S]
    assert owner in ("a", "b")
    assert pages(list(stage.journal(S)[0].items())) == set(URLS)
    assert server(stage.journal(S)[0]).found == len(URLS)
    assert Links([Link(f"{S}/a/new", 2)]) in stage.call(owner)
    assert Lost([given["c"].server]) in stage.call("c")


def test_the_next_split_has_new_names_and_old_ones_are_understood(control: Control, clock: FakeClock) -> None:
    stage, given = split_up(control, clock, "a", "b", "c")
    for _ in range(5):
        asyncio.run(clock.advance(1.0))
        stage.all_call("a", "b")
    stage.rounds()
    for robot in ("a", "b"):
        stage.call(robot, released=[given[robot].server])
    stage.rounds()
    owner = stage.owners()[S]
    assert owner is not None
    stage.call("c", changes=[Changes(given["c"].server, [visited(f"{S}/c/0", 99.0)])])
    assert [type(each) for each in stage.call(owner)].count(Late) == 1
    asyncio.run(clock.advance(6.0))
    stage.all_call("a", "b", "c")
    splitting_round(control, SPLITTING)
    stage.call(owner, released=[S])
    stage.rounds()
    assert sorted(stage.owners()) == [f"{S}#{number}" for number in (4, 5, 6)]


def test_a_robot_that_restarts_begins_at_the_top_of_its_directories(
    control: Control, clock: FakeClock
) -> None:
    stage, given = split_up(control, clock, "a", "b", "c")
    with control.transaction() as transaction:
        order_restart(transaction, "b")
    stage.call("b")
    letters = [*stage.call("b"), *stage.call("b")]
    piece = given["b"].piece
    assert piece is not None
    assert [each.piece for each in letters if isinstance(each, Given)] == [piece]
    links = [link.url for each in letters if isinstance(each, Links) for link in each.links]
    assert links == [server_in(given["b"].server) + directory for directory in piece.directories]


@pytest.mark.slow
def test_postgresql_splits_and_joins_as_a_file_does(clock: FakeClock) -> None:
    with postgres_server() as database:
        for story in (
            test_with_fewer_robots_than_parts_they_become_one_server_again,
            test_what_is_told_late_of_the_whole_server_reaches_the_parts,
        ):
            control = PostgresControl(database.new_database(), clock)
            try:
                story(control, clock)
            finally:
                control.close()
