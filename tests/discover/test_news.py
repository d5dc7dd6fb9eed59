"""Front pages where new pages keep appearing are hubs; pages that merely change are not."""

import random

import pytest

from joro.discover.news import front_entries, is_barren, is_hub, may_be_front
from joro.discover.watch import FRONT, Reading, Watched, watch
from joro.model import Entry

PAGE = "http://a.example/"
HOUR_S = 3_600.0
NOW = 1_794_816_000.0
MENU = [f"{PAGE}menu/{n}" for n in range(20)]


def watched_for(hours: int, links: list[list[str]], every_h: int = 6) -> tuple[Watched, list[str]]:
    """The front page after visits, and what it told was urgent; what it leads to is visited at once."""
    front = watch(FRONT, PAGE, NOW)
    visited: dict[str, float] = {}
    urgent: list[str] = []

    def last_visits(urls: list[str]) -> list[float | None]:
        return [visited.get(url) for url in urls]

    for hour in range(0, hours, every_h):
        reading = Reading(front, NOW + hour * HOUR_S, last_visits)
        findings = reading.sift(front_entries(PAGE, links[hour]))
        visited.update(dict.fromkeys(findings.urgent + findings.new, NOW + hour * HOUR_S))
        urgent += findings.urgent
        front = reading.close()
    return front, urgent


def test_a_page_with_an_article_every_three_hours_is_a_hub_and_tells_each_once() -> None:
    links = [MENU + [f"{PAGE}{n}" for n in range(hour // 3, hour // 3 + 30)] for hour in range(96)]
    front, urgent = watched_for(96, links)
    assert is_hub(front)
    assert urgent == [f"{PAGE}{n}" for n in range(30, 30 + 30)]


def test_a_page_whose_links_stay_is_none_and_is_given_up() -> None:
    front, urgent = watched_for(96, [MENU] * 96)
    assert (is_hub(front), is_barren(front), urgent) == (False, True, [])


def test_random_recommendations_of_old_pages_make_no_hub() -> None:
    chance = random.Random(1)
    pool = [f"{PAGE}old/{n}" for n in range(40)]
    links = [MENU + pool] + [MENU + chance.sample(pool, 10) for _ in range(200)]
    front, urgent = watched_for(200, links)
    assert (is_hub(front), urgent) == (False, [])


def test_links_with_a_session_in_them_make_no_hub() -> None:
    front, _ = watched_for(96, [[f"{link}?s={hour}" for link in MENU] for hour in range(96)])
    assert not is_hub(front)


def test_one_new_page_a_month_makes_no_hub() -> None:
    front, urgent = watched_for(720, [MENU + [f"{PAGE}x"] * (hour > 300) for hour in range(720)])
    assert (is_hub(front), urgent) == (False, [f"{PAGE}x"])


@pytest.mark.parametrize(
    ("path", "links", "expected"),
    [
        ("", 30, True),
        ("news/", 30, True),
        ("news/sport/index.html", 30, True),
        ("a/b/c/", 30, False),
        ("?page=2", 30, False),
        ("", 3, False),
    ],
)
def test_front_pages_lie_high_and_lead_on(path: str, links: int, expected: bool) -> None:
    assert may_be_front(PAGE + path, links) is expected


def test_a_front_page_is_no_entry_of_itself_and_no_link_is_two() -> None:
    assert front_entries(PAGE, [PAGE, f"{PAGE}x", f"{PAGE}x"]) == [Entry(f"{PAGE}x")]
