"""How are pages collected, and kept fresh? Read `robot.py` first, then `keeper.py`."""

from joro.robot.robot import COMMIT_EVERY_VISITS, Robot

__all__ = ["COMMIT_EVERY_VISITS", "Robot"]
