"""What a sitemap tells of pages whose last visits found nothing."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from joro.coordinate.share import Share
from joro.explainer.explainer import explain
from joro.model import Outcome
from joro.robot.hearing import GIVEN_UP, promised
from joro.store.calendar import entries_in
from joro.store.collection import Collection
from joro.store.layout import reshare, set_share_count
from joro.url import fingerprint
from tests.robot.heir import heir_of
from tests.robot.test_watcher import (
    DAY_S,
    HOUR_S,
    SITE,
    START,
    Desk,
    closed,
    desk,
    opened,
    runner,
    sitemap,
)

__all__ = ["desk", "runner"]

PAGE = "/p1.html"
URL = SITE + PAGE


def begin(desk: Desk) -> None:
    """A page that a sitemap lists was seen on day 0."""
    desk.rules(f"Sitemap: {SITE}/sitemap.xml")
    desk.answer(f"{SITE}/", f"<a href={PAGE}>x</a>")
    desk.answer(URL, "<p>one two three")
    tell(desk, -1)


def tell(desk: Desk, day: float) -> None:
    """The sitemap is read, and says that the page changed on that day."""
    desk.robot._keeper.urge(f"{SITE}/sitemap.xml")
    desk.robot._commit()
    desk.answer(f"{SITE}/sitemap.xml", sitemap((PAGE, START + day * DAY_S)), "application/xml")


def pass_days(desk: Desk, days: float) -> None:
    desk.later(days * DAY_S)
    desk.later(0)


@pytest.mark.parametrize("status", ["403", "404"])
def test_a_change_before_a_visit_that_failed_is_told(desk: Desk, status: str) -> None:
    begin(desk)
    pass_days(desk, 5.5)
    desk.answer(URL, status=status)
    pass_days(desk, 1)
    tell(desk, 3)
    assert desk.care(URL).signals == 1


def test_a_change_before_a_visit_that_found_the_page_is_not_told(desk: Desk) -> None:
    begin(desk)
    pass_days(desk, 5.5)
    desk.answer(URL, "<p>four five six")
    pass_days(desk, 1)
    tell(desk, 3)
    assert desk.care(URL).signals == 0


def test_a_change_told_before_a_visit_that_failed_was_told(desk: Desk) -> None:
    begin(desk)
    pass_days(desk, 4)
    tell(desk, 3)
    pass_days(desk, 1.5)
    desk.answer(URL, status="403")
    pass_days(desk, 20)
    desk.answer(URL, "<p>four five six")
    trust = desk.robot._watcher._sights.lookout(SITE).trust
    assert (trust.true_calls, trust.missed) == (1, 0)


def give_up(desk: Desk) -> None:
    """The page is looked for until it is given up."""
    begin(desk)
    while (record := desk.robot.frontier.visited(fingerprint(URL))) is not None and record.upkeep is not None:
        pass_days(desk, 1)
        if PAGE in desk.waiting():
            desk.answer(URL, status="404")


def today(desk: Desk) -> float:
    return (desk.clock.now() - START) / DAY_S


def test_a_page_that_was_given_up_as_gone_is_looked_for_once_when_it_is_called_changed(desk: Desk) -> None:
    give_up(desk)
    pass_days(desk, 60)
    assert PAGE not in desk.waiting()
    tell(desk, today(desk) - 1)
    assert PAGE in desk.waiting()
    desk.answer(URL, status="404")
    tell(desk, today(desk) - 1)
    pass_days(desk, 60)
    assert PAGE not in desk.waiting()


def test_a_page_called_changed_at_every_reading_and_still_gone_is_looked_for_at_doubled_spans(
    desk: Desk,
) -> None:
    give_up(desk)
    found = []
    for day in range(61):
        pass_days(desk, 1)
        if PAGE in desk.waiting():
            desk.answer(URL, status="404")
            found.append(day)
        tell(desk, today(desk))
    spans = [after - before for before, after in itertools.pairwise(found)]
    assert spans == [4, 8, 16]


def test_who_calls_changed_what_is_gone_is_not_believed(desk: Desk) -> None:
    dead = [f"/dead{n}.html" for n in range(6)]
    desk.rules(f"Sitemap: {SITE}/sitemap.xml")
    desk.answer(f"{SITE}/", "".join(f"<a href={page}>x</a>" for page in dead))
    for _ in range(2):
        for page in dead:
            desk.answer(SITE + page, status="404")
        desk.later(HOUR_S)
        desk.robot._keeper.urge(f"{SITE}/sitemap.xml")
        desk.robot._commit()
        told = sitemap(*((page, desk.clock.now()) for page in dead))
        desk.answer(f"{SITE}/sitemap.xml", told, "application/xml")
    trust = desk.robot._watcher._sights.lookout(SITE).trust
    assert (trust.false_calls, trust.is_broken) == (6, True)


def test_a_page_called_changed_again_soon_after_it_was_missed_is_looked_for_once_the_span_is_over(
    desk: Desk,
) -> None:
    give_up(desk)
    pass_days(desk, 4)
    tell(desk, today(desk))
    pass_days(desk, 1)
    desk.answer(URL, status="404")
    pass_days(desk, 1)
    tell(desk, today(desk))
    assert PAGE not in desk.waiting()
    tell(desk, today(desk))
    pass_days(desk, 8)
    assert PAGE not in desk.waiting()
    pass_days(desk, 1)
    assert PAGE in desk.waiting()
    desk.answer(URL, "<p>one two three")
    assert desk.robot.frontier.server(SITE).due == len(desk.waiting())
    assert desk.care(URL).due > desk.clock.now()


def called_changed_too_soon(desk: Desk) -> None:
    """A page that was given up, and looked for in vain, is to be looked for again in eight days or so."""
    give_up(desk)
    pass_days(desk, 4)
    tell(desk, today(desk))
    pass_days(desk, 1)
    desk.answer(URL, status="404")
    pass_days(desk, 1)
    tell(desk, today(desk))
    assert PAGE not in desk.waiting()


def look_in_vain(desk: Desk) -> None:
    desk.robot._keeper.urge(URL)
    desk.robot._commit()
    desk.answer(URL, status="404")


def test_a_page_given_up_is_promised_nothing_until_it_is_called_changed(desk: Desk) -> None:
    called_changed_too_soon(desk)
    promises = []
    for _ in range(2):
        record = desk.robot.frontier.visited(fingerprint(URL))
        assert record is not None
        promises.append(promised(record, desk.robot._watcher._sights))
        look_in_vain(desk)
    assert [each is not None for each in promises] == [True, False]


def test_to_look_for_a_page_that_nobody_called_changed_since_says_nothing(desk: Desk) -> None:
    called_changed_too_soon(desk)
    sights, said = desk.robot._watcher._sights, []
    for _ in range(3):
        look_in_vain(desk)
        said.append((sights.lookout(SITE).trust.comparisons, sights.of(URL).deaf_until))
    assert said == [said[0]] * 3


def test_a_page_called_changed_again_and_again_too_soon_has_one_date(desk: Desk) -> None:
    called_changed_too_soon(desk)
    for _ in range(3):
        pass_days(desk, 0.5)
        tell(desk, today(desk))
    dates = np.concatenate([entries_in(block) for _, block in desk.robot.frontier.scan(b"c")])
    assert dates["version"][dates["mark"] == fingerprint(URL)].tolist().count(GIVEN_UP) == 1


def test_a_page_is_looked_for_again_no_later_than_any_page_is_visited(desk: Desk) -> None:
    give_up(desk)
    pass_days(desk, 100)
    tell(desk, today(desk))
    desk.answer(URL, status="404")
    assert desk.robot._watcher._sights.of(URL).deaf_until == desk.clock.now() + 60 * DAY_S


def test_a_page_that_was_left_out_meanwhile_is_looked_for_by_no_promise(desk: Desk) -> None:
    called_changed_too_soon(desk)
    record = desk.robot.frontier.visited(fingerprint(URL))
    assert record is not None
    desk.robot.frontier.keep_page(structs.replace(record, outcome=Outcome.UNWANTED.value))
    desk.robot._commit()
    pass_days(desk, 20)
    assert PAGE not in desk.waiting()


def test_joro_explain_tells_when_a_page_given_up_is_looked_for_once_more(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    called_changed_too_soon(desk)
    deaf_until = desk.robot._watcher._sights.of(URL).deaf_until
    runner.run(closed(desk))
    set_share_count(desk.path / "frontier", 1)
    found = explain(Collection.open(desk.path), URL, desk.clock.now())
    assert found.due_at == deaf_until > desk.clock.now()
    assert found.due.startswith("looked for once more, as its server calls it changed, when a robot")


def test_joro_explain_promises_nothing_of_a_page_given_up_that_nobody_has_called_changed_since(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    give_up(desk)
    runner.run(closed(desk))
    set_share_count(desk.path / "frontier", 1)
    found = explain(Collection.open(desk.path), URL, desk.clock.now())
    assert (found.due_at, found.due.partition(";")[0]) == (None, "not due again by itself")


@pytest.mark.parametrize("late", [False, True])
def test_a_page_that_is_to_be_looked_for_once_more_is_so_by_the_robot_that_gets_its_server(
    desk: Desk, runner: asyncio.Runner, tmp_path: Path, late: bool
) -> None:
    called_changed_too_soon(desk)
    frontier = desk.robot.frontier
    state = {key: value for kind in (b"q", b"p", b"s", b"f", b"d") for key, value in frontier.scan(kind)}
    other = runner.run(heir_of(desk, tmp_path / "other"))
    other.inherit(SITE, state, late=late)
    other.robot.frontier.wake()
    pass_days(other, 8)
    assert PAGE not in other.waiting()
    pass_days(other, 1)
    assert PAGE in other.waiting()
    runner.run(closed(other))


@pytest.mark.parametrize("junk", [b"\xc1", b"\x93\1\2\3", b"\x91" * 100_000 + b"\xc0"])
@pytest.mark.parametrize("late", [False, True])
def test_what_another_robot_remembers_of_a_page_given_up_and_nobody_can_read_ends_no_robot(
    desk: Desk,
    runner: asyncio.Runner,
    tmp_path: Path,
    late: bool,
    junk: bytes,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nor ever again: the letter would still be there."""
    called_changed_too_soon(desk)
    frontier = desk.robot.frontier
    state = {key: value for kind in (b"q", b"p", b"s") for key, value in frontier.scan(kind)}
    junks = {key: junk for kind in (b"f", b"d") for key, _ in frontier.scan(kind)}
    other = runner.run(heir_of(desk, tmp_path / "other"))
    other.inherit(SITE, state | junks, late=late)
    assert other.robot.frontier.visited(fingerprint(URL)) is not None
    assert f"{SITE}: {len(junks)} things that another robot told" in caplog.text
    runner.run(closed(other))


def test_a_page_that_is_to_be_looked_for_once_more_is_so_by_another_number_of_processes(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    called_changed_too_soon(desk)
    runner.run(closed(desk))
    set_share_count(desk.path / "frontier", 1)
    for count in (2, 1):
        reshare(desk.path / "frontier", count, Share(0, count).owner)
    desk = runner.run(opened(desk.path, start=desk.clock.now()))
    pass_days(desk, 8)
    assert PAGE not in desk.waiting()
    pass_days(desk, 1)
    assert PAGE in desk.waiting()
    runner.run(closed(desk))


def test_a_page_that_is_back_is_kept_fresh_again(desk: Desk) -> None:
    give_up(desk)
    pass_days(desk, 1)
    tell(desk, today(desk) - 0.5)
    desk.answer(URL, "<p>one two three")
    assert desk.robot.frontier.server(SITE).due == len(desk.waiting())
    for _ in range(30):
        pass_days(desk, 1)
    assert PAGE in desk.waiting()


def test_a_page_that_was_left_out_for_another_reason_is_not_looked_for(desk: Desk) -> None:
    give_up(desk)
    record = desk.robot.frontier.visited(fingerprint(URL))
    assert record is not None
    desk.robot.frontier.keep_page(structs.replace(record, outcome=Outcome.UNWANTED.value))
    desk.robot._commit()
    pass_days(desk, 1)
    tell(desk, today(desk) - 0.5)
    assert PAGE not in desk.waiting()
