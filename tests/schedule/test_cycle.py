"""Servers with a page in a chosen language are gone through once a month, each at its own time."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.cycle import CYCLE_S, DAY_S, dues_at, holds_any
from joro.url import fingerprint

A = np.array([fingerprint("http://a.example")], np.uint64)


def test_one_page_in_the_language_is_enough() -> None:
    servers = [{"ja": 1, "en": 500}, {"en": 9}, {"ja": 0}, {}]
    assert [holds_any(pages, ["ja"]) for pages in servers] == [True, False, False, False]
    assert [holds_any(pages, ["JA", "en"]) for pages in servers] == [True, True, False, False]


def test_a_language_means_its_variants_too() -> None:
    assert holds_any({"zh-Hant": 3}, ["zh"])
    assert holds_any({"zh-Hant": 3}, ["zh-hant"])
    assert not holds_any({"zhx": 3}, ["zh"])


def test_servers_are_due_on_all_days_of_the_month_alike() -> None:
    servers = np.array([fingerprint(f"http://{number}.example") for number in range(6_000)], np.uint64)
    days = Counter((dues_at(servers, np.zeros(6_000)) // DAY_S).tolist())
    assert len(days) == 30
    assert all(150 < count < 250 for count in days.values())


def test_a_server_that_was_late_once_is_not_late_ever_after() -> None:
    (first,) = dues_at(A, 0.0)
    assert dues_at(A, first + 10 * DAY_S) == dues_at(A, first) == first + CYCLE_S


@given(st.integers(0, 2**64 - 1), st.floats(0, 4e9), st.integers(3_600, 10**8))
def test_a_server_is_due_once_in_a_cycle_and_in_the_next_one(
    server: int, moment: float, cycle_s: int
) -> None:
    (due,) = dues_at(np.array([server], np.uint64), moment, cycle_s)
    assert moment < due <= moment + cycle_s
    assert (due - server % cycle_s) % cycle_s == 0


def test_a_month_has_thirty_days() -> None:
    assert CYCLE_S == 30 * 86_400
