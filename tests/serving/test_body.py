import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from joro.serving.body import body_of


def sent(*pieces: bytes) -> Request:
    """A request whose body comes in pieces."""
    messages = [{"type": "http.request", "body": each, "more_body": True} for each in pieces]
    messages[-1]["more_body"] = False

    async def receive() -> dict[str, object]:
        return messages.pop(0)

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


def test_a_body_up_to_the_limit_is_taken() -> None:
    assert asyncio.run(body_of(sent(b"ab", b"cd"), 4)) == b"abcd"


def test_of_a_longer_one_nothing_more_is_read() -> None:
    with pytest.raises(HTTPException, match="more than 4 bytes; send it in parts") as refused:
        asyncio.run(body_of(sent(b"abc", b"de"), 4))
    assert refused.value.status_code == 413


def heard(*messages: dict[str, object]) -> Request:
    """A request of which this is heard, and then nothing more."""
    left = list(messages)

    async def receive() -> dict[str, object]:
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


BEGUN: dict[str, object] = {"type": "http.request", "body": b"ab", "more_body": True}


def test_a_body_that_does_not_go_on_is_given_up() -> None:
    with pytest.raises(HTTPException, match=r"nothing more came for 0\.01 s; send it again") as refused:
        asyncio.run(body_of(heard(BEGUN), 4, patience_s=0.01))
    assert refused.value.status_code == 408


def test_a_body_that_breaks_off_is_the_senders_mistake() -> None:
    with pytest.raises(HTTPException, match="broke off; send it again") as refused:
        asyncio.run(body_of(heard(BEGUN, {"type": "http.disconnect"}), 4))
    assert refused.value.status_code == 400
