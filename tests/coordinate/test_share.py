from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.share import Share
from joro.errors import UsageError


@given(st.text(), st.integers(1, 64))
def test_every_server_has_exactly_one_owner_whoever_is_asked(server: str, count: int) -> None:
    owners = {Share(number, count).owner(server) for number in range(count)}
    assert len(owners) == 1
    assert owners < set(range(count)) or count == 1


def test_a_share_is_spelled_as_it_is_parsed() -> None:
    assert str(Share.parse("1/3")) == "1/3"
    assert Share.parse("1/3").folder == "1-of-3"


@pytest.mark.parametrize("text", ["", "2/2", "a/b", "1", "-1/2", "1/2/3"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="0/2"):
        Share.parse(text)
