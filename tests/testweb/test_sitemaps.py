from __future__ import annotations

import gzip
import re

import pytest

from joro.testweb.graph import linked_pages
from joro.testweb.paths import url
from joro.testweb.plan import Host, Plan
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site
from tests.testweb.conftest import a_host


def fetch(site: Site, host: Host, target: str) -> bytes:
    answer = site.answer(host, target.encode(), False, EPOCH)
    assert answer.status == 200
    body = answer.wire[answer.head_bytes :]
    return re.sub(rb"\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n", b"", body) if host.transfer == "chunked" else body


def locations(text: bytes) -> list[str]:
    return [found.decode().replace("&amp;", "&") for found in re.findall(rb"<loc>(.*?)</loc>", text)]


@pytest.mark.parametrize("kind", ["right", "wrong", "undated"])
def test_a_sitemap_lists_every_page(site: Site, plan: Plan, kind: str) -> None:
    host = a_host(plan, "sitemap", kind)
    expected = [url(plan, host.first + place) for place in range(host.pages)]
    assert locations(fetch(site, host, "/sitemap.xml")) == expected


def test_an_index_leads_to_the_rest(site: Site, plan: Plan) -> None:
    host = a_host(plan, "sitemap", "index")
    files = locations(fetch(site, host, "/sitemap.xml"))
    found = [
        page for file in files for page in locations(fetch(site, host, file.removeprefix(host.url[:-1])))
    ]
    assert len(found) == host.pages


def test_a_gzipped_sitemap_unpacks(site: Site, plan: Plan) -> None:
    host = a_host(plan, "sitemap", "gzip")
    answer = site.answer(host, b"/sitemap.xml.gz", False, EPOCH)
    if host.transfer != "chunked":
        assert len(locations(gzip.decompress(answer.wire[answer.head_bytes :]))) == host.pages
    assert b"application/gzip" in answer.wire


def test_dates_are_right_wrong_or_absent(site: Site, plan: Plan) -> None:
    right, wrong, undated = (
        re.findall(rb"<lastmod>(.*?)</lastmod>", fetch(site, a_host(plan, "sitemap", kind), "/sitemap.xml"))
        for kind in ("right", "wrong", "undated")
    )
    assert all(date < b"2026-01-01" for date in right)
    assert set(wrong) == {b"2026-01-01T00:00:00Z"}
    assert undated == []


def test_robots_txt_names_the_sitemap(site: Site, plan: Plan) -> None:
    host = next(host for host in plan.hosts if host.role == "sitemap" and host.robots != "absent")
    assert b"Sitemap: http://" in fetch(site, host, "/robots.txt")


def test_a_tenth_of_the_pages_stands_only_in_the_sitemap(plan: Plan) -> None:
    host = max((host for host in plan.hosts if host.role == "sitemap"), key=lambda host: host.pages)
    assert linked_pages(host) == host.pages - host.pages // 10
