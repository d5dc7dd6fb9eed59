import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from url import URL, URLError

from joro import url
from joro.errors import BadUrl
from joro.url import Joiner, canonical, join, surt, try_canonical

PAGE = (Path(__file__).parent.parent / "docs/concepts/urls.md").read_text(encoding="utf-8")
RULES = re.findall(r"`([^`]+)` → (?:`([^`]+)`|refused)", PAGE)
SURTS = re.findall(r"`([^`]+)` ⇒ `([^`]+)`", PAGE)

fragments = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="%2e./\\?#@:a1~ \t\nEFあ", max_size=16),
    st.sampled_from(["/../", "/%2e%2E/", "%7E", "%25", "%2%45", "//", "\\", "?", "#", "@", "%zz"]),
)
hosts = st.one_of(
    st.sampled_from(
        ["a", "EXAMPLE.com.", "日本語.jp", "[::1]", "127.1", "1.2.3..", "u:p@h", "faß.de", "xn--0-"]
    ),
    st.text(alphabet="abcxn-.019日ß\u200c%E3", min_size=1, max_size=10),
)
absolute = st.builds(
    lambda start, host, port, rest: start + host + port + "".join(rest),
    st.sampled_from(["http://", "https://", "HTTP:", "http:\\\\"]),
    hosts,
    st.sampled_from(["", ":80", ":443", ":8080", ":99999"]),
    st.lists(fragments, max_size=5),
)
canonicals = absolute.map(try_canonical).filter(bool)
references = st.one_of(absolute, st.lists(fragments, max_size=4).map("".join), hosts.map("//{}/x".format))


@pytest.mark.parametrize(("before", "after"), RULES)
def test_every_rule_of_the_page_holds(before: str, after: str) -> None:
    assert try_canonical(before) == (after or None)


def test_the_page_shows_every_rule() -> None:
    assert len(RULES) == 28
    assert len(SURTS) == 7


@pytest.mark.parametrize(("before", "after"), SURTS)
def test_every_surt_of_the_page_holds(before: str, after: str) -> None:
    assert surt(canonical(before)) == after


@given(absolute)
def test_canonical_is_idempotent(text: str) -> None:
    once = try_canonical(text)
    assume(once)
    assert once is not None
    assert canonical(once) == once


@given(st.text())
def test_any_text_has_a_canonical_url_or_none(text: str) -> None:
    once = try_canonical(text)
    assert once is None or canonical(once) == once


@given(canonicals)
def test_a_canonical_url_is_ascii_and_starts_with_its_server(page: str) -> None:
    assert page.isascii()
    assert page.isprintable()
    assert page == url.server_of(page) + url.path_of(page)
    assert url.path_of(page).startswith("/")
    assert url.host_of(page) in url.server_of(page)


@given(canonicals, references)
def test_a_joined_link_is_canonical(base: str, ref: str) -> None:
    joined = join(base, ref)
    assert joined is None or canonical(joined) == joined


@given(canonicals, references)
def test_a_joiner_agrees_with_the_parser_alone(base: str, ref: str) -> None:
    try:
        plain = try_canonical(str(URL.parse(base).join(ref)))
    except URLError:
        plain = None
    assert join(base, ref) == plain


@given(canonicals)
def test_a_readable_url_reads_back_as_the_same(page: str) -> None:
    assert canonical(url.readable(page)) == page


@given(canonicals)
def test_a_surt_is_one_word_of_lower_case_ascii(page: str) -> None:
    key = surt(page)
    assert key.isascii()
    assert key == key.lower()
    assert len(key.split()) == 1


@pytest.mark.parametrize(
    ("ref", "joined"),
    [
        ("", "http://a.jp/d/p?q"),
        ("#top", "http://a.jp/d/p?q"),
        ("?r", "http://a.jp/d/p?r"),
        ("x.html", "http://a.jp/d/x.html"),
        ("/x//y", "http://a.jp/x//y"),
        ("../../../x", "http://a.jp/x"),
        ("//b.jp./%7e", "http://b.jp/~"),
        ("https://B.jp:443", "https://b.jp/"),
        ("http:x", "http://a.jp/d/x"),
        (" \n/x\t ", "http://a.jp/x"),
        ("/あ", "http://a.jp/%E3%81%82"),
        ("http://", None),
        ("//[::x]/", None),
        ("mailto:a@b.jp", None),
        (" JavaScript:void(0)", None),
        ("java\nscript:void(0)", None),
        ("data:text/html,x", None),
        ("ftp://b.jp/", None),
        ("/\ud800", None),
    ],
)
def test_a_link_leads_where_a_browser_goes(ref: str, joined: str | None) -> None:
    assert Joiner("http://a.jp/d/p?q#f")(ref) == joined


def test_links_join_to_the_canonical_base() -> None:
    assert join("HTTP://me@A.jp:80/%7e/", "x") == "http://a.jp/~/x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftp://x", "ftp://x has the scheme 'ftp'; give an http:// or https:// URL"),
        (
            "example.com:80/x",
            "example.com:80/x does not start with http:// or https://; write it in full, like http://example.com/",
        ),
        ("http://a b/", "http://a b/ has an impossible host or port; check its spelling"),
        ("http://a:99999/", "http://a:99999/ has an impossible host or port; check its spelling"),
        ("http://\x00\n/", r"'http://\x00\n/' has an impossible host or port; check its spelling"),
        (
            "",
            "'' does not start with http:// or https://; write it in full, like http://example.com/",
        ),
    ],
)
def test_a_bad_url_is_named_with_the_remedy(text: str, message: str) -> None:
    with pytest.raises(BadUrl, match=f"^{re.escape(message)}$"):
        canonical(text)


def test_a_complaint_stays_short() -> None:
    with pytest.raises(BadUrl) as caught:
        canonical("x" * 100_000)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("page", "host"),
    [
        ("http://a/", "a"),
        ("https://a.jp:81/x", "a.jp"),
        ("http://[::1]/", "[::1]"),
        ("http://[::1]:81/:2", "[::1]"),
        ("http://127.0.0.1:81/", "127.0.0.1"),
    ],
)
def test_a_host_comes_without_port(page: str, host: str) -> None:
    assert url.host_of(page) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.jp", "example.co.jp"),
        ("example.co.jp", "example.co.jp"),
        ("co.jp", "co.jp"),
        ("a.b.github.io", "b.github.io"),
        ("github.io", "github.io"),
        ("www.xn--wgv71a119e.jp", "xn--wgv71a119e.jp"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("a.b.no-such-suffix", "b.no-such-suffix"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ],
)
def test_the_registrable_domain_is_what_someone_registered(host: str, domain: str) -> None:
    assert url.registrable_domain(host) == domain


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("http://xn--wgv71a119e.jp:81/%E3%81%82?%E3%81%84", "http://日本語.jp:81/あ?い"),
        ("http://a.jp/%20%2F%0A", "http://a.jp/%20%2F%0A"),
        ("http://a.jp/%E3%81", "http://a.jp/%E3%81"),
        ("http://a.jp/%E2%80%AEx", "http://a.jp/%E2%80%AEx"),
        ("http://a.jp/%E3%80%80", "http://a.jp/%E3%80%80"),
    ],
)
def test_people_read_their_own_script_but_no_tricks(page: str, shown: str) -> None:
    assert url.readable(page) == shown


@pytest.mark.parametrize(
    ("page", "key"),
    [
        ("http://example.com/?b&a=2&a&a=1", "com,example)/?a&a=1&a=2&b"),
        ("http://[2001:db8::1]:81/x", "2001:db8::1:81)/x"),
        ("http://example.com/(S(4hqa0555fwsecu455xqckv45))/x.aspx", "com,example)/x.aspx"),
        ("http://example.jp/?%A4%D5%E3%81%82", "jp,example)/?%a4%d5%e3%81%82"),
        ("http://example.jp/%20%0A", "jp,example)/%20%0a"),
        ("http://example.jp/?sid=0123", "jp,example)/?sid=0123"),
    ],
)
def test_a_surt_is_what_other_archives_look_up(page: str, key: str) -> None:
    assert surt(page) == key


def test_a_fingerprint_has_64_bits_and_never_changes() -> None:
    assert url.fingerprint("http://example.com/") == 13_364_996_003_878_346_283
    assert all(0 <= url.fingerprint(f"http://a/{n}") < 2**64 for n in range(100))


def test_importing_leaves_the_public_suffix_list_alone() -> None:
    code = "import sys, joro.url; assert 'publicsuffixlist' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@given(
    base=st.sampled_from(["http://a.example/b/c?d", "http://a.example/", "https://b.example/x/"]),
    ref=st.text(max_size=12) | st.from_regex(r"[./a-c?#:\\\\%]{0,10}", fullmatch=True),
)
def test_a_link_met_before_is_joined_as_if_it_were_new(base: str, ref: str) -> None:
    joiner = Joiner(base)
    assert joiner(ref) == joiner(ref) == joiner._joined(ref)


#: Looks as if it needed no parser, and sometimes does.
plain_looking = st.from_regex(
    r"(?:https?://(?:[a-z0-9]{1,3}[.-]){0,3}(?:com|jp|0x1|7|xn--p1ai)(?::80)?)?"
    r"[/.a-z0-9:;_~!$&'()*+,=@-]{0,12}(?:\?[/?.a-z0-9&='-]{0,6})?",
    fullmatch=True,
)


@given(st.sampled_from(["http://a.example/b/c?d", "https://b.example:8080/x/"]), plain_looking)
def test_a_link_that_looks_plain_leads_where_the_parser_says(base: str, ref: str) -> None:
    joiner = Joiner(base)
    assert joiner(ref) == joiner._joined(ref)


def test_the_surt_of_a_directory_begins_those_of_all_pages_below_it() -> None:
    assert url.surt_under("http://www.example.jp/A/b") == "jp,example)/a"
    assert url.surt_under("http://example.jp:81/") == "jp,example:81)/"
    assert url.surt_under("http://example.jp/(s(1))/x") == "jp,example)/"


def test_the_surts_of_a_host_begin_with_its_name_and_what_may_follow() -> None:
    assert url.surt_of_host("www.example.jp") == ("jp,example)", "jp,example:")
    assert url.surt_of_host("www.example.jp", subdomains=True)[2] == "jp,example,www,"


@given(st.builds("http://{}/{}".format, hosts, fragments), fragments)
def test_a_page_below_a_directory_has_a_surt_below_that_of_the_directory(start: str, rest: str) -> None:
    prefix, page = try_canonical(start), try_canonical(start + rest)
    assume(prefix is not None and page is not None)
    assert prefix is not None
    assert page is not None
    assume(page.startswith(prefix))
    assert surt(page).startswith(url.surt_under(prefix))


def test_links_that_were_forgotten_are_joined_as_before() -> None:
    joiner = url.Joiner("http://a.example/b/c")
    assert joiner("d?e") == "http://a.example/b/d?e"
    url.shed()
    assert url.Joiner("http://a.example/b/c")("d?e") == joiner("d?e") == "http://a.example/b/d?e"
