"""Robots, managers, the database and the network fail; nothing is lost, and no server is harmed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from joro.config import Manager
from joro.scaling.network import Network
from tests.namespaces import network as network
from tests.scenarios.cooperation import Plot, Scene, play, scene
from tests.scenarios.crawls import wait_for

pytestmark = pytest.mark.slow

#: `make bench ONLY=cooperation_kills` has 5 robots, 50,000 pages and a hundred kills.
PLOT = Plot(robots=3, managers=2, hosts=60, pages=3_000, kills=12, interval_s=0.5, kill_every_s=4.0)

#: Nobody is killed, and nobody loses a lease because this machine has much to do.
CALM = Manager(lease_s=60.0, beat_s=0.3, plan_every_s=3.0)
SMALL = Plot(
    robots=2, managers=1, hosts=10, pages=300, kills=0, interval_s=0.1, kill_every_s=1.0, promises=CALM
)
#: Servers move as soon as a robot comes, to where the hash of their name says.
QUICK = Manager(lease_s=60.0, beat_s=0.3, plan_every_s=1.0, rule="hash")
SIX = Plot(
    robots=5, managers=1, hosts=60, pages=6_000, kills=0, interval_s=1.0, kill_every_s=1.0, promises=QUICK
)
#: Servers move when that is worth it, as they do if nobody says otherwise; only sooner.
USUAL = Manager(lease_s=60.0, beat_s=0.3, plan_every_s=2.0)
SIX_AS_USUAL = replace(SIX, hosts=90, promises=USUAL)


@pytest.mark.parametrize("exchange", [False, True], ids=["by the manager", "by JetStream"])
def test_links_reach_the_robots_whose_servers_they_lead_to(
    network: Network, tmp_path: Path, exchange: bool
) -> None:
    with scene(tmp_path, replace(SMALL, exchange=exchange), network) as stage:
        verdict = play(stage)
        assert stage.exchange is None or stage.exchange.carried() > 0
    assert verdict.is_good, verdict
    assert verdict.repeated == verdict.asked_again == []
    assert verdict.pages == SMALL.pages


def test_robots_that_are_killed_and_cut_off_lose_no_page_and_never_meet_at_a_server(
    network: Network, tmp_path: Path
) -> None:
    with scene(tmp_path, PLOT, network) as stage:
        verdict = play(stage)
    print(verdict, dict(stage.killed))
    assert verdict.lost == []
    assert verdict.at_once == []
    assert verdict.inside_interval == []
    assert verdict.shared_servers > 0, "no server ever moved: nothing was tried"
    assert stage.ended == {}


def test_a_sixth_robot_that_joins_takes_less_than_two_sixths_of_the_servers(
    network: Network, tmp_path: Path
) -> None:
    with scene(tmp_path, SIX, network) as stage:
        stage.crew.seed([host["url"] for host in stage.web.oracle.get("/hosts")])
        wait_for(lambda: len(owners(stage)) == SIX.hosts)
        before = owners(stage)
        sixth = stage.crew.add_robot(network.machine("sixth"))
        sixth.start()
        wait_for(lambda: "sixth" in owners(stage).values())
        wait_for(lambda: is_settled(stage))
        after = owners(stage)
        moved = {server for server in before if after[server] != before[server]}
        wait_for(lambda: sixth.machine.address in {row["client"] for row in stage.web.oracle.get("/log")})
    assert {after[server] for server in moved} == {"sixth"}
    assert 0 < len(moved) < SIX.hosts * 2 / 6


def test_by_the_usual_rule_too_and_then_servers_stay_where_they_are(network: Network, tmp_path: Path) -> None:
    with scene(tmp_path, SIX_AS_USUAL, network) as stage:
        stage.crew.seed([host["url"] for host in stage.web.oracle.get("/hosts")])
        wait_for(lambda: len(owners(stage)) == SIX_AS_USUAL.hosts)
        time.sleep(5.0 * USUAL.plan_every_s)  # so that something was measured
        before = owners(stage)
        sixth = stage.crew.add_robot(network.machine("sixth"))
        sixth.start()
        moves = Counter[str]()
        for _ in range(40):
            time.sleep(1.0)
            after = owners(stage)
            moves.update(server for server in before if after[server] != before[server])
            before = after
        got = [server for server, owner in after.items() if owner == "sixth"]
        wait_for(lambda: sixth.machine.address in {row["client"] for row in stage.web.oracle.get("/log")})
    print(f"{moves.total()} moves, {len(got)} servers at the sixth")
    assert 0 < moves.total() < SIX_AS_USUAL.hosts * 2 / 6
    assert len(got) >= 5


def owners(stage: Scene) -> dict[str, str]:
    """Who has each server."""
    return dict(stage.database.rows("SELECT name, owner FROM servers WHERE owner IS NOT NULL"))


def is_settled(stage: Scene) -> bool:
    """Nothing is on its way, now and when it was planned again."""
    before = owners(stage)
    time.sleep(2.5 * QUICK.plan_every_s)
    status = stage.crew.status()
    return bool(status and not status["servers"]["on_their_way"] and owners(stage) == before)
