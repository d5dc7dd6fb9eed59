"""How many robots can one manager serve?

Beats as a robot sends them that collects 200 servers side by side: 500 visits since the last one, each with
what it changed in the frontier (two new pages, one that was visited, its date) and a link to a server of
somebody else. They go through the same calls as in the service, from bytes to bytes; HTTP is left out. CPU
seconds are those of the manager and of the database, all its processes together; waiting for the disk is not
counted.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil

from joro.clock import RealClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import Beat, Changes, Effort, Link, Post, encode
from joro.manager.beats import beat
from joro.manager.journals import fold_round
from joro.store.control import Control, open_control
from tests.postgres import Postgres, postgres_server, tool

SERVERS, VISITS, ROBOTS = 200, 500, 5
#: Beats with posts, and without: most of a quiet night's.
FULL, EMPTY = 150, 2_000
RULES = Manager(rule="hash")

Cpu = Callable[[], float]
_read = msgspec.msgpack.Decoder(Beat).decode


def figures() -> dict[str, tuple[float, str]]:
    """Pages filed and beats answered by a CPU-second, in both stores; the peak memory of the manager."""
    with tempfile.TemporaryDirectory() as folder:
        control = open_control("", Path(folder), RealClock())
        pages, beats = _measure(control, time.process_time)
        size_bytes = control.size_bytes()
        control.close()
    return {
        "manager.pages_per_cpu_s": (pages, "pages/CPU-s"),
        "manager.beats_per_cpu_s": (beats, "beats/CPU-s"),
        "manager.bytes_per_page": (size_bytes / (FULL * VISITS), "B"),
        "manager.peak_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024, "MB"),
    } | _in_postgresql()


def _in_postgresql() -> dict[str, tuple[float, str]]:
    try:
        tool("postgres")
    except FileNotFoundError as missing:
        print(f"  without PostgreSQL: {missing}")
        return {}
    with postgres_server(settings=()) as server:
        control = open_control(server.new_database(), Path(), RealClock())
        pages, beats = _measure(control, lambda: time.process_time() + _cpu_s(server))
        control.close()
    return {
        "manager.pages_per_cpu_s_postgresql": (pages, "pages/CPU-s"),
        "manager.beats_per_cpu_s_postgresql": (beats, "beats/CPU-s"),
    }


def _cpu_s(server: Postgres) -> float:
    """What the database has spent: its processes now, and those that have ended."""
    assert server.process is not None
    leader = psutil.Process(server.process.pid)
    ended = leader.cpu_times()
    spent = ended.user + ended.system + ended.children_user + ended.children_system
    for process in leader.children(recursive=True):
        times = process.cpu_times()
        spent += times.user + times.system
    return float(spent)


def _measure(control: Control, cpu_s: Cpu) -> tuple[float, float]:
    with control.transaction() as transaction:
        for robot in range(ROBOTS):
            transaction.run("INSERT INTO robots (name) VALUES (?)", f"robot-{robot}")
    for robot in range(ROBOTS):
        _call(control, f"robot-{robot}", 0, [])
    full = [_post(number // ROBOTS + 1, number % ROBOTS, number) for number in range(FULL)]
    read = [0] * ROBOTS
    before = cpu_s()
    for number, post in enumerate(full):
        robot = number % ROBOTS
        read[robot] = _call(control, f"robot-{robot}", read[robot], [post])
    fold_round(control)
    between = cpu_s()
    for number in range(EMPTY):
        robot = number % ROBOTS
        read[robot] = _call(control, f"robot-{robot}", read[robot], [])
    after = cpu_s()
    return FULL * VISITS / (between - before), EMPTY / (after - between)


def _call(control: Control, robot: str, read: int, posts: list[Post]) -> int:
    """One beat, as bytes; the number of the last letter that came back."""
    clock = RealClock().now()
    answer = beat(control, _read(encode(Beat(robot, robot, clock, read, posts, sockets=SERVERS))), RULES)
    encode(answer)
    return answer.letters[-1].number if answer.letters else read


def _server(robot: int, number: int) -> str:
    return f"http://www.server-{robot}-{number}.example.jp"


def _post(number: int, robot: int, round_: int) -> Post:
    changes: list[Changes] = []
    for place in range(SERVERS):
        server = _server(robot, place)
        keys: list[tuple[bytes, bytes | None]] = [(b"s" + server.encode(), bytes(range(120)))]
        for visit in range(place, VISITS, SERVERS):
            page = f"{server}/some/directory/{round_}/page-{visit}.html".encode()
            keys += [
                (b"q" + page, None),
                (b"p" + page, round_.to_bytes(8) * 7),
                (b"d" + page, visit.to_bytes(8)),
                (b"q" + page + b"-next", b"\x93\x01\x02\x03"),
                (b"q" + page + b"-other", b"\x93\x01\x02\x03"),
            ]
        changes.append(Changes(server, keys))
    there = (robot + 1) % ROBOTS
    links = [
        Link(f"{_server(there, visit % SERVERS)}/{round_}/{visit}.html", 3, found_on=f"{_server(robot, 0)}/")
        for visit in range(VISITS)
    ]
    efforts = [Effort(_server(robot, place), 2, 50_000, 900) for place in range(SERVERS)]
    return Post(number, changes, links, [], efforts)
