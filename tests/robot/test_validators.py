from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from joro.model import Outcome, Page, Response, Truncated, Visit
from joro.robot.keeper import FORGIVEN_AFTER, TRUSTED_AFTER, seen, validated
from joro.schedule import change
from joro.store.records import PageRecord, Upkeep
from tests.robot.test_keeper import HOUR, HOURLY, Stage, changes, come_due, stage

__all__ = ["stage"]

A = "http://a.example"
URL = f"{A}/page"


def answer(digest: str, etag: str) -> tuple[Visit, str]:
    return Visit(
        Page(URL, server=A), 9.0, Outcome.OK, response=Response(200, b"", b"", {"etag": etag})
    ), digest


@pytest.mark.parametrize(
    ("digest", "etag", "count"),
    [("new", "new", 3), ("old", "old", 2), ("new", "old", -FORGIVEN_AFTER), ("old", "new", 2)],
)
def test_validators_are_judged_by_changes_alone(digest: str, etag: str, count: int) -> None:
    visit, digest = answer(digest, etag)
    assert validated(2, visit, Upkeep(body="old", etag="old"), digest) == count


@pytest.mark.parametrize(
    ("truncated", "etag"), [(Truncated.TIME, ""), (Truncated.DISCONNECT, ""), (Truncated.LENGTH, "old")]
)
def test_the_rest_of_a_page_that_was_torn_off_is_asked_for_without_condition(
    truncated: Truncated, etag: str
) -> None:
    page, fields = Page(URL, server=A), {"etag": "old", "last-modified": "yesterday"}
    torn = Visit(page, 9.0, Outcome.OK, response=Response(200, b"", b"a p", fields, truncated))
    after = seen(torn, None, "part", 0)
    assert (after.etag, bool(after.modified)) == (etag, bool(etag))
    if not etag:  # nor has its server lied: the whole page has the same validator
        assert validated(2, torn, Upkeep(body="whole", etag="old"), "part") == 2
        whole = Visit(page, 19.0, Outcome.OK, response=Response(200, b"", b"a page", fields))
        assert validated(2, whole, after, "whole") == 2


def torn(stage: Stage, digest: str, truncated: Truncated = Truncated.DISCONNECT) -> None:
    page = stage.frontier.take(A)
    assert page is not None
    before = stage.keeper.before(page)
    response = Response(200, b"", b"a p", {"etag": "e"}, truncated)
    visit = Visit(page, stage.now, Outcome.OK, response=response, elapsed_s=1.0)
    stage.frontier.done(visit, before.hops if before else None, stage.keeper.learn(visit, before, digest, 7))
    stage.commit()


def test_an_answer_that_breaks_off_is_no_change_and_no_basis_of_comparison(stage: Stage) -> None:
    for _ in range(3):
        come_due(stage)
        stage.visit(etag="e")
    was = stage.care
    come_due(stage)
    torn(stage, "part")
    care = stage.care
    assert (care.body, care.text, care.captured_at, care.seen_at) == ("one", 1, was.captured_at, was.seen_at)
    assert stage.keeper.validators(stage.record) == {}
    assert stage.keeper.known(stage.record) is None  # else a part would stay the newest that is archived
    assert stage.commit() == []  # nor is it due at once
    come_due(stage)
    stage.visit(etag="e")
    assert changes(stage) == (4, 0)
    assert stage.care.captured_at == stage.now
    assert stage.keeper.known(stage.record) is not None


def test_a_page_whose_first_answer_broke_off_has_not_changed_when_it_is_whole(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "frontier")
    stage.find()
    torn(stage, "part")
    for digest in ("whole", "whole", "other"):
        come_due(stage)
        stage.visit(digest=digest, main=len(digest) * (digest == "other") + 1)
    assert changes(stage) == (2, 1)
    stage.frontier.close()


PATIENT = replace(HOURLY, most_interval_s=6 * HOUR)


def wait(stage: Stage) -> float:
    """Hours until the page's date, which come to pass."""
    left_s = stage.care.due - stage.now
    for _ in range(2):
        stage.pass_time(left_s / 2 + 1)
        stage.commit()
    return round(left_s / HOUR, 2)


@pytest.mark.parametrize("first", ["whole", "part"])
def test_a_page_that_always_breaks_off_is_asked_for_ever_more_rarely_and_never_given_up(
    tmp_path: Path, first: str
) -> None:
    stage = Stage(tmp_path / "frontier", PATIENT)
    stage.find()
    stage.visit() if first == "whole" else torn(stage, "part")
    waits = [wait(stage)]
    for _ in range(5):
        torn(stage, "part")
        waits.append(wait(stage))
    assert waits == [1, 2, 4, 6, 6, 6]
    stage.frontier.close()


def test_a_page_that_is_whole_again_has_the_interval_it_had(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "frontier", replace(PATIENT, policy="interval"))
    stage.find()
    for number in range(9):
        stage.visit(digest=str(number), main=number + 1)
        usual = wait(stage)
    for _ in range(4):
        torn(stage, "part")
        longer = wait(stage)
    stage.visit(digest="9", main=10)
    assert changes(stage) == (9, 9)
    assert wait(stage) <= usual < longer
    stage.frontier.close()


def test_a_page_that_is_cut_at_our_limit_is_compared_as_far_as_it_goes(stage: Stage) -> None:
    for digest in ("part", "part", "another"):
        come_due(stage)
        torn(stage, digest, Truncated.LENGTH)
        assert stage.care.captured_at
    assert changes(stage)[0] == 3


def visited(times: int, **fields: object) -> PageRecord:
    history = change.blank()
    history["visits"] = times - 1
    care = Upkeep(etag="x", history=change.pack(history)[0])
    return PageRecord(URL, 3, 5.0, "ok", 200, upkeep=structs.replace(care, **fields))


@pytest.mark.parametrize(
    ("proved", "conditional"), [(0, [1, 3, 5, 7, 9]), (TRUSTED_AFTER, [1, 2, 3, 4, 5, 6, 7, 9]), (-1, [])]
)
@pytest.mark.parametrize("signals", [0, 1])
def test_most_visits_are_conditional_however_many_signals_come_between(
    stage: Stage, proved: int, conditional: list[int], signals: int
) -> None:
    stage.frontier.server(A).validated = proved
    records = [visited(times, version=times * (1 + signals)) for times in range(1, 10)]
    told = [stage.keeper.validators(record) for record in records]
    assert [number for number, each in enumerate(told, 1) if each] == conditional


def test_a_redirect_is_asked_for_without_condition(stage: Stage) -> None:
    assert stage.keeper.validators(visited(1))
    assert not stage.keeper.validators(visited(1, moved=True))


def test_a_language_that_cannot_be_told_is_looked_for_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "frontier", replace(HOURLY, languages=("ja",)))
    stage.find()
    for _ in range(2):
        stage.visit(etag="x")  # a page without a word
        assert stage.care.language == "und"
        assert stage.frontier.server(A).languages == {"und": 1}
        come_due(stage)
    stage.frontier.server(A).validated = TRUSTED_AFTER
    assert stage.keeper.validators(stage.record)["etag"] == "x"
    assert not stage.keeper._planner.has_cycle(stage.frontier.server(A))
    stage.frontier.close()
