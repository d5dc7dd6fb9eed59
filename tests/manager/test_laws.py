"""Robots and two managers on one store, killed and cut off between any two steps."""

import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Link
from joro.manager import journals
from joro.manager.failover import failover_round
from joro.manager.planning import planning_round
from joro.manager.refusal import Refused
from joro.manager.status import status
from joro.store.control import Control
from joro.store.control_postgres import PostgresControl
from joro.store.control_sqlite import SqliteControl
from tests.manager.robots import Killed, Mortal, Robot, apply, exchanged, register
from tests.postgres import postgres_server

#: Where files are not waited for; there is no power to be cut in these tests.
MEMORY = Path("/dev/shm")
NAMES = ("r1", "r2", "r3")
SERVERS = [f"http://s{number}.example" for number in range(4)]
URLS = [f"{server}/{page}" for server in SERVERS for page in ("", "a", "b")]

robots = st.sampled_from(NAMES)
managers = st.integers(0, 1)
servers = st.sampled_from(SERVERS)
urls = st.sampled_from(URLS)
counts = st.sampled_from([0, 1, 2, 10**9])


class Cooperation(RuleBasedStateMachine):
    """One web, three robots, two managers."""

    opened: Callable[[FakeClock], list[Control]]

    @initialize(
        rule=st.sampled_from(["plan", "equalise", "random", "hash"]), probe_pages=st.sampled_from([0, 1])
    )
    def begin(self, rule: str, probe_pages: int) -> None:
        self.clock = FakeClock(1_000_000.0)
        self.settings = Manager(
            lease_s=3.0,
            beat_s=0.3,
            grace_s=1.0,
            skew_s=1e9,
            rule=rule,
            plan_every_s=1.0,
            most_moves_percent=60.0,
            probe_pages=probe_pages,
        )
        self.managers = [Mortal(control) for control in type(self).opened(self.clock)]
        register(self.managers[0], *NAMES)
        self.robots = {name: Robot(name, self.clock, self.settings) for name in NAMES}
        self.late: dict[str, list[Callable[[int], None]]] = {name: [] for name in NAMES}
        self.wiped: set[str] = set()
        self.dead: set[str] = set()
        self.told: set[str] = set()  # pages that a manager was told of, and called safe

    @rule(name=robots, url=urls)
    def find(self, name: str, url: str) -> None:
        robot = self.robots[name]
        with robot.commit() as commit:
            commit.add(Link(url, 0))

    @rule(
        name=robots,
        manager=managers,
        fate=st.sampled_from(["ok", "ok", "ok", "lost", "late"]),
        letters=counts,
    )
    def call(self, name: str, manager: int, fate: str, letters: int) -> None:
        if name in self.dead:
            return
        try:
            take = self.robots[name].call(self.managers[manager])
        except Refused:
            assert name in self.wiped
            return
        self._note(name)
        if fate == "ok":
            take(letters)
        elif fate == "late":
            self.late[name].append(take)

    def _note(self, name: str) -> None:
        for post in self.robots[name].safe:
            self.told |= {link.url for link in post.links}
            self.told |= {key[1:].decode() for changes in post.changes for key, _ in changes.keys}

    @rule(name=robots, manager=managers, found=st.lists(urls, max_size=3))
    def work(self, name: str, manager: int, found: list[str]) -> None:
        """What robots mostly do."""
        self.call(name, manager, "ok", 10**9)
        robot = self.robots[name]
        for server in SERVERS:
            if robot.disk.servers.get(server) is not None:
                robot.read_journal(self.managers[manager], server)
            if robot.may_visit(server):
                robot.visit(server, found)

    @precondition(lambda self: any(self.late.values()))
    @rule(letters=counts)
    def take_late_answer(self, letters: int) -> None:
        name = next(name for name in NAMES if self.late[name])
        self.late[name].pop()(letters)

    @rule(name=robots, manager=managers)
    def repeat_beat(self, name: str, manager: int) -> None:
        told = self.robots[name].last_beat
        if told is not None and told.identity == self.robots[name].disk.identity and name not in self.dead:
            try:
                exchanged(self.managers[manager], told, self.settings)
            except Refused:
                assert name in self.wiped

    @rule(name=robots, manager=managers, statements=st.integers(0, 14))
    def call_a_dying_manager(self, name: str, manager: int, statements: int) -> None:
        self.managers[manager].statements = statements
        with suppress(Killed):
            self.call(name, manager, "ok", 10**9)
        self.managers[manager].statements = 10**9

    @precondition(lambda self: any(robot.disk.wanted for robot in self.robots.values()))
    @rule()
    def give_back(self) -> None:
        for robot in self.robots.values():
            for server in list(robot.disk.wanted):
                if robot.disk.servers[server] is None:
                    robot.release(server)

    @precondition(lambda self: any(robot.disk.most_pages for robot in self.robots.values()))
    @rule()
    def give_back_after_a_probe(self) -> None:
        for robot in self.robots.values():
            for server in list(robot.disk.most_pages):
                if robot.disk.servers[server] is None:
                    robot.release(server)

    @rule(name=robots)
    def kill(self, name: str) -> None:
        self.robots[name].kill()
        self.late[name].clear()

    @rule(name=robots)
    def wipe(self, name: str) -> None:
        self.kill(name)
        self.robots[name].wipe()
        self.wiped.add(name)

    @precondition(lambda self: len(self.dead) < 2)
    @rule(name=robots)
    def bury(self, name: str) -> None:
        """It never comes back."""
        self.kill(name)
        self.dead.add(name)

    @rule(seconds=st.sampled_from([0.1, 1.0, 2.5, 2.5, 5.0, 5.0, 4_000.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock._now += seconds

    @rule(name=robots, page=st.sampled_from(["", "a", "b"]))
    def let_others_take_over(self, name: str, page: str) -> None:
        """Everyone but one works on; it is silent for longer than its lease, its last visits untold."""
        for server in SERVERS:
            if self.robots[name].may_visit(server):
                self.robots[name].visit(server, [f"{server}/{page}"])
        for seconds in (2.5, 0.4, 2.1):
            self.clock._now += seconds
            self._call_all_but(name)
            self.make_a_round(1, 10**9)
            self._call_all_but(name)
            self.nobody_shares_a_server()

    @rule(name=robots, manager=managers, calls=st.integers(0, 2))
    def stop_while_a_manager_hangs(self, name: str, manager: int, calls: int) -> None:
        """It is started again at once, and calls the other one before its goodbye is heard."""
        goodbye = replace(self.robots[name].told(), leaves=True)
        self.kill(name)
        self.clock._now += 0.1
        for _ in range(calls):
            self.call(name, 1 - manager, "ok", 10**9)
        if name not in self.dead:
            with suppress(Refused):  # it was wiped before
                exchanged(self.managers[manager], goodbye, self.settings)
        self.make_a_round(manager, 10**9)
        self._call_all_but(name)

    def _call_all_but(self, name: str) -> None:
        for other in NAMES:
            if other != name:
                self.call(other, 0, "ok", 10**9)

    @rule(manager=managers, statements=st.sampled_from([10**9, 3, 9]))
    def make_a_round(self, manager: int, statements: int) -> None:
        self.managers[manager].statements = statements
        try:
            failover_round(self.managers[manager], self.settings)
            planning_round(self.managers[manager], self.settings)
        except Killed:
            pass
        finally:
            self.managers[manager].statements = 10**9

    @rule(manager=managers, server=servers)
    def fold(self, manager: int, server: str) -> None:
        with self.managers[manager].transaction() as transaction:
            journals.carry_out(transaction, server, journals.folds(transaction, server))

    @invariant()
    def nobody_shares_a_server(self) -> None:
        held = Counter(
            server for robot in self.robots.values() if robot.has_lease for server in robot.disk.servers
        )
        assert not {server for server, count in held.items() if count > 1}

    @invariant()
    def everyone_knows_how_much_robots_hold(self) -> None:
        with self.managers[0].reading() as transaction:
            noted: dict[str, int] = dict(transaction.rows("SELECT name, held FROM robots"))
            counted: dict[str, int] = dict(
                transaction.rows("SELECT owner, count(*) FROM servers GROUP BY owner")
            )
        assert noted == {name: counted.get(name, 0) for name in NAMES}

    def teardown(self) -> None:
        if not hasattr(self, "robots"):
            return
        try:
            self._settle()
            self._judge()
        finally:
            for manager in self.managers:
                manager.close()

    def _settle(self) -> None:
        """Let everyone who is not dead live, and time pass, until there is nothing left to do."""
        self.clock._now += 10.0
        for turn in range(200):
            manager = self.managers[turn % 2]
            failover_round(manager, self.settings)
            for name in set(NAMES) - self.dead:
                self._turn(name, manager)
            self.clock._now += 0.3
            if turn > 20 and status(manager)["quiet"]:
                return
        raise AssertionError(status(self.managers[0]))

    def _turn(self, name: str, manager: Control) -> None:
        robot = self.robots[name]
        robot.call(manager)(10**9)
        self._note(name)
        for server in list(robot.disk.servers):
            while robot.disk.servers[server] is not None:
                robot.read_journal(manager, server)
            while robot.may_visit(server):
                robot.visit(server, [])
            if server in robot.disk.wanted or server in robot.disk.most_pages:
                robot.release(server)

    def _judge(self) -> None:
        """Every page a manager was ever told of is visited, and its server's owner and journal know of it."""
        with self.managers[0].reading() as transaction:
            owners: dict[str, str] = dict(transaction.rows("SELECT name, owner FROM servers"))
            pages = transaction.rows("SELECT robot, sum(pages) FROM efforts GROUP BY robot")
        known: set[str] = set()
        for server, owner in owners.items():
            frontier = self.robots[owner].disk.frontier[server]
            assert journal_of(self.managers[0], server) == frontier
            assert {key[:1] for key in frontier} <= {b"v"}
            known |= {key[1:].decode() for key in frontier}
        assert known == self.told
        if not self.wiped and not self.dead:
            assert {name: int(count) for name, count in pages if count} == {
                name: len(robot.visits) for name, robot in self.robots.items() if robot.visits
            }


def journal_of(control: Control, server: str) -> dict[bytes, bytes]:
    """What whoever reads all of it knows of the server."""
    keys: dict[bytes, bytes] = {}
    number, more = 0, True
    while more:
        page = journals.page(control, "nobody", server, number)
        for number, late, changes in page.changes:  # noqa: B007
            apply(keys, changes, late=late)
        more = page.more
    return keys


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let journals have several pages here, too."""
    monkeypatch.setattr(journals, "PAGE_BYTES", 400)
    monkeypatch.setattr(journals, "CHUNK_BYTES", 60)


def run(opened: Callable[[FakeClock], list[Control]], examples: int, steps: int) -> None:
    class Here(Cooperation):
        pass

    Here.opened = staticmethod(opened)
    Here.TestCase.settings = how(max_examples=examples, stateful_step_count=steps)
    Here.TestCase().runTest()


def run_in_files(examples: int, steps: int) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.exists() else None) as folder:
        numbers = iter(range(10**9))

        def opened(clock: FakeClock) -> list[Control]:
            path = Path(folder) / f"{next(numbers)}.db"
            return [SqliteControl(path, clock), SqliteControl(path, clock)]

        run(opened, examples, steps)


def test_nothing_is_lost_and_nothing_shared() -> None:
    run_in_files(examples=20, steps=40)


def test_a_page_found_before_the_journal_says_that_it_was_visited_does_not_wait_there(tmp_path: Path) -> None:
    clock, page = FakeClock(1_000_000.0), f"{SERVERS[0]}/"
    control = SqliteControl(tmp_path / "control.db", clock)
    register(control, "r1", "r2")
    one, two = (Robot(name, clock, Manager(lease_s=3.0, grace_s=1.0)) for name in ("r1", "r2"))
    with one.commit() as commit:
        commit.add(Link(page, 0))
    one.call(control)(10**9)
    one.visit(SERVERS[0], [])
    for robots in ([two], [one, one]):  # who calls while the other is silent: each loses the server once
        clock._now += 5.0
        for robot in robots:
            robot.call(control)(10**9)
        failover_round(control, one.settings)
    one.call(control)(10**9)
    assert one.disk.servers == {SERVERS[0]: (1, 0)}  # an entry told late, and not read
    with one.commit() as commit:
        commit.add(Link(page, 0))
    one.read_journal(control, SERVERS[0])
    one.call(control)(10**9)
    one.call(control)(10**9)
    assert (
        journal_of(control, SERVERS[0])
        == one.disk.frontier[SERVERS[0]]
        == {b"v" + page.encode(): b"1000000.0"}
    )
    control.close()


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_shared_in_many_worlds() -> None:
    run_in_files(examples=200, steps=60)


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_shared_in_postgresql() -> None:
    with postgres_server() as server:

        def opened(clock: FakeClock) -> list[Control]:
            database = server.new_database()
            return [PostgresControl(database, clock), PostgresControl(database, clock)]

        run(opened, examples=15, steps=50)
