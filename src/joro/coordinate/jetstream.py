"""How do links go straight to the robot that has their server, inside one data centre?

In:    links to servers of other robots; hints of the manager as to whose they are.
Out:   the same links, at those robots: none lost. Links bear being told twice, so some are.
Never: decides who has a server, or must know it: what arrives at a robot that has it no more goes to the
       manager, as does what nobody gave a hint about, and all while JetStream cannot be reached. Ends because
       somebody sent what nobody can read.
Paper: S3 2.4, numbered batches, acknowledged; here by NATS JetStream.

A batch begins its life in the commit that its links' visits are in, is published after it, and is forgotten
with the first commit after JetStream has it. There it stays until its reader has committed it. What waits
for a robot that is silent is read by whichever other hears of that first, and goes to the manager.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from joro.coordinate.beat import Link
from joro.errors import ConfigError
from joro.store.frontier import Frontier
from joro.url import server_of

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

log = logging.getLogger(__name__)

STREAM = "joro-links"
SUBJECT = "joro.links."
#: Links in a batch: some 100 KB, a tenth of what NATS takes for one message.
BATCH_LINKS = 1_000
#: Batches that may be with a reader and not yet committed.
UNCOMMITTED_BATCHES = 256
#: A reader that has not committed a batch after so long is taken to have died with it.
READ_S = 10.0
#: A hint is believed so long: then the manager is asked again, by sending it the link.
HINT_S = 120.0
HINTS_LIMIT = 200_000
#: Batches that JetStream did not take for so long go to the manager instead.
PATIENCE_S = 5.0
#: How often one tries again, or looks whether anything waits for silent robots.
LOOK_EVERY_S = 2.0
#: Batches on their way to JetStream at the same time.
IN_FLIGHT = 64

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Link])


def subject(robot: str) -> str:
    """Where links for a robot are published; a name may hold what a subject may not."""
    return SUBJECT + robot.encode().hex()


class Straight:
    """One robot's letter boxes at JetStream."""

    def __init__(self, address: str, robot: str, frontier: Frontier, wake: Callable[[], None]) -> None:
        self._address = checked(address)
        self._robot = robot
        self._frontier = frontier
        self._wake = wake
        self._hints: dict[str, tuple[str, float]] = {}
        self._silent: set[str] = set()
        self._found: defaultdict[str, list[Link]] = defaultdict(list)
        self._closed: dict[str, bytes] = {}  # batches in the commit under way
        self._unsent = frontier.kept("straight ")
        self._unsent_since = time.monotonic()  # JetStream took none of them
        self._number = max((int(name.split()[1]) for name in self._unsent), default=0)
        self._arrived: list[Msg] = []
        self._taken: list[Msg] = []  # in the commit under way
        self._committed: list[Msg] = []
        self._news = asyncio.Event()
        self._news.set()
        self._client: Client | None = None
        self._was_told = False
        self._life: asyncio.Task[None] | None = None
        self.sent = 0  # links, in this life

    def start(self) -> None:
        """Begin to send and to read, as soon as JetStream can be reached."""
        self._life = asyncio.create_task(self._live())

    async def close(self) -> None:
        """Stop; what was not sent is sent in the next life."""
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])
        if self._client is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._client.close(), 1.0)

    @property
    def is_empty(self) -> bool:
        """Nothing waits to be sent or to be taken in."""
        return not (self._found or self._closed or self._unsent or self._arrived)

    @property
    def has_mail(self) -> bool:
        """Have links come that no commit has taken in?"""
        return bool(self._arrived)

    @property
    def is_connected(self) -> bool:
        """Can JetStream be reached?"""
        return self._client is not None and self._client.is_connected

    def learn(self, owners: dict[str, str], silent: Iterable[str]) -> None:
        """Take hints of the manager."""
        until = time.monotonic() + HINT_S
        if len(self._hints) + len(owners) > HINTS_LIMIT:
            self._hints.clear()
        self._hints.update((server, (robot, until)) for server, robot in owners.items())
        self._silent = set(silent) - {self._robot}

    def offer(self, link: Link) -> bool:
        """Let a link go with the next batch to its robot; False: it must go to the manager."""
        robot, until = self._hints.get(server_of(link.url), ("", 0.0))
        is_known = robot not in ("", self._robot) and until > time.monotonic()
        if not is_known or robot in self._silent or not self.is_connected:
            return False
        self._found[robot].append(link)
        return True

    def before_commit(self) -> list[Link]:
        """Put what was offered into the commit; the links that have come, to be taken in or passed on."""
        for robot, links in self._found.items():
            for batch in (links[begin : begin + BATCH_LINKS] for begin in range(0, len(links), BATCH_LINKS)):
                self._number += 1
                name = f"straight {self._number:012d} {robot}"
                self._closed[name] = _encoder.encode(batch)
                self._frontier.keep(name, self._closed[name])
            self.sent += len(links)
        self._found.clear()
        come = [*(message.data for message in self._arrived), *self._given_up()]
        self._taken, self._arrived = self._taken + self._arrived, []
        return _links_in(come)

    def _given_up(self) -> list[bytes]:
        """Batches that JetStream did not take in time."""
        if not self._unsent or time.monotonic() - self._unsent_since < PATIENCE_S:
            return []
        given_up, self._unsent = self._unsent, {}
        for name in given_up:
            self._frontier.keep(name, None)
        return list(given_up.values())

    def after_commit(self) -> None:
        """Publish the batches just committed, and let go of those just read."""
        if not self._unsent:
            self._unsent_since = time.monotonic()
        self._unsent |= self._closed
        self._committed += self._taken
        self._closed, self._taken = {}, []
        self._news.set()

    async def _live(self) -> None:
        stream = await self._reached()
        boxes = _Boxes(stream)
        steps = (
            lambda: self._send(stream),
            lambda: self._read(boxes),
            lambda: self._read_for_silent(boxes),
        )
        await asyncio.gather(*(_again_and_again(step) for step in steps))

    async def _reached(self) -> JetStreamContext:
        import nats

        self._client = await nats.connect(
            self._address,
            name=self._robot,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.5,
            error_cb=self._overheard,
            disconnected_cb=self._lost,
            reconnected_cb=self._found_again,
        )
        return self._client.jetstream(timeout=PATIENCE_S)

    async def _overheard(self, error: Exception) -> None:
        """Each knock is told of: the first one is enough."""
        if self._client is None and not self._was_told:
            self._was_told = True
            log.warning("JetStream does not answer (%s): links go to the manager", error)

    async def _lost(self) -> None:
        log.warning("JetStream is away: links go to the manager")

    async def _found_again(self) -> None:
        log.warning("JetStream answers again")

    async def _send(self, stream: JetStreamContext) -> None:
        """Publish what is unsent, and let go of what is committed."""
        await self._news.wait()
        self._news.clear()
        while self._committed:
            await self._committed.pop().ack()
        try:
            while self._unsent:
                some = list(self._unsent.items())[:IN_FLIGHT]
                await asyncio.gather(*(self._publish(stream, name, batch) for name, batch in some))
        except BaseException:
            self._news.set()
            raise

    async def _publish(self, stream: JetStreamContext, name: str, batch: bytes) -> None:
        await stream.publish(subject(name.split(" ", 2)[2]), batch, stream=STREAM)
        self._unsent_since = time.monotonic()
        if self._unsent.pop(name, None) is not None:
            self._frontier.keep(name, None)

    async def _read(self, boxes: _Boxes) -> None:
        self._take_in(await boxes.fetch(self._robot, PATIENCE_S))

    async def _read_for_silent(self, boxes: _Boxes) -> None:
        for robot in sorted(self._silent):
            self._take_in(await boxes.fetch(robot, 0.1))
        await asyncio.sleep(LOOK_EVERY_S)

    def _take_in(self, messages: list[Msg]) -> None:
        self._arrived += messages
        if messages:
            self._wake()


class _Boxes:
    """Where each robot's links wait."""

    def __init__(self, stream: JetStreamContext) -> None:
        self._stream = stream
        self._open: dict[str, JetStreamContext.PullSubscription] = {}

    async def fetch(self, robot: str, patience_s: float) -> list[Msg]:
        """What has come for a robot; nothing, if nothing comes for so long."""
        import nats

        if robot not in self._open:
            self._open[robot] = await self._opened(robot)
        try:
            return await self._open[robot].fetch(IN_FLIGHT, timeout=patience_s)
        except nats.errors.TimeoutError:
            return []
        except nats.errors.Error:
            del self._open[robot]
            raise

    async def _opened(self, robot: str) -> JetStreamContext.PullSubscription:
        from nats.js.api import ConsumerConfig, RetentionPolicy
        from nats.js.errors import BadRequestError

        with contextlib.suppress(
            BadRequestError
        ):  # whoever runs JetStream made it otherwise, say with replicas
            await self._stream.add_stream(
                name=STREAM, subjects=[SUBJECT + "*"], retention=RetentionPolicy.WORK_QUEUE
            )
        return await self._stream.pull_subscribe(
            subject(robot),
            durable=subject(robot).removeprefix(SUBJECT),
            stream=STREAM,
            config=ConsumerConfig(ack_wait=READ_S, max_ack_pending=UNCOMMITTED_BATCHES),
        )


def _links_in(batches: list[bytes]) -> list[Link]:
    """What can be read; the rest is told in one line and done with, or it came again after every restart."""
    links: list[Link] = []
    wrong: list[Exception] = []
    for batch in batches:
        try:
            links += _decoder.decode(batch)
        except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors, and so is bad UTF-8
            wrong.append(error)
    if wrong:
        log.warning("%d batches of links left out that nobody can read (%.200s)", len(wrong), wrong[0])
    return links


async def _again_and_again(step: Callable[[], Awaitable[None]]) -> None:
    """Go on whatever JetStream does: it may be away for an hour."""
    import nats

    while True:
        try:
            await step()
        except (OSError, nats.errors.Error):
            await asyncio.sleep(LOOK_EVERY_S)


def checked(address: str) -> str:
    """The address, if links can be sent by it."""
    try:
        parts = urlsplit(address)
        is_good = parts.scheme in ("nats", "tls") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise ConfigError(
            f"cooperate.exchange = {address!r} is no address of a NATS server",
            remedy="write it like nats://nats.example:4222, or leave it empty",
        )
    if importlib.util.find_spec("nats") is None:
        raise ConfigError(
            "cooperate.exchange needs nats-py", remedy="pip install 'joro[cluster]', or leave it empty"
        )
    return address
