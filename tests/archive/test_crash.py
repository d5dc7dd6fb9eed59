import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from joro.archive import check
from joro.archive.index import CaptureIndex
from joro.archive.names import warcs
from joro.archive.read import replay
from tests.archive.examples import writer

#: Archives pages 0, 1, 2 … and tells after each flush how many are safe; a tenth of a MB per flush.
ROBOT = """
import os, sys
from itertools import count
from pathlib import Path
from tests.archive.examples import visit, writer
archive = writer(Path(sys.argv[1]), limit_bytes=300_000)
for number in count(int(sys.argv[2])):
    archive.append(visit(f"http://x.example/{number}", os.urandom(2_000)))
    if number % 50 == 49:
        archive.flush()
        os.write(1, b"%d\\n" % (number + 1))
"""


def killed_robot(directory: Path, first: int, flushes: int, root: Path) -> int:
    """Let a robot archive from page `first` on, kill it in the middle; how many pages it said were safe."""
    run = [sys.executable, "-c", ROBOT, str(directory), str(first)]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    ) as robot:
        assert robot.stdout is not None
        told = b"".join(robot.stdout.readline() for _ in range(flushes))
        robot.send_signal(signal.SIGKILL)
        told += robot.stdout.read()
    return max(int(number) for number in told.split(b"\n")[:-1])


@pytest.mark.slow
def test_ten_kills_lose_nothing_that_was_flushed(tmp_path: Path, root: Path) -> None:
    chance = random.Random(7)
    first = 0
    for _ in range(10):
        safe = killed_robot(tmp_path, first, chance.randrange(1, 12), root)
        urls = [record.url for record, _ in replay(tmp_path)]
        assert urls == [f"http://x.example/{number}" for number in range(len(urls))]
        assert len(urls) >= safe
        first = len(urls)
    writer(tmp_path).close()
    assert [check.check(tmp_path, name).problems for name in warcs(tmp_path)] == [[]] * len(warcs(tmp_path))
    assert sum(1 for _ in CaptureIndex(tmp_path).all()) == first
