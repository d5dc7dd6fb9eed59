"""Where does each robot stand on the map, and which servers are on their way between them?

In:    robots with the servers they hold, and the moves under way.
Out:   circles and arrows, in the units of the drawing.
Never: says where on earth a robot is: nobody told us; neighbours on the map are neighbours by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1_000.0, 420.0
#: More do not fit; the table has them all.
MOST = 40
_LARGEST, _SMALLEST = 44.0, 7.0
_GAP = 6.0
_INWARDS, _ASIDE = 1.0, 0.02


@dataclass(frozen=True, slots=True)
class Circle:
    """A robot; its area shows how many servers it holds."""

    name: str
    x: float
    y: float
    radius: float
    servers: int
    state: str

    @property
    def name_y(self) -> float:
        """Where its name stands: outside, where no arrows are."""
        return self.y - self.radius - 7 if self.y < HEIGHT / 2 else self.y + self.radius + 15


@dataclass(frozen=True, slots=True)
class Arrow:
    """Servers on their way from one robot to another, as a curve from rim to rim."""

    path: str
    count: int
    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class RobotMap:
    """What is drawn."""

    circles: list[Circle]
    arrows: list[Arrow]
    width: float = WIDTH
    height: float = HEIGHT


def robot_map(robots: Sequence[tuple[str, int, str]], moves: Mapping[tuple[str, str], int]) -> RobotMap:
    """The map of (name, servers, state) and of how many servers move from whom to whom."""
    shown = sorted(robots)[:MOST]
    most = max((servers for _, servers, _ in shown), default=0)
    largest = min(_LARGEST, math.pi * HEIGHT * 0.33 / max(1, len(shown)))
    circles = []
    for number, (name, servers, state) in enumerate(shown):
        turn = 2 * math.pi * number / len(shown) - math.pi / 2
        radius = max(_SMALLEST, largest * math.sqrt(servers / most)) if most else _SMALLEST
        x, y = WIDTH / 2 + WIDTH * 0.36 * math.cos(turn), HEIGHT / 2 - 8 + HEIGHT * 0.33 * math.sin(turn)
        circles.append(Circle(name, round(x, 1), round(y, 1), round(radius, 1), servers, state))
    places = {circle.name: circle for circle in circles}
    arrows = [
        _arrow(places[source], places[target], count)
        for (source, target), count in sorted(moves.items())
        if source in places and target in places and source != target
    ]
    return RobotMap(circles, arrows)


def _arrow(source: Circle, target: Circle, count: int) -> Arrow:
    """Bent inwards, past the robots between; two ways differ, so that servers that move both show as two."""
    inwards = _INWARDS if source.name < target.name else _INWARDS / 4
    middle_x, middle_y = (source.x + target.x) / 2, (source.y + target.y) / 2
    x = middle_x + (WIDTH / 2 - middle_x) * inwards - (target.y - source.y) * _ASIDE
    y = middle_y + (HEIGHT / 2 - middle_y) * inwards + (target.x - source.x) * _ASIDE
    start = _towards(source, x, y, source.radius + _GAP)
    end = _towards(target, x, y, target.radius + _GAP)
    path = f"M{start[0]:.1f} {start[1]:.1f}Q{x:.1f} {y:.1f} {end[0]:.1f} {end[1]:.1f}"
    label_x, label_y = (start[0] + 2 * x + end[0]) / 4, (start[1] + 2 * y + end[1]) / 4  # the curve's middle
    return Arrow(path, count, round(label_x, 1), round(label_y + 4, 1), f"{source.name} → {target.name}")


def _towards(circle: Circle, x: float, y: float, distance: float) -> tuple[float, float]:
    length = math.hypot(x - circle.x, y - circle.y) or 1.0
    return circle.x + (x - circle.x) / length * distance, circle.y + (y - circle.y) / length * distance
