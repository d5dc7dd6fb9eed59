"""A robot that has a part of a server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from joro.config import Config
from joro.coordinate.beat import Changes, Given, Late, Links, Lost, Piece, Wanted
from joro.model import Page
from joro.store.collection import Collection
from joro.url import fingerprint
from tests.robot.test_member import START, A, Desk, link
from tests.robot.test_member import collection as collection
from tests.robot.test_member import runner as runner

ONE, TWO = f"{A}#1", f"{A}#2"
PIECE = Piece(["/", "/mine/"], ["/theirs/"], 3.0, 0.5, 10, 30)


async def part(collection: Collection, *urls: str) -> Desk:
    desk = Desk(collection)
    await desk.told(Given(ONE, piece=PIECE), Links([link(url) for url in urls]))
    return desk


def test_links_to_other_parts_of_the_server_go_to_the_manager(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await part(collection, f"{A}/mine/1")
        desk.robot._register([f"{A}/mine/2", f"{A}/theirs/1"], Page(f"{A}/mine/1", 0, A))
        desk.robot._commit()
        await desk.until(lambda: any(post.links for post in desk.line.posts.values()))
        assert desk.waiting() == [f"{A}/mine/1", f"{A}/mine/2"]
        offered = [found.url for post in desk.line.posts.values() for found in post.links]
        assert offered == [f"{A}/theirs/1"]

    runner.run(scenario())


def test_what_is_told_goes_by_the_name_of_the_part(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await part(collection, f"{A}/mine/1", f"{A}/mine/2")
        url = desk.visit(A)
        desk.line.tell(Wanted([ONE]))
        await desk.until(lambda: desk.line.released)
        assert desk.line.released == [ONE]
        assert (b"p" + fingerprint(url).to_bytes(8, "big")) in dict(desk.line.changes(ONE))
        assert {each.server for post in desk.line.posts.values() for each in post.efforts} == {ONE}
        assert not desk.line.changes(A)

    runner.run(scenario())


def test_pauses_are_longer_and_the_first_one_shifted(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        whole = Desk(collection)
        usual_s = whole.robot.usual_s(A)
        await whole.told(Given(ONE, 1, piece=PIECE))
        assert whole.robot.usual_s(A) == 3 * usual_s
        assert whole.robot.frontier.server(A).ready_at == START + 1.5 * 3 * usual_s

    runner.run(scenario())


def test_another_part_comes_only_after_the_first_has_gone(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await part(collection, f"{A}/mine/1")
        other = Piece(["/theirs/"], ["/", "/mine/"], 1.5)
        await desk.told(Lost([ONE]), Given(TWO, piece=other), Links([link(f"{A}/theirs/1")]))
        await desk.until(lambda: desk.waiting() == [f"{A}/theirs/1"])
        assert desk.member.stretch(A) == 1.5
        assert not desk.member.is_ours(f"{A}/mine/1")
        await desk.told(Wanted([ONE]))
        assert desk.member.may_enter(A)

    runner.run(scenario())


def test_late_words_about_another_part_are_none_of_ours(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await part(collection, f"{A}/mine/1")
        keys = [(key, value) for key, value in desk.line.changes(ONE) if key[:1] == b"q"]
        await desk.told(Late(Changes(TWO, keys)))
        assert desk.waiting() == [f"{A}/mine/1"]

    runner.run(scenario())


def test_a_part_is_remembered_over_a_restart(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await part(collection, f"{A}/mine/1")
        await desk.close()
        again = Desk(collection, desk.line)
        assert again.member.is_ours(f"{A}/mine/9")
        assert not again.member.is_ours(f"{A}/theirs/9")
        assert again.member.stretch(A) == 3.0

    runner.run(scenario())


def test_of_a_quota_only_our_portion_is_taken(tmp_path: Path, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        config = Config()
        config = replace(config, scope=replace(config.scope, pages_per_server=36))
        desk = Desk(Collection.create(tmp_path / "q", config))
        await desk.told(Given(ONE, piece=PIECE), Links([link(f"{A}/mine/{page}") for page in range(50)]))
        await desk.until(lambda: desk.waiting())
        assert len(desk.waiting()) == 12  # 10 when it was split, and a third of the 6 that are left

    runner.run(scenario())
