from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from joro.model import Outcome, Page, Visit
from joro.store import again
from joro.store.again import sow, wait_again
from joro.store.frontier import Admission, Frontier
from joro.store.layout import reshare, set_share_count, shares, total_counts
from joro.store.records import RobotsRecord
from joro.url import fingerprint

A = "http://a.example"
SEED, GOOD, BAD = f"{A}/", f"{A}/good", f"{A}/bad"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A seed with two links, all visited; one of them timed out."""
    frontier = Frontier(tmp_path)
    frontier.add([SEED], 0)
    visit(frontier, Outcome.OK)
    frontier.add([GOOD, BAD], 1, cgi_hops=4, found_on=SEED)
    frontier.settle(lambda _: 100)
    for _ in range(2):
        page = frontier.take(A)
        assert page is not None
        frontier.done(Visit(page, 7.0, Outcome.TIMEOUT if page.url == BAD else Outcome.OK))
    frontier.keep_robots(A, RobotsRecord(7.0, 0, b""))
    frontier.commit(("x.warc.gz", 9))
    frontier.close()
    return tmp_path


def visit(frontier: Frontier, outcome: Outcome) -> None:
    frontier.settle(lambda _: 100)
    page = frontier.take(A)
    assert page is not None
    frontier.done(Visit(page, 7.0, outcome))


def waiting(directory: Path) -> list[Page]:
    frontier = Frontier(directory)
    frontier.wake()
    pages = []
    while (page := frontier.take(A)) is not None:
        pages.append(page)
    frontier.close()
    return pages


def test_a_wanted_page_waits_again_as_far_from_the_seed_as_before(directory: Path) -> None:
    assert wait_again(directory, lambda record: record.outcome == "timeout") == 1
    assert waiting(directory) == [Page(BAD, 1, A, 4)]


@pytest.mark.parametrize("all_wait", [False, True])
def test_an_urgent_page_waits_before_all_others_and_once(directory: Path, all_wait: bool) -> None:
    frontier = Frontier(directory)
    frontier.add([f"{A}/{number}" for number in range(50)], 1, found_on=SEED)
    frontier.settle(lambda _: 100)
    frontier.commit(None)
    frontier.close()
    if all_wait:
        wait_again(directory, lambda _: True)
    assert wait_again(directory, lambda record: record.url == BAD, urgent=True) == 1
    assert wait_again(directory, lambda record: record.url == BAD, urgent=True) == 0
    urls = [page.url for page in waiting(directory)]
    assert BAD in urls[:2] if all_wait else urls[0] == BAD  # the seed may come before it
    assert urls.count(BAD) == 1
    assert len(urls) == (53 if all_wait else 51)


def test_everything_can_wait_again(directory: Path) -> None:
    assert wait_again(directory, lambda _: True) == 3
    assert waiting(directory)[0].url == SEED
    assert len(waiting(directory)) == 3


def test_counts_follow_and_asking_twice_changes_nothing(directory: Path) -> None:
    for expected in (3, 0):
        assert wait_again(directory, lambda _: True) == expected
        frontier = Frontier(directory, read_only=True)
        assert frontier.counts.visited == 0
        assert sum(frontier.counts.outcomes.values()) == 0
        assert frontier.server(A).visited == frontier.server(A).unreachable == 0
        assert frontier.position == ("x.warc.gz", 9)
        frontier.abandon()


def test_the_next_visit_replaces_the_record(directory: Path) -> None:
    wait_again(directory, lambda record: record.url == BAD)
    frontier = Frontier(directory)
    frontier.wake()
    before = frontier.visited(fingerprint(BAD))
    assert before is not None
    assert before.outcome == "timeout"
    visit(frontier, Outcome.OK)
    frontier.commit(None)
    after = frontier.visited(fingerprint(BAD))
    assert after is not None
    assert (after.outcome, after.found_on, after.cgi_hops) == ("ok", fingerprint(SEED), 4)
    assert frontier.counts.outcomes == {"ok": 3, "timeout": 0}


def test_a_page_that_waits_again_can_be_taken_by_its_url(directory: Path) -> None:
    wait_again(directory, lambda record: record.url == BAD)
    frontier = Frontier(directory)
    assert frontier.take_url(GOOD) is None
    assert frontier.take_url(BAD) == Page(BAD, 1, A, 4)


@pytest.mark.parametrize("status", [0, -1, -2, 429, 500])
def test_a_robots_txt_that_could_not_be_had_is_asked_for_again(directory: Path, status: int) -> None:
    frontier = Frontier(directory)
    frontier.keep_robots(A, RobotsRecord(7.0, status, b""))
    frontier.commit(None)
    frontier.close()
    wait_again(directory, lambda record: record.url == BAD)
    assert Frontier(directory, read_only=True).robots(A) == RobotsRecord(0.0, status, b"")


def test_the_robot_still_learns_that_it_was_killed(directory: Path) -> None:
    Frontier(directory).abandon()
    wait_again(directory, lambda _: True)
    assert not Frontier(directory, read_only=True).was_closed


def test_many_pages_wait_again_batch_by_batch(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "BATCH", 1)
    assert wait_again(directory, lambda _: True) == 3
    assert len(waiting(directory)) == 3


def test_counts_are_right_in_all_even_after_spreading_over_shares(tmp_path: Path) -> None:
    set_share_count(tmp_path, 1)
    frontier = Frontier(tmp_path / "0-of-1")
    frontier.add([SEED], 0)
    visit(frontier, Outcome.OK)
    frontier.commit(None)
    frontier.close()
    reshare(tmp_path, 2, lambda _: 1)
    assert wait_again(tmp_path / "1-of-2", lambda _: True) == 1
    counts = total_counts([Frontier(folder, read_only=True) for folder in shares(tmp_path, 2)])
    assert (counts.found, counts.visited, counts.outcomes) == (1, 0, {"ok": 0})


def test_a_queue_tells_who_waits_who_found_it_and_who_comes_first(directory: Path) -> None:
    wait_again(directory, lambda _: True)
    frontier = Frontier(directory, read_only=True)
    found = {url: frontier.queued(url) for url in (SEED, GOOD, BAD)}
    places = [(queued.found_on, queued.before) for queued in found.values() if queued is not None]
    assert places[0] == (0, 0)
    assert sorted(places[1:]) == [(fingerprint(SEED), 1), (fingerprint(SEED), 2)]
    assert frontier.queued(f"{A}/unknown") is None


def all_of_them(urls: list[str], source: str) -> list[str]:
    return urls


def sown(directory: Path, seeds: list[str], quota: int = 100, admit: Admission = all_of_them) -> Frontier:
    frontier = Frontier(directory)
    sow(frontier, seeds, lambda: frontier.settle(lambda _: quota, admit))
    frontier.settle(lambda _: quota, admit)
    frontier.commit(None)
    frontier.close()
    return frontier


def test_a_page_found_by_a_link_and_given_as_a_seed_is_visited_again_as_one(directory: Path) -> None:
    sown(directory, [GOOD])
    assert waiting(directory) == [Page(GOOD, 0, A)]
    frontier = Frontier(directory, read_only=True)
    record = frontier.visited(fingerprint(GOOD))
    assert record is not None
    assert (record.hops, record.cgi_hops, record.found_on) == (0, 0, 0)


@pytest.mark.parametrize("urgent", [False, True])
def test_a_page_that_waits_again_and_is_given_as_a_seed_waits_once(directory: Path, urgent: bool) -> None:
    wait_again(directory, lambda record: record.url == GOOD, urgent=urgent)
    counts = sown(directory, [GOOD, GOOD]).counts
    assert (counts.found, counts.visited) == (3, 2)
    assert waiting(directory) == [Page(GOOD, 0, A)]
    frontier = Frontier(directory, read_only=True)
    record = frontier.visited(fingerprint(GOOD))
    assert record is not None
    assert (record.hops, frontier.server(A).visited) == (0, 2)


def test_a_page_that_is_due_and_is_given_as_a_seed_waits_as_one(directory: Path) -> None:
    frontier = Frontier(directory)
    record = frontier.visited(fingerprint(GOOD))
    assert record is not None
    frontier.wait_again(record, first=True)
    frontier.commit(None)
    frontier.close()
    sown(directory, [GOOD])
    assert waiting(directory) == [Page(GOOD, 0, A)]


def test_a_page_that_waits_far_away_and_is_given_as_a_seed_waits_as_one(directory: Path) -> None:
    frontier = Frontier(directory)
    frontier.add([f"{A}/far"], 9, cgi_hops=3, found_on=SEED)
    frontier.settle(lambda _: 100)
    frontier.commit(None)
    frontier.close()
    for _ in range(2):
        sown(directory, [f"{A}/far"])
    assert waiting(directory) == [Page(f"{A}/far", 0, A)]
    queued = Frontier(directory, read_only=True).queued(f"{A}/far")
    assert queued is not None
    assert queued.found_on == 0


def test_it_does_so_although_its_server_is_awake(directory: Path) -> None:
    frontier = Frontier(directory)
    frontier.add([f"{A}/{number}" for number in range(30)], 9, found_on=SEED)
    frontier.settle(lambda _: 100)
    frontier.commit(None)
    sow(frontier, [f"{A}/{number}" for number in range(20, 30)], list)
    frontier.commit(None)
    assert frontier.wake() == [A]
    hops = []
    while (page := frontier.take(A)) is not None:
        hops.append(page.hops)
    assert hops == [0] * 10 + [9] * 20
    frontier.close()


def test_eight_times_as_many_waiting_seeds_take_about_eight_times_as_long(tmp_path: Path) -> None:
    """Of one server, of which each that became a seed turned over all that had before."""

    def seconds(number: int) -> float:
        frontier = Frontier(tmp_path / str(number))
        urls = [f"{A}/{place}" for place in range(number)]
        frontier.add(urls, 3, found_on=SEED)
        frontier.settle(lambda _: number)
        frontier.commit(None)
        began = process_time()
        sow(frontier, urls, list)
        taken = process_time() - began
        frontier.abandon()
        return taken

    assert seconds(8_000) < 25 * max(seconds(1_000), 0.005)


def test_seeds_given_once_more_change_nothing(directory: Path) -> None:
    before = Frontier(directory, read_only=True).counts
    assert sown(directory, [SEED]).counts == before
    assert waiting(directory) == []


def test_a_seed_that_a_quota_turned_away_is_judged_by_the_quota_of_today(directory: Path) -> None:
    new = f"{A}/new"
    assert [sown(directory, [new], quota).counts.over_quota for quota in (3, 3, 4)] == [1, 1, 0]
    assert waiting(directory) == [Page(new, 0, A)]


def test_a_seed_that_a_quota_turned_away_in_this_very_run_is_judged_anew_too(directory: Path) -> None:
    """As after a kill, when the archive is replayed: then it was met a moment ago."""
    frontier, new = Frontier(directory), f"{A}/new"
    frontier.add([new], 1, found_on=SEED)
    frontier.settle(lambda _: 3)
    frontier.commit(None)
    sow(frontier, [new], lambda: frontier.settle(lambda _: 4))
    frontier.commit(None)
    counts = frontier.counts
    assert (counts.found, counts.over_quota) == (4, 0)
    frontier.close()
    assert waiting(directory) == [Page(new, 0, A)]


def test_a_seed_that_is_turned_away_once_more_is_known_as_before(directory: Path) -> None:
    frontier, new = Frontier(directory), f"{A}/new"
    for _ in range(2):
        sow(frontier, [new], lambda: frontier.settle(lambda _: 3))
        frontier.settle(lambda _: 3)
        frontier.commit(None)
        assert frontier.counts.over_quota == 1
    assert frontier.seen.are_known(np.array([fingerprint(new)], np.uint64)).tolist() == [True]
    frontier.close()


class Counted:
    """A database that counts what is looked up."""

    def __init__(self, frontier: Frontier) -> None:
        self._inside: Any = frontier._db
        self.asked = 0

    def __getattr__(self, name: str) -> object:
        self.asked += name in ("get", "iter")
        return getattr(self._inside, name)


def test_what_waits_at_a_server_is_looked_up_once_not_for_each_seed_it_turned_away(tmp_path: Path) -> None:
    """256 times for each of them it was: seeds by the thousand held up every start for seconds."""
    frontier = Frontier(tmp_path)
    seeds = [f"{A}/{number}" for number in range(200)]
    for _ in range(2):
        counted = frontier._db = Counted(frontier)  # type: ignore[assignment]
        sow(frontier, seeds, lambda: frontier.settle(lambda _: 10))
        frontier.settle(lambda _: 10)
        frontier._db = counted._inside
        frontier.commit(None)
    assert frontier.counts.over_quota == 190
    assert counted.asked < 4 * len(seeds)
    frontier.close()


def test_a_seed_that_waits_as_one_costs_a_start_two_looks(tmp_path: Path) -> None:
    """Many seeds at as many servers: where pages of each wait would cost more than all else at a start."""
    frontier = Frontier(tmp_path)
    seeds = [f"http://{number}.example/" for number in range(200)]
    sow(frontier, seeds, lambda: None)
    frontier.settle(lambda _: 10)
    frontier.commit(None)
    counted = frontier._db = Counted(frontier)  # type: ignore[assignment]
    sow(frontier, seeds, lambda: None)
    frontier._db = counted._inside
    assert counted.asked <= 2 * len(seeds)
    frontier.close()


def test_a_seed_that_stays_a_trap_counts_as_one_however_often_it_is_given(directory: Path) -> None:
    """And nothing is taken off the account of the quota for it."""
    trap, beyond = f"{A}/trap", [f"{A}/beyond-{number}" for number in range(3)]
    sown(directory, beyond, quota=3)
    for _ in range(3):
        counts = sown(
            directory, [trap, trap], 100, lambda urls, _: [url for url in urls if url != trap]
        ).counts
        assert (counts.found, counts.over_quota, counts.trapped) == (3, 3, 1)
    counts = sown(directory, [*beyond, trap]).counts
    assert (counts.found, counts.over_quota, counts.trapped) == (7, 0, 0)


def test_who_collects_everything_again_finds_again_what_a_quota_turned_away(directory: Path) -> None:
    new = f"{A}/new"
    sown(directory, [new], quota=3)
    assert wait_again(directory, lambda _: True, anew=True) == 3
    frontier = Frontier(directory)
    assert frontier.counts.over_quota == 0
    frontier.add([new, GOOD], 1, found_on=SEED)
    frontier.settle(lambda _: 4)
    frontier.commit(None)
    frontier.close()
    assert sorted(page.url for page in waiting(directory)) == [SEED, BAD, GOOD, new]
