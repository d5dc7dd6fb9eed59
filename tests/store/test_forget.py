from __future__ import annotations

from pathlib import Path

import pytest

from joro.model import Outcome, Visit
from joro.store.forget import forget
from joro.store.frontier import Frontier
from joro.store.records import RobotsRecord, ServerRecord, Upkeep
from joro.url import fingerprint, host_of

GONE, STAYS = "http://gone-k3jx9q.example", "http://stays.example"
#: Letters no compression can shorten.
WORD = "x7Kq2Zp9Lm4Wd8Rt"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two servers, one page of each visited, one waiting, with robots.txt and traps."""
    frontier = Frontier(tmp_path)
    for server in (GONE, STAYS):
        frontier.add([f"{server}/{WORD}", f"{server}/waits"], 0)
        frontier.settle(lambda _: 100)
        page = frontier.take_url(f"{server}/{WORD}")
        assert page is not None
        care = Upkeep(body="sha1:A", captured_at=7.0, etag="x", history=b"h")
        frontier.done(Visit(page, 7.0, Outcome.OK), care=care)
        frontier.keep_robots(server, RobotsRecord(7.0, 200, b"User-agent: *"))
        frontier.keep_trap_state(server, b"/" + WORD.encode())
        frontier.sources.keep_page(f"{server}/{WORD}", b"state")
        frontier.sources.keep_server(server, b"state")
        frontier.commit(("x.warc.gz", 9))
    frontier.close()
    return tmp_path


def forgotten(directory: Path, host: str) -> int:
    def is_gone(url: str) -> bool:
        return host_of(url) == host

    return forget(directory, is_gone, is_gone, lambda url, time: False, kept)


def kept(server: ServerRecord, care: Upkeep, waits: bool) -> None:
    """What its server's record says of a page stays."""


def bytes_in(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_no_file_knows_a_forgotten_host_and_the_other_stays(directory: Path) -> None:
    before = bytes_in(directory)
    assert b"gone-k3jx9q" in before
    assert forgotten(directory, "gone-k3jx9q.example") == 2
    after = bytes_in(directory)
    assert b"gone-k3jx9q" not in after
    assert b"stays.example" in after
    frontier = Frontier(directory)
    assert [server for server, _ in frontier.all_servers()] == [STAYS]
    assert [record.url for record in frontier.all_visited()] == [f"{STAYS}/{WORD}"]
    frontier.close()


def test_counts_agree_with_what_is_left(directory: Path) -> None:
    forgotten(directory, "gone-k3jx9q.example")
    frontier = Frontier(directory)
    assert (frontier.counts.found, frontier.counts.visited, frontier.waiting) == (2, 1, 1)
    assert frontier.counts.outcomes == {"ok": 1}
    assert frontier.position == ("x.warc.gz", 9)
    frontier.close()


@pytest.mark.parametrize("merged", [False, True])
def test_a_forgotten_page_is_found_again_like_one_never_seen(directory: Path, merged: bool) -> None:
    if merged:  # its fingerprint is among those in files, no longer in the database
        frontier = Frontier(directory)
        frontier._merge_seen()
        frontier.commit(None)
        frontier.close()
    forgotten(directory, "gone-k3jx9q.example")
    frontier = Frontier(directory)
    frontier.add([f"{GONE}/{WORD}", f"{GONE}/waits", f"{STAYS}/{WORD}", f"{STAYS}/waits"], 1)
    frontier.settle(lambda _: 100)
    assert frontier.counts.found == 4
    pages = [frontier.take(GONE), frontier.take(GONE)]
    assert {page.url for page in pages if page} == {f"{GONE}/{WORD}", f"{GONE}/waits"}
    frontier.abandon()


def test_one_page_goes_and_its_server_stays(directory: Path) -> None:
    gone = f"{GONE}/{WORD}"
    assert forget(directory, lambda url: url == gone, lambda url: False, lambda url, time: False, kept) == 1
    frontier = Frontier(directory)
    record = frontier.server(GONE)
    assert (record.found, record.visited, record.collected) == (1, 0, 0)
    assert frontier.visited(fingerprint(gone)) is None
    assert frontier.trap_state(GONE) is None
    assert frontier.robots(GONE) is not None
    frontier.abandon()
    assert bytes_in(directory).count(WORD.encode()) == bytes_in(directory).count(f"/{WORD}".encode())


def test_a_page_that_waits_again_is_not_taken_off_twice(directory: Path) -> None:
    frontier = Frontier(directory)
    record = frontier.visited(fingerprint(f"{GONE}/{WORD}"))
    assert record is not None
    frontier.wait_again(record)
    frontier.commit(None)
    frontier.close()
    assert forgotten(directory, "gone-k3jx9q.example") == 2
    frontier = Frontier(directory)
    assert (frontier.counts.found, frontier.counts.visited) == (2, 1)
    frontier.close()


def test_what_its_server_counts_of_a_forgotten_page_is_taken_back(directory: Path) -> None:
    frontier = Frontier(directory)
    record = frontier.visited(fingerprint(f"{GONE}/{WORD}"))
    assert record is not None
    frontier.wait_again(record, first=True)
    frontier.server(GONE).due = 1
    frontier.commit(None)
    frontier.close()

    def release(server: ServerRecord, care: Upkeep, waits: bool) -> None:
        assert (care.body, waits) == ("sha1:A", True)
        server.missed = 5

    gone = f"{GONE}/{WORD}"
    forget(directory, lambda url: url == gone, lambda url: False, lambda url, time: False, release)
    frontier = Frontier(directory)
    (after,) = [each for server, each in frontier.all_servers() if server == GONE]
    frontier.close()
    assert (after.due, after.missed, after.found) == (0, 5, 1)


def test_a_page_whose_capture_was_erased_is_visited_as_if_for_the_first_time(directory: Path) -> None:
    forget(
        directory,
        lambda url: False,
        lambda url: False,
        lambda url, time: "stays" in url and time == 7.0,
        kept,
    )
    frontier = Frontier(directory)
    stays, other = (frontier.visited(fingerprint(f"{server}/{WORD}")) for server in (STAYS, GONE))
    frontier.close()
    assert stays is not None
    assert stays.upkeep == Upkeep(history=b"h")
    assert other is not None
    assert other.upkeep is not None
    assert other.upkeep.body == "sha1:A"


def test_a_kill_before_is_still_known_afterwards(directory: Path) -> None:
    Frontier(directory).abandon()
    forgotten(directory, "gone-k3jx9q.example")
    frontier = Frontier(directory)
    assert not frontier.was_closed
    frontier.close()
