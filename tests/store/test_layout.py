from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from joro.errors import CollectionError
from joro.model import Outcome, Visit
from joro.store.again import ASKED_FOR
from joro.store.calendar import entries, entries_in
from joro.store.frontier import Frontier
from joro.store.layout import reshare, set_share_count, share_count, shares
from joro.store.records import Upkeep
from joro.url import fingerprint, server_of

SERVERS = [f"http://{number}.example" for number in range(7)]
MANY = 10**9


def owner_of_two(server: str) -> int:
    return int(server[7]) % 2


def collected(directory: Path) -> Path:
    """Five pages of each of seven servers were visited, and have dates."""
    set_share_count(directory, 1)
    frontier = Frontier(directory / "0-of-1")
    frontier.add([f"{server}/{number}" for server in SERVERS for number in range(5)], 0)
    for server in frontier.settle(lambda _: MANY):
        while (page := frontier.take(server)) is not None:
            number = int(page.url[-1])
            care = Upkeep(version=number + 1, due=100.0 * number)
            frontier.done(Visit(page, 7.0, Outcome.OK), None, care)
            date = entries(care.due, fingerprint(page.url), care.version, fingerprint(server), b"state")
            frontier.calendar.push(date)
    frontier.keep("adopted", b"yes")
    frontier.commit(None)
    frontier.close()
    return directory


def dates(directory: Path, count: int) -> list[set[bytes]]:
    """The entries of each share, as they lie on disk."""
    found = []
    for folder in shares(directory, count):
        frontier = Frontier(folder, read_only=True)
        blocks = [entries_in(block) for _, block in frontier.scan(b"c")]
        found.append({entry.tobytes() for block in blocks for entry in block})
        frontier.abandon()
    return found


@pytest.mark.parametrize("content", [b"\xff\xfe", b"two", b"", b"-1", b"1.5", b"99999999"])
def test_a_layout_that_is_damaged_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "layout").write_bytes(content)
    for folder in shares(tmp_path, 2):
        folder.mkdir()
    with pytest.raises(CollectionError, match=r"layout cannot be read .*0-of-2, 1-of-2; write 2 into it"):
        share_count(tmp_path)


def test_a_layout_that_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "layout").mkdir()
    with pytest.raises(CollectionError, match=r"layout cannot be read \(Is a directory\)"):
        share_count(tmp_path)


def test_a_layout_that_may_not_be_read_is_a_matter_of_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(CollectionError, match=r"\(Permission denied\); get permission to read it"):
        share_count(collected(tmp_path))


@pytest.mark.parametrize(
    ("text", "folders", "complaint"),
    [
        ("2", ["0-of-1"], "says 2, and there are 0-of-1; write 1 into it"),
        ("2", ["0-of-1", "0-of-2"], "says 2, and there are 0-of-1, 0-of-2; write 1 into it"),
        ("1", ["0-of-2", "1-of-2"], "says 1, and there are 0-of-2, 1-of-2; write 2 into it"),
        ("4", ["0-of-1", "0-of-2", "1-of-2"], "write 1 or 2 into it, or restore"),
        ("1", ["1-of-2"], "restore the frontier from a copy"),
        (None, ["0-of-2", "1-of-2"], "is missing, and there are 0-of-2, 1-of-2; write 2 into it"),
        (None, ["1-of-2"], "restore the frontier from a copy"),
    ],
)
def test_a_layout_that_the_folders_contradict_is_not_believed(
    tmp_path: Path, text: str | None, folders: list[str], complaint: str
) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir()
    if text is not None:
        (tmp_path / "layout").write_text(text)
    with pytest.raises(CollectionError, match=complaint):
        share_count(tmp_path)


@pytest.mark.parametrize("folders", [[], ["0-of-2"], ["0-of-1", "0-of-2", "1-of-2"], ["0-of-2", "old-of-3"]])
def test_shares_not_begun_yet_and_leftovers_contradict_nothing(tmp_path: Path, folders: list[str]) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir()
    (tmp_path / "layout").write_text("2")
    assert share_count(tmp_path) == 2


def test_a_wrong_number_costs_no_page(tmp_path: Path) -> None:
    (before,) = dates(collected(tmp_path), 1)
    (tmp_path / "layout").write_text("2")
    with pytest.raises(CollectionError, match="write 1 into it"):
        reshare(tmp_path, 1, lambda _: 0)
    assert dates(tmp_path, 1) == [before]


def test_pages_are_not_spread_while_a_share_is_missing(tmp_path: Path) -> None:
    reshare(collected(tmp_path), 2, owner_of_two)
    shutil.rmtree(tmp_path / "1-of-2")
    with pytest.raises(CollectionError, match=r"1-of-2 is missing, .* --processes 2"):
        reshare(tmp_path, 1, lambda _: 0)
    assert (tmp_path / "0-of-2" / "pages").is_dir()


def test_before_the_first_crawl_there_are_no_shares(tmp_path: Path) -> None:
    assert share_count(tmp_path) == 0
    set_share_count(tmp_path, 2)
    assert share_count(tmp_path) == 2


def test_every_date_goes_along_to_another_number_of_shares_and_back(tmp_path: Path) -> None:
    (before,) = dates(collected(tmp_path), 1)
    reshare(tmp_path, 2, owner_of_two)
    even, odd = dates(tmp_path, 2)
    reshare(tmp_path, 1, lambda _: 0)
    assert dates(tmp_path, 1) == [before]
    assert (len(even), len(odd), even | odd) == (20, 15, before)


def test_a_date_is_where_its_page_is(tmp_path: Path) -> None:
    reshare(collected(tmp_path), 2, owner_of_two)
    for number, folder in enumerate(shares(tmp_path, 2)):
        frontier = Frontier(folder)
        due = frontier.calendar.pop(1_000.0, 100)
        pages = [record for record in frontier.records(due["mark"]) if record is not None]
        frontier.close()
        assert len(pages) == len(due)
        assert {owner_of_two(server_of(page.url)) for page in pages} == {number}


def test_what_is_true_of_all_shares_stays_so(tmp_path: Path) -> None:
    reshare(collected(tmp_path), 2, owner_of_two)
    for folder in shares(tmp_path, 2):
        frontier = Frontier(folder, read_only=True)
        assert frontier.kept("adopted") == {"adopted": b"yes"}
        frontier.abandon()


@pytest.mark.parametrize(("name", "stays"), [("adopted", False), (ASKED_FOR, True)])
def test_pages_may_wait_that_were_visited_when_they_may_in_one_share(
    tmp_path: Path, name: str, stays: bool
) -> None:
    """But where pages of one share have no dates yet, some have none in any."""
    set_share_count(tmp_path, 2)
    for folder, value in zip(shares(tmp_path, 2), (b"yes", None), strict=True):
        frontier = Frontier(folder)
        frontier.keep(name, value)
        frontier.commit(None)
        frontier.close()
    for count in (1, 3):
        reshare(tmp_path, count, lambda _: 0)
        for folder in shares(tmp_path, count):
            frontier = Frontier(folder, read_only=True)
            assert bool(frontier.kept(name)) == stays
            frontier.abandon()


def test_a_process_that_comes_again_knows_how_far_it_had_got(tmp_path: Path) -> None:
    reshare(collected(tmp_path), 3, lambda server: int(server[7]) % 3)
    for number, folder in enumerate(shares(tmp_path, 3)):
        frontier = Frontier(folder)
        frontier.commit((f"joro.{number}-20261116055500-00007.warc.gz", 100 + number))
        frontier.close()
    for count in (1, 2, 1, 3):
        reshare(tmp_path, count, lambda _: 0)
    for number, folder in enumerate(shares(tmp_path, 3)):
        frontier = Frontier(folder, read_only=True)
        assert frontier.position == (f"joro.{number}-20261116055500-00007.warc.gz", 100 + number)
        frontier.abandon()
