import asyncio
from pathlib import Path

import pytest

from joro.config import Config
from joro.coordinate.beat import Given, Links
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
