"""Hostile servers take little memory from a crawl, and no honest page."""

from __future__ import annotations

import pytest

from tests.scenarios.appetite import Appetite, measure
from tests.scenarios.stage import serve_web

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def appetite(tmp_path_factory: pytest.TempPathFactory) -> Appetite:
    """Two servers of every hostile kind among 700; `make bench ONLY=hostile` has four of each."""
    directory = tmp_path_factory.mktemp("hostile")
    options = ("--hosts", 700, "--pages", 2800, "--roles", "hostile", "--addresses", "own")
    with serve_web(directory, *options) as web:
        return measure(web, directory)


def test_hostile_servers_cost_a_crawl_less_than_50_mb(appetite: Appetite) -> None:
    assert appetite.grown_mb < 50


def test_every_honest_page_is_collected_in_spite_of_them(appetite: Appetite) -> None:
    assert appetite.collected == appetite.honest > 1_000
