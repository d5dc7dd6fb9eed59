"""What readers see, and what hostile pages reach, in a real Chromium."""

import json
from collections.abc import Iterator

import pytest
from starlette.requests import Request

from joro.portal.replay import rules
from joro.portal.rewrite import rewritten_page
from tests.index.archived import START, answer, archive, collection_in
from tests.portal.album import DAY, NEWEST, OLDEST, SECOND, TOWN, UNCHANGED, history
from tests.portal.browser import Browser, browsing, needs_chromium
from tests.portal.hostile import (
    HASTY,
    OVER_S,
    RESTLESS,
    Canary,
    Relay,
    fickle_pages,
    hostile_page,
    publishing,
)
from tests.portal.test_serve import serving

pytestmark = [pytest.mark.slow, needs_chromium]

LINKING = "20260120055500"
EVIL = "http://evil.example/"
#: All that a portal may be asked for on behalf of a reader who looks at a capture.
EXPECTED = ("/archive/", "/replay/", "/style.css", "/icon.svg", "/favicon.ico")


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    listening = Canary()
    yield listening
    listening.close()


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory, canary: Canary) -> Iterator[Relay]:
    """A portal with a history and with enemies, and someone who notes what it is asked."""
    made = collection_in(tmp_path_factory.mktemp("browsed"))
    link = f"<p style='font-size:99px'><a href='{TOWN}'>back to the town</a>"
    form = (
        "<form action=/found><input type=hidden name=q value=木><button style='font-size:99px'>find</button>"
    )
    archive(
        made,
        *history(),
        answer(EVIL, hostile_page(canary.place)),
        answer(EVIL + "restless", RESTLESS.format(c=canary.place)),
        answer(EVIL + "hasty", HASTY.format(c=canary.place)),
        answer(EVIL + "sw.js", "self.onfetch = () => {}", content_type="text/javascript"),
        answer(TOWN + "linking", link, time=START - 300 * DAY),
        answer(TOWN + "asking", form, time=START - 300 * DAY),
    )
    with serving(made) as (_, address):
        relay = Relay(int(address.rstrip("/").rpartition(":")[2]))
        yield relay
        relay.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def fresh(browser: Browser, portal: Relay, canary: Canary) -> None:
    browser.look()
    browser.open("about:blank")
    portal.forget()
    canary.forget()


def where(browser: Browser) -> str:
    path: str = browser.value("location.pathname + location.search")
    return path


def test_the_calendar_leads_to_two_versions_and_to_what_changed(browser: Browser, portal: Relay) -> None:
    browser.open(f"{portal.address}archive/*/{TOWN}")
    browser.follow('.years a[href*="2024"]')
    browser.follow("a.day")
    assert where(browser) == f"/archive/{OLDEST}/{TOWN}"
    assert "広場の木は緑です。" in browser.frame_text()
    browser.follow("a[rel=next]")
    assert where(browser) == f"/archive/{SECOND}/{TOWN}"
    assert "広場の木は赤です。" in browser.frame_text()
    browser.follow('a[href^="/compare"]')
    assert browser.value("[...document.querySelectorAll('td del, td ins')].map(e => e.innerText)") == [
        "緑",
        "赤",
    ]


def test_two_versions_chosen_in_the_list_are_compared(browser: Browser, portal: Relay) -> None:
    browser.open(f"{portal.address}archive/2025*/{TOWN}")
    browser.follow(".listing button")
    assert f"from={SECOND}&to={UNCHANGED}" in where(browser)
    assert "Identical, byte for byte" in browser.value("document.body.innerText")


def test_the_calendar_works_by_keyboard(browser: Browser, portal: Relay) -> None:
    browser.open(f"{portal.address}archive/*/{TOWN}")
    for _ in range(30):
        browser.press("Tab")
        if browser.value("document.activeElement.className").startswith("day"):
            break
    browser.events.clear()
    browser.press("Enter")
    browser.wait_for("Page.loadEventFired")
    assert where(browser) == f"/archive/{NEWEST}/{TOWN}"


@pytest.mark.parametrize(
    "path",
    [
        f"archive/*/{TOWN}",
        f"archive/{NEWEST}/{TOWN}",
        f"compare?url={TOWN}&from=2024&to=2026",
        f"compare?url={TOWN}&from=2024&to=2026&view=inline",
        f"archive/2026/{TOWN}never",
    ],
)
def test_pages_fit_on_a_phone(browser: Browser, portal: Relay, path: str) -> None:
    browser.look(width=390, height=844)
    browser.open(portal.address + path)
    assert browser.value("document.documentElement.scrollWidth") == 390


def test_styles_and_images_come_from_the_archive(browser: Browser, portal: Relay) -> None:
    browser.open(f"{portal.address}archive/{NEWEST}/{TOWN}")
    browser.settle()
    asked = [target for _, target in portal.asked]
    assert f"/replay/{NEWEST}/{TOWN}town.css" in asked
    assert f"/replay/{NEWEST}/{TOWN}pixel.png" in asked


def test_frames_of_a_page_are_captures_too(browser: Browser, portal: Relay) -> None:
    browser.open(f"{portal.address}archive/{NEWEST}/{TOWN}frames")
    browser.settle()
    text = browser.frame_text()
    assert "inside a frame" in text
    assert f"Not archived: {TOWN}never" in text


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("linking", f"/archive/{UNCHANGED}/{TOWN}"),  # of its versions, the nearest to 2026-01-20
        ("asking", f"/archive/{LINKING}/{TOWN}found?q=%E6%9C%A8"),
    ],
)
def test_links_and_forms_of_a_capture_lead_to_the_archive_banner_and_all(
    browser: Browser, portal: Relay, name: str, goal: str
) -> None:
    browser.open(f"{portal.address}archive/2026/{TOWN}{name}")
    x, y = browser.value(
        "(() => { const r = document.querySelector('iframe').getBoundingClientRect();"
        " return [r.x + 100, r.y + 60]; })()"
    )
    browser.events.clear()
    browser.click(x, y)
    browser.wait_for("Page.loadEventFired")
    assert where(browser) == goal
    assert all(method == "GET" for method, _ in portal.asked)


def test_the_frame_opened_by_itself_gets_its_banner_back(browser: Browser, portal: Relay) -> None:
    browser.open(f"{portal.address}replay/{NEWEST}/{TOWN}")
    assert where(browser) == f"/archive/{NEWEST}/{TOWN}"


def test_without_our_walls_the_hostile_page_gets_out_in_every_way(browser: Browser, canary: Canary) -> None:
    """The control: what the tests below do not hear would have been heard."""
    expected = {
        *"script-ran script-cookie script-storage script-fetch script-api script-xhr script-beacon".split(),
        *"script-websocket script-eventsource script-worker script-rtc script-parent form-action".split(),
        *"img-src img-srcset css-url css-import iframe-src srcdoc-img svg-image link-css video-src".split(),
    }
    with publishing(lambda: hostile_page(canary.place), lambda host: {}) as address:
        for _ in range(5):  # a busy machine may be slower than the page, which leaves after two seconds
            browser.open(address)
            browser.settle(OVER_S)
            if canary.heard >= expected:
                break
    assert expected - canary.heard == set()


@pytest.mark.parametrize("page", [EVIL, EVIL + "restless", EVIL + "hasty"])
def test_a_hostile_page_reaches_neither_the_network_nor_the_session(
    browser: Browser, portal: Relay, canary: Canary, page: str
) -> None:
    browser.open(portal.address)
    browser.value("(document.cookie = 'session=secret', localStorage.setItem('secret', 'mine'), 0)")
    listen = "addEventListener('message', () => { globalThis.heard = true; })"
    script = browser.ask("Page.addScriptToEvaluateOnNewDocument", source=listen)["identifier"]
    portal.forget()
    browser.open(f"{portal.address}archive/{NEWEST}/{page}")
    browser.settle(OVER_S)
    assert canary.heard == set()
    assert where(browser) == f"/archive/{NEWEST}/{page}"
    assert all(method == "GET" and target.startswith(EXPECTED) for method, target in portal.asked)
    assert browser.value("[document.cookie, JSON.stringify(localStorage), globalThis.heard]") == [
        "session=secret",
        '{"secret":"mine"}',
        None,
    ]
    browser.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_rewriting_alone_stops_what_a_browser_could_overlook(browser: Browser, canary: Canary) -> None:
    """The page as we send it, without the frame and the rules around it."""
    page, _ = rewritten_page(hostile_page(canary.place) + HASTY.format(c=canary.place), EVIL, "UTF-8", NEWEST)
    with publishing(lambda: page, lambda host: {}) as address:
        browser.open(address)
        browser.settle(OVER_S)
        assert browser.value("location.href") == address
    assert canary.heard == set()


def test_the_browser_alone_stops_what_a_rewriter_could_overlook(browser: Browser, canary: Canary) -> None:
    """The page as it was captured, under the rules of a replay, which must hold by themselves.

    Chromium connects for a frame before it asks whether the frame may be. Nothing is sent, and rewriting
    takes the frame away. That a script could do the same at will is why none runs.
    """

    def policy(host: str) -> dict[str, str]:
        request = Request({"type": "http", "headers": [(b"host", host.encode())]})
        return {"Content-Security-Policy": rules(request, is_page=True)}

    with publishing(lambda: hostile_page(canary.place), policy) as address:
        browser.open(address)
        browser.settle(OVER_S)
        assert browser.value("location.href") == address
    assert canary.heard <= {"a bare connection"}


#: Everything in a page, as Chromium reads it, that leads elsewhere or could run.
ALIENS = r"""(pages => pages.flatMap(page => {
  const found = [];
  for (const each of new DOMParser().parseFromString(page, "text/html").querySelectorAll("*")) {
    if (/^(script|base)$/i.test(each.tagName)) found.push(each.tagName);
    for (const {name, value} of each.attributes) {
      const isAddress = /^(href|xlink:href|src|action|formaction|data)$/i.test(name);
      if (/^on/i.test(name)) found.push(name);
      if (isAddress && !/^(\/(replay|archive)\/\d{14}\/https?:\/\/|#|data:|$)/.test(value)) found.push(value);
    }
  }
  return found;
}))"""


def test_chromium_finds_no_way_out_in_pages_that_parsers_read_differently(browser: Browser) -> None:
    pages = list(fickle_pages(500))
    rewritten = [rewritten_page(page, TOWN, "UTF-8", NEWEST)[0] for page in pages]
    assert browser.value(f"{ALIENS}({json.dumps(rewritten)})") == []
    assert len(browser.value(f"{ALIENS}({json.dumps(pages)})")) > 100
