from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.discover.globs import Globs
from joro.errors import ConfigError

PATTERNS = (
    "*/logout*",
    "*.pdf",
    "http://a.example/private/*",
    "http://a.example/one",
    "http://*/print/*.html",
    "re:[?&]session=[0-9a-f]+",
)


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("http://b.example/x/logout?now", "*/logout*"),
        ("http://b.example/paper.pdf", "*.pdf"),
        ("http://b.example/paper.pdf?x", ""),
        ("http://a.example/private/", "http://a.example/private/*"),
        ("http://a.example/private", ""),
        ("http://a.example/one", "http://a.example/one"),
        ("http://a.example/one/two", ""),
        ("http://b.example/print/x.html", "http://*/print/*.html"),
        ("http://b.example/print/x.htm", ""),
        ("http://b.example/?a=1&session=0f", "re:[?&]session=[0-9a-f]+"),
    ],
)
def test_each_kind_of_pattern_matches_what_it_says(url: str, pattern: str) -> None:
    globs = Globs(PATTERNS, "scope.exclude")
    assert globs.first(url) == pattern
    assert globs.match(url) == bool(pattern)


def test_a_pattern_may_be_written_in_any_script() -> None:
    assert Globs(("*/日記/*",), "").match("http://a.example/%E6%97%A5%E8%A8%98/1")


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("http://日本語.jp/*", "http://xn--wgv71a119e.jp/x"),
        ("*://*.日本語.jp/*", "http://www.xn--wgv71a119e.jp/x"),
        ("*.日本語.jp/*", "http://www.xn--wgv71a119e.jp/x"),
        ("HTTP://WWW.Example.JP/Private/*", "http://www.example.jp/Private/x"),
        ("http://a.example:80/x*", "http://a.example/x"),
        ("https://a.example:443/*", "https://a.example/"),
        ("*://a.example:80/*", "http://a.example/x"),
        ("*://a.example:80/*", "https://a.example:80/x"),
        ("*://a.example:443/*", "https://a.example/x"),
        ("*.A.example:443/*", "https://www.a.example/x"),
        ("*.Example.JP/*", "http://www.example.jp/x"),
        ("*.Example.JP/X", "http://www.example.jp/X"),
        ("*://*.Example.*/X*", "http://www.example.jp/X"),
        ("http://*Example*", "http://an-example.jp/"),
        ("*.ASP/*", "http://a.example/x.ASP/y"),
        ("http://*.PDF", "http://a.example/x.PDF"),
        ("*://*PHPSESSID=*", "http://a.example/?PHPSESSID=1"),
        ("http://*日記*", "http://a.example/%E6%97%A5%E8%A8%98/1"),
        ("http://a.example", "http://a.example/"),
        ("*/my documents/*", "http://a.example/my%20documents/x"),
        ("*/%e6%97%a5*", "http://a.example/%E6%97%A5"),
        ("*/%7ejoe/*", "http://a.example/~joe/"),
    ],
)
def test_a_pattern_may_be_spelled_as_people_spell_urls(pattern: str, url: str) -> None:
    assert Globs((pattern,), "").match(url)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("*.ASP/*", "http://a.example/x.asp/y"),
        ("http://*.PDF", "http://a.example/x.pdf"),
        ("*://*/Private/*", "http://a.example/private/x"),
        ("*.Example.JP/*", "http://a.example/?to=www.example.jp/x"),
        ("*.Example.JP/X", "http://www.example.jp/XY"),
        ("*://a.example:80/*", "https://a.example/x"),
    ],
)
def test_capitals_of_paths_and_ports_of_the_other_scheme_are_not_forgotten(pattern: str, url: str) -> None:
    assert not Globs((pattern,), "").match(url)


def test_a_pattern_in_lower_case_is_looked_for_once() -> None:
    assert Globs(("*.example.jp/*",), "")._parts == [".example.jp/"]


def test_a_usual_port_is_only_usual_for_its_scheme() -> None:
    assert not Globs(("http://a.example:443/*", "https://a.example:80/*"), "").match("https://a.example/")


def test_no_patterns_match_nothing_and_a_star_everything() -> None:
    assert not Globs((), "")
    assert not Globs((), "").match("http://a.example/")
    assert Globs(("*",), "").match("http://a.example/")


def test_many_stars_cost_no_more_than_one_walk_through_the_url() -> None:
    for stars in ("http://*" + "a*" * 60 + "b", "http://*" + "A*" * 60 + "b/*"):
        assert not Globs((stars,), "").match("http://" + "a" * 2_000)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("re:(", "scope.exclude: 're:(' is not a regular expression "),
        ("/logout", "scope.exclude: '/logout' is like no URL; let it begin with *, http://, https:// or re:"),
        ("", "scope.exclude: '' is like no URL; "),
        ("http://日*.jp/", "scope.exclude: '日*' is no part of a host's name; let * stand for whole parts"),
    ],
)
def test_a_mistake_is_named_with_the_setting(pattern: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Globs((pattern,), "scope.exclude")
    assert str(caught.value).startswith(said)


letters = st.text("ab/", max_size=8)


@given(st.lists(st.text("ab*/", max_size=6).map("*".__add__), max_size=4), letters)
def test_patterns_mean_what_the_plain_regular_expression_means(patterns: list[str], path: str) -> None:
    url = "http://" + path
    plain = [re.compile(re.escape(each).replace(r"\*", ".*")) for each in patterns]
    expected = any(each.fullmatch(url) for each in plain)
    assert Globs(tuple(patterns), "").match(url) == expected
