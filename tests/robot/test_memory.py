from __future__ import annotations

import subprocess
import sys

from joro.robot.memory import give_back, resident_bytes

MB = 1_000_000
#: In a process of its own: one in which other tests ran has room left that new things would fill first.
TAKES_AND_DROPS = """
from joro.robot.memory import give_back, resident_bytes
before = resident_bytes()
kept = [str(number) * 100 for number in range(100_000, 200_000)]  # small things, that glibc keeps
taken = resident_bytes()
give_back([kept.clear])
print(taken - before, taken - resident_bytes())
"""


def test_memory_that_is_taken_is_seen_and_what_is_dropped_is_given_back() -> None:
    run = subprocess.run(
        [sys.executable, "-c", TAKES_AND_DROPS], capture_output=True, text=True, check=True, timeout=60
    )
    taken, dropped = map(int, run.stdout.split())
    assert taken > 50 * MB
    assert dropped > 40 * MB


def test_what_nobody_refers_to_but_itself_goes_too() -> None:
    loop: list[object] = [bytearray(b"x") * (50 * MB)]
    loop.append(loop)
    taken = resident_bytes()
    del loop
    give_back([])
    assert resident_bytes() < taken - 40 * MB
