"""What does a robot need to become one of a manager's?

In:    a collection's settings, and who the robot is.
Out:   what `Robot` takes as `joined`.
Never: asks a manager anything yet; mistakes in the settings are found here, before anything is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from joro.clock import Clock
from joro.config.cooperate import Cooperate
from joro.coordinate.caller import Managers
from joro.coordinate.jetstream import Straight
from joro.errors import UsageError
from joro.robot.member import Member
from joro.robot.premises import Premises
from joro.robot.pulse import Pulse
from joro.robot.transfers import Transfers
from joro.store.collection import Collection
from joro.store.membership import Membership
from joro.trust import sendable


def joining(
    collection: Collection, clock: Clock, robot: Membership, number: int = 0
) -> Callable[[Premises], Member]:
    """Make a member of the robot that works in share `number` of the collection."""
    settings = collection.config.cooperate
    token = token_of(settings, robot.name)

    def opened() -> Managers:
        ca = Path(settings.ca) if settings.ca else None
        return Managers(settings.managers, token, ca=ca, plain=settings.plain)

    opened()
    transfers = Transfers(collection.logs, robot.name, settings, clock, number=number)

    def joined(premises: Premises) -> Member:
        pulse = Pulse(opened, transfers, clock)
        straight = None
        if settings.exchange:
            straight = Straight(settings.exchange, robot.name, premises.frontier, premises.wake)
        return Member(
            premises,
            pulse,
            transfers,
            clock,
            name=robot.name,
            identity=robot.identity,
            sockets=collection.config.fetch.sockets,
            straight=straight,
        )

    return joined


def token_of(settings: Cooperate, robot: str) -> str:
    """The robot's token, which can be sent."""
    what = f"the token in {settings.token_file}" if settings.token_file else "cooperate.token"
    return sendable(_kept(settings, robot), what, remedy=f"write what joro manager robot add {robot} printed")


def _kept(settings: Cooperate, robot: str) -> str:
    """The robot's token; a file may have several, in lines of NAME TOKEN."""
    if not settings.token_file:
        if not settings.token:
            raise UsageError(
                f"{robot} has no token",
                remedy=f"at the manager: joro manager robot add {robot}; here: --token-file FILE",
            )
        return settings.token
    try:
        lines = Path(settings.token_file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the token file {settings.token_file} cannot be read ({error})", remedy="check its name"
        ) from None
    tokens = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    if len(tokens) == 1 and len(tokens[0]) == 1:
        return tokens[0][0]
    for words in tokens:
        if len(words) == 2 and words[0] == robot:
            return words[1]
    raise UsageError(
        f"{settings.token_file} has no token for {robot}", remedy=f"write a line into it: {robot} TOKEN"
    )
