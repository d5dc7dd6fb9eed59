from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.schedule import START, drawn
from bench.schedule_pages import PAGES_PER_SERVER, Pages
from joro.schedule.plan import wish
from joro.store.frontier import Frontier
from joro.url import fingerprint, server_of


@pytest.fixture(scope="module")
def pages() -> Pages:
    return Pages(3 * PAGES_PER_SERVER, *drawn(np.random.default_rng(1)), START)


@pytest.fixture(scope="module")
def frontier(pages: Pages, tmp_path_factory: pytest.TempPathFactory) -> Frontier:
    folder: Path = tmp_path_factory.mktemp("frontier")
    pages.write(folder)
    return Frontier(folder, read_only=True)


def test_every_page_has_the_record_the_robot_would_write(pages: Pages, frontier: Frontier) -> None:
    found = {record.url: record for record in frontier.all_visited()}
    assert found == {pages.url(number): pages.record(number) for number in range(pages.pages)}


def test_every_page_has_one_date_and_it_is_that_of_its_record(pages: Pages, frontier: Frontier) -> None:
    dates = frontier.calendar.pop(np.inf, 10_000)
    records = [pages.record(number) for number in range(pages.pages)]
    wanted = {
        (fingerprint(record.url), fingerprint(server_of(record.url)), record.upkeep.due)
        for record in records
        if record.upkeep is not None
    }
    assert (dates["version"] == 3).all()
    assert wanted == set(zip(*(dates[name].tolist() for name in ("mark", "server", "due")), strict=True))


def test_servers_know_what_their_pages_wish(pages: Pages, frontier: Frontier) -> None:
    for name, server in frontier.all_servers():
        wishes: dict[int, tuple[int, float]] = {}
        cares = [record.upkeep for record in frontier.all_visited() if server_of(record.url) == name]
        for care in cares:
            assert care is not None
            wish(wishes, care.interval_s, care.weight)
        assert server.found == len(cares) == PAGES_PER_SERVER
        assert {cell: count for cell, (count, _) in server.wishes.items()} == {
            cell: count for cell, (count, _) in wishes.items()
        }
        assert sum(rate for _, rate in server.wishes.values()) == pytest.approx(
            sum(rate for _, rate in wishes.values())
        )
