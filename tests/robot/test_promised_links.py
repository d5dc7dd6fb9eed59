"""Links that are followed because somebody asked: of new seeds, and with `joro retry --all`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop
from click.testing import CliRunner

from joro.cli import joro
from joro.config import Config, Scope
from joro.fetch.visit import validators
from joro.store.layout import set_share_count
from joro.url import fingerprint
from tests.robot.test_watcher import DAY_S, SITE, START, WATCHING, Desk, opened


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner


def end(desk: Desk, runner: asyncio.Runner, seeds: Sequence[str] = ()) -> None:
    """The robot is given seeds, and ends before anything is asked for."""

    async def ended() -> None:
        desk.robot.stop()
        await desk.robot.collect(list(seeds))

    runner.run(ended())


def next_one(desk: Desk, runner: asyncio.Runner) -> Desk:
    """Another robot of the same collection, long after."""
    following = runner.run(opened(desk.path, start=START + 50 * DAY_S))
    following.robot._commit()
    return following


def conditions(desk: Desk, url: str) -> list[str]:
    record = desk.robot.frontier.visited(fingerprint(url))
    assert record is not None
    return validators(desk.robot._watcher.validators(record))


def limited(scope: Scope) -> Config:
    return replace(WATCHING, scope=scope)


def test_a_page_that_becomes_a_seed_is_asked_for_whole_and_its_links_are_followed(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c", limited(Scope(hops=1))))
    page = f"{SITE}/a.html"
    desk.answer(f"{SITE}/", "<a href=/a.html>a</a>")
    desk.answer(page, "<a href=/b.html>b</a>", **{"etag": "1", "last-modified": "yesterday"})
    assert len(conditions(desk, page)) == 2
    end(desk, runner)
    desk = next_one(desk, runner)
    end(desk, runner, [page])
    desk = next_one(desk, runner)
    assert desk.waiting()[0] == "/a.html"
    assert conditions(desk, page) == []
    desk.answer(page, "<a href=/b.html>b</a>", etag="1")
    assert "/b.html" in desk.waiting()
    end(desk, runner)


def test_a_page_behind_a_cgi_link_that_becomes_a_seed_leads_as_far_as_any_seed(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c", limited(Scope(cgi_hops=1))))
    page = f"{SITE}/d?2"
    desk.answer(f"{SITE}/", "<a href='/d?1'>1</a>")
    desk.answer(f"{SITE}/d?1", "<a href='/d?2'>2</a>")
    desk.answer(page, "<a href='/d?3'>3</a>")
    assert "/d?3" not in desk.waiting()
    end(desk, runner, [page])
    desk = next_one(desk, runner)
    for link in ("/d?3", "/d?4"):  # at later visits, too
        desk.answer(page, f"<a href='{link}'>next</a>")
        assert link in desk.waiting()
        desk.later(50 * DAY_S)
    end(desk, runner)


@pytest.mark.parametrize("waits", [False, True])
def test_who_collects_everything_again_asks_for_whole_pages_and_follows_what_a_quota_had_turned_away(
    tmp_path: Path, runner: asyncio.Runner, waits: bool
) -> None:
    desk = runner.run(opened(tmp_path / "c", limited(Scope(pages_per_server=2))))
    links = "<a href=/a.html>a</a><a href=/b.html>b</a>"
    desk.answer(f"{SITE}/", links, etag="1")
    if waits:
        desk.later(40 * DAY_S)
        assert "/" in desk.waiting()
    assert len(conditions(desk, f"{SITE}/")) == 1
    end(desk, runner)
    set_share_count(desk.path / "frontier", 1)
    toml = desk.path / "joro.toml"
    toml.write_text(toml.read_text().replace("pages_per_server = 2", "pages_per_server = 9"))
    told = CliRunner().invoke(joro, ["retry", "-C", str(desk.path), "--all"], catch_exceptions=False)
    assert told.exit_code == 0

    desk = next_one(desk, runner)
    assert conditions(desk, f"{SITE}/") == []
    desk.answer(f"{SITE}/", links, etag="1")
    assert "/b.html" in desk.waiting()
    end(desk, runner)
