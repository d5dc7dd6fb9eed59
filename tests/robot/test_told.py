"""What a sitemap tells of pages whose last visits found nothing."""

from __future__ import annotations

import itertools

import pytest
from msgspec import structs

from joro.model import Outcome
from joro.url import fingerprint
from tests.robot.test_watcher import DAY_S, HOUR_S, SITE, START, Desk, desk, runner, sitemap

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
