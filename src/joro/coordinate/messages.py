"""What do robots and their manager say to each other?

In:    the bytes of a message, or its values.
Out:   its values, or its bytes: M1 to M5 as S1 prints them.
Never: takes half a message, guesses at a junk line, or lets a name leave its folder; a bad message is one
       error that names the line.
Paper: S1 5.1.2; the shape of dates from 5.1.6.

Three places where S1's grammar leaves room. A response head has several lines and may have quotes in it, so a
server could write a log line of its own into it: we write heads on one line, with \\r, \\n, \\" and \\\\, and
read those of others on as many lines as they like. Of several `#MaxTransfer=` the last one counts. Where S1
prints a blank after a dot or a comma, it may be there or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qs, quote

from joro.coordinate.packing import MOST_BYTES, pack, unpack
from joro.errors import BadMessage

LIST = "/servlets/list"  # M1, GET ?host=
RECORD = "/servlets/record"  # M2, POST
SUBMIT_LOG = "/servlets/submitlog"  # M3, POST
IS_RESTART = "/servlets/isrestart"  # M4, GET ?host=, every hour
SUBSCRIBE = "/servlets/subscribe"  # M5, GET ?host=
UNSUBSCRIBE = "/servlets/unsubscribe"  # M5, GET ?host=

RESTART = "RESTART"
_LONGEST_URL = 8_192
_SHOWN = 60
_MAX_TRANSFER = re.compile(r"#MaxTransfer=([0-9]{1,18})")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_URL = re.compile(r"https?://[!-~]+", re.IGNORECASE)  # RFC 2396 knows neither blanks nor letters beyond ASCII
_VISIT = re.compile(r'"([^"]*)",\s?([0-9]{1,18}),\s?([0-9]{1,18}),\s?([0-9]{1,18}),\s?"')
_STAMPS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\r": "\\r", "\n": "\\n"}
_PLAIN = {escaped: plain for plain, escaped in _ESCAPES.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """A server, directory or page, and where the link to it was found."""

    url: str
    referrer: str | None = None


@dataclass(frozen=True, slots=True)
class ServerList:
    """M1 and M2. `max_transfer` limits the pages of each server: 50 for a probe."""

    entries: tuple[Entry, ...] = ()
    max_transfer: int | None = None
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogLine:
    """A visit as a robot reports it."""

    url: str
    request_bytes: int
    response_bytes: int
    elapsed_ms: int
    head: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """M3: the visits of a robot up to a moment, `stamp` as yyyymmddhhMM."""

    robot: str
    stamp: str
    lines: tuple[LogLine, ...] = ()

    @property
    def name(self) -> str:
        """Its file name, ROBOT.DATE; it has no folder in it."""
        return f"{self.robot}.{self.stamp}"


def path(page: str, robot: str) -> str:
    """Where a robot asks: /servlets/list?host=ROBOT."""
    return f"{page}?host={quote(robot_name(robot))}"


def robot_of(query: str) -> str:
    """Who asks, of `host=ROBOT`."""
    names = parse_qs(query, keep_blank_values=True, max_num_fields=20).get("host", [])
    if len(names) != 1:
        raise BadMessage(f"{len(names)} robots are named in {_shown(query)}", remedy="write ?host=ROBOT")
    return robot_name(names[0])


def robot_name(name: str) -> str:
    """The name, if it is one: a host's name or address."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise BadMessage(f"{_shown(name)} is no robot's name", remedy="give the name of its host")
    return name


def write_list(servers: ServerList) -> bytes:
    """M1 or M2."""
    return pack("".join(f"{line}\n" for line in _list_lines(servers)).encode("utf-8"))


def _list_lines(servers: ServerList) -> Iterator[str]:
    for comment in servers.comments:
        if "\n" in comment or _MAX_TRANSFER.fullmatch(f"#{comment}"):
            raise BadMessage(
                f"{_shown(comment)} is no comment", remedy="write one line that says nothing else"
            )
        yield f"#{comment}"
    if servers.max_transfer is not None:
        yield f"#MaxTransfer={servers.max_transfer}"
    for entry in servers.entries:
        yield _url(entry.url) if entry.referrer is None else f"{_url(entry.url)}\t{_url(entry.referrer)}"


def read_list(message: bytes, most_bytes: int = MOST_BYTES) -> ServerList:
    """M1 or M2."""
    entries, comments, max_transfer = [], [], None
    for number, line in _lines(unpack(message, most_bytes)):
        if limit := _MAX_TRANSFER.fullmatch(line):
            max_transfer = int(limit[1])
        elif line.startswith("#"):
            comments.append(line[1:])
        else:
            url, tab, referrer = line.partition("\t")
            entries.append(Entry(_url(url, number), _url(referrer, number) if tab else None))
    return ServerList(tuple(entries), max_transfer, tuple(comments))


def write_log(log: Log) -> bytes:
    """M3."""
    return submission(log.name, "".join(map(log_line, log.lines)).encode("utf-8"))


def submission(name: str, lines: bytes) -> bytes:
    """M3, of lines as a robot keeps them in its own log."""
    return f"{_file_name(name).name}\n".encode() + pack(lines)


def log_line(visit: LogLine) -> str:
    """A visit as M3 has it."""
    numbers = f"{visit.request_bytes},{visit.response_bytes},{visit.elapsed_ms}"
    return f'"{_url(visit.url)}",{numbers},"{_escaped(visit.head)}"\n'


def read_log(message: bytes, most_bytes: int = MOST_BYTES) -> Log:
    """M3."""
    name, line_end, _ = message[: 1 << 10].partition(b"\n")
    if not line_end:
        raise BadMessage("the log has no file name", remedy="begin it with ROBOT.DATE and a line feed")
    log = _file_name(name.decode("utf-8", "replace"))
    lines = _visits(_lines(unpack(message[len(name) + 1 :], most_bytes), may_be_odd=True))
    return Log(log.robot, log.stamp, tuple(lines))


def _file_name(name: str) -> Log:
    robot, _, stamp = name.rpartition(".")
    stamp = stamp.removeprefix(" ")
    try:
        datetime.strptime(stamp if stamp.isascii() and stamp.isdigit() else "", _STAMPS[len(stamp)])
    except (KeyError, ValueError):
        raise BadMessage(
            f"{_shown(name)} names no log", remedy="write ROBOT.yyyymmddhhMM with a real date"
        ) from None
    return Log(robot_name(robot), stamp)


def _visits(lines: Iterable[tuple[int, str]]) -> Iterator[LogLine]:
    """One visit after the other; what follows a visit's line and opens no other belongs to its head."""
    started, first, head = None, 0, [""]
    for number, line in lines:
        visit = _VISIT.match(line)
        if visit or (line.startswith("#") and (started is None or head[-1].endswith('"'))):
            yield from _visit(started, first, head)
            started, first, head = visit, number, [line[visit.end() :] if visit else ""]
        elif started is None:
            raise _bad_line(number, line, "is no visit", 'write "URL",sent,received,milliseconds,"head"')
        else:
            head.append(line)
    yield from _visit(started, first, head)


def _visit(started: re.Match[str] | None, number: int, head: list[str]) -> Iterator[LogLine]:
    if started is None:
        return
    text = "\n".join(head)
    if not text.endswith('"'):
        raise _bad_line(number, started[0], "opens a head that has no end", 'close it with " and a line feed')
    url = _url(started[1], number)
    plain = _unescaped(text[:-1]) if len(head) == 1 else text[:-1]
    yield LogLine(url, int(started[2]), int(started[3]), int(started[4]), plain)


def _escaped(head: str) -> str:
    return re.sub(r'[\\"\r\n]', lambda sign: _ESCAPES[sign[0]], head)


def _unescaped(head: str) -> str:
    return re.sub(r'\\[\\"rn]', lambda sign: _PLAIN[sign[0]], head)


def answer_restart(wanted: bool) -> bytes:
    """M4: whether to drop the list and the pages on disk, and fetch a new list."""
    return f"{RESTART if wanted else 'CONTINUE'}\n".encode()


def is_restart(answer: bytes) -> bool:
    """M4, at the robot: the first line decides, whatever follows."""
    return answer.split(b"\n", 1)[0].removesuffix(b"\r") == RESTART.encode()


def _lines(inside: bytes, *, may_be_odd: bool = False) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; every one must have its line feed, or the end is missing.

    Heads of servers may hold any octets: what is not UTF-8 in them is shown as unreadable.
    """
    if inside and not inside.endswith(b"\n"):
        raise BadMessage("the last line has no line feed", remedy="send the whole message again")
    try:
        text = inside.decode("utf-8", "replace" if may_be_odd else "strict")
    except UnicodeDecodeError as error:
        number = inside.count(b"\n", 0, error.start) + 1
        raise BadMessage(f"line {number:,} is not UTF-8", remedy="write URLs in ASCII") from None
    yield from enumerate(text.split("\n")[:-1], start=1)


def is_url(url: str) -> bool:
    """Could it stand in a message?"""
    return len(url) <= _LONGEST_URL and '"' not in url and _URL.fullmatch(url) is not None


def _url(url: str, number: int | None = None) -> str:
    if is_url(url):
        return url
    raise _bad_line(number, url, "is no URL", "write http:// or https://, in ASCII and without blanks")


def _bad_line(number: int | None, line: str, problem: str, remedy: str) -> BadMessage:
    where = f"line {number:,}: " if number else ""
    return BadMessage(f"{where}{_shown(line)} {problem}", remedy=remedy)


def _shown(text: str) -> str:
    """Enough of it to find it; hostile text must fill nobody's log."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
