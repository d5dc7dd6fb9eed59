"""When servers are asked: every pause the rules promise, proved by the servers' own log."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from joro.clock import RealClock
from joro.coordinate.share import Share
from tests.scenarios import laws
from tests.scenarios.crawls import QUIET, Seen, crawl, crawling, kill, wait_for
from tests.scenarios.laws import Row, by
from tests.scenarios.stage import Web, done, serve_web
from tests.scenarios.village import Reply, linking, rules, village
from tests.web.names import naming

pytestmark = pytest.mark.slow

CLOCK = RealClock()
#: Of a web that has throttling servers of every kind which are not too patient.
SEED = 1444


@pytest.fixture(scope="module")
def moody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Two processes among slow, flaky, throttling and forbidding servers."""
    tmp = tmp_path_factory.mktemp("moody")
    roles = "restricted,throttling,slow,flaky"
    options = ("--seed", SEED, "--hosts", 40, "--pages", 240, "--roles", roles, "--latency", 20, "--warm")
    manners = {"interval_s": 0.4, "fast_servers_percent": 0, "retry_wait_s": 0.2}
    with serve_web(tmp, *options) as web:
        yield crawl(
            web,
            tmp / "c",
            *("-p", 2, *fronts(web)),
            politeness=manners | {"target_bytes_per_s": 50_000.0},
            fetch={"timeout_s": 1.5},
            scope={"pages_per_server": 4},
        )


def fronts(web: Web) -> list[str]:
    """Every front page: with all of them as seeds nobody waits to be found."""
    return [host["url"] for host in web.oracle.get("/hosts")]


def broken(seen: Seen, groups: list[list[Row]]) -> list[str]:
    """Pauses that were too short by the rules that hold for each of these servers."""
    rows = [row for group in groups for row in group]
    return list(laws.broken(rows, seen.settings.politeness, seen.hosts, seed=SEED))


def pauses(groups: list[list[Row]]) -> list[float]:
    return [after["start"] - before["end"] for rows in groups for before, after in pairwise(rows)]


def test_no_server_ever_had_two_requests_at_once(moody: Seen) -> None:
    assert len(moody.rows) > 120
    assert {row["concurrent"] for row in moody.rows} == {1}


def test_every_server_had_its_pause_after_every_request(moody: Seen) -> None:
    assert broken(moody, list(by(moody.rows).values())) == []
    assert laws.early(moody.rows, 0.4) == []


def test_crawl_delay_is_kept(moody: Seen) -> None:
    (rows,) = moody.of(role="restricted", kind="delay")
    assert len(rows) >= 5
    assert laws.early(rows, 2.0) == []


@pytest.mark.parametrize("kind", ["429-seconds", "503-seconds", "429-date"])
def test_retry_after_is_kept(moody: Seen, kind: str) -> None:
    ((host,), (rows,)) = moody.named(kind=kind), moody.of(kind=kind)
    refused = [pair for pair in pairwise(rows) if pair[0]["status"] in (429, 503)]
    assert len(refused) >= 2
    assert not [pair for pair in refused if laws.is_early(*pair, host["pause_s"])]


def test_a_bare_503_doubles_the_interval_each_time_and_an_answer_halves_it(moody: Seen) -> None:
    ((host,), (rows,)) = moody.named(kind="503-bare"), moody.of(kind="503-bare")
    expected = laws.Expected(moody.settings.politeness, host)
    doublings = []
    for before, after in pairwise(rows):
        wait_s = expected.after(before)
        doublings.append(expected.throttles)
        assert wait_s >= 0.4 * 2**expected.throttles
        assert wait_s - laws.LATE_S < after["start"] - before["end"] < 1.5 * wait_s + 1.5
    assert max(doublings) >= 2
    assert any(later < sooner for sooner, later in pairwise(doublings))


def test_slow_servers_are_asked_less_often_by_the_formula(moody: Seen) -> None:
    slow = [*moody.of(kind="dribble"), *moody.of(role="slow", kind="delay")]
    assert sum(map(len, slow)) >= 8
    assert broken(moody, slow) == []
    assert min(pauses(slow)) > 0.45  # 0.4 and something for being slow


def test_a_server_that_cuts_connections_gets_no_second_request_at_once(moody: Seen) -> None:
    flaky = [*moody.of(kind="reset"), *moody.of(kind="cut"), *moody.of(role="flaky", kind="error")]
    assert sum(map(len, flaky)) >= 14
    assert broken(moody, flaky) == []


def test_nothing_disallowed_was_asked_for_and_robots_txt_came_first(moody: Seen) -> None:
    assert moody.verdict["disallowed"] == 0
    assert laws.missing_rules(moody.rows) == []


def test_a_robots_txt_that_fails_closes_its_server(moody: Seen) -> None:
    (rows,) = moody.of(role="restricted", kind="error")
    assert [row["path"] for row in rows] == ["/robots.txt"] * 3  # retry_limit = 2


def test_the_fastest_fifth_is_visited_twice_as_often(tmp_path: Path) -> None:
    with serve_web(
        tmp_path, "--hosts", 30, "--pages", 300, "--roles", "normal", "--latency", 20, "--warm"
    ) as web:
        manners = {"interval_s": 0.8, "slow_delay_percent": 0}
        seen = crawl(web, tmp_path / "c", *fronts(web), politeness=manners, scope={"pages_per_server": 7})
    assert (seen.verdict["concurrent"], laws.early(seen.rows, 0.4)) == (0, [])
    pairs = [pair for rows in by(seen.rows).values() for pair in pairwise(rows)]
    early = [(before, after) for before, after in pairs if after["start"] - before["end"] < 0.7]
    hurried = [before for before, _ in early]
    others = [before for before, after in pairs if after["start"] - before["end"] >= 0.7]
    assert 0.05 * len(pairs) < len(hurried) < 0.4 * len(pairs)  # a fifth where there is more to compare
    assert speed(hurried) > 1.5 * speed(others)
    fiftieth = sorted(row["end"] for row in seen.rows)[49]
    assert min(after["start"] for _, after in early) >= fiftieth  # before that nobody is called fast


def speed(rows: list[Row]) -> float:
    """Bytes a second, as the server sees it."""
    return float(sum(row["bytes"] / (row["end"] - row["start"]) for row in rows) / len(rows))


def test_requests_follow_at_once_only_while_the_connection_lives(tmp_path: Path) -> None:
    manners = QUIET | {"interval_s": 0.4, "run_pages": 4, "run_pause_s": 1.0, "retry_wait_s": 0.4}
    manners["crawl_delay_limit_s"] = 1.5
    options = ("--hosts", 24, "--pages", 260, "--roles", "flaky,restricted", "--latency", 20, "--warm")
    with serve_web(tmp_path, *options) as web:
        words = ("-p", 2, *fronts(web))
        seen = crawl(web, tmp_path / "c", *words, politeness=manners, scope={"pages_per_server": 7})
    assert {row["concurrent"] for row in seen.rows} == {1}
    found = [run for rows in by(seen.rows).values() for run in laws.runs(rows, 1.0)]
    assert max(map(len, found)) == 4
    assert [run for run in found if len({row["connection"] for row in run}) > 1] == []
    (delayed,) = seen.of(role="restricted", kind="delay")
    assert laws.early(delayed, 1.5) == []  # a wished Crawl-delay is for every request
    unsteady = [*seen.of(connection="close"), *seen.of(connection="http/1.0")]
    assert [laws.early(rows, 1.0) for rows in unsteady] == [[]] * len(unsteady)


def test_a_connection_closed_without_a_word_ends_the_run(tmp_path: Path) -> None:
    site = {f"/{number}": linking(f"/{number + 1}", hangs_up=number % 3 == 2) for number in range(9)}
    manners = QUIET | {"interval_s": 0.5, "run_pages": 100, "run_pause_s": 1.0, "retry_wait_s": 0.5}
    with village({"a.example": site}) as place:
        collection = place.collection(tmp_path / "c", politeness=manners)
        done("crawl", "-q", "-C", collection, "http://a.example/0")
    assert place.paths("a.example") == [f"/{number}" for number in range(10)]
    found = laws.runs(place.log("a.example"), 0.5)
    assert [len({row["connection"] for row in run}) for run in found] == [1, 1, 1, 1]


def test_long_collecting_is_followed_by_a_long_pause(tmp_path: Path) -> None:
    manners = QUIET | {"interval_s": 0.1, "suspend_after_s": 1.5, "suspend_for_s": 2.0}
    with serve_web(
        tmp_path, "--hosts", 4, "--pages", 120, "--roles", "normal", "--latency", 20, "--warm"
    ) as web:
        seen = crawl(web, tmp_path / "c", politeness=manners, scope={"pages_per_server": 20})
    stretches = [laws.runs(rows, 2.0) for rows in by(seen.rows).values()]
    assert sum(len(each) > 1 for each in stretches) >= 2
    lengths_s = [one[-1]["start"] - one[0]["start"] for each in stretches for one in each]
    assert max(lengths_s) < 1.5 + 0.1 + 0.3  # the visit that ends after 1.5 s is the last


def test_two_processes_are_never_at_one_address_together(tmp_path: Path) -> None:
    manners = QUIET | {"interval_s": 0.5, "per_address": 1, "address_interval_s": 0.25}
    options = (
        "--hosts",
        60,
        "--pages",
        240,
        "--roles",
        "normal",
        "--addresses",
        "own",
        "--latency",
        20,
        "--warm",
    )
    with serve_web(tmp_path, *options) as web:
        words = ("-p", 2, *fronts(web))
        seen = crawl(web, tmp_path / "c", *words, politeness=manners, scope={"pages_per_server": 3})
    owner = Share(0, 2).owner
    visitors = [
        {owner(f"http://{row['host']}") for row in rows} for rows in by(seen.rows, "address").values()
    ]
    assert visitors.count({0, 1}) >= 2
    assert {row["sharing"] for row in seen.rows} == {1}
    assert laws.early(seen.rows, 0.25, "address") == []
    assert laws.early(seen.rows, 0.5) == []


def test_a_robots_txt_for_servers_of_another_process_is_no_second_request_at_once(tmp_path: Path) -> None:
    moved = Reply(status=301, fields=(("Location", "http://hub.example/robots.txt"),))
    hub = {f"/{number}": linking(f"/{number + 1}") for number in range(12)}
    sites = {f"h{number}.example": {"/": linking(), "/robots.txt": moved} for number in range(8)}
    seeds = ["http://hub.example/0", *(f"http://{name}/" for name in sites)]
    with village(sites | {"hub.example": {**hub, "/robots.txt": rules("Allow: /")}}) as place:
        collection = place.collection(tmp_path / "c", politeness=QUIET | {"interval_s": 0.3})
        done("crawl", "-q", "-C", collection, "-p", 2, *seeds)
    assert {Share(0, 2).owner(f"http://{name}") for name in sites} == {0, 1}
    assert [len(place.paths(name)) for name in sites] == [1] * 8
    assert len(place.paths("hub.example")) == 13
    assert len(place.log("hub.example")) >= 9 + 13
    assert laws.early(place.log("hub.example"), 0.3) == []


def test_an_address_is_not_crowded_by_hosts_whose_first_address_is_dead(tmp_path: Path) -> None:
    hosts = {f"h{number}.example": [f"127.9.0.{number + 1}", "127.0.0.1"] for number in range(8)}
    with village({name: {"/": linking()} for name in hosts}) as place, naming(hosts) as server:
        manners = QUIET | {"interval_s": 0.1, "per_address": 1, "address_interval_s": 0.1}
        fetch = {"nameservers": list(server.nameservers), "hosts": {}}
        collection = place.collection(tmp_path / "c", politeness=manners, fetch=fetch)
        done("crawl", "-q", "-C", collection, *(f"http://{name}/" for name in hosts))
    at_the_living_one = [row | {"address": "127.0.0.1"} for row in place.rows]
    assert len(at_the_living_one) == 16
    assert laws.early(at_the_living_one, 0.1, "address") == []


#: The robot's clock is set to another hour; its seconds are as long as ours.
SHIFTED_CLOCK = (
    "import os, time\n_now = time.time\ntime.time = lambda: _now() + float(os.environ['SHIFT_S'])\n"
)


@pytest.mark.parametrize("processes", [1, 2])
def test_visits_begin_only_at_the_hours_of_each_server(tmp_path: Path, processes: int) -> None:
    (tmp_path / "sitecustomize.py").write_text(SHIFTED_CLOCK)
    two_in_tokyo = datetime(2026, 11, 15, 17, 0, tzinfo=UTC).timestamp()  # of a Monday
    hours = {
        ".jp": "weekdays 02:00-08:00 Asia/Tokyo",  # about to open
        ".com": "sun 08:00-12:00 America/New_York",  # about to close; summer time is over
        ".org": "sat 10:00-11:00 Europe/Berlin",
    }
    patterns = [{"servers": [f"*{end}"], "window": window} for end, window in hours.items()]
    with serve_web(
        tmp_path, "--hosts", 40, "--pages", 400, "--roles", "slow", "--latency", 20, "--warm"
    ) as web:
        slow = [host["name"] for host in web.oracle.get("/hosts", role="slow")]
        manners = QUIET | {"interval_s": 0.1, "rules": [*patterns, {"servers": slow, "window": ""}]}
        # Two sockets, often kept busy by the slow ones: hours end while servers wait for their turn.
        fetch = {"sockets": 2, "timeout_s": 1.0}
        collection = web.collection(tmp_path / "c", politeness=manners, fetch=fetch)
        seeds = fronts(web)
        opening = CLOCK.now() + 9.0  # enough to start on a busy machine
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        environment = os.environ | {"PYTHONPATH": path, "SHIFT_S": str(two_in_tokyo - opening)}
        with crawling(collection, "-p", processes, *seeds, env=environment):
            time.sleep(opening + 2.0 - CLOCK.now())
            wait_for(lambda: sum(row["host"].endswith(".jp") for row in web.oracle.get("/log")) > 2)
        rows = [row for row in web.oracle.get("/log") if row["host"] not in slow]
    late = {end: [row["start"] - opening for row in rows if row["host"].endswith(end)] for end in hours}
    assert (len(late[".jp"]) > 2, len(late[".com"]) > 2, late[".org"]) == (True, True, [])
    assert min(late[".jp"]) > -0.01
    assert max(late[".com"]) < 0.15  # on its way while the clock struck
    assert laws.early(rows, 0.1) == []


def test_nobody_is_asked_after_hours_because_its_name_was_looked_up_so_long(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SHIFTED_CLOCK)
    closing = CLOCK.now() + 8.0  # enough to start on a busy machine
    shift_s = datetime(2026, 11, 16, 12, 0, tzinfo=UTC).timestamp() - closing

    def slowly(name: str) -> list[str]:
        if name == "slow.example":
            time.sleep(max(0.0, closing + 0.2 - CLOCK.now()))
        return ["127.0.0.1"]

    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = os.environ | {"PYTHONPATH": path, "SHIFT_S": str(shift_s)}
    site = {"/": linking()}
    with village({"slow.example": site, "quick.example": site}) as place, naming(slowly) as server:
        manners = {"interval_s": 0.0, "window": "daily 11:00-12:00 UTC"}
        fetch = {"nameservers": list(server.nameservers), "hosts": {"quick.example": "127.0.0.1"}}
        collection = place.collection(tmp_path / "c", politeness=manners, fetch=fetch)
        seeds = ("http://quick.example/", "http://slow.example/")
        with crawling(collection, *seeds, env=environment):
            wait_for(lambda: place.asked["quick.example", "/"] and server.asked["slow.example"])
            time.sleep(closing + 1.5 - CLOCK.now())
    assert place.log("slow.example") == []


CHAIN = {f"/{number}": linking(f"/{number + 1}") for number in range(30)}


def refusing_once(status: int, onwards: str) -> Any:
    """A page that asks for four seconds of rest the first time."""
    refusal = Reply("", status, (("Retry-After", "4"),))
    return lambda count: refusal if count == 1 else linking(onwards)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_what_a_kill_makes_us_forget_harms_no_server(tmp_path: Path, before: int, after: int) -> None:
    sites = dict.fromkeys(["usual.example", "rare.example", "resting.example"], CHAIN)
    sites["wishing.example"] = CHAIN | {"/robots.txt": rules("Crawl-delay: 2")}
    sites["error.example"] = CHAIN | {"/2": refusing_once(500, "/3")}
    sites["busy.example"] = CHAIN | {"/3": refusing_once(429, "/4")}
    exceptions = [
        {"servers": ["rare.example"], "interval_s": 1.5},
        {"servers": ["resting.example"], "suspend_after_s": 1.0, "suspend_for_s": 4.0},
    ]
    manners = QUIET | {"interval_s": 0.5, "retry_wait_s": 0.5, "rules": exceptions}
    with village(sites) as place:
        collection = place.collection(tmp_path / "c", politeness=manners)
        with crawling(collection, "-p", before, *(f"http://{host}/0" for host in sites)) as process:
            wait_for(lambda: place.asked["busy.example", "/3"])
            time.sleep(0.4)  # the answer is there, also on a busy machine, and no commit was due
            kill(process)
        killed_at = CLOCK.now()
        with crawling(collection, "-p", after):
            time.sleep(0.3)
        with crawling(collection, "-p", after):  # ended gently, and started once more
            wait_for(lambda: all(place.log(host)[-1]["start"] > killed_at for host in sites))
            wait_for(lambda: len(laws.runs(place.log("resting.example"), 4.0)) == 2)
            wait_for(lambda: place.asked["busy.example", "/3"] > 1 < place.asked["error.example", "/2"])
    waits = {"usual.example": 0.5, "rare.example": 1.5, "wishing.example": 2.0}
    assert [laws.early(place.log(host), wait_s) for host, wait_s in waits.items()] == [[], [], []]
    for host, path in (("busy.example", "/3"), ("error.example", "/2")):
        first, again = [row for row in place.log(host) if row["path"] == path][:2]
        assert not laws.is_early(first, again, 4.0)
        assert [row for row in place.log(host) if first["start"] < row["start"] < again["start"]] == []
