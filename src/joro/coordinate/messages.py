"""What do robots and their manager say to each other?

In:    the bytes of a message, or its values.
Out:   its values, or its bytes: M1 to M5 as S1 prints them, as a manager writes and reads them, and logs as
       robots of ours write them.
Never: takes half a message, guesses at a junk line, or lets a name leave its folder; a bad message is one
       error that names the line.
Paper: S1 5.1.2; the shape of dates from 5.1.6.

Two places where S1's grammar leaves room. A response head has several lines and may have quotes in it, so a
server could write a log line of its own into it: we write heads on one line, with \\r, \\n, \\" and \\\\, and
read those of others on as many lines as they like. Where S1 prints a blank after a dot or a comma, it may be
there or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qs

from joro.coordinate.packing import MOST_BYTES, pack, pieces
from joro.errors import BadMessage

LIST = "/servlets/list"  # M1, GET ?host=
RECORD = "/servlets/record"  # M2, POST
SUBMIT_LOG = "/servlets/submitlog"  # M3, POST
IS_RESTART = "/servlets/isrestart"  # M4, GET ?host=, every hour
SUBSCRIBE = "/servlets/subscribe"  # M5, GET ?host=
UNSUBSCRIBE = "/servlets/unsubscribe"  # M5, GET ?host=

RESTART = "RESTART"
#: A list of a million servers has as many lines, a log of 256 MB about as many visits. Without a limit 300 KB
#: of gzip were 150 million lines, and kept a processor busy for a minute and a half.
MOST_LINES = 4_000_000
#: Lines of a log for each visit it may have. Heads that other robots did not escape have a dozen; of these
#: visits there is less room in a message.
_LINES_A_VISIT = 4
_LONGEST_URL = 8_192
_LONGEST_LINE = 1 << 20  # whoever writes longer comments or heads fills memory
_MOST_FIELDS = 20  # of a query that has one to have
_SHOWN = 60
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
    """M1. `max_transfer` limits the pages of each server: 50 for a probe."""

    entries: tuple[Entry, ...] = ()
    max_transfer: int | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A visit as a robot reports it."""

    url: str
    request_bytes: int
    response_bytes: int
    elapsed_ms: int
    head: str = ""


@dataclass(frozen=True, slots=True)
class LogName:
    """What M3 begins with: whose log it is, and up to which moment, `stamp` as yyyymmddhhMM."""

    robot: str
    stamp: str

    def __str__(self) -> str:
        """A file name, ROBOT.DATE; it has no folder in it."""
        return f"{self.robot}.{self.stamp}"

    @property
    def written(self) -> datetime:
        """Its moment by the clock on the robot's wall."""
        return datetime.strptime(self.stamp, _STAMPS[len(self.stamp)])


def robot_of(query: str) -> str:
    """Who asks, of `host=ROBOT`."""
    try:
        names = parse_qs(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS).get("host", [])
    except ValueError:
        raise BadMessage("the query has too many fields", remedy="write ?host=ROBOT") from None
    if len(names) != 1:
        raise BadMessage(f"{len(names)} robots are named in {_shown(query)}", remedy="write ?host=ROBOT")
    return robot_name(names[0])


def robot_name(name: str) -> str:
    """The name, if it is one: a host's name or address."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise BadMessage(f"{_shown(name)} is no robot's name", remedy="give the name of its host")
    return name


def write_list(servers: ServerList) -> bytes:
    """M1."""
    return pack("".join(f"{line}\n" for line in _list_lines(servers)).encode("utf-8"))


def _list_lines(servers: ServerList) -> Iterator[str]:
    if servers.max_transfer is not None:
        yield f"#MaxTransfer={servers.max_transfer}"
    for entry in servers.entries:
        yield _url(entry.url) if entry.referrer is None else f"{_url(entry.url)}\t{_url(entry.referrer)}"


def entries(message: bytes, most_bytes: int = MOST_BYTES, most_lines: int = MOST_LINES) -> Iterator[Entry]:
    """Those of M2, one after the other: a list may be longer than memory has room for. # begins a comment."""
    for number, line in _lines(pieces(message, most_bytes), most_lines):
        if not line.startswith("#"):
            yield _entry(number, line)


def _entry(number: int, line: str) -> Entry:
    url, tab, referrer = line.partition("\t")
    return Entry(_url(url, number), _url(referrer, number) if tab else None)


def submission(name: str, lines: bytes) -> bytes:
    """M3, of lines as a robot keeps them in its own log."""
    return f"{_log_name(name)}\n".encode() + pack(lines)


def log_line(visit: LogLine) -> str:
    """A visit as M3 has it."""
    numbers = f"{visit.request_bytes},{visit.response_bytes},{visit.elapsed_ms}"
    return f'"{_url(visit.url)}",{numbers},"{_escaped(visit.head)}"\n'


def read_log(message: bytes, most_bytes: int = MOST_BYTES) -> tuple[LogName, Iterator[bytes]]:
    """M3: its name, and what is inside a piece at a time, for `visits`. Nothing is unpacked before."""
    name, line_end, _ = message[: 1 << 10].partition(b"\n")
    if not line_end:
        raise BadMessage("the log has no file name", remedy="begin it with ROBOT.DATE and a line feed")
    inside = pieces(memoryview(message)[len(name) + 1 :], most_bytes)
    return _log_name(name.decode("utf-8", "replace")), inside


def _log_name(name: str) -> LogName:
    robot, _, stamp = name.rpartition(".")
    stamp = stamp.removeprefix(" ")
    try:
        datetime.strptime(stamp if stamp.isascii() and stamp.isdigit() else "", _STAMPS[len(stamp)])
    except (KeyError, ValueError):
        raise BadMessage(
            f"{_shown(name)} names no log", remedy="write ROBOT.yyyymmddhhMM with a real date"
        ) from None
    return LogName(robot_name(robot), stamp)


def visits(inside: Iterable[bytes], most: int = MOST_LINES) -> Iterator[LogLine]:
    """Those of M3, one after the other."""
    lines = _lines(inside, _LINES_A_VISIT * most, may_be_odd=True)
    for number, visit in enumerate(_visits(lines), 1):
        if number > most:
            raise _too_many(most, "visits")
        yield visit


def _visits(lines: Iterable[tuple[int, str]]) -> Iterator[LogLine]:
    """What follows a visit and opens no other one belongs to its head."""
    started, first, head, size = None, 0, [""], 0
    for number, line in lines:
        visit = _VISIT.match(line)
        if visit or (line.startswith("#") and (started is None or head[-1].endswith('"'))):
            yield from _visit(started, first, head)
            started, first, head, size = visit, number, [line[visit.end() :] if visit else ""], 0
        elif started is None:
            raise _bad_line(number, line, "is no visit", 'write "URL",sent,received,milliseconds,"head"')
        else:
            head.append(line)
            size += len(line) + 1
        if size > _LONGEST_LINE:
            raise _bad_line(
                first, head[0], "begins too long a head", f"write {_LONGEST_LINE:,} bytes at most"
            )
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


def _lines(
    inside: Iterable[bytes], most_lines: int, *, may_be_odd: bool = False
) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; every one must have its line feed, or the end is missing.

    Heads of servers may hold any octets: what is not UTF-8 in them is shown as unreadable.
    """
    number, rest, size = 1, [b""], 0  # of a line that goes on in the next piece
    for piece in inside:
        whole, line_feed, start = piece.rpartition(b"\n")
        if line_feed:
            if number + whole.count(b"\n") > most_lines:
                raise _too_many(most_lines, "lines")
            for line in _texts(b"".join((*rest, whole)), number, may_be_odd=may_be_odd):
                yield number, line
                number += 1
            rest, size = [], 0
        rest.append(start)
        size += len(start)
        if size > _LONGEST_LINE:
            shown = b"".join(rest)[:_SHOWN].decode("ascii", "replace")
            raise _bad_line(number, shown, "is too long a line", f"write {_LONGEST_LINE:,} bytes at most")
    if any(rest):
        raise BadMessage("the last line has no line feed", remedy="send the whole message again")


def _texts(lines: bytes, first: int, *, may_be_odd: bool) -> list[str]:
    try:
        return lines.decode("utf-8", "replace" if may_be_odd else "strict").split("\n")
    except UnicodeDecodeError as error:
        number = first + lines.count(b"\n", 0, error.start)
        raise BadMessage(f"line {number:,} is not UTF-8", remedy="write URLs in ASCII") from None


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


def _too_many(most: int, what: str) -> BadMessage:
    return BadMessage(f"the message has more than {most:,} {what}", remedy="send it in parts")


def _shown(text: str) -> str:
    """Enough of it to find it; hostile text must fill nobody's log."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
