from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from joro.model import Outcome
from joro.store.accounts import ACCOUNT_OF, OUTCOMES, account_of, count, coverage
from joro.store.records import Counts, ServerRecord


def test_every_outcome_has_one_account() -> None:
    assert set(ACCOUNT_OF) == set(Outcome)
    assert sum(map(len, OUTCOMES.values())) == len(Outcome)


@given(st.lists(st.sampled_from(list(Outcome))))
def test_the_accounts_of_a_server_add_up_to_its_visits(outcomes: list[Outcome]) -> None:
    record = ServerRecord()
    for outcome in outcomes:
        count(record, outcome)
    assert sum(getattr(record, account) for account in OUTCOMES) == record.visited == len(outcomes)


def test_a_visit_can_be_taken_back() -> None:
    record = ServerRecord()
    count(record, Outcome.TIMEOUT)
    count(record, Outcome.TIMEOUT, -1)
    assert record == ServerRecord()


def test_one_page_collected_makes_a_server_collected() -> None:
    record = ServerRecord(found=9)
    assert account_of(record) == "waiting"
    count(record, Outcome.DISALLOWED)
    assert account_of(record) == "disallowed"
    count(record, Outcome.TIMEOUT)
    assert account_of(record) == "unreachable"
    count(record, Outcome.OK)
    assert account_of(record) == "collected"


def test_links_never_registered_are_refused_and_what_was_not_visited_waits() -> None:
    outcomes = {"ok": 4, "gone": 1, "trap": 1, "timeout": 0}
    counts = Counts(found=10, visited=6, over_quota=3, trapped=5, outcomes=outcomes)
    found = coverage(counts, [ServerRecord(found=10, visited=6, collected=4, missing=1, refused=1)])
    assert found.pages == {
        "collected": 4,
        "missing": 1,
        "unreachable": 0,
        "disallowed": 0,
        "refused": 9,
        "waiting": 4,
    }
    assert found.reasons["refused"] == {"over quota": 3, "trap": 6}
    assert found.reasons["unreachable"] == {}
    assert found.servers["collected"] == 1


def test_a_page_kept_fresh_that_waits_for_its_next_visit_is_collected() -> None:
    counts = Counts(found=100, visited=34, outcomes={"ok": 32, "gone": 2})
    servers = [ServerRecord(found=50, due=50), ServerRecord(found=50, visited=34, collected=32, due=6)]
    found = coverage(counts, servers)
    assert (found.pages["collected"], found.pages["waiting"]) == (88, 10)
    assert found.reasons["collected"] == {"ok": 32, "due again": 56}
    assert sum(found.pages.values()) == 100
    assert (found.servers["collected"], found.servers["waiting"]) == (2, 0)


def test_no_more_pages_are_due_again_than_wait() -> None:
    found = coverage(Counts(found=5, visited=4, outcomes={"ok": 4}), [ServerRecord(found=5, due=3)])
    assert (found.pages["collected"], found.pages["waiting"]) == (5, 0)
