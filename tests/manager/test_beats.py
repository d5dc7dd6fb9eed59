from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import (
    Answer,
    Beat,
    Changes,
    Effort,
    Given,
    Late,
    Letter,
    Link,
    Links,
    Lost,
    Post,
)
from joro.manager import mail
from joro.manager.beats import beat
from joro.manager.failover import failover_round
from joro.manager.journals import page
from joro.manager.mail import Outbox
from joro.manager.refusal import Refused
from joro.manager.routing import offer
from joro.store.control import Control
from tests.manager.robots import register

RULES = Manager(lease_s=60.0, grace_s=10.0, rule="plan")
S, T = "http://s.example", "http://t.example"


@dataclass
class World:
    """A manager, and robots that say what a test lets them say."""

    control: Control
    clock: FakeClock
    settings: Manager = RULES
    read: dict[str, int] = field(default_factory=dict)

    def beat(self, robot: str, *posts: Post, identity: str = "", **more: object) -> Answer:
        told = Beat(robot, identity or robot, self.clock.now(), self.read.get(robot, 0), list(posts), 10)
        return beat(self.control, msgspec.structs.replace(told, **more), self.settings)

    def contents(self, robot: str, *posts: Post) -> list[object]:
        """What it is told; it has read all of it then."""
        letters = self.beat(robot, *posts).letters
        self.read[robot] = letters[-1].number if letters else self.read.get(robot, 0)
        return [letter.content for letter in letters]

    def owners(self) -> dict[str, str | None]:
        with self.control.reading() as transaction:
            return dict(transaction.rows("SELECT name, owner FROM servers"))


@pytest.fixture
def world(control: Control, clock: FakeClock) -> World:
    register(control, "a", "b")
    return World(control, clock)


def found(number: int, *urls: str) -> Post:
    return Post(number, links=[Link(url, 1) for url in urls])


def changed(number: int, server: str = S, key: bytes = b"k", value: bytes = b"v") -> Post:
    return Post(number, changes=[Changes(server, [(key, value)])])


def test_a_beat_is_answered_with_a_lease(world: World) -> None:
    assert world.beat("a") == Answer(received=0, lease_s=60.0, beat_s=2.0)


def test_whoever_finds_a_new_server_alone_gets_it_and_then_its_links(world: World) -> None:
    link = Link(f"{S}/", 1)
    assert world.contents("a", found(1, f"{S}/")) == [Given(S), Links([link])]
    assert world.owners() == {S: "a"}


def test_new_servers_go_to_whoever_has_the_fewest(world: World) -> None:
    world.beat("b")
    world.beat("a", found(1, *(f"http://{number}.example/" for number in range(10))))
    assert sorted(str(owner) for owner in world.owners().values()) == ["a"] * 5 + ["b"] * 5


def test_links_to_a_server_of_another_go_to_that_one(world: World) -> None:
    world.contents("a", found(1, f"{S}/"))
    world.beat("b", found(1, f"{S}/x"))
    assert world.contents("a") == [Links([Link(f"{S}/x", 1)])]


def test_links_to_hosts_that_nobody_can_look_up_are_left_out(world: World) -> None:
    world.beat("a", found(1, f"http://{'a.' * 2_000}b/"))
    assert world.owners() == {}


def test_what_is_told_twice_counts_once(world: World) -> None:
    post = Post(1, changes=[Changes(S, [(b"k", b"v")])], efforts=[Effort(S, 1, 2_048, 5)])
    for _ in range(3):
        assert world.beat("a", post).received == 1
    with world.control.reading() as transaction:
        assert transaction.rows("SELECT pages, bytes, ms FROM efforts") == [(1, 2_048, 5)]
        assert transaction.rows("SELECT kb, journal_number FROM servers") == [(2.0, 1)]


def test_a_gap_between_posts_is_refused_and_nothing_of_it_is_taken(world: World) -> None:
    with pytest.raises(Refused, match="post 2 of a is missing before 3"):
        world.beat("a", found(1, f"{S}/"), found(3, f"{T}/"))
    assert world.owners() == {}


def test_letters_come_again_until_they_are_read(world: World) -> None:
    first = world.beat("a", found(1, f"{S}/")).letters
    assert world.beat("a").letters == first
    assert world.beat("a", read=1).letters == first[1:]
    assert world.beat("a", read=2).letters == []


def test_letters_are_kept_while_posts_they_led_to_are_still_to_come(world: World) -> None:
    world.beat("a", found(1, f"{S}/"))
    assert world.beat("a", read=2, more=True).letters == []
    with world.control.reading() as transaction:
        assert transaction.rows("SELECT count(*) FROM letters") == [(2,)]


def test_many_letters_come_in_several_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "ANSWER_BYTES", 60)
    numbers: list[int] = []
    answer = world.beat("a", found(1, *(f"http://{number}.example/" for number in range(20))))
    while answer.more:
        numbers += [letter.number for letter in answer.letters]
        answer = world.beat("a", read=numbers[-1])
    assert numbers + [letter.number for letter in answer.letters] == list(range(1, 22))


def test_what_an_owner_changes_is_in_the_journal_of_the_server(world: World) -> None:
    world.beat("a", found(1, f"{S}/"))
    world.beat("a", changed(2), changed(3, key=b"l"))
    assert page(world.control, "a", S, 0).changes == [(1, False, Changes(S, [(b"k", b"v"), (b"l", b"v")]))]


def test_a_server_given_back_goes_to_another_with_its_journal(world: World) -> None:
    world.contents("a", found(1, f"{S}/"), changed(2))
    world.beat("b")
    with world.control.transaction() as transaction:
        transaction.run("UPDATE servers SET heir = 'b'")
    world.beat("b", found(1, f"{S}/late"))
    world.beat("a", Post(3, released=[S]))
    assert world.contents("b") == [Given(S, journal=1), Links([Link(f"{S}/late", 1)])]
    assert world.contents("a") == []


def test_nobody_gives_away_what_is_anothers(world: World) -> None:
    world.beat("a", found(1, f"{S}/"))
    world.beat("b", Post(1, released=[S]))
    assert world.owners() == {S: "a"}


def test_a_robot_that_was_silent_hears_what_it_lost_before_it_has_a_lease_again(world: World) -> None:
    world.contents("a", found(1, f"{S}/"))
    world.clock._now += 71.0
    world.beat("b")
    failover_round(world.control, world.settings)
    answer = world.beat("a")
    assert answer.lease_s == 0.0
    assert answer.letters == [Letter(3, Lost([S]))]
    assert world.beat("a", read=3).lease_s == 60.0


def test_what_comes_late_is_filed_as_such_and_told_to_the_owner(world: World) -> None:
    world.contents("a", found(1, f"{S}/"))
    world.clock._now += 71.0
    world.beat("b")
    failover_round(world.control, world.settings)
    world.contents("b")
    world.beat("a", changed(2))
    assert world.contents("b") == [Late(Changes(S, [(b"k", b"v")]))]
    assert page(world.control, "b", S, 0).changes == [(1, True, Changes(S, [(b"k", b"v")]))]


def test_a_robot_with_old_posts_left_to_tell_is_given_nothing(world: World) -> None:
    world.contents("a", found(1, f"{S}/"))
    world.clock._now += 71.0
    world.beat("b")
    failover_round(world.control, world.settings)
    world.beat("a", read=3, more=True)
    world.beat("b", leaves=True)
    failover_round(world.control, world.settings)
    assert world.owners() == {S: "b"}
    world.beat("a", read=3)
    failover_round(world.control, world.settings)
    assert world.owners() == {S: "a"}


def test_changes_of_a_server_nobody_knows_make_it_known(world: World) -> None:
    world.beat("a", changed(1))
    assert world.owners() == {S: "a"}
    assert page(world.control, "a", S, 0).changes == [(1, False, Changes(S, [(b"k", b"v")]))]


def test_a_clock_that_is_wrong_is_named_with_the_right_one(world: World) -> None:
    with pytest.raises(Refused, match="the clock of a says 1040, the manager's 1000: 40 s apart"):
        world.beat("a", clock=1_040.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"clock": float("nan")},
        {"waiting": 2**63},
        {"visited": -1},
        {"read": -1},
        {"identity": "a\0b"},
        {"version": "v" * 2_000},
        {"posts": [Post(1, released=["\0"])]},
        {"posts": [Post(1, changes=[Changes("s" * 5_000, [])])]},
        {"posts": [Post(1, efforts=[Effort(S, 1, 2**64 - 1, 1)])]},
    ],
)
def test_what_the_store_has_no_room_for_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"is no (name|number|server)|nan"):
        world.beat("a", **wrong)


def test_links_are_passed_on_in_our_spelling(world: World) -> None:
    assert world.contents("a", found(1, "HTTP://S.example")) == [Given(S), Links([Link(f"{S}/", 1)])]


def test_another_collection_has_to_wait_until_the_name_is_free(world: World) -> None:
    world.contents("a", found(1, f"{S}/"))
    world.beat("a")
    with pytest.raises(Refused, match="another collection works as a, for another 70 s"):
        world.beat("a", identity="other")
    world.clock._now += 70.5
    world.read.clear()
    answer = world.beat("a", identity="other")
    assert [letter.content for letter in answer.letters] == [Given(S, journal=1)]
    assert answer.received == 0


def test_links_the_collection_before_had_not_read_go_to_the_next(world: World) -> None:
    world.beat("a", found(1, f"{S}/"))
    world.clock._now += 70.5
    contents = [letter.content for letter in world.beat("a", identity="other").letters]
    assert contents == [Given(S, journal=1), Links([Link(f"{S}/", 1)])]


def test_a_store_older_than_its_robot_is_noticed(world: World) -> None:
    with pytest.raises(Refused, match="has read letter 9, and only 0 were written"):
        world.beat("a", read=9)


def test_strangers_are_refused(world: World) -> None:
    with pytest.raises(Refused, match="nobody is no robot of this manager"):
        world.beat("nobody")


def test_nobody_waits_for_a_robot_that_says_it_leaves(world: World) -> None:
    world.contents("a", found(1, f"{S}/"), changed(2))
    world.beat("b")
    assert world.beat("a", leaves=True) == Answer(received=2, lease_s=0.0, beat_s=2.0)
    failover_round(world.control, world.settings)
    assert world.contents("b") == [Given(S, journal=1)]


def test_a_goodbye_that_is_read_late_does_not_end_the_lease_of_a_robot_that_is_back(world: World) -> None:
    world.contents("a", found(1, f"{S}/"), changed(2))
    said_at = world.clock.now()
    world.clock._now += 12.0
    world.beat("b")
    assert world.beat("a", changed(3)).lease_s == 60.0
    assert world.beat("a", changed(3), changed(4), leaves=True, clock=said_at) == Answer(4, 0.0, 2.0)
    failover_round(world.control, world.settings)
    assert world.owners() == {S: "a"}
    world.clock._now += 70.1
    world.beat("b")
    failover_round(world.control, world.settings)
    assert world.owners() == {S: "b"}


def test_a_robot_that_is_gone_stays_so_whatever_old_goodbye_comes_then(world: World) -> None:
    world.contents("a", found(1, f"{S}/"))
    world.clock._now += 1.0
    world.beat("b")
    world.beat("a", leaves=True)
    world.beat("a", leaves=True, clock=world.clock.now() - 1.0)
    failover_round(world.control, world.settings)
    assert world.owners() == {S: "b"}


def test_the_collection_that_takes_a_name_over_may_have_another_clock(world: World) -> None:
    world.contents("a", found(1, f"{S}/"))
    world.beat("a", clock=world.clock.now() + 29.0)
    world.clock._now += 70.1
    world.beat("b")
    world.read.clear()
    world.beat("a", identity="other", clock=world.clock.now() - 29.0)
    world.beat("a", identity="other", clock=world.clock.now() - 29.0, leaves=True)
    failover_round(world.control, world.settings)
    assert world.owners() == {S: "b"}


def test_what_a_leaving_robot_finds_waits_for_somebody(world: World) -> None:
    world.beat("a", found(1, f"{S}/"), leaves=True)
    assert world.owners() == {S: None}
    assert world.contents("b") == [Given(S), Links([Link(f"{S}/", 1)])]


def test_seeds_wait_for_the_first_robot(world: World) -> None:
    with world.control.transaction() as transaction:
        outbox = Outbox()
        offer(transaction, outbox, [Link(f"{S}/", 0)], RULES)
        outbox.send(transaction)
    assert world.contents("b") == [Given(S), Links([Link(f"{S}/", 0)])]


def test_whoever_can_send_links_itself_is_told_whose_servers_are(world: World) -> None:
    world.beat("b", found(1, f"{S}/"))
    answer = world.beat("a", found(1, f"{S}/x"), exchange=True)
    assert (answer.owners, answer.silent) == ({S: "b"}, [])
