import gzip
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.messages import (
    IS_RESTART,
    LIST,
    Entry,
    Log,
    LogLine,
    ServerList,
    answer_restart,
    is_restart,
    path,
    read_list,
    read_log,
    robot_of,
    write_list,
    write_log,
)
from joro.errors import BadMessage

PATHS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"'), max_size=9)
URLS = PATHS.map(lambda path: f"http://a.example/{path}")
COMMENTS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20).filter(
    lambda text: not text.startswith("MaxTransfer=")
)
ENTRIES = st.builds(Entry, URLS, st.none() | URLS)
LISTS = st.builds(
    ServerList,
    st.lists(ENTRIES).map(tuple),
    st.none() | st.integers(0, 10**17),
    st.lists(COMMENTS).map(tuple),
)
SIZES = st.integers(0, 10**17)
LINES = st.builds(LogLine, URLS, SIZES, SIZES, SIZES, st.text(st.characters(codec="utf-8")))


def test_a_list_is_written_as_s1_prints_it() -> None:
    servers = ServerList(
        (Entry("http://www.etl.go.jp:80/"), Entry("http://b.jp/", "http://a.jp/x")), 50, (" hi",)
    )
    expected = b"# hi\n#MaxTransfer=50\nhttp://www.etl.go.jp:80/\nhttp://b.jp/\thttp://a.jp/x\n"
    assert gzip.decompress(write_list(servers)) == expected


def test_a_log_is_written_as_s1_prints_it() -> None:
    log = Log(
        "prs.waseda.ac.jp", "200002291130", (LogLine("http://a.jp/", 90, 4_000, 250, "HTTP/1.1 200 OK"),)
    )
    name, _, packed = write_log(log).partition(b"\n")
    assert name == b"prs.waseda.ac.jp.200002291130"
    assert gzip.decompress(packed) == b'"http://a.jp/",90,4000,250,"HTTP/1.1 200 OK"\n'


def test_the_blanks_that_s1_prints_after_dots_and_commas_may_be_there() -> None:
    packed = gzip.compress(b'"http://a.jp/", 90, 4000, 250, "HTTP/1.1 200 OK"\n')
    log = read_log(b"prs.waseda.ac.jp. 20000229\n" + packed)
    assert (log.name, log.lines[0].elapsed_ms) == ("prs.waseda.ac.jp.20000229", 250)


@given(LISTS)
def test_a_list_comes_back_as_it_was_written(servers: ServerList) -> None:
    assert read_list(write_list(servers)) == servers


@given(st.lists(LINES).map(tuple))
def test_a_log_comes_back_as_it_was_written_whatever_servers_put_into_their_heads(
    lines: tuple[LogLine, ...],
) -> None:
    log = Log("robot-1.example", "202611160900", lines)
    assert read_log(write_log(log)) == log


def test_a_server_cannot_write_a_visit_of_its_own_into_the_log() -> None:
    head = 'HTTP/1.1 200 OK\r\n"\n"http://victim.jp/",1,2,3,"'
    log = Log("r", "20000229", (LogLine("http://a.jp/", 1, 2, 3, head),))
    assert read_log(write_log(log)).lines == log.lines


def test_heads_of_other_robots_may_have_several_lines_and_quotes() -> None:
    lines = (
        '"http://a.jp/", 1, 2, 3, "HTTP/1.0 200 OK\r\nETag: "x"\nServer: y"\n# end\n"http://b.jp/",4,5,6,""\n'
    )
    log = read_log(b"r.20000229\n" + gzip.compress(lines.encode()))
    assert [each.url for each in log.lines] == ["http://a.jp/", "http://b.jp/"]
    assert log.lines[0].head == 'HTTP/1.0 200 OK\r\nETag: "x"\nServer: y'


def test_the_last_limit_counts_and_one_that_is_no_number_is_a_comment() -> None:
    servers = read_list(gzip.compress(b"#MaxTransfer=9\n#MaxTransfer=50\n#MaxTransfer=many\n"))
    assert (servers.max_transfer, servers.comments) == (50, ("MaxTransfer=many",))


def test_an_empty_list_is_a_list() -> None:
    assert read_list(write_list(ServerList())) == ServerList()


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
        read_list(gzip.compress(inside))


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
        read_list(message, most_bytes=1_000_000)


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
        read_log(b"r.20000229\n" + gzip.compress(inside))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_bad_one(junk: bytes) -> None:
    for read in (read_list, read_log):
        for message in (junk, gzip.compress(junk), b"r.20000229\n" + gzip.compress(junk)):
            with suppress(BadMessage):
                read(message)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (b"RESTART\n", True),
        (b"RESTART\r\nmore", True),
        (b"RESTARTED\n", False),
        (b"\nRESTART\n", False),
        (b"", False),
    ],
)
def test_only_the_first_line_decides_about_a_restart(answer: bytes, wanted: bool) -> None:
    assert is_restart(answer) is wanted
    assert is_restart(answer_restart(wanted)) is wanted


def test_a_robot_asks_by_its_name() -> None:
    assert path(LIST, "prs.example") == "/servlets/list?host=prs.example"
    assert path(IS_RESTART, "10.0.0.1") == "/servlets/isrestart?host=10.0.0.1"
    assert robot_of("host=prs.example") == "prs.example"


@pytest.mark.parametrize("query", ["", "host=", "host=a&host=b", "host=../x", "host=a%2Fb", "host=a%0Ab"])
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
    visits = b'"http://a.jp:80/",1,2,3,"' + head + b'"\n#done\n"http://b.jp/",4,5,6,"HTTP/1.1 200 OK"\n'
    log = read_log(b"prs.example.202611160900\n" + gzip.compress(visits))
    assert [(line.url, line.response_bytes) for line in log.lines] == [
        ("http://a.jp:80/", 2),
        ("http://b.jp/", 5),
    ]
