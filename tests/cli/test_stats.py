"""`joro stats` and `joro explain` on how servers are kept fresh."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from joro.cli import joro
from joro.clock import FakeClock
from joro.config import Refresh, from_tables
from joro.robot.planner import Planner
from joro.schedule.plan import wish
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import set_share_count

HOUR = 3_600.0
#: Pages that wish an hourly visit; a server bears 20 s of pause and 5 s of download, 144 pages.
SERVERS = {"http://a.example": 36, "http://b.example": 288, "http://c.example": 72}


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Three servers, one of which is asked for twice as much as it bears; another missed visits."""
    made = Collection.create(tmp_path / "c", from_tables({"refresh": {"visits_per_day": 9_000_000}}))
    set_share_count(made.frontier, 1)
    frontier = Frontier(made.frontier / "0-of-1")
    for server, pages in SERVERS.items():
        frontier.add([f"{server}/"], 0)
        record = frontier.server(server)
        record.download_s, record.longest_download_s, record.said = 1.0, 5.0, (1e3, 0.0)
        for _ in range(pages):
            wish(record.wishes, HOUR, 1.0)
    frontier.settle(lambda _: 1_000)
    frontier.server("http://c.example").missed = 7
    frontier.commit(None)
    planner = Planner(frontier, made.config.refresh, FakeClock(1.8e9), sockets=50, minimum_s=lambda *_: 20.0)
    planner.round()
    frontier.commit(None)
    frontier.close()
    return made.path


def told(*words: str) -> str:
    result = CliRunner().invoke(joro, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def servers(collection: Path, most: int) -> list[dict[str, Any]]:
    found = json.loads(told("stats", "-C", str(collection), "--json", "--servers", str(most)))
    return list(found["kept_fresh"])


def test_servers_that_missed_most_come_first_then_those_asked_for_most(collection: Path) -> None:
    names = [each["server"] for each in servers(collection, 3)]
    assert names == ["http://c.example", "http://b.example", "http://a.example"]
    assert [each["server"] for each in servers(collection, 1)] == names[:1]


def test_figures_of_a_server_asked_for_twice_as_much_as_it_bears(collection: Path) -> None:
    found = servers(collection, 2)[1]
    assert (found["pages"], found["missed"], found["waiting"]) == (288, 0, 0)
    assert found["wished_per_day"] == pytest.approx(288 * 24)
    assert found["kept_per_day"] == pytest.approx(144 * 24)
    assert found["access_interval_s"] == pytest.approx(25.0)
    assert found["utilisation"] == pytest.approx(2.0)
    assert found["change_interval_s"] == pytest.approx(20 * 86_400, rel=0.5)
    assert 0.95 < found["freshness"] < 1.0


def test_a_server_bears_what_its_hours_leave(collection: Path) -> None:
    settings = collection / "joro.toml"
    hours = "[politeness]\nwindow = 'daily 02:00-03:00'"
    settings.write_text(settings.read_text().replace("[politeness]", hours, 1))
    found = servers(collection, 2)[1]
    assert found["kept_per_day"] == pytest.approx(144)
    assert found["utilisation"] == pytest.approx(48.0)


def test_people_get_a_table(collection: Path) -> None:
    lines = told("stats", "-C", str(collection), "--servers", "2").splitlines()
    table = [line for line in lines if line.endswith((" server", "http://c.example", "http://b.example"))]
    assert len(table[-3:]) == 3
    assert "200.0 %" in table[-1]
    assert "7" in table[-2].split()


def test_without_the_option_nobody_reads_all_servers(collection: Path) -> None:
    assert "kept_fresh" not in json.loads(told("stats", "-C", str(collection), "--json"))


def test_servers_revised_the_hardest_hit_and_a_budget_too_large_are_told(collection: Path) -> None:
    out = told("stats", "-C", str(collection))
    assert "stretch, all intervals by one factor: 1 server 2 times less often" in out
    assert "asked for  9,000,000 visits a day" in out
    plan = json.loads(told("stats", "-C", str(collection), "--json"))["plan"]
    assert (plan["servers_revised"], plan["missed"]) == (1, 7)
    assert plan["most_revised"] == pytest.approx(2.0, rel=1e-4)


def test_a_page_is_explained_with_the_figures_of_its_server(collection: Path) -> None:
    words = "explain", "-C", str(collection), "http://c.example/"
    out = told(*words)
    assert "Its server" in out
    assert "72 pages are visited again: 1,728 visits a day are wished, 50 % of what it bears." in out
    assert "7 visits were missed" in out
    found = json.loads(told(*words, "--json"))["server"]
    assert (found["pages"], found["missed"]) == (72, 7)


def test_a_page_of_a_server_that_is_not_kept_fresh_is_explained_without(collection: Path) -> None:
    words = "explain", "-C", str(collection), "http://nobody.example/"
    assert "Its server" not in told(*words)
    assert json.loads(told(*words, "--json"))["server"] is None


def test_pages_that_wait_are_not_said_to_be_unvisited(collection: Path) -> None:
    out = told("stats", "-C", str(collection))
    assert "waiting for a visit" in out
    assert "not yet visited" not in out


def test_servers_without_a_page_are_not_among_the_largest(collection: Path) -> None:
    assert json.loads(told("stats", "-C", str(collection), "--json"))["largest_servers"] == {}
    assert "largest servers" not in told("stats", "-C", str(collection))


def test_more_visits_than_the_budget_are_told(collection: Path) -> None:
    frontier = Frontier(collection / "frontier" / "0-of-1")
    refresh = Refresh(enabled=True, visits_per_day=100)
    Planner(frontier, refresh, FakeClock(1.8e9), sockets=50, minimum_s=lambda *_: 20.0).round()
    frontier.commit(None)
    frontier.close()
    assert "asked for  100 visits a day (visits_per_day); second visits, watched sources" in told(
        "stats", "-C", str(collection)
    )


def test_programs_are_told_of_as_many_pages_found_as_people(collection: Path) -> None:
    frontier = Frontier(collection / "frontier" / "0-of-1")
    frontier.add(["http://a.example/late"], 1)
    frontier.settle(lambda _: 1)
    frontier.commit(None)
    frontier.close()
    found = json.loads(told("stats", "-C", str(collection), "--json"))
    assert found["coverage"]["reasons"]["refused"] == {"over quota": 1}
    assert (found["found"], sum(found["coverage"]["pages"].values()), found["waiting"]) == (4, 4, 3)
