"""What do sitemaps tell, and is it true?

In:    a sitemap host and a moment.
Out:   its sitemap: plain, as an index of several, gzipped, with right, wrong or no dates.
Never: leaves a page out; some of them are linked from nowhere else.
"""

from __future__ import annotations

import math
import re

from joro.testweb.answer import Answer, Body, compose, deflated
from joro.testweb.change import Changes
from joro.testweb.news import moment
from joro.testweb.paths import path
from joro.testweb.plan import Host

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
PAGES_PER_FILE = 500  # the protocol allows 50,000; smaller files make an index worth having


def address(host: Host) -> str:
    """What robots.txt names."""
    return f"{host.url}{'sitemap.xml.gz' if host.kind == 'gzip' else 'sitemap.xml'}"


def answer(host: Host, changes: Changes, target: bytes, gzip: bool, now: float) -> Answer | None:
    """The sitemap file at `target`, if it is one."""
    if target == b"/sitemap.xml" and host.kind == "index":
        return _xml(host, _index(host), gzip)
    part = re.fullmatch(rb"/sitemap-(\d{1,6})\.xml", target) if host.kind == "index" else None
    if part:
        return _part(host, changes, int(part[1]), gzip, now)
    if target == b"/sitemap.xml.gz" and host.kind == "gzip":
        body = Body(deflated(_urls(host, changes, range(host.pages), now).encode()), "application/gzip")
        return compose(host, 200, body)
    if target == b"/sitemap.xml" and host.kind not in ("index", "gzip"):
        return _xml(host, _urls(host, changes, range(host.pages), now), gzip)
    return None


def _xml(host: Host, text: str, gzip: bool) -> Answer:
    return compose(host, 200, Body(text.encode(), "application/xml"), gzip=gzip)


def _part(host: Host, changes: Changes, number: int, gzip: bool, now: float) -> Answer | None:
    places = range(number * PAGES_PER_FILE, min(host.pages, (number + 1) * PAGES_PER_FILE))
    return _xml(host, _urls(host, changes, places, now), gzip) if places else None


def _index(host: Host) -> str:
    files = math.ceil(host.pages / PAGES_PER_FILE)
    entries = "".join(
        f"<sitemap><loc>{host.url}sitemap-{number}.xml</loc></sitemap>\n" for number in range(files)
    )
    return f'{XML}<sitemapindex xmlns="{NAMESPACE}">\n{entries}</sitemapindex>\n'


def _urls(host: Host, changes: Changes, places: range, now: float) -> str:
    entries = "".join(
        f"<url><loc>{host.url[:-1]}{path(host, place).replace('&', '&amp;')}</loc>"
        f"{_date(host, changes, host.first + place, now)}</url>\n"
        for place in places
        if changes.gone(host.first + place) > now
    )
    return f'{XML}<urlset xmlns="{NAMESPACE}">\n{entries}</urlset>\n'


def _date(host: Host, changes: Changes, page: int, now: float) -> str:
    if host.kind == "undated":
        return ""
    when = now if host.kind == "wrong" else changes.state(page, now).since
    return f"<lastmod>{moment(when)}</lastmod>"
