"""Robots that were written from the paper's text collect a web through our manager."""

from pathlib import Path

import pytest

from joro.manager import orders
from joro.manager.tokens import add_robot
from joro.testweb.running import Running, running
from joro.testweb.settings import Settings
from tests.manager.desk import Desk, desk
from tests.manager.paper_robot import PaperRobot, spelled

WEB = Settings(hosts=12, pages=120, profile="bench", sizes="even")


def robots(hub: Desk, web: Running, *names: str, token: str = "") -> list[PaperRobot]:
    shown = f"Bearer {token}" if token else ""
    made = [PaperRobot(hub.url, name, f"127.0.0.1:{web.port}", shown) for name in names]
    for robot in made:
        robot.subscribe()
    return made


def seed(hub: Desk, *urls: str) -> None:
    orders.add_seeds(hub.control, urls, hub.collection.config.manager)


def round_of(robot: PaperRobot, date: str) -> int:
    """What S1's robot does between two lists; how many pages were new to it."""
    before = len(robot.pages)
    robot.fetch_list()
    robot.collect()
    robot.report_servers()
    robot.submit_log(date)
    return len(robot.pages) - before


def test_two_robots_of_the_paper_collect_the_web_once_between_them(tmp_path: Path) -> None:
    with running(WEB) as web, desk(tmp_path, classic=True) as hub:
        crew = robots(hub, web, "prs1.example.jp", "prs2.example.jp")
        seed(hub, web.seeds[0])
        rounds = 0
        while sum([round_of(robot, f"2026111600{rounds:02}") for robot in crew]):
            rounds += 1
        expected = {spelled(url) for url in web.oracle.get("/reachable")}
        assert len(expected) > 100
        assert crew[0].pages.keys() | crew[1].pages.keys() == expected
        assert crew[0].pages.keys().isdisjoint(crew[1].pages)
        assert min(len(robot.servers) for robot in crew) == len(crew[0].servers + crew[1].servers) // 2
        counted = hub.rows("SELECT SUM(pages), COUNT(DISTINCT server) FROM efforts")
        assert counted == [(len(expected), 12)]
        assert len(list(hub.collection.logs.iterdir())) == 2 * (rounds + 1)


def test_a_robot_of_the_paper_keeps_to_the_limit_of_a_list_and_restarts_when_told(tmp_path: Path) -> None:
    with running(WEB) as web, desk(tmp_path, classic=True) as hub:
        (robot,) = robots(hub, web, "prs1.example.jp")
        seed(hub, web.seeds[0])
        with hub.control.transaction() as transaction:
            orders.limit_lists(transaction, 3)
        assert round_of(robot, "20261116") == 3
        assert not robot.is_restart()
        with hub.control.transaction() as transaction:
            orders.limit_lists(transaction, None)
            orders.restart(transaction, [robot.name])
        assert robot.is_restart()
        assert (robot.pages, robot.max_transfer) == ({}, None)
        assert not robot.is_restart()


def test_with_a_token_a_robot_of_the_paper_works_where_strangers_may_not(tmp_path: Path) -> None:
    with running(WEB) as web, desk(tmp_path) as hub:
        with pytest.raises(OSError, match="401"):
            robots(hub, web, "prs1.example.jp")
        token = add_robot(hub.control, "prs1.example.jp")
        (robot,) = robots(hub, web, "prs1.example.jp", token=token)
        seed(hub, web.seeds[0])
        assert round_of(robot, "20261116") > 5
