"""Servers with a page in a chosen language are gone through once a month, each at its own time."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.cycle import CYCLE_S, DAY_S, due_at, dues_at, refresh_set, round_of
from joro.url import fingerprint

A = "http://a.example"


def test_one_page_in_the_language_is_enough() -> None:
    servers = [
        ("http://a", {"ja": 1, "en": 500}),
        ("http://b", {"en": 9}),
        ("http://c", {"ja": 0}),
        ("http://d", {}),
    ]
    assert list(refresh_set(servers, ["ja"])) == ["http://a"]
    assert list(refresh_set(servers, ["JA", "en"])) == ["http://a", "http://b"]


def test_a_language_means_its_variants_too() -> None:
    servers = [("http://a", {"zh-Hant": 3}), ("http://b", {"zhx": 3})]
    assert list(refresh_set(servers, ["zh"])) == ["http://a"]
    assert list(refresh_set(servers, ["zh-hant"])) == ["http://a"]


def test_servers_are_due_on_all_days_of_the_month_alike() -> None:
    days = Counter(int(due_at(f"http://{n}.example", 0.0) // DAY_S) for n in range(6_000))
    assert len(days) == 30
    assert all(150 < count < 250 for count in days.values())


def test_a_server_that_was_late_once_is_not_late_ever_after() -> None:
    first = due_at(A, 0.0)
    assert due_at(A, first + 10 * DAY_S) == due_at(A, first)


@given(st.text(min_size=1), st.floats(0, 4e9), st.integers(3_600, 10**8))
def test_a_server_is_due_once_in_a_cycle_and_in_the_next_one(
    server: str, moment: float, cycle_s: int
) -> None:
    due = due_at(server, moment, cycle_s)
    assert moment < due <= moment + cycle_s
    assert round_of(server, due, cycle_s) == round_of(server, moment, cycle_s) + 1


def test_a_month_has_thirty_days() -> None:
    assert CYCLE_S == 30 * 86_400


@given(st.lists(st.floats(0, 4e9), min_size=1), st.integers(3_600, 10**8))
def test_columns_say_the_same(moments: list[float], cycle_s: int) -> None:
    servers = [f"http://{number}.example" for number in range(len(moments))]
    marks = np.array([fingerprint(server) for server in servers], np.uint64)
    one_by_one = [due_at(server, moment, cycle_s) for server, moment in zip(servers, moments, strict=True)]
    assert dues_at(marks, moments, cycle_s).tolist() == one_by_one
