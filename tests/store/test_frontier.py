from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from joro.errors import CollectionError
from joro.model import Outcome, Page, Response, Visit
from joro.store.frontier import Frontier
from joro.store.queue import QUEUE_LIMIT
from joro.store.records import RobotsRecord
from joro.url import fingerprint

SERVER = "http://a.example"
MANY = 10**9


def urls(count: int, server: str = SERVER) -> list[str]:
    return [f"{server}/{number}" for number in range(count)]


def visited(page: Page, outcome: Outcome = Outcome.OK) -> Visit:
    return Visit(page, 7.0, outcome, response=Response(200, b"", b"12345"))


def add(frontier: Frontier, links: list[str], hops: int = 0, quota: int = MANY) -> list[str]:
    frontier.add(links, hops)
    return frontier.settle(lambda _: quota)


def reopened(frontier: Frontier, directory: Path) -> Frontier:
    frontier.close()
    again = Frontier(directory)
    again.wake()
    return again


def take_all(frontier: Frontier, server: str = SERVER) -> list[str]:
    pages = []
    while (page := frontier.take(server)) is not None:
        pages.append(page.url)
    return pages


def test_a_url_is_registered_once(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    assert add(frontier, [f"{SERVER}/", f"{SERVER}/"], 0) == [SERVER]
    assert add(frontier, [f"{SERVER}/"], 3) == []
    assert frontier.counts.found == 1


def test_pages_near_the_seed_come_first(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, [f"{SERVER}/far"], 2)
    add(frontier, [f"{SERVER}/near"], 1)
    assert frontier.take(SERVER) == Page(f"{SERVER}/near", 1, SERVER)


def test_what_was_committed_survives_and_the_rest_does_not(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, [f"{SERVER}/kept"], 0)
    frontier.commit(("a.warc.gz", 17))
    add(frontier, [f"{SERVER}/lost"], 0)
    again = reopened(frontier, tmp_path)
    assert (take_all(again), again.position, again.counts.found) == ([f"{SERVER}/kept"], ("a.warc.gz", 17), 1)


def test_a_page_taken_but_not_done_waits_again_after_a_restart(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(2), 0)
    first = frontier.take(SERVER)
    second = frontier.take(SERVER)
    assert first is not None
    assert second is not None
    frontier.done(visited(first))
    frontier.commit(None)
    assert take_all(reopened(frontier, tmp_path)) == [second.url]


def test_a_visited_page_is_known_for_ever(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(1), 0)
    page = frontier.take(SERVER)
    assert page is not None
    frontier.done(visited(page))
    frontier.commit(None)
    again = reopened(frontier, tmp_path)
    assert add(again, urls(1), 0) == []
    record = again.visited(fingerprint(page.url))
    assert record is not None
    assert (record.outcome, record.status, record.time) == ("ok", 200, 7.0)


def test_a_long_queue_comes_out_whole_and_once_while_commits_trim_it(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    expected = urls(QUEUE_LIMIT * 5)
    add(frontier, expected, 0)
    got = []
    while (page := frontier.take(SERVER)) is not None:
        got.append(page.url)
        frontier.done(visited(page))
        if len(got) % 7 == 0:
            frontier.commit(None)
    assert sorted(got) == sorted(expected)


def test_put_back_makes_a_page_wait_again(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(1), 0)
    page = frontier.take(SERVER)
    assert page is not None
    assert frontier.take(SERVER) is None
    frontier.put_back(page)
    assert frontier.take(SERVER) == page


def test_the_quota_of_a_server_holds_exactly_over_a_restart(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(3), 0, 5)
    frontier.commit(None)
    again = reopened(frontier, tmp_path)
    add(again, urls(100), 0, 5)
    assert len(take_all(again)) == 5


def test_take_url_finds_a_page_in_memory_and_on_disk(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(2), 4)
    assert frontier.take_url(f"{SERVER}/0") == Page(f"{SERVER}/0", 4, SERVER)
    assert frontier.take_url(f"{SERVER}/0") is None
    frontier.commit(None)
    again = reopened(frontier, tmp_path)
    assert again.take_url(f"{SERVER}/1") == Page(f"{SERVER}/1", 4, SERVER)
    assert take_all(again) == [f"{SERVER}/0"]
    assert again.take_url(f"{SERVER}/never-heard-of") is None


def test_robots_txt_is_remembered(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    frontier.keep_robots(SERVER, RobotsRecord(3.0, 200, b"Disallow: /"))
    frontier.commit(None)
    record = reopened(frontier, tmp_path).robots(SERVER)
    assert record is not None
    assert (record.time, record.status, record.body) == (3.0, 200, b"Disallow: /")


def test_reading_an_empty_collection_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="joro crawl"):
        Frontier(tmp_path, read_only=True)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "visit", "fail", "commit", "restart"]), st.integers(0, 300)),
    max_size=40,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_no_page_is_lost_or_visited_twice(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    directory = tmp_path_factory.mktemp("frontier")
    frontier = Frontier(directory)
    known, done = set[str](), list[str]()
    for step, number in steps:
        if step == "add":
            links = urls(number)
            add(frontier, links, number % 3)
            known |= set(links)
        elif step == "commit":
            frontier.commit(None)
        elif step == "restart":
            frontier.commit(None)
            frontier = reopened(frontier, directory)
        else:
            for _ in range(number):
                page = frontier.take(SERVER)
                if page is None:
                    break
                if step == "fail":
                    frontier.put_back(page)
                else:
                    frontier.done(visited(page))
                    done.append(page.url)
    rest = take_all(frontier)
    frontier.close()
    assert len(done) == len(set(done))
    assert set(rest) == known - set(done)
    assert len(rest) == len(set(rest))


def test_a_killed_process_is_noticed(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    assert frontier.was_closed
    frontier.abandon()
    again = Frontier(tmp_path)
    assert not again.was_closed
    again.close()
    assert Frontier(tmp_path).was_closed


def test_servers_beyond_the_limit_sleep_on_disk_and_all_get_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joro.store.frontier.AWAKE_LIMIT", 3)
    frontier = Frontier(tmp_path)
    expected = [f"http://{number}.example/{page}" for number in range(10) for page in range(4)]
    awake, got = add(frontier, expected), []
    for _ in range(20):
        assert len(frontier.awake()) <= 3
        for server in awake:
            while (page := frontier.take(server)) is not None:
                got.append(page.url)
                frontier.done(visited(page))
        frontier.commit(None)
        awake = frontier.wake()
    assert sorted(got) == sorted(expected)


def test_who_cannot_be_visited_makes_room_until_all_had_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joro.store.frontier.AWAKE_LIMIT", 3)
    frontier = Frontier(tmp_path)
    awake = add(frontier, [f"http://{number}.example/" for number in range(10)])
    rounds = [set(awake)]
    for _ in range(6):
        frontier.commit(None)
        assert frontier.is_crowded
        assert all(frontier.let_sleep(server) for server in awake)
        awake = frontier.wake()
        rounds.append(set(awake))
    assert all(len(each) == 3 for each in rounds)
    assert len(set.union(*rounds[:5])) == 10  # the second round finds those of the first asleep
    pages = [frontier.take(server) for server in awake]
    assert [page.server for page in pages if page is not None] == awake


def test_a_server_with_a_page_under_way_does_not_sleep(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    (server,) = add(frontier, ["http://a.example/1", "http://a.example/2"])
    frontier.take(server)
    frontier.commit(None)
    assert not frontier.let_sleep(server)
    assert frontier.awake() == [server]


def test_a_page_remembers_where_it_was_found(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    frontier.add([f"{SERVER}/b"], 1, cgi_hops=2, found_on=f"{SERVER}/a")
    frontier.settle(lambda _: MANY)
    page = frontier.take(SERVER)
    assert page == Page(f"{SERVER}/b", 1, SERVER, 2)
    frontier.done(visited(page))
    frontier.commit(None)
    record = frontier.visited(fingerprint(page.url))
    assert record is not None
    assert record.found_on == fingerprint(f"{SERVER}/a")


def test_fingerprints_survive_a_merge_and_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joro.store.frontier.MERGE_AT", 50)
    frontier = Frontier(tmp_path)
    for start in range(0, 200, 20):
        add(frontier, [f"{SERVER}/{number}" for number in range(start, start + 20)])
        frontier.commit(None)
    frontier.abandon()
    again = Frontier(tmp_path)
    assert add(again, urls(200)) == []
    assert again.counts.found == 200


def test_a_page_asked_for_twice_before_a_commit_waits_once(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(1))
    page = frontier.take(SERVER)
    assert page is not None
    frontier.done(visited(page))
    frontier.commit(None)
    (record,) = frontier.all_visited()
    assert [frontier.wait_again(record, first=True), frontier.wait_again(record)] == [True, False]
    assert (take_all(frontier), frontier.waiting) == ([page.url], 1)


def test_a_waiting_page_in_a_hurry_comes_before_seeds_and_is_taken_once(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(50), hops=1)
    add(frontier, [f"{SERVER}/news"], hops=9)
    frontier.commit(None)
    assert [frontier.hasten(f"{SERVER}/news"), frontier.hasten(f"{SERVER}/news")] == [True, False]
    taken = take_all(frontier)
    assert taken[0] == f"{SERVER}/news"
    assert sorted(taken) == sorted([*urls(50), f"{SERVER}/news"])


def test_a_page_in_a_hurry_is_in_a_hurry_after_a_restart(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(50), hops=1)
    frontier.commit(None)
    frontier.hasten(urls(50)[30])
    frontier.commit(None)
    again = reopened(frontier, tmp_path)
    assert again.take(SERVER) == Page(urls(50)[30], 0, SERVER)
    assert len(take_all(again)) == 49


def test_pages_visited_or_unknown_cannot_be_hastened(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(1), hops=3)
    page = frontier.take(SERVER)
    assert page is not None
    frontier.done(visited(page))
    assert not frontier.hasten(page.url)
    frontier.commit(None)
    assert not frontier.hasten(page.url)
    assert not frontier.hasten("http://b.example/")


def test_an_urgent_page_overtakes_one_that_is_due(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(20), hops=4)
    while (page := frontier.take(SERVER)) is not None:
        frontier.done(visited(page))
    frontier.commit(None)
    records = sorted(frontier.all_visited(), key=lambda record: fingerprint(record.url))
    for record in records[:-1]:
        frontier.wait_again(record, first=True)
    frontier.wait_again(records[-1], urgent=True)
    assert take_all(frontier)[0] == records[-1].url


def test_pages_found_after_a_server_ran_out_of_them_survive_a_restart(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(1))
    page = frontier.take(SERVER)
    assert page is not None
    frontier.done(visited(page))
    frontier.commit(None)
    assert frontier.wake() == []  # it has nothing to do, though the disk says so only after the next commit
    frontier.commit(None)
    add(frontier, [f"{SERVER}/later"], 1)
    frontier.commit(None)
    assert take_all(reopened(frontier, tmp_path)) == [f"{SERVER}/later"]


def test_new_pages_can_be_taken_past_those_that_are_due_and_every_page_comes_once(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    due, new = urls(60), [f"{SERVER}/new-{number}" for number in range(40)]
    add(frontier, due, hops=1)
    add(frontier, new, hops=5)
    frontier.commit(None)
    taken = []
    for _ in range(25):
        page, before = frontier.take_new(SERVER), frontier.take(SERVER)
        assert page is not None
        assert before is not None
        assert (page.hops, before.hops) == (5, 1)
        taken += [page.url, before.url]
    assert sorted(taken + take_all(frontier)) == sorted(due + new)
    assert frontier.take_new(SERVER) is None


def test_whether_a_page_is_in_a_hurry_is_seen_without_taking_it(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(3), hops=2)
    assert not frontier.is_urgent(SERVER)
    frontier.commit(None)
    frontier.hasten(urls(3)[1])
    assert frontier.is_urgent(SERVER)
    assert not frontier.is_urgent("http://nobody.example")


def test_it_is_seen_after_a_restart_too_and_whatever_was_taken_before(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    add(frontier, urls(3), hops=2)
    frontier.commit(None)
    frontier.hasten(urls(3)[1])
    frontier.commit(None)
    again = reopened(frontier, tmp_path)
    assert again.is_urgent(SERVER)
    assert again.take(SERVER) == Page(urls(3)[1], 0, SERVER)
    assert not again.is_urgent(SERVER)
    assert len(take_all(again)) == 2
    assert not again.is_urgent(SERVER)


def test_it_knows_at_which_distances_pages_of_a_server_wait(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    for number, hops in enumerate((0, 3, 3, 255)):
        frontier.add([f"http://a.example/{number}"], hops)
    frontier.add(["http://a.example:8080/x"], 7)
    frontier.settle(lambda _: 100)
    frontier.commit(None)
    assert frontier.places("http://a.example") == [0, 3, 255]
    assert frontier.places("http://nobody.example") == []
    frontier.close()
