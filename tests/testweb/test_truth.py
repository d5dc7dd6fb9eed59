from __future__ import annotations

import pytest

from joro.model import DAY_S
from joro.testweb.paths import url
from joro.testweb.plan import Plan, make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site
from joro.testweb.truth import Truth
from tests.testweb.conftest import a_host


@pytest.fixture(scope="module")
def truth(site: Site) -> Truth:
    return Truth(site, lambda: EPOCH)


def test_the_summary_counts_everything(truth: Truth, plan: Plan) -> None:
    summary = truth.summary({})
    assert summary["hosts"] == 200 == sum(summary["roles"].values())
    assert summary["pages"] == plan.pages
    assert summary["seeds"][0] == plan.hosts[0].url


def test_hosts_can_be_asked_for_by_role(truth: Truth) -> None:
    found = truth.hosts({"role": "throttling"})
    assert {host["kind"] for host in found} == {"429-seconds", "429-date", "503-seconds", "503-bare"}
    assert all(host["pause_s"] >= 1 for host in found)


def test_a_page_is_told_with_rate_needle_and_links(truth: Truth, plan: Plan, site: Site) -> None:
    page = truth.page({"url": plan.hosts[0].url})
    assert page["needle"] == site.pages.needle(0)
    assert page["links"] == [url(plan, target) for target in site.graph.links(0)]
    assert page["rate_per_day"] == site.changes.rate_per_day(0)


def test_every_url_leads_back_to_its_page(truth: Truth, plan: Plan) -> None:
    pages = range(0, plan.pages, 37)
    assert [truth.number(url(plan, page)) for page in pages] == list(pages)


def test_changes_are_told_by_url(truth: Truth, site: Site) -> None:
    told = truth.changes({"since": str(EPOCH), "until": str(EPOCH + DAY_S)})
    assert sum(map(len, told.values())) > 100
    address, times = next(iter(told.items()))
    assert times == site.changes.changes(truth.number(address), EPOCH, EPOCH + DAY_S)


def test_links_are_told_as_edges(truth: Truth, plan: Plan, site: Site) -> None:
    told = truth.links({"host": plan.hosts[0].name})
    assert told["edges"][0] == [0, site.graph.links(0)[0]]
    assert told["urls"]["0"] == plan.hosts[0].url


def test_articles_are_told_with_their_time(truth: Truth, plan: Plan) -> None:
    host = a_host(plan, "news")
    told = truth.articles({"host": host.name, "until": str(EPOCH + DAY_S)})
    assert told
    assert all(EPOCH < article["time"] <= EPOCH + DAY_S for article in told)


def test_a_polite_visitor_reaches_most_pages_but_none_it_must_not(truth: Truth, plan: Plan) -> None:
    hops = truth.reachable({})
    reached = [plan.host_of(truth.number(address)) for address in hops]
    assert hops[plan.hosts[0].url] == 0
    assert 0.8 * plan.pages < len(hops) < plan.pages
    assert not any(host.role == "dead" or host.robots in ("all", "error") for host in reached)


def test_a_normal_web_is_reached_whole() -> None:
    plan = make(Settings(hosts=30, pages=500, roles=("normal",)))
    assert len(Truth(Site(plan), lambda: EPOCH).reachable({})) == plan.pages
