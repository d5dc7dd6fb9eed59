"""What is asked for at all: robots.txt, wishes of pages, limits of the operator; by the servers' own log."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.scenarios import laws
from tests.scenarios.archived import responses
from tests.scenarios.crawls import QUIET, Seen, crawl
from tests.scenarios.laws import by
from tests.scenarios.stage import Web, done, serve_web
from tests.scenarios.village import Reply, Site, linking, rules, village

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    options = ("--seed", 11, "--hosts", 40, "--pages", 900, "--roles", "normal", "--latency", 5)
    with serve_web(tmp_path_factory.mktemp("web"), *options) as web:
        yield web


def at_once(web: Web, path: Path, *words: object, **scope: object) -> Seen:
    """A crawl without pauses."""
    return crawl(web, path, *words, politeness={"interval_s": 0.0}, scope=scope)


@pytest.mark.parametrize("processes", [1, 2])
def test_links_from_a_seed_are_followed_exactly_so_far(web: Web, tmp_path: Path, processes: int) -> None:
    seen = at_once(web, tmp_path / "c", "-p", processes, web.seeds[0], hops=2)
    assert len(seen.pages) > 100
    assert seen.pages == {url for url, hops in web.oracle.get("/reachable").items() if hops <= 2}


@pytest.mark.parametrize("processes", [1, 2])
def test_no_server_is_asked_for_more_pages_than_its_quota(web: Web, tmp_path: Path, processes: int) -> None:
    seen = at_once(web, tmp_path / "c", "-p", processes, web.seeds[0], pages_per_server=7)
    asked = by([row for row in seen.rows if row["path"] != "/robots.txt"])
    quota = {host["name"]: min(host["pages"], 7) for host in seen.hosts}
    assert {name: len(rows) for name, rows in asked.items()} == quota


def test_generated_pages_lead_only_so_far_to_each_other(web: Web, tmp_path: Path) -> None:
    programs = [host for host in web.oracle.get("/hosts") if host["style"] in (2, 5)]
    host = max(programs, key=lambda host: int(host["pages"]))
    front = host["url"]
    seen = at_once(web, tmp_path / "c", front, domains=[host["name"]], cgi_hops=1)
    everything = web.oracle.get("/pages", host=host["name"], links=1)
    links = {page["url"]: {url for url in page["links"] if url.startswith(front)} for page in everything}
    first = links[front]
    second = {url for page in first for url in links[page]}
    assert {front} | first < seen.pages <= {front} | first | second
    assert seen.pages < links.keys()


def test_the_operators_patterns_keep_pages_out(web: Web, tmp_path: Path) -> None:
    patterns = {"include": ["*.jp/*", "*.com/*"], "exclude": ["*/news*", r"re:[?&]no=\d*7$"]}
    seen = at_once(web, tmp_path / "c", **patterns)
    assert len(seen.pages) > 100
    assert [url for url in seen.pages if re.search(r"/news|[?&]no=\d*7$", url)] == []
    assert {url.split("/")[2].rpartition(".")[2] for url in seen.pages} == {"jp", "com"}


def test_what_the_operator_excludes_while_it_waits_is_not_asked_for_any_more(tmp_path: Path) -> None:
    pages = [f"/{part}/{number}" for part in ("secret", "open") for number in range(8)]
    manners = {"interval_s": 0.0}
    with village({"a.example": {"/": linking(*pages, "/" + "x" * 200)}}) as place:
        collection = place.collection(tmp_path / "c", politeness=manners)
        done("crawl", "-q", "-C", collection, "--limit", 1, "http://a.example/")
        scope = {"exclude": ["*/secret/*"], "url_limit_chars": 100}
        place.settle(collection, politeness=manners, scope=scope)
        done("crawl", "-q", "-C", collection)
    assert sorted(place.paths("a.example")) == ["/", *pages[8:]]


def test_what_the_operator_excludes_is_not_visited_again(tmp_path: Path) -> None:
    manners = {"interval_s": 0.0}
    often = {"policy": "uniform", "visits_per_day": 10_000_000, "first_interval_s": 1.0, "watch": False}
    refresh = often | {"least_interval_s": 1.0, "plan_every_s": 1.0}
    site = {"/": linking("/1", "/secret/1"), "/1": linking("/2"), "/secret/1": linking(), "/2": linking()}
    with village({"a.example": site}) as place:
        collection = place.collection(tmp_path / "c", politeness=manners, refresh=refresh)
        done("crawl", "-q", "-C", collection, "http://a.example/")
        assert len(set(place.paths("a.example"))) == 4
        place.rows.clear()
        scope = {"exclude": ["*/secret/*"], "hops": 1}
        place.settle(collection, politeness=manners, refresh=refresh, scope=scope)
        done("refresh", "-q", "-C", collection, "--limit", 6)
    assert set(place.paths("a.example")) == {"/", "/1"}


def test_outside_jp_only_japanese_pages_are_kept_and_lead_on(web: Web, tmp_path: Path) -> None:
    seen = at_once(web, tmp_path / "c", everything_under=["jp"], languages_elsewhere=["ja"])
    pages = {page["url"]: page for page in web.oracle.get("/pages", links=1)}
    wanted = {url for url, page in pages.items() if ".jp/" in url or page["language"] == "ja"}
    archived = set(responses(seen.collection))
    assert len(archived) > 100
    assert len(archived - wanted) <= 3  # in so many languages at once that it cannot be told
    led_to = {url for source in wanted | archived for url in pages[source]["links"]}
    assert seen.pages <= led_to | {web.seeds[0]}
    assert len(pages.keys() - seen.pages) > 50  # behind foreign pages nobody was asked for anything
    assert any(pages[url]["language"] != "ja" for url in archived)  # under .jp every language


def tag(words: str) -> tuple[str, str]:
    return "X-Robots-Tag", words


def test_what_a_page_asks_of_robots_is_done(tmp_path: Path) -> None:
    meta = '<meta name="{}" content="{}">'
    site = {
        "/": linking("/meta", "/none", "/ours", "/tag", "/lines", "/other", "/rel"),
        "/meta": linking("/hidden/meta", head=meta.format("robots", "nofollow")),
        "/none": linking("/hidden/none", head=meta.format("ROBOTS", "None")),
        "/ours": linking("/hidden/ours", head=meta.format("joro", "nofollow")),
        "/tag": linking("/hidden/tag", fields=(tag("noindex, nofollow"),)),
        "/lines": linking("/hidden/lines", fields=(tag("otherbot: noindex"), tag("nofollow"))),
        "/other": linking("/open/other", fields=(tag("otherbot: nofollow"),)),
        "/rel": Reply('<a href="/hidden/rel" rel="nofollow">x</a> <a href="/open/rel">y</a>'),
    }
    with village({"a.example": site}) as place:
        collection = place.collection(tmp_path / "c", politeness={"interval_s": 0.0})
        done("crawl", "-q", "-C", collection, "http://a.example/")
    assert sorted(place.paths("a.example")) == sorted([*site, "/open/other", "/open/rel"])


PAGES = {"/": linking("/no/1", "/yes/1"), "/no/1": linking(), "/yes/1": linking()}
FORBIDDING = rules("Disallow: /no/")
PADDING = "\n".join(f"Disallow: /nowhere/{number}" for number in range(40_000))  # more than 500 KiB


def moved(to: str) -> Reply:
    return Reply(status=301, fields=(("Location", to),))


def test_robots_txt_by_its_status_wherever_it_lies_and_however_long_it_is(tmp_path: Path) -> None:
    files: dict[str, Site] = {
        "s200": {"/robots.txt": FORBIDDING},
        "s404": {},
        "s403": {"/robots.txt": Reply(FORBIDDING.body, 403)},
        "s500": {"/robots.txt": Reply("", 500)},
        "moved": {"/robots.txt": moved("/elsewhere"), "/elsewhere": FORBIDDING},
        "abroad": {"/robots.txt": moved("http://s200.example/robots.txt")},
        "endless": {"/robots.txt": moved("/robots.txt")},
        "early": {"/robots.txt": rules("Disallow: /no/", PADDING)},
        "late": {"/robots.txt": rules(PADDING, "Disallow: /yes/")},
    }
    sites = {f"{name}.example": {**PAGES, **site} for name, site in files.items()}
    with village(sites) as place:
        manners = QUIET | {"interval_s": 0.2, "retry_wait_s": 0.2}
        collection = place.collection(tmp_path / "c", politeness=manners)
        done("crawl", "-q", "-C", collection, *(f"http://{name}/" for name in sites))
    asked = {name: set(place.paths(f"{name}.example")) & PAGES.keys() for name in files}
    assert {name for name in files if asked[name] == PAGES.keys()} == {"s404", "s403", "endless", "late"}
    assert {name for name in files if asked[name] == {"/", "/yes/1"}} == {"s200", "moved", "abroad", "early"}
    assert asked["s500"] == set()
    assert laws.early(place.rows, 0.2) == []


def test_a_robots_txt_of_which_only_a_part_arrived_allows_nothing_and_is_asked_for_again(
    tmp_path: Path,
) -> None:
    half = Reply("User-agent: *\nDisallow: /no", announces=400, hangs_up=True)
    gzipped = (("Content-Encoding", "gzip"),)
    packed = gzip.compress(b"User-agent: *\nDisallow: /no\nDisallow: /yes\n")
    files: dict[str, Site] = {
        "half": {"/robots.txt": half},
        "none": {"/robots.txt": replace(half, body="")},
        "broken": {"/robots.txt": Reply(b"\x1f\x8b but nothing packed", fields=gzipped)},
        "breaking": {"/robots.txt": Reply(packed[:-9], fields=gzipped)},  # all that was announced arrived
        "mended": {"/robots.txt": lambda count: half if count == 1 else FORBIDDING},
        "plain": {"/robots.txt": replace(FORBIDDING, fields=gzipped)},  # announced, and not so
    }
    sites = {f"{name}.example": {**PAGES, **site} for name, site in files.items()}
    with village(sites) as place:
        manners = QUIET | {"interval_s": 0.2, "retry_wait_s": 0.2, "retry_limit": 2}
        collection = place.collection(tmp_path / "c", politeness=manners)
        done("crawl", "-q", "-C", collection, *(f"http://{name}/" for name in sites))
    asked = {name: set(place.paths(f"{name}.example")) for name in files}
    assert {name for name in files if not asked[name]} == {"half", "none", "broken", "breaking"}
    assert asked["mended"] == asked["plain"] == {"/", "/yes/1"}
    times = {name: place.asked[f"{name}.example", "/robots.txt"] for name in files}
    assert times == {"half": 3, "none": 3, "broken": 3, "breaking": 3, "mended": 2, "plain": 1}


def test_a_directory_with_a_space_in_its_name_is_left_alone_however_links_to_it_are_written(
    tmp_path: Path,
) -> None:
    links = linking("/My Documents/1", "/My%20Documents/2", "/a|b/3", "/a%7Cb/4", "/?x='5", "/yes/1")
    site = {
        "/": links,
        "/robots.txt": rules("Disallow: /My Documents/", "Disallow: /a%7Cb/", "Disallow: /?x='"),
    }
    with village({"a.example": site}) as place:
        collection = place.collection(tmp_path / "c", politeness={"interval_s": 0.0})
        done("crawl", "-q", "-C", collection, "http://a.example/")
    assert place.paths("a.example") == ["/", "/yes/1"]


def test_a_redirect_leads_where_it_would_lead_a_browser(tmp_path: Path) -> None:
    there = {"utf8": "/日本".encode(), "sjis": "/日本".encode("shift_jis")}
    site = {"/": linking("/utf8", "/sjis")} | {
        f"/{key}": moved(to.decode("latin-1")) for key, to in there.items()
    }
    with village({"a.example": site}) as place:
        collection = place.collection(tmp_path / "c", politeness={"interval_s": 0.0})
        done("crawl", "-q", "-C", collection, "http://a.example/")
    assert set(place.paths("a.example")) == {*site, "/%E6%97%A5%E6%9C%AC", "/%93%FA%96%7B"}


def test_robots_txt_is_read_again_in_time_and_obeyed_at_once(tmp_path: Path) -> None:
    chain = {f"/{number}": linking(f"/{number + 1}") for number in range(40)}
    closing = {"/robots.txt": lambda count: rules("Disallow:" if count < 3 else "Disallow: /")}
    with village({"a.example": {**chain, **closing}}) as place:
        manners = QUIET | {"interval_s": 0.2, "robots_age_s": 1.2}
        collection = place.collection(tmp_path / "c", politeness=manners)
        done("crawl", "-q", "-C", collection, "http://a.example/0")
    rows = place.log("a.example")
    paths = [row["path"] for row in rows]
    assert (paths.count("/robots.txt"), paths[-1]) == (3, "/robots.txt")
    assert len(paths) >= 9
    assert laws.missing_rules(rows, age_s=1.3) == []
    assert laws.early(rows, 0.2) == []


def test_a_server_whose_pauses_are_longer_than_rules_are_good_for_gives_pages_too(tmp_path: Path) -> None:
    site = {"/0": linking("/1"), "/1": linking(), "/robots.txt": rules("Disallow:")}
    with village({"a.example": site}) as place:
        manners = QUIET | {"interval_s": 1.3, "robots_age_s": 1.0}
        collection = place.collection(tmp_path / "c", politeness=manners)
        done("crawl", "-q", "-C", collection, "--limit", 2, "http://a.example/0")
    rows = place.log("a.example")
    assert [row["path"] for row in rows] == ["/robots.txt", "/robots.txt", "/0", "/robots.txt", "/1"]
    assert laws.early(rows, 1.3) == []


def test_a_robots_txt_that_fails_once_is_asked_for_again_whatever_failed_before_it(tmp_path: Path) -> None:
    page = {"/1": lambda count: Reply(status=500) if count == 1 else linking()}
    file = {"/robots.txt": lambda count: Reply(status=500) if count == 2 else rules("Disallow:")}
    with village({"a.example": {"/0": linking("/1"), **page, **file}}) as place:
        manners = QUIET | {"interval_s": 0.4, "retry_wait_s": 0.1, "retry_limit": 1, "robots_age_s": 1.0}
        collection = place.collection(tmp_path / "c", politeness=manners)
        done("crawl", "-q", "-C", collection, "http://a.example/0")
    assert place.paths("a.example") == ["/0", "/1", "/1"]
