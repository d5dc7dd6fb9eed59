import asyncio
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.config import Config
from joro.coordinate.beat import Answer, Given, Links, encode
from joro.errors import TransferError
from joro.robot.pulse import Pulse
from joro.store.collection import Collection
from tests.robot.test_member import START, A, Desk, link


@pytest.mark.parametrize(("journal", "is_new"), [(0, True), (1, False)])
def test_a_server_that_another_had_is_asked_after_its_pause_however_empty_its_journal(
    tmp_path: Path, journal: int, is_new: bool
) -> None:
    async def scenario() -> None:
        desk = Desk(Collection.create(tmp_path / "c", Config()))
        await desk.told(Given(A, journal), Links([link(f"{A}/")]))
        desk.robot._settle()
        ready_at = desk.robot._turns.next_ready_at()
        assert ready_at == pytest.approx(START + (0.0 if is_new else desk.robot.usual_s(A)))
        await desk.close()

    asyncio.run(scenario())


ANSWER = encode(Answer(1, 2.0, 3.0))


class Odd:
    """A manager that answers something else."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def post(self, *_: object, **__: object) -> bytes:
        return self.content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"\x97" + ANSWER[1:-1] + b"\x91\xa1\xff",
        b"\x98" + ANSWER[1:] + b"\x91" * 20_000 + b"\x90",
    ],
)
def test_whatever_a_manager_answers_is_understood_or_a_problem_with_a_name(content: bytes) -> None:
    pulse = Pulse(lambda: Odd(content), None, FakeClock(START))  # type: ignore[arg-type, return-value]
    with pytest.raises(TransferError, match="answers what we do not understand"):
        pulse._send(b"a beat")
