from __future__ import annotations

from joro.config import Scope
from joro.discover.scope import Boundary


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


def test_long_urls_are_left_alone() -> None:
    boundary = Boundary(Scope(url_limit_chars=20))
    assert boundary.within(["http://a/" + "x" * 11, "http://a/" + "x" * 12], 0) == ["http://a/" + "x" * 11]
