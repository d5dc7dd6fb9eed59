from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request

from joro.clock import FakeClock
from joro.errors import UsageError
from joro.manager.refusal import Refused
from joro.manager.tokens import add_robot, checked, remove_robot, robot_of
from joro.store.control import Control, open_control


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    opened = open_control("", tmp_path, FakeClock(1_000.0))
    yield opened
    opened.close()


def asking(authorization: str | None) -> Request:
    headers = [] if authorization is None else [(b"authorization", authorization.encode())]
    return Request({"type": "http", "headers": headers})


def test_a_token_tells_which_robot_calls(control: Control) -> None:
    tokens = {name: add_robot(control, name) for name in ("tokyo", "osaka")}
    assert checked(control, asking(f"Bearer {tokens['tokyo']}")) == "tokyo"
    assert checked(control, asking(f"bearer  {tokens['osaka']} ")) == "osaka"


@pytest.mark.parametrize("shown", [None, "", "Bearer", "Bearer ", "Basic eDp5"])
def test_without_a_token_nobody_is_let_in(control: Control, shown: str | None) -> None:
    with pytest.raises(Refused) as refused:
        checked(control, asking(shown))
    assert refused.value.status_code == 401


@pytest.mark.parametrize("shown", ["x", "é", "0" * 64, "a" * 10_000])
def test_a_wrong_token_is_nobodys(control: Control, shown: str) -> None:
    add_robot(control, "tokyo")
    with pytest.raises(Refused) as refused:
        checked(control, asking(f"Bearer {shown}"))
    assert refused.value.status_code == 403


def test_the_hash_of_a_token_is_no_token(control: Control) -> None:
    add_robot(control, "tokyo")
    with control.reading() as transaction:
        kept = transaction.rows("SELECT token_hash FROM robots")[0][0]
    assert robot_of(control, kept) is None


def test_a_new_token_ends_the_old_one(control: Control) -> None:
    old = add_robot(control, "tokyo")
    new = add_robot(control, "tokyo")
    assert (robot_of(control, old), robot_of(control, new)) == (None, "tokyo")


def test_a_removed_robot_is_refused_from_that_moment_on(control: Control) -> None:
    token = add_robot(control, "tokyo")
    remove_robot(control, "tokyo")
    assert robot_of(control, token) is None
    assert robot_of(control, "") is None
    with pytest.raises(UsageError, match="no robot is called 'tokyo'"):
        remove_robot(control, "tokyo")


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", ".x", "x" * 300])
def test_a_name_that_could_leave_its_folder_is_no_robots(control: Control, name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a robot"):
        add_robot(control, name)
