from __future__ import annotations

import html
import re
from urllib.parse import urljoin

import pytest

from joro.testweb import traps
from joro.testweb.plan import Plan
from joro.testweb.roles import ROLES
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site
from tests.testweb.conftest import a_host

KINDS = ROLES["trap"][1]


def links(site: Site, kind: str, target: str) -> list[str]:
    """Paths on its own host that a trap's page links to."""
    host = a_host(site.plan, "trap", kind)
    answer = site.answer(host, target.encode(), False, EPOCH)
    assert answer.status == 200, target
    hrefs = re.findall(r"""href=["'](.*?)["']""", answer.wire.decode("latin-1"), re.IGNORECASE)
    return [
        urljoin(target, html.unescape(href))
        for href in hrefs
        if not href.startswith(("http", "mailto", "java"))
    ]


def test_the_front_page_leads_into_the_trap(site: Site, plan: Plan) -> None:
    for kind in KINDS:
        host = a_host(plan, "trap", kind)
        assert html.escape(traps.entrance(host)).encode() in site.page(host, host.first, False, EPOCH).wire


@pytest.mark.parametrize("kind", KINDS)
def test_a_trap_has_always_more(site: Site, kind: str) -> None:
    seen = {traps.ENTRANCES[kind]}
    queue = [traps.ENTRANCES[kind]]
    while queue and len(seen) < 500:
        for target in links(site, kind, queue.pop(0)):
            if target not in seen and not target.startswith(("/img", "/style")):
                seen.add(target)
                queue.append(target)
    assert len(seen) >= 500


@pytest.mark.parametrize("kind", KINDS)
def test_a_trap_is_the_same_tomorrow(site: Site, kind: str) -> None:
    assert links(site, kind, traps.ENTRANCES[kind]) == links(site, kind, traps.ENTRANCES[kind])


def test_a_session_id_leads_to_the_same_text_under_another_address(site: Site, plan: Plan) -> None:
    host = a_host(plan, "trap", "session")
    needle = site.pages.needle(host.first).encode(host.charset, "xmlcharrefreplace")
    first, second = (site.answer(host, target, False, EPOCH).wire for target in (b"/?sid=1a", b"/?sid=2b"))
    assert needle in first
    assert needle in second
    assert first != second


@pytest.mark.parametrize(
    "target", [b"/calendar/2026/13/", b"/shop?color=none", b"/shelf/x/", b"/index?sid=", b"/list"]
)
def test_what_is_no_part_of_a_trap_is_not_found(site: Site, plan: Plan, target: bytes) -> None:
    assert all(site.answer(a_host(plan, "trap", kind), target, False, EPOCH).status == 404 for kind in KINDS)
