"""A crew whose measurements are never quite right, looked at by a planner again and again."""

import numpy as np

from joro.config.cooperate import Manager
from joro.coordinate.assign import Floats, loads
from joro.manager.allowance import Allowance, renewed, spent
from joro.manager.planning import has_settled, wished
from joro.manager.world import World

EVERY_S = 600.0
REST = 10
#: Pages of each server that its robot collects between two looks.
PAGES = 25


class Noisy:
    """Robots, and servers of very different sizes, at first shared out by their number alone.

    Pages of a server differ by e in milliseconds per KB (as a standard deviation of the logarithm). A robot
    knows the mean of all it collected; or if `is_forgetful`, only of those since the last look.
    """

    def __init__(self, seed: int, robots: int, servers: int, *, is_forgetful: bool = False) -> None:
        self._chance = np.random.default_rng(seed)
        self._is_forgetful = is_forgetful
        self.distances = 10.0 * np.exp(self._chance.normal(0.0, 0.3, (robots, servers)))
        self.kb = np.exp(self._chance.normal(6.0, 1.0, servers))
        self.names = [f"http://{number}.example" for number in range(servers)]
        self.owners = np.arange(servers) % max(1, robots - 1)
        self.allowance = Allowance()
        self._errors, self._pages = np.zeros((2, robots, servers))
        self._moved_at = np.full(servers, -REST)
        self._looks = 0

    def look(self, robots: int) -> int:
        """Let robots collect, and the planner look once; how many servers moved."""
        self._looks += 1
        self._collect()
        world = self._world(robots)
        crew = {name: 0.0 for name in world.robots}
        left = renewed(self.allowance, crew, self._looks * EVERY_S)
        wishes = wished(world, Manager(), left.servers(len(self.names)))
        part = len(wishes) / len(self.names)
        self.allowance = spent(left, part, is_settled=has_settled(world))
        for server, _, heir in wishes:
            place = self.names.index(server)
            self.owners[place], self._moved_at[place] = int(heir), self._looks
        return len(wishes)

    def _collect(self) -> None:
        here = self.owners, np.arange(len(self.names))
        if self._is_forgetful:
            self._errors[here] = self._pages[here] = 0.0
        self._errors[here] += self._chance.normal(0.0, 1.0, len(self.names)) * np.sqrt(PAGES)
        self._pages[here] += PAGES

    def _world(self, robots: int) -> World:
        pages = self._pages[:robots]
        measured = self.distances[:robots] * np.exp(self._errors[:robots] / np.maximum(pages, 1.0))
        return World(
            [str(number) for number in range(robots)],
            self.names,
            self.owners.copy(),
            self.kb,
            np.where(pages > 0.0, measured, np.nan),
            pages.copy(),
            self._looks - self._moved_at < REST,
            lanes=200,
            all_servers=len(self.names),
        )

    def loads(self) -> Floats:
        """What each robot really has to do."""
        return loads(self.distances * self.kb, self.owners)
