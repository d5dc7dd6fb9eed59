"""What do visits that fail, or seem to come too early, leave of a page's date and history?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uvloop
from msgspec import structs

from joro.config import Refresh
from joro.model import Outcome, Response, Truncated, Visit
from joro.robot.arrivals import Arrival
from joro.robot.lessons import STATE, dated
from joro.store.records import Upkeep
from joro.url import fingerprint
from tests.robot.test_keeper import HOUR, URL, A, Stage, changes, come_due, stage
from tests.robot.test_validators import torn
from tests.robot.test_watcher import SITE, closed, opened

__all__ = ["stage"]

#: No page waits longer than 20 hours.
PATIENT = Refresh(
    enabled=True, first_interval_s=HOUR, least_interval_s=HOUR, most_interval_s=20 * HOUR, policy="interval"
)

#: How a page is asked for in vain; `breaks`: only a part of it arrives.
IN_VAIN = [(Outcome.SERVER_ERROR, False), (Outcome.OK, True)]


@pytest.fixture
def learned(tmp_path: Path) -> Iterator[Stage]:
    """A page that is known to change every hour."""
    made = Stage(tmp_path / "patient", PATIENT)
    made.find()
    for version in range(30):
        made.visit(digest=f"{version}", main=version + 1)
        made.pass_time(HOUR)
        made.frontier.wake()
        assert made.keeper.urge(URL)
        made.commit()
    made.visit(digest="last", main=99)
    assert made.care.interval_s == HOUR
    yield made
    made.frontier.close()


def hours_until_due(
    stage: Stage, outcome: Outcome, *, asked: bool = True, breaks: bool = False, late_s: float = 0.0
) -> float:
    """Once the page is due it is visited, and comes to this; how long it then waits."""
    stage.pass_time(stage.care.due - stage.now + 1.0)
    stage.commit()
    stage.pass_time(late_s)
    page = stage.frontier.take(A)
    assert page is not None
    truncated = Truncated.DISCONNECT if breaks else None
    response = Response(200, b"", b"", {}, truncated) if outcome is Outcome.OK else None
    request = b"GET /page HTTP/1.1\r\n\r\n" if asked else b""
    visit = Visit(page, stage.now, outcome, request, response)
    stage.frontier.done(visit, 3, stage.keeper.learn(visit, stage.record, f"{stage.now}", int(stage.now)))
    stage.commit()
    return round((stage.care.due - stage.now) / HOUR, 1)


@pytest.mark.parametrize(
    "outcome", [Outcome.SERVER_ERROR, Outcome.CLIENT_ERROR, Outcome.TIMEOUT, Outcome.MALFORMED]
)
def test_a_page_that_fails_again_and_again_is_asked_for_less_and_less_often(
    learned: Stage, outcome: Outcome
) -> None:
    waits = [hours_until_due(learned, outcome) for _ in range(7)]
    assert waits == [2.0, 4.0, 8.0, 16.0, 20.0, 20.0, 20.0]


def test_failures_spoil_nothing_that_was_learned(learned: Stage) -> None:
    seen = changes(learned)
    for _ in range(10):
        hours_until_due(learned, Outcome.SERVER_ERROR)
    assert (changes(learned), learned.care.failures) == (seen, 10)
    assert (hours_until_due(learned, Outcome.OK), learned.care.failures) == (1.0, 0)
    assert hours_until_due(learned, Outcome.TIMEOUT) == 2.0


def test_a_page_collected_before_pages_were_kept_fresh_is_given_up_for_no_failure(learned: Stage) -> None:
    """It was there, though nobody remembers what it said."""
    care = Upkeep(learned.care.version, learned.care.due, HOUR, seen_at=learned.now)
    learned.frontier.keep_page(structs.replace(learned.record, upkeep=care))
    learned.commit()
    assert [hours_until_due(learned, Outcome.TIMEOUT) for _ in range(5)] == [2.0, 4.0, 8.0, 16.0, 20.0]


@pytest.mark.parametrize("outcome", [Outcome.UNREACHABLE, Outcome.NO_ADDRESS, Outcome.DISALLOWED])
def test_a_page_that_nobody_was_asked_for_keeps_its_interval(learned: Stage, outcome: Outcome) -> None:
    """As when its server's robots.txt cannot be read, which holds for all its pages at once."""
    assert [hours_until_due(learned, outcome, asked=False) for _ in range(3)] == [1.0] * 3


def test_a_page_that_answers_but_is_not_wanted_keeps_its_interval(learned: Stage) -> None:
    assert hours_until_due(learned, Outcome.UNWANTED) == 1.0


def test_a_failure_makes_no_page_more_frequent(learned: Stage) -> None:
    """Its interval is longer than any may now be; the settings were others."""
    hours_until_due(learned, Outcome.SERVER_ERROR)
    care = structs.replace(learned.care, interval_s=30 * HOUR)
    learned.frontier.keep_page(structs.replace(learned.record, upkeep=care))
    assert hours_until_due(learned, Outcome.SERVER_ERROR) == 30.0


@pytest.mark.parametrize(("outcome", "breaks"), IN_VAIN)
def test_a_page_that_fails_or_breaks_off_misses_no_visits_that_it_does_not_wish(
    learned: Stage, outcome: Outcome, breaks: bool
) -> None:
    for _ in range(4):
        hours_until_due(learned, outcome, breaks=breaks)
    missed = learned.missed
    hours_until_due(learned, outcome, breaks=breaks, late_s=5 * HOUR)  # of sixteen
    assert learned.missed == missed


def handed_over(stage: Stage) -> tuple[float, float]:
    """The date in the calendar of whoever gets the page's server, and since when prices move it."""
    names = np.array([fingerprint(A)], np.uint64)
    far = 1e9, 1e9  # where languages are chosen, those visited once are looked at again, too
    (entry,) = dated([fingerprint(URL)], names, [stage.care], np.array([stage.now]), far)
    return float(entry["due"]), float(entry["state"].view(STATE)["visited_at"])


@pytest.mark.parametrize(("outcome", "breaks"), IN_VAIN)
def test_the_date_of_a_page_that_fails_or_breaks_off_stands_when_its_server_moves(
    learned: Stage, outcome: Outcome, breaks: bool
) -> None:
    for _ in range(4):
        hours_until_due(learned, outcome, breaks=breaks)
    assert handed_over(learned) == (learned.care.due, 0.0)


def test_a_page_of_which_a_part_arrives_is_not_gone(learned: Stage) -> None:
    hours_until_due(learned, Outcome.GONE)
    assert learned.care.absences == 1
    hours_until_due(learned, Outcome.OK, breaks=True)
    assert learned.care.absences == 0


def test_the_date_of_a_page_that_broke_off_at_its_first_visit_stands_when_its_server_moves(
    tmp_path: Path,
) -> None:
    made = Stage(tmp_path / "patient", PATIENT)
    made.find()
    torn(made, "part")
    assert handed_over(made) == (made.now + HOUR, 0.0)
    made.frontier.close()


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.SERVER_ERROR])
def test_a_page_that_fails_is_visited_no_sooner_than_one_that_is_there(
    stage: Stage, outcome: Outcome
) -> None:
    come_due(stage)
    stage.visit()
    come_due(stage)
    stage.visit(outcome)
    for minutes in range(0, 60, 10):
        assert stage.commit() == [], minutes
        stage.pass_time(600.0)
    assert stage.commit() == [A]


def test_a_visit_that_seems_earlier_than_the_one_before_teaches_nothing(stage: Stage) -> None:
    come_due(stage)
    stage.visit()
    seen = changes(stage)
    come_due(stage)
    stage.now -= 1_000 * HOUR  # the clock was ahead, and is set right
    stage.clock._now = stage.now
    stage.visit(digest="two", main=2)
    assert changes(stage) == seen


def ask_in_vain(
    stage: Stage, outcome: Outcome, elapsed_s: float, *, tried_again: bool
) -> tuple[float, float]:
    """What the server's downloads take after one more visit that brought nothing."""
    come_due(stage)
    page = stage.frontier.take(A)
    assert page is not None
    visit = Visit(page, stage.now, outcome, elapsed_s=elapsed_s)
    server = stage.frontier.server(A)
    server.visited = 1  # another page
    if tried_again:
        stage.keeper.put_back(visit)
    else:
        stage.keeper.learn(visit, stage.keeper.before(page), "", 0)
    return server.download_s, server.longest_download_s


@pytest.mark.parametrize("tried_again", [False, True])
@pytest.mark.parametrize(
    ("outcome", "elapsed_s", "mean_s", "longest_s"),
    [
        (Outcome.TIMEOUT, 61.0, 31.0, 61.0),
        (Outcome.UNREACHABLE, 0.001, 1.0, 1.0),  # refused in a moment
        (Outcome.NO_ADDRESS, 0.0, 1.0, 1.0),
    ],
)
def test_a_socket_is_held_also_by_who_does_not_answer(
    stage: Stage, outcome: Outcome, elapsed_s: float, mean_s: float, longest_s: float, tried_again: bool
) -> None:
    """The one download before took a second."""
    times = ask_in_vain(stage, outcome, elapsed_s, tried_again=tried_again)
    assert times == pytest.approx((mean_s, longest_s))


def test_a_failure_that_is_tried_again_is_timed(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        desk = runner.run(opened(tmp_path / "c"))
        page = desk.robot.frontier.take_url(f"{SITE}/")
        assert page is not None
        visit = Visit(page, desk.clock.now(), Outcome.TIMEOUT, elapsed_s=60.0)
        desk.robot._learn([Arrival(visit, None)])
        longest_s = desk.robot.frontier.server(SITE).longest_download_s
        assert (desk.waiting(), longest_s) == (["/"], 60.0)
        runner.run(closed(desk))
