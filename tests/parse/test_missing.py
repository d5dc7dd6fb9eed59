from __future__ import annotations

import pytest

from joro.model import Response
from joro.parse.html import Tree
from joro.parse.missing import is_sent_home, is_soft_404, target_of
from joro.parse.text import title_of, visible_text
from joro.testweb.plan import make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import MISSING, Site


@pytest.mark.parametrize(
    "title",
    [
        "404",
        "404 Not Found",
        "Page not found - Shop",
        "ページが見つかりません",
        "Seite nicht gefunden",
        "Error 404",
    ],
)
def test_a_short_page_that_says_it_is_missing_is_marked(title: str) -> None:
    assert is_soft_404(title, "Back to the front page")


@pytest.mark.parametrize(
    "title", ["Peugeot 404", "neya-404.example.jp", "Lost and found", "Route 404 in winter"]
)
def test_a_number_alone_says_nothing(title: str) -> None:
    assert not is_soft_404(title, "Here is what we know about it.")


@pytest.mark.parametrize(
    ("text", "is_missing"),
    [
        ("Sorry, the page you are looking for could not be found.", True),
        ("お探しのページは見つかりませんでした。", True),
        ("Die Seite existiert nicht mehr.", True),
        ("The treasure was not found, and the map does not exist.", False),
        ("宝物は見つかりませんでした。", False),
        ("A page of history\nThe king was not found.", False),
    ],
)
def test_in_its_text_a_line_must_speak_of_a_page(text: str, is_missing: bool) -> None:
    assert is_soft_404("Welcome", text) is is_missing


def test_a_long_page_about_missing_pages_is_a_page() -> None:
    assert not is_soft_404("404 Not Found", "How to configure the page. " * 100)


def test_a_redirect_to_the_front_page_says_there_was_nothing() -> None:
    assert is_sent_home("http://www.a/old/page.html", "http://a/")
    assert not is_sent_home("http://a/index.html", "http://a/")
    assert not is_sent_home("http://a/old/", "http://b/")
    assert not is_sent_home("http://a/old/", "http://a/new/")


def test_where_a_redirect_leads_is_read_off_its_location() -> None:
    def moved(status: int, **headers: str) -> Response:
        return Response(status, b"", b"", headers)

    assert target_of("http://a/b/c", moved(302, location="../d")) == "http://a/d"
    assert target_of("http://a/b/c", moved(302)) == ""
    assert target_of("http://a/b/c", moved(200, location="/d")) == ""
    assert not is_sent_home("http://a/b/c", "")


def test_missing_pages_of_the_test_web_are_marked_and_its_pages_are_not() -> None:
    site = Site(make(Settings(seed=7, hosts=60, pages=400, roles=("soft404",))))
    for host in site.plan.hosts:
        if host.kind == "page":
            for path, _ in MISSING:
                assert is_soft_404(*_read(site, host.number, path))
        assert not is_soft_404(*_read(site, host.number, "/"))


def _read(site: Site, host: int, path: str) -> tuple[str, str]:
    answer = site.answer(site.plan.hosts[host], path.encode(), False, EPOCH)
    tree = Tree(bytes(answer.wire).partition(b"\r\n\r\n")[2].decode(site.plan.hosts[host].charset, "replace"))
    return title_of(tree), visible_text(tree)
