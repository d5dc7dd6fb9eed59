from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from joro.simulator.contest import NAMES, Row
from joro.simulator.curves import COLOURS, SHAPES, Entry, figures, means
from joro.simulator.figures import write
from joro.simulator.freshness import Outcome


def entry(seed: int, policy: str, budget: float, fresh: float, optimum: float | None = 0.8) -> Entry:
    outcome = Outcome(fresh, fresh, 0.1, visits=10, used=1.0, by_day=np.array([1.0, fresh]))
    return Entry(seed, Row(policy, budget, outcome, optimum))


def test_everybody_has_a_colour_and_a_shape() -> None:
    assert tuple(COLOURS) == tuple(SHAPES) == NAMES


def test_means_and_spread_are_over_the_seeds() -> None:
    every = [entry(1, "optimal", 0.1, 0.72), entry(2, "optimal", 0.1, 0.76), entry(1, "uniform", 0.1, 0.4)]
    ours, uniform = means(every)
    assert ours.fresh == pytest.approx(0.74)
    assert ours.share == pytest.approx(0.925)
    assert ours.spread == pytest.approx(0.025)
    assert (uniform.policy, uniform.spread) == ("uniform", 0.0)


def test_without_an_optimum_the_spread_is_that_of_freshness() -> None:
    mean = means([entry(1, "optimal", 1, 0.7, None), entry(2, "optimal", 1, 0.8, None)])[0]
    assert mean.share is None
    assert mean.spread == pytest.approx(0.05)


def test_there_is_a_figure_of_budgets_and_one_of_days_for_each(tmp_path: Path) -> None:
    every = [entry(1, "optimal", budget, 0.7) for budget in (0.1, 0.25)]
    drawn = figures(every, "two pages")
    assert [figure.name for figure in drawn] == ["freshness", "freshness-0_1", "freshness-0_25"]
    files = [name for figure in drawn for name in write(figure, tmp_path)]
    assert all((tmp_path / name).stat().st_size for name in files)


def test_days_are_means_over_the_seeds(tmp_path: Path) -> None:
    every = [entry(1, "gamma", 1, 0.6), entry(2, "gamma", 1, 0.8)]
    write(figures(every, "")[1], tmp_path)
    rows = list(csv.DictReader((tmp_path / "freshness-1.csv").read_text().splitlines()))
    assert [(row["day"], float(row["weighted"])) for row in rows] == [("1", 1.0), ("2", pytest.approx(0.7))]
