from __future__ import annotations

from joro.robot.memory import give_back, resident_bytes

MB = 1_000_000


def test_memory_that_is_taken_is_seen_and_what_is_dropped_is_given_back() -> None:
    before = resident_bytes()
    kept = [str(number) * 100 for number in range(100_000, 200_000)]  # small things, that glibc keeps
    taken = resident_bytes()
    assert taken - before > 50 * MB
    give_back([kept.clear])
    assert resident_bytes() < taken - 40 * MB


def test_what_nobody_refers_to_but_itself_goes_too() -> None:
    loop: list[object] = [bytearray(b"x") * (50 * MB)]
    loop.append(loop)
    taken = resident_bytes()
    del loop
    give_back([])
    assert resident_bytes() < taken - 40 * MB
