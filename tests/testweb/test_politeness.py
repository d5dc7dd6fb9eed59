from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joro.testweb.log import DTYPE, Rows
from joro.testweb.politeness import judge, pauses_s


def rows(*visits: tuple[int, float, float], concurrent: tuple[int, ...] = ()) -> Rows:
    """Rows of (host, start, end), in order of start."""
    table = np.zeros(len(visits), dtype=DTYPE)
    for number, (host, start, end) in enumerate(visits):
        table[number]["host"], table[number]["start"], table[number]["end"] = host, start, end
        table[number]["concurrent"] = concurrent[number] if concurrent else 1
    return table


def none(table: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.zeros(len(table), dtype=bool)


def test_the_pause_runs_from_end_to_start_on_one_server() -> None:
    table = rows((1, 0.0, 1.0), (2, 0.5, 0.6), (1, 3.0, 3.5), (1, 4.0, 4.1))
    assert pauses_s(table).tolist() == [np.inf, np.inf, 2.0, 0.5]


def test_a_long_visit_counts_until_its_own_end() -> None:
    table = rows((1, 0.0, 10.0), (1, 1.0, 2.0), (1, 11.0, 12.0))
    assert pauses_s(table).tolist() == [np.inf, -9.0, 1.0]


def test_a_visit_before_the_pause_is_over_is_a_violation() -> None:
    table = rows((1, 0.0, 1.0), (1, 2.0, 3.0), (1, 8.0, 9.0))
    report = judge(table, none(table), interval_s=5.0)
    assert (report.too_early, report.concurrent) == (1, 0)
    assert report.smallest_pause_s == 1.0
    assert [violation["row"] for violation in report.violations] == [1]


def test_overlapping_visits_are_a_violation_without_any_rule() -> None:
    table = rows((1, 0.0, 5.0), (1, 1.0, 2.0), concurrent=(1, 2))
    report = judge(table, none(table), interval_s=0.0)
    assert (report.concurrent, report.most_concurrent) == (1, 2)


def test_other_servers_do_not_matter() -> None:
    table = rows((1, 0.0, 1.0), (2, 0.1, 1.0), (3, 0.2, 1.0))
    assert judge(table, none(table), interval_s=60.0).violations == []


def test_disallowed_visits_are_counted() -> None:
    table = rows((1, 0.0, 1.0), (2, 0.1, 1.0))
    assert judge(table, np.array([False, True]), interval_s=0.0).disallowed == 1


def test_an_empty_log_is_polite() -> None:
    table = rows()
    assert judge(table, none(table), interval_s=1.0).requests == 0


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=30), st.floats(0.1, 5.0))
def test_whoever_waits_long_enough_is_never_blamed(waits: list[float], interval_s: float) -> None:
    time, visits = 0.0, []
    for wait in waits:
        visits.append((1, time, time + 0.1))
        time += 0.1 + interval_s + wait
    table = rows(*visits)
    assert judge(table, none(table), interval_s).violations == []
