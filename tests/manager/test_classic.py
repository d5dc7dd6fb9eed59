import gzip
import logging
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from joro.coordinate.beat import Beat, Given
from joro.manager import logbook, orders
from joro.manager.beats import beat
from joro.manager.classic import Limits
from joro.manager.tokens import add_robot
from tests.manager.desk import NOON, Desk, desk
from tests.postgres import Postgres, postgres_server

ROBOT = "prs.waseda.ac.jp"
LINE = b'"http://a.jp/",90,4096,250,"HTTP/1.0 200 OK"\n'
SMALL = Limits(list_bytes=100_000, log_bytes=100_000, unpacked_bytes=1_000_000, lines=60_000)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    is_file = request.param == "sqlite"
    database = "" if is_file else request.getfixturevalue("postgres").new_database()
    with desk(tmp_path, SMALL, database, classic=True, silent_after_s=3_600.0, grace_s=10.0) as served:
        yield served


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


def list_for(hub: Desk, robot: str = ROBOT) -> list[str]:
    answer = hub.ask(f"/servlets/list?host={robot}")
    assert answer.status == 200, answer.text
    return gzip.decompress(answer.body).decode("ascii").splitlines()


def record(hub: Desk, *lines: str) -> int:
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    return hub.ask("/servlets/record", packed).status


def log_of(lines: bytes = LINE, name: str = f"{ROBOT}.202611161130") -> bytes:
    return name.encode() + b"\n" + gzip.compress(lines, mtime=0)


def subscribe(hub: Desk, *robots: str) -> None:
    for robot in robots or (ROBOT,):
        assert hub.ask(f"/servlets/subscribe?host={robot}").status == 200


def given_to(hub: Desk, robot: str) -> list[Given]:
    """What a robot of ours was given so far, when it calls now."""
    answer = beat(hub.control, Beat(robot, robot, hub.clock.now()), hub.collection.config.manager)
    given = [letter.content for letter in answer.letters if isinstance(letter.content, Given)]
    return sorted(given, key=lambda each: each.server)


def restart_told(hub: Desk, robot: str = ROBOT) -> bool:
    return hub.ask(f"/servlets/isrestart?host={robot}").body.split(b"\n")[0] == b"RESTART"


def test_a_list_is_gzip_with_a_server_a_line_as_s1_prints_it(hub: Desk) -> None:
    subscribe(hub)
    record(hub, "http://www.etl.go.jp:80/", "https://b.jp/", "http://c.jp:8080/x\thttp://www.etl.go.jp/links")
    answer = hub.ask(f"/servlets/list?host={ROBOT}")
    assert gzip.decompress(answer.body) == (
        b"http://c.jp:8080/\nhttp://c.jp:8080/x\thttp://www.etl.go.jp/links\n"
        b"http://www.etl.go.jp:80/\nhttps://b.jp:443/\n"
    )
    assert "content-encoding" not in answer.headers


def test_a_list_is_the_same_however_often_it_is_fetched(hub: Desk) -> None:
    subscribe(hub)
    for _ in range(3):
        record(hub, "http://a.jp/", "http://a.jp/deep")
    assert list_for(hub) == list_for(hub) == ["http://a.jp:80/", "http://a.jp/deep"]


def test_a_long_list_is_taken_in_little_memory(hub: Desk) -> None:
    packed = gzip.compress(b"http://a.jp/x\n" * 50_000)
    tracemalloc.start()
    try:
        assert hub.ask("/servlets/record", packed).text == "50000 taken\n"
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert hub.rows("SELECT COUNT(*) FROM letters") == [(50,)]
    assert most_bytes < 3_000_000


@pytest.mark.parametrize(
    "odd", ["http://x.jp:0/", "http://x.jp:99999/", "http://999.1.1.1/", f"http://{'a.' * 200}jp/"]
)
def test_a_server_that_nobody_can_ask_keeps_no_other_from_being_taken(hub: Desk, odd: str) -> None:
    packed = gzip.compress(f"http://a.jp/\n{odd}\nhttp://b.jp/\t{odd}\n".encode())
    assert hub.ask("/servlets/record", packed).text == "2 taken, 1 cannot be asked\n"
    assert hub.rows("SELECT name FROM servers ORDER BY name") == [("http://a.jp",), ("http://b.jp",)]


def test_a_robots_box_is_put_in_order_before_it_is_full_of_repetitions(hub: Desk) -> None:
    subscribe(hub)
    for _ in range(70):
        record(hub, "http://a.jp/deep")
    assert list_for(hub) == ["http://a.jp:80/", "http://a.jp/deep"]
    assert len(hub.rows("SELECT 1 FROM letters WHERE robot = ?", ROBOT)) == 1


def test_servers_found_before_anyone_takes_part_wait_for_the_first_robot(hub: Desk) -> None:
    assert record(hub, "http://a.jp/") == 200
    subscribe(hub)
    assert list_for(hub) == ["http://a.jp:80/"]


def test_every_server_is_on_one_list(hub: Desk) -> None:
    subscribe(hub, "one.jp", "two.jp")
    record(hub, *(f"http://s{number}.jp/" for number in range(10)))
    one, two = list_for(hub, "one.jp"), list_for(hub, "two.jp")
    assert len(one) == len(two) == 5
    assert len({*one, *two}) == 10


def test_the_operator_limits_lists_to_50_pages_and_lifts_that(hub: Desk) -> None:
    subscribe(hub)
    record(hub, "http://a.jp/")
    with hub.control.transaction() as transaction:
        orders.limit_lists(transaction, 50)
    assert list_for(hub) == ["#MaxTransfer=50", "http://a.jp:80/"]
    with hub.control.transaction() as transaction:
        orders.limit_lists(transaction, None)
    assert list_for(hub) == ["http://a.jp:80/"]


def test_a_robot_is_told_to_restart_until_it_has_fetched_a_list(hub: Desk) -> None:
    subscribe(hub)
    assert not restart_told(hub)
    with hub.control.transaction() as transaction:
        orders.restart(transaction, [ROBOT])
    list_for(hub)  # it was not told yet: this is not what handles the restart
    assert restart_told(hub)
    assert restart_told(hub)
    list_for(hub)
    assert not restart_told(hub)
    assert hub.rows("SELECT restarted_at FROM robots") == [(NOON,)]


def test_the_servers_of_a_silent_robot_move_and_it_restarts_when_it_comes_back(hub: Desk) -> None:
    subscribe(hub, "one.jp", "two.jp")
    record(hub, "http://a.jp/", "http://b.jp/", "http://b.jp/deep", "http://a.jp/deep")
    lost = list_for(hub, "one.jp")
    hub.pass_s(3_600)
    list_for(hub, "two.jp")
    hub.pass_s(11)
    hub.look_after()
    assert hub.rows("SELECT state FROM robots ORDER BY name") == [("down",), ("up",)]
    assert set(lost) < set(list_for(hub, "two.jp"))
    assert len(list_for(hub, "two.jp")) == 4
    assert restart_told(hub, "one.jp")
    assert list_for(hub, "one.jp") == []
    assert not restart_told(hub, "one.jp")


def test_the_last_robot_keeps_its_servers_and_its_pages_however_silent(hub: Desk) -> None:
    subscribe(hub)
    record(hub, "http://a.jp/")
    list_for(hub)
    hub.pass_s(4_000)
    hub.look_after()
    assert hub.rows("SELECT state FROM robots") == [("down",)]
    assert not restart_told(hub)
    assert list_for(hub) == ["http://a.jp:80/"]


def test_a_robot_that_unsubscribes_leaves_its_servers_to_others_at_once(hub: Desk) -> None:
    subscribe(hub, "one.jp", "two.jp")
    record(hub, "http://a.jp/", "http://b.jp/deep")
    assert hub.ask("/servlets/unsubscribe?host=one.jp").status == 200
    assert list_for(hub, "two.jp") == ["http://a.jp:80/", "http://b.jp:80/", "http://b.jp/deep"]
    assert hub.ask("/servlets/list?host=one.jp").status == 403
    subscribe(hub, "one.jp")
    assert list_for(hub, "one.jp") == []


def test_robots_of_ours_wait_before_they_ask_what_a_classic_robot_has_just_asked(hub: Desk) -> None:
    subscribe(hub)
    record(hub, "http://a.jp/", "http://b.jp/")
    list_for(hub)
    add_robot(hub.control, "ours")
    given_to(hub, "ours")
    with hub.control.transaction() as transaction:
        transaction.run("UPDATE servers SET heir = 'ours' WHERE name = 'http://a.jp'")
    list_for(hub)
    assert given_to(hub, "ours") == [Given("http://a.jp", journal=1)]
    hub.ask(f"/servlets/unsubscribe?host={ROBOT}")
    assert given_to(hub, "ours") == [Given("http://a.jp", journal=1), Given("http://b.jp", journal=1)]


def test_they_wait_too_when_nobody_had_the_server_in_between(hub: Desk) -> None:
    subscribe(hub)
    record(hub, "http://a.jp/")
    hub.ask(f"/servlets/unsubscribe?host={ROBOT}")
    record(hub, "http://new.jp/")
    assert hub.rows("SELECT owner FROM servers") == [(None,), (None,)]
    add_robot(hub.control, "ours")
    assert given_to(hub, "ours") == [Given("http://a.jp", journal=1), Given("http://new.jp", journal=0)]


def test_a_log_is_kept_by_when_it_came_and_teaches_distances(hub: Desk) -> None:
    subscribe(hub)
    record(hub, "http://a.jp/")
    assert hub.ask("/servlets/submitlog", log_of(LINE + LINE)).status == 200
    assert (hub.collection.logs / f"{ROBOT}.202611161200").read_bytes() == LINE + LINE
    assert hub.rows("SELECT robot, server, pages, bytes, ms FROM efforts") == [
        (ROBOT, "http://a.jp", 2, 8_192, 500)
    ]
    assert hub.rows("SELECT kb FROM servers") == [(8.0,)]


def test_the_last_log_of_a_robot_that_unsubscribed_is_taken(hub: Desk) -> None:
    subscribe(hub)
    record(hub, "http://a.jp/")
    hub.ask(f"/servlets/unsubscribe?host={ROBOT}")
    assert hub.ask("/servlets/submitlog", log_of()).text == "1 visits taken\n"
    assert hub.rows("SELECT robot, server, pages FROM efforts") == [(ROBOT, "http://a.jp", 1)]
    assert hub.rows("SELECT state FROM robots") == [("left",)]


def test_a_long_log_is_taken_in_little_memory(hub: Desk) -> None:
    subscribe(hub)
    long = log_of(LINE * 20_000)
    tracemalloc.start()
    try:
        assert hub.ask("/servlets/submitlog", long).text == "20000 visits taken\n"
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most_bytes < 2_000_000


def test_a_log_that_names_too_many_servers_is_refused_where_they_are_summed_up(
    hub: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logbook, "MOST_SERVERS", 2)
    subscribe(hub)
    lines = b"".join(b'"http://%d.jp/",1,2,3,""\n' % number for number in range(3))
    refused = hub.ask("/servlets/submitlog", log_of(lines))
    assert (refused.status, "more than 2 servers; send it in parts" in refused.text) == (400, True)
    assert list(hub.collection.logs.iterdir()) == []
    ours = log_of(lines, "ours.202611161130")
    assert hub.ask("/servlets/submitlog", ours, add_robot(hub.control, "ours")).text == "3 visits taken\n"


def test_a_log_that_is_sent_again_is_acknowledged_and_counted_once(hub: Desk) -> None:
    subscribe(hub)
    assert hub.ask("/servlets/submitlog", log_of()).status == 200
    before = hub.state()
    hub.pass_s(90)
    again = hub.ask("/servlets/submitlog", log_of())
    assert (again.status, again.text) == (200, "1 visits were here already\n")
    assert hub.state() == before
    assert len(list(hub.collection.logs.iterdir())) == 1


def test_a_log_that_is_sent_again_under_another_date_is_counted_once_unless_it_is_empty(hub: Desk) -> None:
    subscribe(hub, ROBOT, "other.jp")
    dates = (f"{ROBOT}.202611161130", f"{ROBOT}.202611161145", "other.jp.202611161130")
    said = [hub.ask("/servlets/submitlog", log_of(name=name)).text for name in dates]
    assert said == ["1 visits taken\n", "1 visits were here already\n", "1 visits taken\n"]
    assert hub.rows("SELECT pages FROM efforts") == [(1,), (1,)]
    empty = [log_of(b"", f"{ROBOT}.2026111611{minute}") for minute in (46, 47)]
    assert [hub.ask("/servlets/submitlog", each).text for each in empty] == ["0 visits taken\n"] * 2


def test_a_log_that_arrives_twice_at_once_is_counted_once(hub: Desk) -> None:
    subscribe(hub)
    with ThreadPoolExecutor(4) as senders:
        said = list(senders.map(lambda _: hub.ask("/servlets/submitlog", log_of()).text, range(4)))
    assert sorted(said) == ["1 visits taken\n"] + ["1 visits were here already\n"] * 3
    assert hub.rows("SELECT pages FROM efforts") == [(1,)]
    assert len(list(hub.collection.logs.iterdir())) == 1


def test_two_logs_of_one_minute_have_two_files(hub: Desk) -> None:
    subscribe(hub)
    for lines, stamp in ((LINE, "202611161130"), (LINE * 2, "202611161131")):
        hub.ask("/servlets/submitlog", log_of(lines, f"{ROBOT}.{stamp}"))
    assert sorted(path.name for path in hub.collection.logs.iterdir()) == [
        f"{ROBOT}.202611161200",
        f"{ROBOT}.202611161200.2",
    ]


HUGE = b'"http://a.jp/",1,1000000000000000,250,""\n'


@pytest.mark.parametrize(
    ("page", "body", "status", "problem"),
    [
        ("record", b"http://a.jp/\n", 400, "is no gzip"),
        ("record", gzip.compress(b"http://a.jp/\n", mtime=0)[:-5], 400, "is cut off"),
        ("record", gzip.compress(b"http://a.jp/", mtime=0), 400, "no line feed"),
        ("record", gzip.compress(b"http://a.jp/\nrm -rf\n", mtime=0), 400, "line 2: 'rm -rf' is no URL"),
        (
            "record",
            gzip.compress(b"http://a.jp:0/\nhttp://a.jp/\nrm -rf\n", mtime=0),
            400,
            "line 3: 'rm -rf' is no URL",
        ),
        ("record", gzip.compress(b"\xff\n", mtime=0), 400, "line 1 is not UTF-8"),
        ("record", gzip.compress(b"#" * 2_000_000, mtime=0), 400, "unpacks to more than 1,000,000 bytes"),
        ("record", gzip.compress(b"#\n" * 60_001, mtime=0), 400, "more than 60,000 lines; send it in parts"),
        ("record", b"x" * 200_000, 413, "more than 100,000 bytes"),
        ("submitlog", b"", 400, "no file name"),
        ("submitlog", f"{ROBOT}.202611161130\n".encode() + LINE, 400, "is no gzip"),
        ("submitlog", log_of(b"junk\n"), 400, "line 1: 'junk' is no visit"),
        ("submitlog", log_of(LINE + b'"http://a.jp/",1,2,3,"\n'), 400, "a head that has no end"),
        (
            "submitlog",
            log_of(HUGE),
            400,
            "visit 1 of prs.waseda.ac.jp.202611161130 has 1,000,000,000,000,000",
        ),
        ("submitlog", log_of(b"#" * 2_000_000), 400, "unpacks to more than"),
        ("submitlog", log_of(b"#\n" * 240_001), 400, "more than 240,000 lines; send it in parts"),
        ("submitlog", b"x" * 200_000, 413, "more than 100,000 bytes"),
        ("submitlog", log_of(name="../../evil.202611161130"), 400, "is no robot's name"),
        ("submitlog", log_of(name="/evil.202611161130"), 400, "is no robot's name"),
        ("submitlog", log_of(name=f"{ROBOT}.202613161130"), 400, "names no log"),
        ("submitlog", log_of(name="other.jp.202611161130"), 403, "other.jp takes no part"),
        ("submitlog", b"other.jp.202611161130\nnot even unpacked", 403, "other.jp takes no part"),
        ("submitlog", log_of(name=f"{ROBOT}.202611170301"), 409, "it is 202611161200 (UTC) here"),
        ("submitlog", log_of(name=f"{ROBOT}.19700101"), 409, "set the robot's clock"),
        ("submitlog", log_of(LINE * 2, f"{ROBOT}.20261115"), 409, "is here already, with other lines"),
    ],
)
def test_a_bad_message_is_refused_in_one_line_and_changes_nothing(
    hub: Desk, caplog: pytest.LogCaptureFixture, page: str, body: bytes, status: int, problem: str
) -> None:
    subscribe(hub)
    hub.ask("/servlets/submitlog", log_of(name=f"{ROBOT}.20261115"))
    before, kept = hub.state(), sorted(hub.collection.logs.iterdir())
    with caplog.at_level(logging.WARNING, logger="joro.manager"):
        answer = hub.ask(f"/servlets/{page}", body)
    assert answer.status == status
    assert problem in answer.text
    assert "\n" not in answer.text.strip()
    assert f"refused POST /servlets/{page} to 127.0.0.1: {status}" in caplog.text
    assert hub.state() == before
    assert sorted(hub.collection.logs.iterdir()) == kept


@pytest.mark.parametrize("page", ["list", "isrestart", "subscribe", "unsubscribe"])
@pytest.mark.parametrize(
    "query",
    ["", "host=", "host=a/b", "host=a&host=b", "host=..%2Fx", "host=a%00", "hosts=x", "host=a" + "&b=c" * 20],
)
def test_whoever_is_not_named_properly_is_nobody(hub: Desk, page: str, query: str) -> None:
    before = hub.state()
    assert hub.ask(f"/servlets/{page}?{query}").status == 400
    assert hub.state() == before


@pytest.mark.parametrize("page", ["list", "isrestart", "subscribe", "unsubscribe"])
def test_whoever_only_asks_for_the_head_of_an_answer_changes_nothing(hub: Desk, page: str) -> None:
    subscribe(hub)
    before = hub.state()
    robot = "new.jp" if page == "subscribe" else ROBOT
    answer = hub.ask(f"/servlets/{page}?host={robot}", method="HEAD")
    assert (answer.status, answer.headers["allow"]) == (405, "GET")
    assert hub.state() == before


def test_a_robot_that_never_subscribed_gets_no_list(hub: Desk) -> None:
    before = hub.state()
    answer = hub.ask(f"/servlets/list?host={ROBOT}")
    assert (answer.status, "/servlets/subscribe?host=prs.waseda.ac.jp" in answer.text) == (403, True)
    assert hub.state() == before


def test_nobody_acts_for_a_robot_that_has_a_token_without_it(hub: Desk) -> None:
    token, other = add_robot(hub.control, ROBOT), add_robot(hub.control, "other.jp")
    page = f"/servlets/subscribe?host={ROBOT}"
    assert [hub.ask(page, token=shown).status for shown in ("", "wrong", other, token)] == [
        401,
        403,
        403,
        200,
    ]
    assert hub.ask(f"/servlets/list?host={ROBOT}").status == 401
    assert hub.ask("/servlets/submitlog", log_of()).status == 401
    assert hub.ask("/servlets/submitlog", log_of(), token=other).status == 403
    assert hub.ask("/servlets/submitlog", log_of(), token=token).status == 200


def test_a_robot_that_beats_cannot_become_a_classic_one(hub: Desk) -> None:
    token = add_robot(hub.control, ROBOT)
    with hub.control.transaction() as transaction:
        transaction.run("UPDATE robots SET identity = 'x'")
    assert hub.ask(f"/servlets/subscribe?host={ROBOT}", token=token).status == 409


def test_without_classic_every_message_needs_a_token(tmp_path: Path) -> None:
    with desk(tmp_path) as hub:
        token = add_robot(hub.control, ROBOT)
        pages = [f"{page}?host={ROBOT}" for page in ("subscribe", "list", "isrestart", "unsubscribe")]
        before = hub.state()
        assert {hub.ask(f"/servlets/{page}").status for page in pages} == {401}
        assert {hub.ask(f"/servlets/{page}", b"").status for page in ("record", "submitlog")} == {401}
        assert hub.state() == before
        assert {hub.ask(f"/servlets/{page}", token=token).status for page in pages} == {200}


def test_a_log_without_room_is_to_be_sent_again(hub: Desk, caplog: pytest.LogCaptureFixture) -> None:
    subscribe(hub)
    before = hub.state()
    folder = hub.collection.logs
    folder.rmdir()
    folder.touch()  # a file: nothing can be written in it
    assert hub.ask("/servlets/submitlog", log_of()).status == 507
    assert "finds no room in" in caplog.text
    assert hub.state() == before
