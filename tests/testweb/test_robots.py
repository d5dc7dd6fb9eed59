from __future__ import annotations

from joro.testweb import robots
from joro.testweb.paths import path
from joro.testweb.plan import Plan
from joro.testweb.robots import READ_BYTES, Rules
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site
from tests.testweb.conftest import a_host


def test_the_longest_rule_wins() -> None:
    rules = Rules(disallow=("/private/",), allow=("/private/open",))
    assert rules.forbids("/private/x")
    assert not rules.forbids("/private/open.html")
    assert not rules.forbids("/public")


def test_a_broken_robots_txt_forbids_all_and_a_missing_one_nothing() -> None:
    assert Rules(status=503).forbids("/")
    assert not Rules(status=404).forbids("/")


def test_robots_txt_itself_may_always_be_asked_for() -> None:
    assert not Rules(disallow=("/",)).forbids("/robots.txt")


def test_star_and_dollar_rules() -> None:
    rules = Rules(contains="guide", ends="7.html")
    assert rules.forbids("/x/guide/2")
    assert rules.forbids("/x/17.html")
    assert not rules.forbids("/x/17.html?y")


def test_parts_of_a_restricted_host_are_forbidden_and_others_not(plan: Plan) -> None:
    host = a_host(plan, "restricted", "parts")
    rules = robots.rules(host)
    assert rules.forbids(path(host, 2))
    assert not rules.forbids("/")


def test_the_file_says_what_is_planned(plan: Plan) -> None:
    text = robots.text(a_host(plan, "restricted", "parts"))
    assert "User-agent: *\nDisallow: /" in text
    assert "Allow: /private/open" in text
    assert "Crawl-delay: 2" in robots.text(a_host(plan, "restricted", "delay"))


def test_only_the_named_robot_is_welcome_at_a_named_host(plan: Plan) -> None:
    text = robots.text(a_host(plan, "restricted", "named"))
    assert "User-agent: testbot\nDisallow:\n\nUser-agent: *\nDisallow: /\n" in text


def test_a_huge_file_keeps_its_real_rules_in_the_part_that_is_read(plan: Plan) -> None:
    host = a_host(plan, "restricted", "huge")
    text = robots.text(host)
    assert len(text) > READ_BYTES
    assert text.index(f"Disallow: {robots.section(host)}") < 1_000


def test_how_robots_txt_is_served(plan: Plan, site: Site) -> None:
    answers = {
        kind: site.answer(a_host(plan, "restricted", kind), b"/robots.txt", False, EPOCH)
        for kind in ("all", "error", "redirect")
    }
    assert {kind: answer.status for kind, answer in answers.items()} == {
        "all": 200,
        "error": 503,
        "redirect": 301,
    }
    assert b"Location: /robots-moved.txt" in answers["redirect"].wire
    moved = site.answer(a_host(plan, "restricted", "redirect"), b"/robots-moved.txt", False, EPOCH)
    assert moved.status == 200
