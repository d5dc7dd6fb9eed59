"""Go through an update, and be killed by the n-th change of a file or start of a process.

`python -m tests.updater.killed LIMIT STORY PATH URL PUBLIC_KEY`. Nothing of the program is changed for this:
Python tells of every such change just before it is made.
"""

import os
import signal
import sys
from pathlib import Path

from joro.clock import RealClock
from joro.config import Cooperate, Update
from joro.updater.journal import Journal
from joro.updater.keeper import Keeper
from joro.updater.shelf import Shelf
from joro.updater.source import Source

CHANGES = {
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.symlink",
    "shutil.rmtree",
    "subprocess.Popen",
}


def arm(limit: int, place: str) -> None:
    """Be killed just before the change with that number, below that directory."""
    count = 0

    def see(event: str, about: tuple[object, ...]) -> None:
        nonlocal count
        is_change = event in CHANGES or (
            event == "open" and int(str(about[2] or 0)) & (os.O_WRONLY | os.O_RDWR)
        )
        if is_change and place in repr(about):
            count += 1
            if count == limit:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(see)


def update(keeper: Keeper) -> None:
    keeper.mend()
    version = keeper.bring()
    assert version is not None
    keeper.adopt(version)
    keeper.begin()
    keeper.keep()


def fail(keeper: Keeper) -> None:
    """What follows when a release on trial ends."""
    keeper.fail("it ended with exit code 1")
    keeper.mend()


if __name__ == "__main__":
    number, story, path, url, public = sys.argv[1:]
    web, clock = Path(path), RealClock()
    settings = Update(source=url, public_keys=(public,))
    shelf, journal = Shelf(web / "releases", "0.1.0"), Journal(web / "logs", clock.now)
    keeper = Keeper(shelf, settings, Source(settings, Cooperate(), web), journal, clock, web)
    arm(int(number), path)
    {"update": update, "fail": fail}[story](keeper)
