import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from joro.manager import orders
from joro.manager.operator import set_password
from joro.manager.pages_look import spell
from joro.manager.service import application
from joro.manager.tokens import add_robot
from tests.manager.desk import Desk, desk
from tests.postgres import Postgres, postgres_server
from tests.redistribute.stand import running

PASSWORD = "correct horse battery"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    is_file = request.param == "sqlite"
    database = "" if is_file else request.getfixturevalue("postgres").new_database()
    with desk(tmp_path, None, database, classic=True, silent_after_s=3_600.0) as served:
        yield served


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


def cookie_of(hub: Desk) -> tuple[str, str]:
    """The cookie of a fresh visitor of the page of choices, and the token of its form."""
    page = hub.ask("/servlets/restart")
    found = re.search(r'name="form" value="(\w+)"', page.text)
    assert found
    return page.headers.get("set-cookie", "").partition(";")[0], found[1]


def logged_in(hub: Desk) -> str:
    answer = hub.ask("/login", form={"password": PASSWORD})
    assert answer.status == 303
    return answer.headers["set-cookie"].partition(";")[0]


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_a_classic_robots_row_says_what_the_paper_asks_for(hub: Desk) -> None:
    hub.ask("/servlets/subscribe?host=prs.jp")
    hub.ask("/servlets/list?host=prs.jp")
    hub.pass_s(600)
    hub.ask("/servlets/isrestart?host=prs.jp")
    with hub.control.transaction() as transaction:
        orders.restart(transaction, ["prs.jp"])
    hub.pass_s(30)
    row = text_of(hub.ask("/servlets/listrobot").text.partition("<tbody>")[2])
    assert "prs.jp classic up wanted 30 s ago 10 min ago –" in row
    assert 'title="2026-11-16 12:00:00 UTC">10 min ago<' in hub.ask("/servlets/listrobot").text


def test_a_silent_robot_is_shown_as_down(hub: Desk) -> None:
    hub.ask("/servlets/subscribe?host=prs.jp")
    hub.pass_s(3_700)
    hub.look_after()
    assert '<tr class="down">' in hub.ask("/servlets/listrobot").text


def test_loads_and_moves_are_drawn_and_counted(hub: Desk) -> None:
    for robot in ("one.jp", "two.jp"):
        hub.ask(f"/servlets/subscribe?host={robot}")
    urls = [f"http://s{number}.jp/" for number in range(10)]
    orders.add_seeds(hub.control, urls, hub.collection.config.manager)
    with hub.control.transaction() as transaction:
        transaction.run("UPDATE servers SET heir = 'two.jp' WHERE name IN ('http://s0.jp', 'http://s2.jp')")
    page = hub.ask("/servlets/listrobot").text
    assert "one.jp → two.jp: 2" in page
    assert "moves under way 2" in text_of(page)
    assert 'http-equiv="refresh"' in page


def test_what_robots_say_is_escaped(hub: Desk) -> None:
    add_robot(hub.control, "one.jp")
    with hub.control.transaction() as transaction:
        transaction.run("UPDATE robots SET version = '<script>alert(1)</script>'")
    page = hub.ask("/servlets/listrobot")
    assert "<script>" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_without_a_password_this_machine_is_let_in_and_no_other_name(hub: Desk) -> None:
    assert hub.ask("/servlets/listrobot").status == 200
    assert hub.ask("/servlets/listrobot", Host="localhost:8768").status == 200
    assert hub.ask("/servlets/listrobot", Host="rebound.example").status == 403
    assert hub.ask("/cooperate/status", Host="rebound.example").status == 403


def test_the_operator_sets_a_limit_and_restarts_robots(hub: Desk) -> None:
    hub.ask("/servlets/subscribe?host=prs.jp")
    cookie, form = cookie_of(hub)
    said = {"form": form, "limit": "limited", "pages": "50", "robot": ["prs.jp"]}
    assert hub.ask("/servlets/restart", form=said, Cookie=cookie).status == 303
    assert hub.ask("/servlets/isrestart?host=prs.jp").text == "RESTART\n"
    assert hub.rows("SELECT value FROM notes WHERE name = 'max_transfer'") == [("50",)]
    said = {"form": form, "limit": "unlimited"}
    assert hub.ask("/servlets/restart", form=said, Cookie=cookie).status == 303
    assert hub.rows("SELECT value FROM notes WHERE name = 'max_transfer'") == []


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"limit": "limited", "pages": "0"}, 400),
        ({"limit": "limited", "pages": "many"}, 400),
        ({"limit": "limited", "pages": "9" * 30}, 400),
        ({"limit": "limited", "pages": "9" * 5_000}, 400),
        ({}, 400),
        ({"limit": "unlimited", "robot": ["nobody.jp"]}, 400),
    ],
)
def test_a_senseless_order_changes_nothing(hub: Desk, said: dict[str, object], status: int) -> None:
    hub.ask("/servlets/subscribe?host=prs.jp")
    cookie, form = cookie_of(hub)
    before = hub.state()
    answer = hub.ask("/servlets/restart", form=said | {"form": form}, Cookie=cookie)
    assert answer.status == status
    assert "That did not work" in answer.text
    assert hub.state() == before


@pytest.mark.parametrize("page", ["/servlets/restart", "/cooperate/seeds", "/logout"])
def test_a_form_of_another_page_is_refused(hub: Desk, page: str) -> None:
    cookie, form = cookie_of(hub)
    other, _ = cookie_of(hub)
    said = {"limit": "unlimited", "seeds": "http://a.jp/"}
    before = hub.state()
    assert hub.ask(page, form=said, Cookie=cookie).status == 403
    assert hub.ask(page, form=said | {"form": form}).status == 403
    assert hub.ask(page, form=said | {"form": form}, Cookie=other).status == 403
    assert hub.state() == before


def test_seeds_of_the_page_reach_a_robot(hub: Desk) -> None:
    hub.ask("/servlets/subscribe?host=prs.jp")
    cookie, form = cookie_of(hub)
    said = {"form": form, "seeds": "# two\r\nhttp://a.jp/\r\n\r\nhttp://b.jp/x\r\n"}
    assert hub.ask("/cooperate/seeds", form=said, Cookie=cookie).status == 303
    assert hub.rows("SELECT name, owner FROM servers ORDER BY 1") == [
        ("http://a.jp", "prs.jp"),
        ("http://b.jp", "prs.jp"),
    ]
    bad = hub.ask("/cooperate/seeds", form={"form": form, "seeds": "http://c.jp/\nftp://x/"}, Cookie=cookie)
    assert (bad.status, "line 2" in bad.text) == (400, True)
    assert len(hub.rows("SELECT 1 FROM servers")) == 2


def test_with_a_password_nobody_sees_or_orders_anything_without_it(hub: Desk) -> None:
    cookie, form = cookie_of(hub)
    set_password(hub.control, PASSWORD)
    before = hub.state()
    for page in ("/servlets/listrobot", "/servlets/restart"):
        assert hub.ask(page, Cookie=cookie).headers["location"] == "/login"
    said = {"form": form, "limit": "unlimited", "seeds": "http://a.jp/"}
    assert hub.ask("/servlets/restart", form=said, Cookie=cookie).headers["location"] == "/login"
    assert hub.ask("/cooperate/status").status == 401
    assert hub.ask("/login", form={"password": "wrong"}).status == 403
    assert hub.ask("/cooperate/seeds", b'["http://a.jp/"]', token="wrong").status == 403
    assert hub.ask("/cooperate/seeds", b'["http://a.jp/"]').status == 401
    assert hub.state() == before


def test_the_password_opens_the_pages_until_one_logs_out(hub: Desk) -> None:
    set_password(hub.control, PASSWORD)
    cookie = logged_in(hub)
    page = hub.ask("/servlets/listrobot", Cookie=cookie, Host="hub.example")
    assert page.status == 200
    form = re.findall(r'name="form" value="(\w+)"', page.text)[0]
    left = hub.ask("/logout", form={"form": form}, Cookie=cookie)
    assert "Max-Age=0" in left.headers["set-cookie"]
    set_password(hub.control, PASSWORD)
    assert hub.ask("/servlets/listrobot", Cookie=cookie).status == 303


def test_a_cookie_is_for_our_pages_only(hub: Desk) -> None:
    set_password(hub.control, PASSWORD)
    cookie = hub.ask("/login", form={"password": PASSWORD}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_programs_show_the_password_or_a_robots_token(hub: Desk) -> None:
    set_password(hub.control, PASSWORD)
    token = add_robot(hub.control, "one.jp")
    assert hub.ask("/cooperate/status", token=PASSWORD).status == 200
    assert hub.ask("/cooperate/status", token=token).status == 200
    assert hub.ask("/cooperate/status", token="wrong").status == 403
    assert hub.ask("/cooperate/seeds", b'["http://a.jp/"]', token=PASSWORD).text == '{"seeds":1}'
    assert hub.ask("/cooperate/seeds", b'["http://a.jp/"]', token=token).status == 403
    assert hub.ask("/cooperate/seeds", b"{}", token=PASSWORD).status == 400
    assert hub.rows("SELECT name FROM servers") == [("http://a.jp",)]


def test_a_login_at_one_manager_is_one_at_the_other(hub: Desk) -> None:
    set_password(hub.control, PASSWORD)
    cookie = logged_in(hub)
    with running(lambda: application(hub.collection, hub.control, hub.clock)) as url:
        other = replace(hub, url=url)
        assert other.ask("/servlets/listrobot", Cookie=cookie).status == 200


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [(0, "0 s"), (99, "99 s"), (100, "1 min"), (5_999, "99 min"), (6_000, "1 h 40 min"), (200_000, "2 days")],
)
def test_durations_are_told_in_their_largest_units(seconds: float, spelled: str) -> None:
    assert spell(seconds) == spelled
