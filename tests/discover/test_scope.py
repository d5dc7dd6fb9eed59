from __future__ import annotations

from pathlib import Path

import pytest

from joro.config import Override, Scope
from joro.discover.scope import Boundary, is_generated
from joro.errors import ConfigError
from joro.store.orders import EMBARGO, TAKEDOWN, Order, OrderBook


def test_too_far_from_a_seed_is_outside() -> None:
    boundary = Boundary(Scope(hops=2))
    assert boundary.within(["http://a/"], 2) == ["http://a/"]
    assert boundary.within(["http://a/"], 3) == []


def test_a_domain_includes_its_subdomains_and_nothing_that_only_looks_alike() -> None:
    boundary = Boundary(Scope(domains=("example.jp",)))
    urls = [
        "http://example.jp/",
        "http://www.example.jp/",
        "http://notexample.jp/",
        "http://example.jp.evil.com/",
    ]
    assert boundary.within(urls, 0) == urls[:2]


@pytest.mark.parametrize("written", ["日本.jp", ".xn--wgv71a.jp", "*.日本.JP"])
def test_a_domain_may_be_written_as_people_do(written: str) -> None:
    boundary = Boundary(Scope(domains=(written,)))
    assert boundary.within(["http://a.xn--wgv71a.jp/", "http://jp/"], 0) == ["http://a.xn--wgv71a.jp/"]


@pytest.mark.parametrize("written", ["http://a.jp/", "a.jp/x", "a.jp:8080", "", "a b.jp"])
def test_what_is_no_domain_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match=r'is no domain; write it like "example\.jp"'):
        Boundary(Scope(domains=(written,)))


def test_long_urls_are_left_alone() -> None:
    boundary = Boundary(Scope(url_limit_chars=20))
    assert boundary.within(["http://a/" + "x" * 11, "http://a/" + "x" * 12], 0) == ["http://a/" + "x" * 11]


@pytest.mark.parametrize(
    ("url", "generated"),
    [
        ("http://a.example/", False),
        ("http://a.example/x?y", True),
        ("http://a.example/cgi-bin/count", True),
        ("http://a.example/bbs.cgi", True),
        ("http://a.example/index.php/Title", True),
        ("http://a.example/Show.ASPX;id=3", True),
        ("http://a.example/php/manual.html", False),
        ("http://a.example/my.documents/", False),
        ("http://cgi.example/", False),
    ],
)
def test_a_generated_page_shows_in_its_url(url: str, generated: bool) -> None:
    assert is_generated(url) == generated


DIARY = "http://a.example/diary.cgi?month="


def test_links_from_generated_page_to_page_are_limited_apart_from_other_hops() -> None:
    boundary = Boundary(Scope(hops=100, cgi_hops=3))
    counts, cgi_hops = [], 0
    for month in range(10):
        groups = boundary.follow(f"{DIARY}{month}", month, cgi_hops, [f"{DIARY}{month + 1}"])
        if not groups:
            break
        cgi_hops = groups[0][1]
        counts.append(cgi_hops)
    assert counts == [1, 2, 3]


def test_a_page_that_is_not_generated_and_another_server_begin_the_count_anew() -> None:
    boundary = Boundary(Scope(cgi_hops=3))
    here, there = "http://a.example/x.html", "http://b.example/y?z"
    assert boundary.follow(DIARY, 5, 2, [there, here]) == [([here], 3), ([there], 0)]
    assert boundary.follow(here, 5, 3, [there, DIARY]) == [([there, DIARY], 0)]


def test_no_links_of_generated_pages_are_followed_where_the_limit_is_0() -> None:
    assert Boundary(Scope(cgi_hops=0)).follow(DIARY, 0, 0, ["http://a.example/"]) == []


def test_exclusion_wins_over_inclusion() -> None:
    boundary = Boundary(Scope(include=("*/news/*",), exclude=("*/logout*",)))
    urls = ["http://a/news/1", "http://a/news/logout", "http://a/old/1"]
    assert boundary.within(urls, 0) == ["http://a/news/1"]


RULES = (
    Override(("small.example",), {"hops": 1, "pages_per_server": 10}),
    Override(("*.deep.example",), {"hops": 50, "cgi_hops": 0, "url_limit_chars": 40}),
)


def test_limits_may_differ_between_servers() -> None:
    boundary = Boundary(Scope(hops=5, rules=RULES))
    urls = [f"http://{host}.example/" for host in ("small", "a.deep", "other")]
    assert [boundary.within(urls, hops) for hops in (1, 2, 6)] == [urls, urls[1:], urls[1:2]]
    assert boundary.within(urls, 1, cgi_hops=1) == [urls[0], urls[2]]
    assert boundary.within(["http://a.deep.example/" + "x" * 30], 1) == []
    assert [boundary.quota(url[:-1]) for url in urls] == [10, 10_000, 10_000]


@pytest.mark.parametrize(
    ("url", "hops", "cgi_hops", "said"),
    [
        ("http://a.jp/", 3, 2, ""),
        ("http://a.jp/" + "x" * 30, 0, 0, "its URL is longer than scope.url_limit_chars = 30"),
        ("http://a.jp/", 4, 0, "4 links from a seed, scope.hops = 3"),
        ("http://a.jp/", 3, 3, "3 links from generated page to page, scope.cgi_hops = 2"),
        ("http://a.com/", 0, 0, "outside scope.domains"),
        ("https://a.jp/", 0, 0, "like nothing in scope.include"),
        ("http://a.jp/logout", 0, 0, "scope.exclude has '*/logout*'"),
    ],
)
def test_a_refusal_names_the_setting(url: str, hops: int, cgi_hops: int, said: str) -> None:
    scope = Scope(
        hops=3,
        cgi_hops=2,
        url_limit_chars=30,
        domains=("jp",),
        include=("http://*",),
        exclude=("*/login*", "*/logout*"),
    )
    boundary = Boundary(scope)
    assert boundary.refusal(url, hops, cgi_hops) == said
    assert boundary.within([url], hops, cgi_hops) == ([] if said else [url])


def test_what_an_order_forbids_does_not_belong_from_then_on(tmp_path: Path) -> None:
    book = OrderBook(tmp_path, lambda: 0.0)
    boundary = Boundary(Scope(), book.forbids)
    urls = ["http://a.example/x", "http://b.example/"]
    assert boundary.within(urls, 0) == urls
    book.give(Order(0, EMBARGO, "host", "b.example", 0.0))
    assert boundary.within(urls, 0) == urls
    book.give(Order(0, TAKEDOWN, "host", "a.example", 0.0))
    assert boundary.within(urls, 0) == ["http://b.example/"]
    assert boundary.refusal("http://a.example/x") == "an order forbids it"
    assert boundary.refusal("http://b.example/") == ""


def test_a_new_scope_holds_at_once() -> None:
    boundary = Boundary(Scope())
    urls = ["http://a.example/x/1", "http://a.example/y"]
    assert boundary.within(urls, 0) == urls
    boundary.renew(Scope(exclude=("*/x/*",)))
    assert boundary.within(urls, 0) == ["http://a.example/y"]
