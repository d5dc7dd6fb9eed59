"""The robot: collects, and keeps fresh what it collected. Read `robot.py` first, then `keeper.py`."""

from joro.robot.robot import COMMIT_EVERY_VISITS, Robot

__all__ = ["COMMIT_EVERY_VISITS", "Robot"]
