from __future__ import annotations

from joro.coordinate.report import Report, is_quiet, total


def test_robots_add_up() -> None:
    sum_of = total(
        [Report(visits=1, found=5, outcomes={"ok": 2}), Report(visits=2, outcomes={"ok": 1, "gone": 1})]
    )
    assert (sum_of.visits, sum_of.found, sum_of.outcomes) == (3, 5, {"ok": 3, "gone": 1})


def test_nobody_is_done_while_a_batch_is_on_its_way() -> None:
    sender = Report(idle=True, sent={1: 2})
    assert not is_quiet([sender, Report(idle=True, read={0: 1})])
    assert is_quiet([sender, Report(idle=True, read={0: 2})])


def test_nobody_is_done_while_someone_works() -> None:
    assert not is_quiet([Report(idle=True), Report(idle=False)])
