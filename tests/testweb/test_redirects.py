from __future__ import annotations

import re

from joro.testweb.paths import path
from joro.testweb.plan import Plan
from joro.testweb.redirects import PRIVATE, STATUSES
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site
from tests.testweb.conftest import a_host


def follow(site: Site, kind: str, target: str) -> tuple[int, str]:
    answer = site.answer(a_host(site.plan, "redirecting", kind), target.encode(), False, EPOCH)
    location = re.search(r"Location: (.*)\r\n", answer.wire.decode("latin-1"))
    return answer.status, location[1] if location else ""


def test_moved_pages_redirect_with_every_status(site: Site, plan: Plan) -> None:
    host = a_host(plan, "redirecting", "moved")
    status, location = follow(site, "moved", "/old/1")
    assert status == STATUSES[1]
    assert location == host.url[:-1] + path(host, 1)


def test_a_chain_ends_at_a_page(site: Site, plan: Plan) -> None:
    target, steps = "/chain/40", 0
    while target.startswith("/chain"):
        status, target = follow(site, "chain", target)
        assert status == 302
        steps += 1
    assert steps == 40
    assert follow(site, "chain", target)[0] == 200


def test_a_loop_comes_back(site: Site) -> None:
    places = ["/loop/a"]
    for _ in range(3):
        places.append(follow(site, "loop", places[-1])[1])
    assert places == ["/loop/a", "/loop/b", "/loop/c", "/loop/a"]
    assert follow(site, "loop", "/loop/self")[1] == "/loop/self"
    assert follow(site, "loop", "/loop/grow")[1] == "/loop/groww"


def test_away_leads_to_another_host(site: Site, plan: Plan) -> None:
    names = {follow(site, "cross", f"/away/{number}")[1].split("/")[2] for number in range(10)}
    assert len(names) == 10
    assert names <= {host.name for host in plan.hosts} | {f"{host.name}:9" for host in plan.hosts}


def test_inside_leads_to_places_no_crawler_may_go(site: Site) -> None:
    found = [follow(site, "private", f"/inside/{number}")[1] for number in range(len(PRIVATE))]
    assert found == list(PRIVATE)
    assert not any("127." in place or "localhost" in place for place in found)


def test_a_refresh_is_a_redirect_in_the_page(site: Site, plan: Plan) -> None:
    host = a_host(plan, "redirecting", "refresh")
    assert b'http-equiv="refresh"' in site.answer(host, b"/refresh/1", False, EPOCH).wire


def test_front_pages_lead_to_the_redirects(site: Site, plan: Plan) -> None:
    host = a_host(plan, "redirecting", "private")
    assert b"/inside/0" in site.page(host, host.first, False, EPOCH).wire
