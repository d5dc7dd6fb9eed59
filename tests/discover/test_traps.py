"""Small made-up servers, each a function from a path to texts and links; the test web's own traps: below."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from bench.traps import Reply, Walk, honest_pages, over_http
from joro.discover.traps import SAVED_EVERY, WATCHED_FROM, Traps
from joro.parse.likeness import Likeness, likeness
from joro.testweb.running import running
from joro.testweb.settings import Settings

Server = Callable[[str], tuple[str, list[str]]]
FRAME = "Welcome to a small server that says this on each of its pages, together with all it says elsewhere."


def prose(key: object, words: int = 40) -> str:
    """Text that stands nowhere else."""
    chance = random.Random(str(key))
    return " ".join("".join(chance.choices("abcdefghij", k=6)) for _ in range(words))


def walk(server: Server, limit: int = 5_000) -> Walk:
    def fetch(url: str) -> Reply:
        text, links = server(url.removeprefix("http://a.example"))
        anchors = "".join(f'<a href="{link}">more</a>' for link in links)
        page = f"<title>{text[:30]}</title><p>{FRAME}</p><p>{text}</p>{anchors}"
        return Reply(200, "text/html; charset=utf-8", page.encode())

    return Walk(fetch).collect("http://a.example/", limit)


def paths(done: Walk, start: str) -> set[str]:
    return {url for url in done.fetched if url.startswith(f"http://a.example{start}")}


def days(path: str) -> tuple[str, list[str]]:
    month = re.search(r"month=(\d+)", path)
    if path.startswith("/post"):
        return prose(path), []
    number = int(month[1]) if month else 0
    months = [f"/plan?month={number + step}&view={view}" for step in (-1, 1) for view in ("week", "day")]
    return "Nothing is planned for this month.", months + [f"/post/{post}" for post in range(60)]


def wordy(path: str) -> tuple[str, list[str]]:
    if path.startswith("/good/"):
        return prose(path), []
    good = [f"/good/{name}" for name in prose("good").split()] if path == "/" else []
    return "This folder is empty.", good + [f"/{name}/{name}/" for name in prose(path, 20).split()]


def running_dry(path: str) -> tuple[str, list[str]]:
    number = int(path.strip("/") or 0)
    return (prose(path) if number < 300 else "No more entries."), [f"/{number + 1}/"]


@pytest.mark.parametrize(("server", "good", "count"), [(days, "/post", 60), (wordy, "/good", 40)])
def test_an_endless_server_ends_and_its_honest_pages_are_all_there(
    server: Server, good: str, count: int
) -> None:
    done = walk(server)
    assert len(paths(done, good)) == count
    assert len(done.fetched) < count + 150


def test_a_list_that_runs_dry_is_left() -> None:
    assert 300 < len(walk(running_dry).fetched) < 450


def test_a_large_archive_of_one_kind_is_collected_whole() -> None:
    done = walk(
        lambda path: (prose(path), [f"/a/{number}" for number in range(2_000)] if path == "/" else [])
    )
    assert len(done.fetched) == 2_001


def gallery(path: str) -> tuple[str, list[str]]:
    if path.startswith("/photo/"):
        return prose(path, 14), []
    number = int(path.partition("=")[2] or 0)
    onward = [f"/gallery?page={number + 1}"] if number < 60 else []
    return "Photos", [*(f"/photo/{number * 8 + step}" for step in range(8)), *onward]


def test_pages_that_say_nothing_but_lead_to_pages_that_do_are_followed() -> None:
    assert len(paths(walk(gallery), "/photo/")) == 61 * 8


def diary(path: str) -> tuple[str, list[str]]:
    if path.startswith("/entry/"):
        return prose(path), []
    number = int(path.rpartition("/")[2] or 0)
    return "What was done on this day?", [f"/entry/{number}", f"/day/{number + 1}"] if number < 1_000 else []


def test_a_chain_of_pages_that_say_nothing_is_followed_from_the_first_page_it_leads_to() -> None:
    assert len(paths(walk(diary), "/entry/")) == 1_000


WORDS = sorted(set(prose("words", 800).split()))


def dictionary(path: str) -> tuple[str, list[str]]:
    if path == "/":
        return "Words", [f"/{word}-1" for word in WORDS]
    return ("See elsewhere." if path < "/c" else prose(path)), []  # a fifth of them


def test_where_most_new_kinds_bring_something_the_others_are_forgiven() -> None:
    assert len(walk(dictionary).fetched) == 1 + len(WORDS)


def test_a_table_of_numbers_is_something_new() -> None:
    chance = random.Random(1)
    cells = [[f"{chance.random():.3f}" for _ in range(100)] for _ in range(2)]
    assert likeness(["Temperature", *cells[0]]).pieces != likeness(["Temperature", *cells[1]]).pieces


def sessions(path: str) -> tuple[str, list[str]]:
    page = re.search(r"/p(\d+)", path)
    chance = random.Random(path)
    links = [f"/p{number}?ticket={chance.getrandbits(64):016x}" for number in range(50)]
    return prose(page[1] if page else 0), links


def test_pages_behind_session_ids_are_collected_once_or_twice() -> None:
    done = walk(sessions)
    assert {re.sub(r"\?.*", "", url) for url in paths(done, "/p")} == {
        f"http://a.example/p{number}" for number in range(50)
    }
    assert len(done.fetched) < 50 + 130


def barren(traps: Traps, visits: int, first: int = WATCHED_FROM) -> None:
    for visit in range(first, first + visits):
        traps.observe(f"http://a/c/{visit}", likeness([FRAME]), visit)


def test_a_small_server_is_not_watched() -> None:
    traps = Traps()
    barren(traps, WATCHED_FROM - 1, first=1)
    assert list(traps.unsaved(all_states=True)) == []


def test_a_verdict_says_what_was_seen() -> None:
    traps = Traps()
    barren(traps, 40)
    assert re.fullmatch(
        r"of the last \d+ pages like /c/0 \d %.* brought something new", traps.verdict("http://a/c/1") or ""
    )
    assert traps.verdict("http://a/other") is None
    assert traps.verdict("http://b/c/1") is None


def test_a_closed_kind_is_tried_again_after_many_refusals() -> None:
    traps = Traps()
    barren(traps, 40)
    links = [f"http://a/c/{number}" for number in range(1_000, 1_064)]
    assert traps.admit(links) == ["http://a/c/1063"]
    assert traps.verdict("http://a/c/1063") is None
    traps.observe("http://a/c/1063", likeness([FRAME]), 99)
    assert traps.verdict("http://a/c/1064") is not None


def test_what_was_learnt_survives_a_restart() -> None:
    traps = Traps()
    barren(traps, 40)
    saved = dict(traps.unsaved())
    assert Traps(saved.get).verdict("http://a/c/1") == traps.verdict("http://a/c/1") is not None


def test_a_state_is_saved_now_and_then_and_all_at_the_end() -> None:
    traps = Traps()
    barren(traps, SAVED_EVERY - 1)
    assert list(traps.unsaved()) == []
    assert [server for server, _ in traps.unsaved(all_states=True)] == ["http://a"]
    assert list(traps.unsaved(all_states=True)) == []


def test_states_that_leave_memory_are_saved_and_known_again() -> None:
    saved: dict[str, bytes] = {}
    traps = Traps(saved.get)
    barren(traps, SAVED_EVERY - 1)
    verdict = traps.verdict("http://a/c/1")
    traps.shed()
    saved.update(traps.unsaved())
    traps.shed()
    assert list(saved) == ["http://a"]
    assert traps.verdict("http://a/c/1") == verdict is not None


def test_a_page_without_text_is_nothing_new() -> None:
    traps = Traps()
    assert traps.observe("http://a/1", Likeness(), WATCHED_FROM) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 21])
def test_every_trap_of_the_test_web_costs_less_than_200_fetches_and_no_honest_page(seed: int) -> None:
    with running(Settings(seed=seed, hosts=40, pages=800, roles=("trap", "news"))) as web:
        hosts = [host for host in web.oracle.get("/hosts") if host["role"] in ("trap", "news")]
        assert {host["kind"] for host in hosts} >= {"calendar", "session", "path", "facets", "pagination"}
        for host in hosts:
            with over_http(web.port) as fetch:
                fetched = set(Walk(fetch).collect(host["url"]).fetched)
            honest = honest_pages(web, host["name"])
            assert honest <= fetched, host
            assert host["role"] == "news" or len(fetched - honest) < 200, host
