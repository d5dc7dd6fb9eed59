from __future__ import annotations

import html
import re
import statistics
from dataclasses import replace
from urllib.parse import urljoin

import pytest

from joro.model import DAY_S
from joro.testweb.change import State
from joro.testweb.charsets import CODECS
from joro.testweb.graph import is_nofollow
from joro.testweb.paths import path, place, url
from joro.testweb.plan import PATH_STYLES, Host, Plan, make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site
from tests.testweb.conftest import SETTINGS, a_host


def text(site: Site, page: int, state: State | None = None) -> str:
    host = site.plan.host_of(page)
    content = site.pages.content(page, state or site.changes.state(page, EPOCH))
    return content.decode(CODECS.get(host.charset, host.charset), "replace")  # Python's EUC-JP lacks ①


def main_text(page: str) -> str:
    return page[page.index('<div id="main">') : page.index('<div class="ad"')]


def linked(site: Site, page: int) -> list[str]:
    """The addresses a page links to, as a browser would read them."""
    source = text(site, page)
    address = url(site.plan, page)
    base = re.search(r'<base href="(.*?)"', source)
    hrefs = re.findall(r"""<a\s(?:class="l"\s+)?href=["'](.*?)["']""", source, re.IGNORECASE)
    kept = [href for href in hrefs if not href.startswith(("mailto:", "javascript:"))]
    joined = [urljoin(base[1] if base else address, html.unescape(href)) for href in kept]
    return [re.sub(r"//([^/:]+)", lambda name: "//" + name[1].encode("idna").decode(), one) for one in joined]


def test_pages_are_about_22_kb(site: Site, plan: Plan) -> None:
    sizes = [
        len(site.pages.content(page, site.changes.state(page, EPOCH))) for page in range(2, plan.pages, 5)
    ]
    assert 19_000 < statistics.mean(sizes) < 26_000
    assert 12_000 < statistics.median(sizes) < 20_000
    assert min(sizes) < 200
    assert max(sizes) < 2_100_000


def test_a_page_holds_its_needle_once_and_no_other_page_does(site: Site, plan: Plan) -> None:
    page = a_host(plan, "normal").first
    needle = site.pages.needle(page)
    assert text(site, page).count(needle) == 1
    assert not any(needle in text(site, other) for other in range(page + 1, page + 200))


@pytest.mark.parametrize("charset", ["utf-8", "shift_jis", "euc-jp", "iso-2022-jp"])
def test_a_japanese_page_can_be_read_back(site: Site, plan: Plan, charset: str) -> None:
    host = next(host for host in plan.hosts if host.charset == charset and host.language == "ja")
    assert site.pages.needle(host.first) in text(site, host.first)


def test_links_on_the_page_are_the_links_of_the_graph(site: Site, plan: Plan) -> None:
    for host in plan.hosts[::9]:
        for page in range(host.first, host.first + min(3, host.pages)):
            expected = [url(plan, target) for target in site.graph.links(page)]
            found = [re.sub(r"[?&]from=\d+", "", address) for address in linked(site, page)]
            assert sorted(found) == sorted(expected)


def test_a_kana_name_is_linked_in_kana_from_pages_that_can_write_it(site: Site, plan: Plan) -> None:
    kana = replace(plan.hosts[5], name="xn---tw245-263etb8lxbxt.jp")
    twin = Site(replace(plan, hosts=[*plan.hosts[:5], kana, *plan.hosts[6:]]))
    linking = next(
        page
        for page in range(plan.pages)
        if kana.first in site.graph.links(page) and plan.host_of(page).charset == "utf-8"
    )
    assert "http://" + kana.name.encode().decode("idna") in text(twin, linking)


def test_nofollow_stands_where_the_graph_says(site: Site, plan: Plan) -> None:
    host = max(plan.hosts, key=lambda host: host.pages)
    marked = 0
    for page in range(host.first, host.first + 40):
        planned = sum(is_nofollow(host, page, target) for target in site.graph.links(page))
        assert text(site, page).count('rel="nofollow"') == planned
        marked += planned
    assert marked > 0


def test_a_new_version_changes_the_main_text_and_keeps_links_and_needle(site: Site, plan: Plan) -> None:
    page = a_host(plan, "normal").first
    old, new = (text(site, page, State(version, 0, EPOCH, EPOCH + 1)) for version in (1, 2))
    assert main_text(old) != main_text(new)
    assert re.findall("href=.*?>", old) == re.findall("href=.*?>", new)
    assert site.pages.needle(page) in new


def test_an_advertisement_leaves_the_main_text_alone(site: Site, plan: Plan) -> None:
    page = a_host(plan, "normal").first
    old, new = (text(site, page, State(0, number, EPOCH + number * DAY_S, EPOCH + 9)) for number in (1, 2))
    assert old != new
    assert main_text(old) == main_text(new)


def test_an_exact_copy_is_the_same_page_to_the_byte(site: Site, plan: Plan) -> None:
    copy = a_host(plan, "copy", "exact")
    original = plan.hosts[copy.copy_of]
    state = site.changes.state(copy.first, EPOCH)
    assert site.pages.content(copy.first, state) == site.pages.content(original.first, state)


def test_a_near_copy_shares_most_sentences_and_not_the_bytes(site: Site, plan: Plan) -> None:
    copy = a_host(plan, "copy", "near")
    first, second = main_text(text(site, copy.first)), main_text(text(site, plan.hosts[copy.copy_of].first))
    ours, theirs = (set(re.split(r"[.。?？!]", re.sub("<.*?>", "", one))) for one in (first, second))
    assert first != second
    assert len(ours & theirs) > 0.5 * len(ours | theirs)


def test_aliases_name_their_canonical_address(site: Site, plan: Plan) -> None:
    host = a_host(plan, "copy", "aliases")
    assert f'<link rel="canonical" href="{host.url}">' in text(site, host.first)
    if host.pages > 3:
        assert any(
            "from=" in address for page in range(host.first, host.first + 4) for address in linked(site, page)
        )


@pytest.mark.parametrize("style", range(PATH_STYLES))
def test_aliases_lead_to_the_pages_they_stand_for(style: int) -> None:
    plan = make(Settings(hosts=60, pages=3_000, sizes="even", roles=("copy",)))
    host = replace(a_host(plan, "copy", "aliases"), style=style, base=False)
    hosts = [*plan.hosts[: host.number], host, *plan.hosts[host.number + 1 :]]
    site = Site(replace(plan, hosts=hosts))
    for page in range(host.first, host.first + host.pages):
        expected = [url(site.plan, target) for target in site.graph.links(page)]
        found = [re.sub(r"[?&]from=\d+", "", address) for address in linked(site, page)]
        assert sorted(found) == sorted(expected)


def test_some_pages_ask_not_to_be_indexed_or_followed(site: Site, plan: Plan) -> None:
    directions = [site.pages.directions(page) for page in range(plan.pages)]
    assert any(one.noindex for one in directions)
    assert any(one.nofollow for one in directions)
    page = next(page for page, one in enumerate(directions) if one.noindex)
    assert '<meta name="robots" content="noindex' in text(site, page)


def test_bench_pages_are_20_kb_with_exactly_30_anchors() -> None:
    site = Site(make(replace(SETTINGS, profile="bench")))
    for page in range(0, site.plan.pages, 101):
        assert len(re.findall("<a ", text(site, page))) == 30
        assert 17_000 < len(text(site, page).encode()) < 23_000


@pytest.mark.parametrize("style", range(6))
def test_a_path_leads_back_to_its_place(plan: Plan, style: int) -> None:
    host: Host = replace(plan.hosts[3], style=style, pages=50)
    assert [place(host, path(host, number).encode()) for number in range(50)] == list(range(50))
    assert place(host, b"/no/such/3.html") == -1
    assert place(host, path(host, 49).replace("49", "50").encode()) == -1
