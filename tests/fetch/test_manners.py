"""The rules of politeness together, one server's life at a time; the clock is a number."""

from __future__ import annotations

import datetime
import random
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.config import Override, Politeness
from joro.config.declare import YEAR_S
from joro.errors import ConfigError
from joro.fetch.politeness import LONGEST_WAIT_S, Manners, retry_after_s
from joro.model import PASSING, Outcome, Page, Response, Visit
from joro.store.records import ServerRecord

SERVER = "http://a.example"
#: A page of this size in one second is exactly as fast as a server must be not to be slow.
TARGET = 14_000


def visit(
    outcome: Outcome = Outcome.OK,
    *,
    size: int = TARGET,
    retry_after: str = "",
    kept_alive: bool = False,
    time: float = 0.0,
    server: str = SERVER,
) -> Visit:
    headers = {"retry-after": retry_after} if retry_after else {}
    response = Response(200, b"", b"x" * size, headers)
    page = Page(f"{server}/", 0, server)
    return Visit(page, time, outcome, response=response, elapsed_s=1.0, kept_alive=kept_alive)


class Life:
    """One server's record, and the moments at which its visits end."""

    def __init__(self, settings: Politeness, seed: int = 1) -> None:
        self.manners = Manners(settings, random.Random(seed))
        self.record = ServerRecord()
        self.now = 1_000_000.0

    def wait(self, ended: Visit, *, crawl_delay_s: float | None = None, fast: bool = False) -> float:
        """Seconds to wait after this visit; then they have passed."""
        ready_at = self.manners.ready_at(self.record, ended, crawl_delay_s, self.now, fast=fast)
        assert self.record.ready_at == ready_at
        waited, self.now = ready_at - self.now, ready_at
        return waited


def test_twenty_seconds_and_ten_for_the_fastest() -> None:
    life = Life(Politeness())
    assert life.wait(visit()) == 20
    assert life.wait(visit(), fast=True) == 10


def test_the_fastest_fifth_of_the_servers_is_asked_twice_as_often() -> None:
    manners = Manners(Politeness())
    records = [ServerRecord() for _ in range(100)]
    waits = [0.0] * 100
    for _ in range(5):
        for place in random.Random(1).sample(range(100), 100):
            size = int(20_000 * 1.05**place)
            waits[place] = manners.finished(records[place], visit(size=size), None, 0.0)
    assert 18 <= waits.count(10) <= 20
    assert waits == sorted(waits, reverse=True)


def test_nobody_slower_than_fourteen_bytes_a_millisecond_is_fast() -> None:
    manners = Manners(Politeness(slow_delay_percent=0))
    for size in range(100):
        manners.finished(ServerRecord(), visit(size=size), None, 0.0)
    assert manners.finished(ServerRecord(), visit(size=13_999), None, 0.0) == 20


def test_a_server_at_half_the_target_speed_gets_half_the_delay() -> None:
    life = Life(Politeness(interval_s=10.0, slow_delay_percent=400))
    assert life.wait(visit(size=TARGET // 2)) == 10 + 40 * 0.5


def test_errors_among_the_last_ten_requests_lengthen_the_interval() -> None:
    life = Life(Politeness(interval_s=10.0, error_delay_percent=500, retry_wait_s=0.0))
    for _ in range(3):
        life.wait(visit(Outcome.TIMEOUT))
    assert life.wait(visit()) == 10 + 50 * 3 / 10
    waits = [life.wait(visit()) for _ in range(10)]
    assert waits == [25] * 6 + [20, 15, 10, 10]


def test_a_server_faster_than_the_target_earns_nothing() -> None:
    assert Life(Politeness()).wait(visit(size=100 * TARGET)) == 20


def test_a_longer_crawl_delay_wins_up_to_its_limit() -> None:
    life = Life(Politeness(crawl_delay_limit_s=300.0))
    assert [life.wait(visit(), crawl_delay_s=delay) for delay in (5, 45, 4_000)] == [20, 45, 300]
    assert life.wait(visit(), crawl_delay_s=15, fast=True) == 15


def test_a_run_goes_on_while_the_connection_lives_and_then_pauses() -> None:
    life = Life(Politeness(run_pages=3))
    waits = [life.wait(visit(kept_alive=True)) for _ in range(6)]
    assert waits == [0, 0, 20, 0, 0, 20]


def test_a_run_ends_when_the_connection_is_cut_and_the_pause_may_be_longer() -> None:
    life = Life(Politeness(run_pages=100, run_pause_s=60.0))
    assert [life.wait(visit(kept_alive=alive)) for alive in (True, True, False, True)] == [0, 0, 60, 0]


def test_a_run_that_was_to_go_on_is_over_when_the_server_has_hung_up() -> None:
    life = Life(Politeness(run_pages=100, run_pause_s=60.0))
    ended_at = life.now
    assert life.wait(visit(kept_alive=True)) == 0
    assert life.manners.run_ended("http://a.example", life.record) == ended_at + 60
    assert (life.record.run, life.record.ready_at) == (0, ended_at + 60)


def test_who_hung_up_gets_the_pause_that_its_last_visit_would_have_had_as_the_end_of_the_run() -> None:
    ends = []
    for alive in (True, False):
        life = Life(Politeness(run_pages=100, interval_s=10.0))
        life.manners.stretch = lambda server: 3.0
        for _ in range(4):
            life.wait(visit(kept_alive=True))
        life.wait(visit(kept_alive=alive), fast=True)
        ends.append(
            life.manners.run_ended("http://a.example", life.record) if alive else life.record.ready_at
        )
    assert ends[0] == ends[1] == 1_000_000 + 3 * 5 + 2 * 5


def test_there_are_no_runs_by_default_nor_against_a_crawl_delay() -> None:
    assert Life(Politeness()).wait(visit(kept_alive=True)) == 20
    assert Life(Politeness(run_pages=9)).wait(visit(kept_alive=True), crawl_delay_s=1) == 20


@pytest.mark.parametrize("outcome", sorted(PASSING, key=str))
def test_a_failure_ends_a_run_even_on_a_living_connection(outcome: Outcome) -> None:
    life = Life(Politeness(run_pages=9, retry_wait_s=0.0))
    assert life.wait(visit(outcome, kept_alive=True, retry_after="0")) >= 20


def test_after_long_collecting_comes_a_long_pause() -> None:
    life = Life(Politeness(suspend_after_s=60.0, suspend_for_s=600.0))
    waits = [life.wait(visit(time=life.now)) for _ in range(8)]
    assert waits == [20, 20, 20, 600, 20, 20, 20, 600]


def test_a_break_long_enough_starts_the_count_again() -> None:
    life = Life(Politeness(suspend_after_s=60.0, suspend_for_s=600.0))
    for _ in range(3):
        life.wait(visit(time=life.now))
    life.now += 600
    assert [life.wait(visit(time=life.now)) for _ in range(4)] == [20, 20, 20, 600]


def test_a_run_does_not_escape_the_suspension() -> None:
    life = Life(Politeness(run_pages=1_000, suspend_after_s=5.0, suspend_for_s=600.0))
    life.wait(visit(kept_alive=True, time=life.now))
    life.now += 5
    assert life.wait(visit(kept_alive=True, time=life.now - 1)) == 600


def test_throttling_doubles_the_interval_and_good_answers_halve_it_again() -> None:
    life = Life(Politeness(retry_wait_s=0.0))
    doubled = [life.wait(visit(Outcome.THROTTLED)) for _ in range(3)]
    assert [20 * 2**n <= wait <= 25 * 2**n for n, wait in enumerate(doubled, 1)] == [True] * 3
    halved = [life.wait(visit()) for _ in range(4)]
    assert [80 <= halved[0] <= 100, 40 <= halved[1] <= 50, halved[2], halved[3]] == [True, True, 20, 20]


def test_the_same_chance_gives_the_same_jitter_and_another_one_another() -> None:
    waits = [Life(Politeness(), seed).wait(visit(Outcome.THROTTLED)) for seed in (1, 1, 2)]
    assert waits[0] == waits[1] != waits[2]


def test_retry_after_is_kept_to_the_second_in_both_spellings() -> None:
    asked_at = datetime.datetime.fromtimestamp(1_000_000 + 91, datetime.UTC)
    date = asked_at.strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert Life(Politeness()).wait(visit(Outcome.THROTTLED, retry_after="120")) == 120
    assert Life(Politeness()).wait(visit(Outcome.THROTTLED, retry_after=date, time=999_999.0)) == 91


def test_a_date_is_read_on_the_clock_of_the_server_that_names_it() -> None:
    refusal = visit(Outcome.THROTTLED, retry_after="Thu, 01 Jan 2026 00:05:00 GMT")
    assert refusal.response is not None
    refusal.response.headers["date"] = "Thu, 01 Jan 2026 00:00:00 GMT"
    assert Life(Politeness()).wait(refusal) == 300


@pytest.mark.parametrize(
    "date",
    ["Thu Jan  1 00:05:00 2026", "Thursday, 01-Jan-26 00:05:00 GMT", "Thu, 01 Jan 2026 00:05:00 -0000"],
)
def test_a_date_is_in_utc_wherever_the_robot_runs(date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        asked = retry_after_s(date, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp())
    finally:
        monkeypatch.undo()
        time.tzset()
    assert asked == 300


def test_what_must_outlive_a_crash_is_told_apart_from_what_need_not() -> None:
    life = Life(Politeness())
    promised = [
        visit(Outcome.THROTTLED),
        visit(Outcome.SERVER_ERROR, retry_after="9"),
        visit(Outcome.UNREACHABLE),
        visit(),
    ]
    assert [life.manners.has_promised(life.record, each) for each in promised] == [True, True, False, False]
    resting = Life(Politeness(suspend_after_s=1.0))
    resting.wait(visit(time=resting.now - 2.0))
    assert resting.manners.has_promised(resting.record, visit())


def test_the_usual_pause_is_the_longest_that_may_be_due_to_a_server_that_answers() -> None:
    manners = Manners(Politeness(interval_s=4.0, run_pages=5, run_pause_s=7.0))
    assert manners.usual_s(SERVER, ServerRecord(), None) == 7
    assert manners.usual_s(SERVER, ServerRecord(), 30.0) == 30


def test_retry_after_is_capped_by_the_setting_and_never_makes_us_ruder() -> None:
    life = Life(Politeness(retry_after_limit_s=500.0))
    assert life.wait(visit(Outcome.THROTTLED, retry_after="9" * 400)) == 500
    assert Life(Politeness()).wait(visit(Outcome.THROTTLED, retry_after="1")) == 20


def test_who_asks_for_a_moment_again_and_again_gets_more() -> None:
    life = Life(Politeness())
    waits = [life.wait(visit(Outcome.THROTTLED, retry_after="1")) for _ in range(3)]
    assert waits[0] == 20
    assert [40 <= waits[1] <= 50, 80 <= waits[2] <= 100] == [True, True]


def test_all_of_it_survives_a_restart() -> None:
    life = Life(Politeness(retry_wait_s=0.0))
    life.wait(visit(Outcome.THROTTLED, retry_after="7000"))
    life.wait(visit(Outcome.THROTTLED))
    packed = msgspec.msgpack.encode(life.record)
    again = msgspec.msgpack.decode(packed, type=ServerRecord)
    assert again == life.record
    assert again.ready_at == life.now
    assert again.throttles == 2


def test_records_of_older_collections_still_read() -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode([3, 2, 1.0, 0]), type=ServerRecord).found == 3


def test_no_visit_is_set_before_the_hours_of_the_server() -> None:
    rule = Override(("*.example",), {"window": "daily 02:00-08:00 Asia/Tokyo"})
    life = Life(Politeness(rules=(rule,)))
    life.now = datetime.datetime.fromisoformat("2026-11-16 07:59:50+09:00").timestamp()
    life.wait(visit())
    assert life.now == datetime.datetime.fromisoformat("2026-11-17 02:00+09:00").timestamp()
    assert life.manners.next_open("http://elsewhere.test", 5.0) == 5.0


def test_a_server_bears_on_average_what_hours_and_suspensions_leave() -> None:
    always, nightly = Politeness(interval_s=20.0), Politeness(interval_s=20.0, window="daily 02:00-03:00")
    rests = Politeness(interval_s=20.0, suspend_after_s=3_600.0, suspend_for_s=3_600.0)
    record = ServerRecord()
    means = [Manners(each).mean_s(SERVER, record, None) for each in (always, nightly, rests)]
    assert means == [20.0, 24 * 20.0, 40.0]
    record.longest_download_s = 10.0  # part of each round, and of what hours make longer
    assert Manners(nightly).mean_s(SERVER, record, None) == 24 * 30.0 - 10.0
    assert (
        Manners(Politeness(interval_s=0.0, window="daily 02:00-03:00")).mean_s(SERVER, ServerRecord(), None)
        == 0.0
    )


def test_a_window_that_cannot_be_read_is_told_at_once() -> None:
    rule = Override(("a",), {"window": "at night"})
    with pytest.raises(ConfigError, match="the window 'at night'"):
        Manners(Politeness(rules=(rule,)))


def test_an_address_never_waits_longer_than_a_server() -> None:
    rule = Override(("mine.test",), {"interval_s": 0.5})
    manners = Manners(Politeness(rules=(rule,)))
    assert manners.address_interval_s(SERVER) == 10
    assert manners.address_interval_s("http://mine.test") == 0.5
    assert manners.address_interval_s(SERVER, in_run=True) == 0


def test_a_rule_for_one_server_changes_nothing_for_another() -> None:
    rule = Override(("b.example",), {"interval_s": 1.0})
    life = Life(Politeness(rules=(rule,)))
    assert life.wait(visit()) == 20
    assert life.wait(visit(server="http://b.example")) == 1


visits = st.builds(
    visit,
    st.sampled_from(Outcome),
    size=st.integers(0, 30_000),
    retry_after=st.sampled_from(["", "0", "70", "99999", "junk"]),
    kept_alive=st.booleans(),
)


@given(
    st.lists(st.tuples(visits, st.none() | st.floats(0, 1e4), st.booleans(), st.floats(0, 1e5)), max_size=30),
    st.integers(1, 3),
    st.sampled_from([0.0, 50.0]),
)
def test_never_sooner_than_the_rules_give_and_never_away_for_ever(
    story: list[tuple[Visit, float | None, bool, float]], run_pages: int, suspend_after_s: float
) -> None:
    life = Life(Politeness(run_pages=run_pages, suspend_after_s=suspend_after_s))
    unpaused = 0
    for ended, delay, fast, idle_s in story:
        life.now += idle_s
        wait = life.wait(ended, crawl_delay_s=delay, fast=fast)
        unpaused = unpaused + 1 if wait == 0 else 0
        assert unpaused < run_pages
        assert wait <= LONGEST_WAIT_S + 1
        if wait:
            assert wait >= max(10 if fast else 20, min(delay or 0, 300)) - 1e-6


@given(st.lists(visits, max_size=30), st.floats(0, 1e9))
def test_the_longest_interval_and_none_at_all_are_kept_too(story: list[Visit], now: float) -> None:
    rare, always = ServerRecord(), ServerRecord()
    for ended in story:
        ready_at = Manners(Politeness(interval_s=YEAR_S)).finished(rare, ended, None, now)
        assert ready_at == now + YEAR_S  # however slow the server, and whatever fails
        assert Manners(Politeness(interval_s=0.0)).finished(always, ended, None, now) >= now


def test_new_rules_hold_from_the_next_visit_on() -> None:
    life = Life(Politeness(interval_s=20.0))
    assert life.wait(visit()) == 20.0
    life.manners.renew(Politeness(interval_s=5.0, rules=(Override(("b.example",), {"interval_s": 9.0}),)))
    assert life.wait(visit()) == 5.0
    assert life.manners.of("http://b.example").interval_s == 9.0
