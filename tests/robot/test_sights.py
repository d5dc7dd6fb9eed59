from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from joro.discover.watch import FEED, watch
from joro.robot.sights import Sight, state_of

NAN = float("nan")
KNOWN = Sight(watch(FEED, "http://a.example/", 5.0), announced=4.0, deaf_until=9.0)


@pytest.mark.parametrize(
    "sight",
    [
        structs.replace(KNOWN, deaf_until=NAN),
        structs.replace(KNOWN, announced=NAN),
        Sight(watch(FEED, "http://a.example/", NAN)),
    ],
)
def test_a_sight_whose_date_is_no_number_cannot_be_read(sight: Sight) -> None:
    with pytest.raises(ValueError, match="no number"):
        state_of(b"fhttp://a.example\0", msgspec.msgpack.encode(sight))


def test_a_sight_comes_as_it_was() -> None:
    assert state_of(b"fhttp://a.example\0", msgspec.msgpack.encode(KNOWN)) == KNOWN
