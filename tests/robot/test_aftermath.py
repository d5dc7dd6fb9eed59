"""Visits that were archived, and then the robot was killed before it had written down what they led to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from joro.archive.erase import erase
from joro.archive.index import CaptureIndex
from joro.archive.names import sorted_index
from joro.archive.read import records
from joro.archive.storing import free, upload
from joro.config import Scope
from joro.store.again import wait_again
from joro.store.layout import set_share_count
from tests.robot.test_promised_links import end, limited, next_one
from tests.robot.test_watcher import DAY_S, SITE, START, Desk, opened, runner
from tests.store.s3 import environment

__all__ = ["runner"]

PAGE, LINKS = f"{SITE}/a.html", "<a href=/b.html>b</a>"


def archived_and_killed(desk: Desk, **said: str) -> None:
    """The page is answered once more, and the robot dies between the archive's flush and the commit."""
    desk.answer_uncommitted(PAGE, "" if "status" in said else LINKS, "text/html", **said)
    desk.robot._archive.flush()
    desk.robot.frontier.abandon()
    newest = sorted((desk.path / "archive").glob("*.warc.gz"))[-1]
    assert next(each.type for each in records(newest) if each.url == PAGE) == "revisit"


def became_a_seed(path: Path, runner: asyncio.Runner) -> Desk:
    """A page at which no link is followed, until it is given as a seed; it waits for its second visit."""
    desk = runner.run(opened(path, limited(Scope(hops=1))))
    desk.answer(f"{SITE}/", "<a href=/a.html>a</a>")
    desk.answer(PAGE, LINKS, etag="1")
    end(desk, runner)
    desk = next_one(desk, runner)
    end(desk, runner, [PAGE])
    return next_one(desk, runner)


def test_links_of_a_page_that_became_a_seed_and_says_the_same_are_not_lost(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = became_a_seed(tmp_path / "c", runner)
    archived_and_killed(desk, etag="2")
    desk = next_one(desk, runner)
    assert "/b.html" in desk.waiting()
    assert "/a.html" not in desk.waiting()
    assert desk.care(PAGE).etag == "2"  # what was said this time counts
    end(desk, runner)


def test_links_that_a_quota_had_turned_away_are_not_lost_when_everything_is_collected_again(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c", limited(Scope(pages_per_server=2))))
    desk.answer(f"{SITE}/", "<a href=/a.html>a</a>")
    desk.answer(PAGE, LINKS)
    assert desk.waiting() == []
    end(desk, runner)
    set_share_count(desk.path / "frontier", 1)
    toml = desk.path / "joro.toml"
    toml.write_text(toml.read_text().replace("pages_per_server = 2", "pages_per_server = 9"))
    assert wait_again(desk.path / "frontier" / "0-of-1", lambda _: True, anew=True) == 2
    desk = next_one(desk, runner)
    archived_and_killed(desk)
    desk = next_one(desk, runner)
    assert "/b.html" in desk.waiting()
    end(desk, runner)


@pytest.mark.parametrize("taken_down", [True, False])
def test_a_page_whose_bytes_are_in_the_archive_no_more_is_asked_for_again(
    tmp_path: Path, runner: asyncio.Runner, taken_down: bool
) -> None:
    desk = became_a_seed(tmp_path / "c", runner)
    archive = desk.path / "archive"
    (whole,) = CaptureIndex(archive).versions(PAGE)
    archived_and_killed(desk)
    if taken_down:
        erase(archive / whole.warc, [(whole.offset, whole.length)], START)
    else:
        (archive / whole.warc).unlink()
    desk = next_one(desk, runner)
    assert "/a.html" in desk.waiting()
    desk.answer(PAGE, LINKS)
    assert "/b.html" in desk.waiting()
    end(desk, runner)


@pytest.mark.parametrize(
    ("said", "damaged"),
    [(b'"offset"', b'"offsex"'), (b"text/html", b"\xffext/html"), (b'"offset":"', b'"offset":"z')],
)
def test_a_page_whose_line_in_the_index_is_damaged_is_asked_for_again(
    tmp_path: Path, runner: asyncio.Runner, said: bytes, damaged: bytes
) -> None:
    desk = became_a_seed(tmp_path / "c", runner)
    archive = desk.path / "archive"
    (whole,) = CaptureIndex(archive).versions(PAGE)
    archived_and_killed(desk)
    lines = sorted_index(archive / whole.warc)
    assert said in lines.read_bytes()
    lines.write_bytes(lines.read_bytes().replace(said, damaged))
    desk = next_one(desk, runner)
    assert "/a.html" in desk.waiting()
    end(desk, runner)


def test_a_page_that_had_not_been_modified_is_done_with(tmp_path: Path, runner: asyncio.Runner) -> None:
    desk = became_a_seed(tmp_path / "c", runner)
    archived_and_killed(desk, status="304")
    desk = next_one(desk, runner)
    assert "/a.html" not in desk.waiting()
    assert desk.care(PAGE).seen_at > START
    end(desk, runner)


def test_a_failure_counts_also_when_it_is_replayed(tmp_path: Path, runner: asyncio.Runner) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    desk.answer(f"{SITE}/", "<a href=/a.html>a</a>")
    desk.answer(PAGE, LINKS)
    desk.later(8 * DAY_S)
    desk.later(0)
    before = desk.care(PAGE)
    desk.answer_uncommitted(PAGE, "no", "text/html", status="403")
    desk.robot._archive.flush()
    desk.robot.frontier.abandon()
    desk = runner.run(opened(desk.path, start=desk.clock.now()))
    after = desk.care(PAGE)
    assert (after.failures, after.interval_s) == (1, 2.0 * before.interval_s)
    end(desk, runner)


@contextmanager
def shut_store() -> Iterator[tuple[str, list[str]]]:
    """An object store that refuses everything: its URL, and what it was asked for."""
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever).start()
        with environment(f"http://127.0.0.1:{server.server_address[1]}"):
            yield f"s3://shut-{server.server_address[1]}", asked
        server.shutdown()


def test_a_store_out_of_reach_holds_up_a_start_once_not_for_each_page(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    """It takes seconds to be sure that nobody answers, or minutes."""
    desk, names = runner.run(opened(tmp_path / "c")), [f"{number}.html" for number in range(5)]
    desk.answer(f"{SITE}/", "".join(f"<a href=/{name}>x</a>" for name in names))
    for name in names:
        desk.answer(f"{SITE}/{name}", LINKS)
    end(desk, runner)
    archive = desk.path / "archive"
    upload(archive, str(tmp_path / "far"))
    desk = runner.run(opened(desk.path, start=START + 8 * DAY_S))
    desk.later(0)
    for name in names:
        desk.answer_uncommitted(f"{SITE}/{name}", LINKS, "text/html")
    desk.robot._archive.flush()
    desk.robot.frontier.abandon()
    assert free(archive)
    with shut_store() as (url, asked):
        for note in archive.glob("*.stored"):
            note.write_text(note.read_text().replace(str(tmp_path / "far"), url))
        desk = runner.run(opened(desk.path, start=desk.clock.now()))
    assert set(desk.waiting()) >= {f"/{name}" for name in names}
    assert 0 < len(asked) <= 2
    end(desk, runner)
