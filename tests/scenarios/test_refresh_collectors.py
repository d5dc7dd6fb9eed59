"""Refreshing in batches, languages in cycles, sockets shared with discovery: as the servers' log has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from joro.robot import Robot
from joro.robot.batches import BatchReport, last_report
from joro.testweb.running import Running, separate
from joro.testweb.settings import Settings
from joro.url import fingerprint, server_of
from tests.scenarios.living import DAY_S, Life

pytestmark = pytest.mark.slow

BRISK: dict[str, Any] = {"interval_s": 1.0, "per_address": 64, "address_interval_s": 0.0}


def visits(web: Running) -> dict[str, list[float]]:
    """When each page was asked for, by the servers' own log."""
    pages, found = {page["url"] for page in web.oracle.get("/pages")}, dict[str, list[float]]()
    for row in web.oracle.get("/log"):
        if row["url"] in pages:
            found.setdefault(row["url"], []).append(row["virtual"])
    return found


def test_servers_with_a_page_in_a_chosen_language_are_gone_through_in_every_cycle(tmp_path: Path) -> None:
    """Every page wishes a visit in forty days; Japanese servers have a cycle of three."""
    refresh: dict[str, Any] = {"policy": "uniform", "visits_per_day": 1, "first_interval_s": 40 * DAY_S}
    refresh |= {"languages": ["ja"], "cycle_days": 3, "plan_every_s": DAY_S / 2, "watch": False}
    settings = Settings(seed=12, hosts=30, pages=120, sizes="even", roles=("normal",), speed=0.0)
    with separate(settings) as web:
        life = Life(web, tmp_path / "c")
        life.live(life.days(11), refresh=refresh, politeness=BRISK)
        end, log = life.now(), visits(web)
        japanese = {host["url"][:-1] for host in web.oracle.get("/hosts") if host["language"] == "ja"}
        gone = {page["url"] for page in web.oracle.get("/pages") if page["gone"] is not None}
    cycle_s, windows = int(3 * DAY_S), 0
    for url, times in log.items():
        server = server_of(url)
        phase = fingerprint(server) % cycle_s
        rounds = [(time - phase) // cycle_s for time in times]
        if server not in japanese:
            assert len(times) == 1, url
        elif url not in gone:
            whole = set(range(int(rounds[0]), int((end - phase) // cycle_s)))
            assert whole <= set(rounds), url
            windows += len(whole)
    assert windows > 2 * len([url for url in log if server_of(url) in japanese]) > 30


def test_a_batch_ends_when_only_slow_servers_are_left_and_their_pages_go_into_the_next(
    tmp_path: Path,
) -> None:
    """All pages wish a visit a day. Two servers bear one in three hours, and ten of theirs are due."""
    refresh: dict[str, Any] = {"batch_pages": 10_000, "batch_window_s": 3_600.0, "watch": False}
    refresh |= dict.fromkeys(("first_interval_s", "least_interval_s", "most_interval_s"), DAY_S)
    settings = Settings(seed=5, hosts=20, pages=200, sizes="even", roles=("normal",), speed=40_000.0)
    with separate(settings) as web:
        life, ended = Life(web, tmp_path / "c"), list[BatchReport]()
        life.live(lambda robot: robot.is_idle, refresh={"enabled": False}, politeness=BRISK)
        slow = sorted({server_of(url) for url in visits(web)})[:2]
        rules = [{"servers": slow, "interval_s": DAY_S / 8, "robots_age_s": DAY_S / 4}]
        web.oracle.get("/reset")
        until = noting(ended, life.days(7))
        life.live(until, refresh=refresh | {"enabled": True}, politeness={"rules": rules})
        log = visits(web)
        gone = {page["url"] for page in web.oracle.get("/pages") if page["gone"] is not None}
    assert any(report.left and report.servers_left <= 2 for report in ended)
    quick = [len(times) for url, times in log.items() if server_of(url) not in slow and url not in gone]
    assert median(quick) >= 4
    assert len([url for url in log if server_of(url) in slow]) >= 4


def noting(ended: list[BatchReport], until: Callable[[Robot], bool]) -> Callable[[Robot], bool]:
    def is_over(robot: Robot) -> bool:
        report = last_report(robot.frontier)
        if report is not None and (not ended or ended[-1] != report):
            ended.append(report)
        return until(robot)

    return is_over


@pytest.mark.parametrize(("percent", "least", "most"), [(50, 0.25, 0.75), (0, 0.0, 0.0)])
def test_discovery_keeps_its_share_of_few_sockets(
    tmp_path: Path, percent: int, least: float, most: float
) -> None:
    """Known pages wish for far more than two sockets can do; most of the web is still to be found."""
    refresh: dict[str, Any] = {"plan_every_s": 30.0, "watch": False, "discovery_percent": percent}
    refresh |= dict.fromkeys(("first_interval_s", "least_interval_s", "most_interval_s"), 60.0)
    settings = Settings(
        seed=3, hosts=60, pages=600, sizes="even", roles=("normal",), speed=30.0, latency_s=0.1, warm=True
    )
    with separate(settings) as web:
        life = Life(web, tmp_path / "c")
        life.live(
            lambda robot: robot.visits >= 150,
            refresh={"enabled": False},
            fetch={"sockets": 40},
            politeness=BRISK,
        )
        known, cut_at = set(visits(web)), life.now()
        life.live(lambda robot: robot.visits >= 80, refresh=refresh | {"enabled": True}, fetch={"sockets": 2})
        after = Counter(url in known for url, times in visits(web).items() for time in times if time > cut_at)
    assert least <= after[False] / after.total() <= most
    assert after[True] > 10
