"""How are pages collected, and kept fresh? Read `robot.py` first, then `keeper.py`."""

from joro.robot.commits import COMMIT_EVERY_VISITS
from joro.robot.robot import Robot

__all__ = ["COMMIT_EVERY_VISITS", "Robot"]
