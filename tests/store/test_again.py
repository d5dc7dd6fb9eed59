from __future__ import annotations

from pathlib import Path

import pytest

from joro.model import Outcome, Page, Visit
from joro.store import again
from joro.store.again import wait_again
from joro.store.frontier import Frontier
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
