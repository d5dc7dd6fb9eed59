import gzip
import re
import tracemalloc
from contextlib import nullcontext, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.messages import (
    Entry,
    LogLine,
    ServerList,
    answer_restart,
    entries,
    log_line,
    read_log,
    robot_of,
    submission,
    visits,
    write_list,
)
from joro.errors import BadMessage

PATHS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"'), max_size=9)
URLS = PATHS.map(lambda path: f"http://a.example/{path}")
ENTRIES = st.builds(Entry, URLS, st.none() | URLS)
LISTS = st.builds(ServerList, st.lists(ENTRIES).map(tuple), st.none() | st.integers(0, 10**17))
SIZES = st.integers(0, 10**17)
LINES = st.builds(LogLine, URLS, SIZES, SIZES, SIZES, st.text(st.characters(codec="utf-8")))


def sent(*lines: LogLine, name: str = "r.20000229") -> bytes:
    """A log as a robot of ours sends it."""
    return submission(name, "".join(map(log_line, lines)).encode())


def received(message: bytes) -> tuple[str, list[LogLine]]:
    """Its name, and what is in it."""
    name, inside = read_log(message)
    return str(name), list(visits(inside))


def test_a_list_is_written_as_s1_prints_it() -> None:
    servers = ServerList((Entry("http://www.etl.go.jp:80/"), Entry("http://b.jp/", "http://a.jp/x")), 50)
    expected = b"#MaxTransfer=50\nhttp://www.etl.go.jp:80/\nhttp://b.jp/\thttp://a.jp/x\n"
    assert gzip.decompress(write_list(servers)) == expected


def test_a_log_is_written_as_s1_prints_it() -> None:
    line = LogLine("http://a.jp/", 90, 4_000, 250, "HTTP/1.1 200 OK")
    name, _, packed = sent(line, name="prs.waseda.ac.jp.200002291130").partition(b"\n")
    assert name == b"prs.waseda.ac.jp.200002291130"
    assert gzip.decompress(packed) == b'"http://a.jp/",90,4000,250,"HTTP/1.1 200 OK"\n'


def test_the_blanks_that_s1_prints_after_dots_and_commas_may_be_there() -> None:
    packed = gzip.compress(b'"http://a.jp/", 90, 4000, 250, "HTTP/1.1 200 OK"\n')
    name, [line] = received(b"prs.waseda.ac.jp. 20000229\n" + packed)
    assert (name, line.elapsed_ms) == ("prs.waseda.ac.jp.20000229", 250)


@given(LISTS)
def test_a_list_comes_back_as_it_was_written(servers: ServerList) -> None:
    assert tuple(entries(write_list(servers))) == servers.entries


@given(st.lists(LINES))
def test_a_log_comes_back_as_it_was_written_whatever_servers_put_into_their_heads(
    lines: list[LogLine],
) -> None:
    assert received(sent(*lines, name="robot-1.example.202611160900")) == (
        "robot-1.example.202611160900",
        lines,
    )


def test_a_server_cannot_write_a_visit_of_its_own_into_the_log() -> None:
    head = 'HTTP/1.1 200 OK\r\n"\n"http://victim.jp/",1,2,3,"'
    line = LogLine("http://a.jp/", 1, 2, 3, head)
    assert received(sent(line)) == ("r.20000229", [line])


def test_heads_of_other_robots_may_have_several_lines_and_quotes() -> None:
    lines = (
        '"http://a.jp/", 1, 2, 3, "HTTP/1.0 200 OK\r\nETag: "x"\nServer: y"\n# end\n"http://b.jp/",4,5,6,""\n'
    )
    _, read = received(b"r.20000229\n" + gzip.compress(lines.encode()))
    assert [each.url for each in read] == ["http://a.jp/", "http://b.jp/"]
    assert read[0].head == 'HTTP/1.0 200 OK\r\nETag: "x"\nServer: y'


def test_comments_and_an_empty_list_hold_no_entry() -> None:
    assert list(entries(gzip.compress(b"#MaxTransfer=50\n# http://a.jp/\n#\n"))) == []
    assert list(entries(write_list(ServerList()))) == []


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (b"http://a.jp/", "no line feed"),
        (b"http://a.jp/\n\n", "line 2: '' is no URL"),
        (b"ftp://a.jp/\n", "line 1: 'ftp://a.jp/' is no URL"),
        (b"http://a.jp/ x\n", "is no URL"),
        (b"http://a.jp/\r\n", "is no URL"),
        (b"http://a.jp/\t\n", "line 1: '' is no URL"),
        (b"#x\nhttp://\xff/\n", "line 2 is not UTF-8"),
        ("http://日本.jp/\n".encode(), "is no URL"),
        (b"http://a.jp/" + b"x" * 9_000 + b"\n", "is no URL"),
    ],
)
def test_a_junk_line_is_named(inside: bytes, said: str) -> None:
    with pytest.raises(BadMessage, match=re.escape(said)):
        list(entries(gzip.compress(inside)))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"", "cut off"),
        (b"hello", "no gzip"),
        (gzip.compress(b"#" * 999 + b"\n", mtime=0)[:-1], "cut off"),
        (gzip.compress(b"#x\n", mtime=0) + b"rest", "no gzip"),
        (gzip.compress(b"#" + b"x" * 2_000_000 + b"\n", mtime=0), "more than 1,000,000 bytes"),
    ],
)
def test_bad_gzip_and_a_bomb_are_refused(message: bytes, said: str) -> None:
    with pytest.raises(BadMessage, match=said):
        list(entries(message, most_bytes=1_000_000))


def test_a_message_may_consist_of_many_gzips() -> None:
    several = b"".join(gzip.compress(part) for part in (b"http://a", b"", b".jp/\n#x\nhttp://b.jp/", b"\n"))
    assert [entry.url for entry in entries(several)] == ["http://a.jp/", "http://b.jp/"]


def test_a_line_without_end_is_refused_before_all_of_it_is_unpacked() -> None:
    with pytest.raises(BadMessage, match=r"line 2: '#xxx.* is too long a line"):
        list(entries(gzip.compress(b"#\n#" + b"x" * 3_000_000)))


@pytest.mark.parametrize(("count", "is_fine"), [(70_000, True), (70_001, False)])
def test_a_message_of_too_many_lines_is_refused(count: int, is_fine: bool) -> None:
    message = gzip.compress(b"#\n" * count)
    with nullcontext() if is_fine else pytest.raises(BadMessage, match=r"more than 70,000 lines; send it in"):
        assert list(entries(message, most_lines=70_000)) == []


@pytest.mark.parametrize(
    ("visit", "count", "problem"),
    [
        (b'"http://a.jp/",1,2,3,"1\n2\n3\n4"\n', 3, ""),
        (b'"http://a.jp/",1,2,3,"1\n2\n3\n4\n5"\n', 3, "more than 12 lines"),
        (b'"http://a.jp/",1,2,3,""\n', 4, "more than 3 visits; send it in parts"),
    ],
)
def test_a_log_may_have_as_many_visits_as_a_list_has_lines(visit: bytes, count: int, problem: str) -> None:
    with pytest.raises(BadMessage, match=problem) if problem else nullcontext():
        assert len(list(visits([visit * count], most=3))) == 3


def test_a_list_and_a_log_take_no_more_memory_however_long_they_are() -> None:
    long = gzip.compress(b"#\nhttp://a.example/page\thttp://b.example/\n" * 20_000)
    log = sent(*[LogLine("http://a.example/page", 1, 2, 3, "HTTP/1.1 200 OK")] * 20_000)
    tracemalloc.start()
    try:
        counts = sum(1 for _ in entries(long)), sum(1 for _ in visits(read_log(log)[1]))
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (counts, most_bytes < 1_000_000) == ((20_000, 20_000), True)


@pytest.mark.parametrize("line", [b"x\n", b"x" * 3_000_000])
def test_a_head_without_end_is_refused_before_all_of_it_is_unpacked(line: bytes) -> None:
    inside = b'"http://a.jp/",1,2,3,"x\n' + line * (3_000_000 // len(line))
    with pytest.raises(BadMessage, match=r"too long a (line|head)"):
        received(b"r.20000229\n" + gzip.compress(inside))


@pytest.mark.parametrize(
    "name",
    ["", "robot", ".20000229", "r.20000230", "r.2000", "../x.20000229", "a/b.20000229", "r.２００００２２９"],
)
def test_a_log_whose_name_is_no_robot_and_date_is_refused(name: str) -> None:
    with pytest.raises(BadMessage):
        read_log(name.encode() + b"\n" + gzip.compress(b""))


@pytest.mark.parametrize(
    "inside",
    [
        b"junk\n",
        b'"http://a.jp/",1,2,"x"\n',
        b'"http://a.jp/",1,2,3,"open\n',
        b'"http://a.jp/",1,2,3,"x"\njunk\n',
    ],
)
def test_a_junk_line_in_a_log_is_refused(inside: bytes) -> None:
    with pytest.raises(BadMessage, match="line 1"):
        received(b"r.20000229\n" + gzip.compress(inside))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_bad_one(junk: bytes) -> None:
    for message in (junk, gzip.compress(junk), b"r.20000229\n" + gzip.compress(junk)):
        with suppress(BadMessage):
            list(entries(message))
        with suppress(BadMessage):
            received(message)


def test_a_restart_is_one_word_in_the_first_line() -> None:
    assert (answer_restart(True), answer_restart(False)) == (b"RESTART\n", b"CONTINUE\n")


def test_a_robot_asks_by_its_name() -> None:
    assert robot_of("host=prs.example") == "prs.example"
    assert robot_of("host=10.0.0.1") == "10.0.0.1"


@pytest.mark.parametrize(
    "query",
    ["", "host=", "host=a&host=b", "host=../x", "host=a%2Fb", "host=a%0Ab", "host=a" + "&x=1" * 20],
)
def test_a_query_without_one_good_name_is_refused(query: str) -> None:
    with pytest.raises(BadMessage):
        robot_of(query)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nX-Author: caf\xe9\r\n",
        b"HTTP/1.1 200 OK\r\nX: \x93\xfa\x96\x7b\r\n",
        b"HTTP/1.1 200 OK\r\n#x: y\r\n",
    ],
)
def test_a_log_may_hold_whatever_a_server_puts_into_its_head(head: bytes) -> None:
    lines = b'"http://a.jp:80/",1,2,3,"' + head + b'"\n#done\n"http://b.jp/",4,5,6,"HTTP/1.1 200 OK"\n'
    _, read = received(b"prs.example.202611160900\n" + gzip.compress(lines))
    assert [(line.url, line.response_bytes) for line in read] == [
        ("http://a.jp:80/", 2),
        ("http://b.jp/", 5),
    ]
