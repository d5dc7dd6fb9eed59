from pathlib import Path

import numpy as np
import pytest

from joro.coordinate.assign import NOBODY, loads
from joro.coordinate.experiment import Experiment, read, write
from joro.simulator import cooperate_page
from joro.simulator.cooperate import (
    EQUALISED,
    LANES,
    PLANNED,
    PLANNED_200,
    RANDOM,
    SPLIT,
    Trial,
    middle,
    perform,
    score,
    with_parts,
)
from joro.simulator.cooperate_world import FASTEST, MEASURED_H, RANDOM_H, SLOWEST, collected_ms, world


@pytest.fixture(scope="module")
def trial() -> Trial:
    return perform(seed=1, servers=1_000)


def test_the_servers_are_like_those_s1_prints() -> None:
    one = world(seed=1)
    sizes_kb = np.sort(one.sizes_kb)
    assert np.median(sizes_kb) == pytest.approx(339, rel=0.01)
    assert sizes_kb.sum() == pytest.approx(22e6, rel=0.03)
    assert sizes_kb[-65:].sum() / sizes_kb.sum() == pytest.approx(0.43, abs=0.02)
    assert one.urls.sum() == pytest.approx(4_653_140, rel=0.1)


def test_the_distances_are_like_those_s1_prints() -> None:
    distances = world(seed=1).distances
    ratio = distances.max(axis=0) / distances.min(axis=0)
    assert np.median(ratio) == pytest.approx(48.2, rel=0.1)
    assert ratio.mean() == pytest.approx(67.5, rel=0.1)
    assert np.quantile(1_024 / distances, 0.8) == pytest.approx(14.0, rel=0.1)
    fastest, slowest = (
        np.bincount(each, minlength=17) for each in (distances.argmin(0), distances.argmax(0))
    )
    assert np.abs(fastest - FASTEST).max() < 150
    assert np.abs(slowest - SLOWEST).max() < 150


def test_probes_are_off_by_as_much_as_in_s1() -> None:
    one = world(seed=1)
    owners = np.arange(len(one.servers)) % 17
    ratio = loads(collected_ms(one, seed=1), owners) / loads(one.costs_ms, owners)
    assert ratio.mean() == pytest.approx(0.8, abs=0.1)
    assert 0.1 < np.abs(ratio - 1).mean() < 0.4


def test_the_published_tables_were_copied_right() -> None:
    """By the totals and quotients S1 prints; only below the column of 6,431 it says 6,501."""
    assert (sum(SLOWEST), sum(FASTEST)) == (6_500, 6_431)
    assert max(RANDOM_H) / max(MEASURED_H) == pytest.approx(11.1, abs=0.01)
    assert max(MEASURED_H) / min(MEASURED_H) == pytest.approx(9.95, abs=0.01)


def test_the_rule_beats_chance_and_the_plan_beats_the_rule(trial: Trial) -> None:
    assert trial.speed_up(EQUALISED, taken=False) > 5
    foretold = trial.foretold
    assert foretold[PLANNED].slowest_h < foretold[EQUALISED].slowest_h < foretold[RANDOM].slowest_h
    assert foretold[PLANNED].slowest_h >= trial.least_h
    assert foretold[PLANNED_200].lanes_h <= foretold[PLANNED].lanes_h


def test_where_huge_servers_are_split_costs_are_equal(trial: Trial) -> None:
    assert trial.foretold[SPLIT].spread < 0.1


def test_splitting_changes_no_byte_and_no_cost() -> None:
    one = world(seed=1, servers=500)
    truth_ms = collected_ms(one, seed=1)
    parts = with_parts(one)
    assert len(parts.whole.servers) > 500
    assert parts.whole.sizes_kb.sum() == pytest.approx(one.sizes_kb.sum())
    assert parts.costs_of(truth_ms).sum(axis=1) == pytest.approx(truth_ms.sum(axis=1))


def test_a_score_is_reckoned_in_hours() -> None:
    one = score("x", np.array([[3.6e6, 7.2e6], [9e9, 9e9]]), np.array([0, 0]))
    assert (one.slowest_h, one.fastest_h, one.lanes_h) == (3.0, 0.0, 2.0)
    assert one.slowest_by_fastest == float("inf")
    assert LANES == 200


def test_a_median_is_told_with_its_range() -> None:
    assert (middle([1.0, 2.0, 10.0]), middle([2.5])) == ("2 (1–10)", "2.5")


def test_a_report_of_the_written_run_has_the_same_tables(trial: Trial, tmp_path: Path) -> None:
    write(trial.experiment, tmp_path / "run")
    files = cooperate_page.write(trial.experiment, [trial], tmp_path / "one")
    again = cooperate_page.write(read(tmp_path / "run"), (), tmp_path / "two")
    assert {"cooperate.md", "table-5.csv", "table-8.csv", "figure-11.csv", "figure-15.csv"} <= set(again)
    assert set(files) - set(again) == {"seeds.csv"}
    for name in (
        "table-5.csv",
        "table-6.csv",
        "table-7.csv",
        "table-8.csv",
        "figure-15.csv",
        "figure-15-planned.csv",
    ):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()
    assert "Where this differs from S1" in (tmp_path / "one" / "cooperate.md").read_text()


def test_what_nobody_measured_is_told_and_not_counted(tmp_path: Path) -> None:
    one = Experiment(
        ("r1", "r2"),
        ("http://a.jp", "http://b.jp", "http://c.jp"),
        np.array([3_600.0, 0.0, 9.0]),
        np.array([1, 1, 1]),
        np.array([[1_000.0, np.inf, np.inf], [2_000.0, np.inf, 1.0]]),
        {"mine": np.array([0, 1, NOBODY])},
    )
    cooperate_page.write(one, (), tmp_path)
    page = (tmp_path / "cooperate.md").read_text()
    assert "mine: 1 servers not measured by their robot and 1 of nobody are not counted." in page
    assert "| r1 | 1.0 | 1.0 |" in page
