from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from joro.model import DAY_S
from joro.schedule.sockets import Order
from joro.simulator.figures import Figure, histogram, of_missed, of_population
from joro.simulator.trial import Outcome, Trial
from tests.simulator.servers import servers


def outcome(order: Order, sockets: int, asked: int, missed: int) -> Outcome:
    asked_of, made_by, missed_by = (np.array([number]) for number in (asked, asked - missed, missed))
    return Outcome(Trial(sockets, order), asked_of, made_by, missed_by, page_bytes=1.0)


def axis(figure: Figure, name: str) -> dict[str, Any]:
    """Of the layer in which the table is drawn."""
    layers = [layer for layer in figure.chart["layer"] if "data" not in layer]
    found: dict[str, Any] = layers[0]["encoding"][name]["axis"]
    return found


def test_bins_without_a_server_are_counted_as_such() -> None:
    """A line of steps would pass over bins that are left out as if they had as many as those beside them."""
    rows = histogram({"mean": np.array([1.1, 1.1, 30.0])})
    assert [row["servers"] for row in rows] == [0, 2, *[0] * 10, 1, 0]
    assert all(one["high"] == other["low"] for one, other in pairwise(rows))


@pytest.mark.parametrize("interval_s", [0.02, 3.3, 50.0, 700.0, 2.5 * 3600, 7 * DAY_S, 3_300 * DAY_S])
def test_the_axes_of_a_single_server_can_be_read(interval_s: float) -> None:
    figures = of_population(servers((interval_s, [min(interval_s / 7, 3.0)])))
    for figure in figures:
        low, high = figure.rows[0]["low"], figure.rows[-1]["high"]
        assert len([each for each in axis(figure, "x")["values"] if low <= each <= max(high, 1.0)]) >= 2
        assert [each for each in axis(figure, "y")["values"] if each <= 1] == [0, 1]


def test_every_moment_on_the_axis_has_its_name() -> None:
    x = axis(of_population(servers((7 * DAY_S, [1.0])))[0], "x")
    names = json.loads(x["labelExpr"].removesuffix("[datum.value]"))
    assert [names[f"{each:.12g}"] for each in x["values"]] == ["5 d", "7 d", "10 d"]


def test_nothing_asked_for_is_drawn_as_nothing() -> None:
    figure = of_missed("figure-7", ("", ""), [outcome(Order.EDF, 1, 0, 0)], need=0.1)
    scale = figure.chart["layer"][-1]["encoding"]["y"]["scale"]
    assert scale["domain"] == [0, 2]


def test_missed_within_one_power_of_ten_have_more_than_one_number_beside_them() -> None:
    tried = [outcome(Order.EDF, 5, 40_000, 30_000), outcome(Order.EDF, 10, 40_000, 20_000)]
    figure = of_missed("figure-7", ("", ""), tried, need=30.0)
    assert axis(figure, "y")["values"] == [10_000, 20_000, 50_000]


def test_only_orders_that_were_tried_have_a_name_beside_the_figure() -> None:
    figure = of_missed("figure-7", ("", ""), [outcome(Order.SJF, 1, 9, 3)], need=0.1)
    assert figure.chart["layer"][-1]["encoding"]["color"]["scale"]["domain"] == ["SJF"]


def test_the_word_beside_the_last_mark_does_not_cover_the_legend() -> None:
    marks = of_missed("figure-7", ("", ""), [outcome(Order.SJF, 5, 9, 3)], need=30.0).chart["layer"]
    assert [each["mark"]["align"] for each in marks if each["mark"]["type"] == "text"] == ["right", "right"]
