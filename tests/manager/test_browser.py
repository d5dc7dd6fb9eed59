"""What an operator sees and does in a real Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.manager.operator import set_password
from tests.manager.desk import Desk, desk
from tests.portal.browser import Browser, browsing, needs_chromium

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Desk]:
    with desk(tmp_path, classic=True) as served:
        served.ask("/servlets/subscribe?host=prs.jp")
        yield served


def complaints(browser: Browser) -> list[object]:
    """What the browser refused or could not load."""
    return [each["params"] for each in browser.events if each["method"] == "Log.entryAdded"]


def test_the_robots_are_drawn_and_nothing_is_refused(hub: Desk, browser: Browser) -> None:
    browser.look(width=1200, height=900)
    browser.open(f"{hub.url}/")
    assert browser.value("document.querySelectorAll('figure svg .robot circle').length") == 1
    assert browser.value("getComputedStyle(document.querySelector('.robot circle')).stroke") != "none"
    assert complaints(browser) == []


@pytest.mark.parametrize("width", [420, 1200])
def test_no_page_is_wider_than_its_window(hub: Desk, browser: Browser, width: int) -> None:
    browser.look(width=width)
    for page in ("/servlets/listrobot", "/servlets/restart", "/login"):
        browser.open(hub.url + page)
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")


def test_an_operator_restarts_a_robot_with_two_clicks(hub: Desk, browser: Browser) -> None:
    browser.look(width=1200, height=900)
    browser.open(f"{hub.url}/servlets/restart")
    browser.value("document.querySelector('input[name=robot]').click()")
    browser.follow("form[action='/servlets/restart'] button")
    assert "It is set." in browser.value("document.body.innerText")
    assert hub.ask("/servlets/isrestart?host=prs.jp").text == "RESTART\n"


def test_an_operator_logs_in_and_out(hub: Desk, browser: Browser) -> None:
    set_password(hub.control, "correct horse battery")
    browser.open(f"{hub.url}/servlets/listrobot")
    for password in ("wrong", "correct horse battery"):
        browser.value(f"document.querySelector('input[name=password]').value = '{password}'")
        browser.follow("main button")
    assert browser.value("location.pathname") == "/servlets/listrobot"
    browser.follow("header button")
    assert browser.value("location.pathname") == "/login"
