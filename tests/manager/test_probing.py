from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Beat, Effort, Given, Link, Links, Post
from joro.manager.beats import beat
from joro.store.control import Control
from tests.manager.robots import register

S = "http://s.example"
RULES = Manager(rule="hash", probe_pages=50)


def call(control: Control, clock: FakeClock, robot: str, *posts: Post) -> list[object]:
    answer = beat(control, Beat(robot, robot, clock.now(), posts=list(posts), sockets=4), RULES)
    return [letter.content for letter in answer.letters]


def owner(control: Control) -> tuple[str, int | None]:
    with control.reading() as transaction:
        [(name, most_pages)] = transaction.rows("SELECT owner, most_pages FROM servers")
    return name, most_pages


def test_a_new_server_visits_every_robot_and_stays_with_the_nearest(
    control: Control, clock: FakeClock
) -> None:
    register(control, "a", "b", "c")
    for robot in "abc":
        call(control, clock, robot)
    call(control, clock, "a", Post(1, links=[Link(f"{S}/", 0)]))
    numbers = {"a": 1, "b": 0, "c": 0}
    spent_ms = {"a": 300, "b": 100, "c": 200}
    seen: list[str] = []
    for _ in range(3):
        robot, most_pages = owner(control)
        assert most_pages == 50
        seen.append(robot)
        number = numbers[robot] + 1
        call(
            control, clock, robot, Post(number, efforts=[Effort(S, 50, 9_000, spent_ms[robot])], released=[S])
        )
    assert sorted(seen) == ["a", "b", "c"]
    assert owner(control) == ("b", None)
    assert call(control, clock, "b")[-2:] == [Given(S, journal=1), Links([Link(f"{S}/", 0)])]


def test_a_robot_that_cannot_reach_it_is_not_asked_twice(control: Control, clock: FakeClock) -> None:
    register(control, "a", "b")
    call(control, clock, "b")
    call(control, clock, "a", Post(1, links=[Link(f"{S}/", 0)]))
    first = owner(control)[0]
    second = {"a": "b", "b": "a"}[first]
    call(control, clock, first, Post(2 if first == "a" else 1, released=[S]))
    assert owner(control) == (second, 50)
    call(control, clock, second, Post(2 if second == "a" else 1, released=[S]))
    assert owner(control)[1] is None


def test_alone_nobody_probes(control: Control, clock: FakeClock) -> None:
    register(control, "a")
    call(control, clock, "a", Post(1, links=[Link(f"{S}/", 0)]))
    assert owner(control) == ("a", None)
