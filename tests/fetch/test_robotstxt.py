"""Section numbers are those of RFC 9309; "Google" marks what its published parser does beyond it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.fetch import robotstxt
from joro.fetch.robotstxt import ALLOW_ALL, DISALLOW_ALL, SIZE_LIMIT_BYTES, from_status, parse
from joro.url import canonical

PAGE = "http://a.jp/x/page.html"


def allows(text: str | bytes, url: str = PAGE, agent: str = "joro") -> bool:
    body = text.encode() if isinstance(text, str) else text
    return parse(body, agent).allows(url)


def for_us(*rules: str) -> str:
    return "\n".join(["User-agent: joro", *rules])


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("User-agent: joro\nDisallow: /", False),
        ("user-AGENT: joro\ndisALLOW: /", False),  # 2.2: names in any case
        ("  User-agent :  joro  \n\tDisallow\t:\t/\t", False),  # 2.2: space around
        ("User-agent: joro # us\nDisallow: / # all", False),  # 2.2.3: comments
        ("# User-agent: joro\n# Disallow: /", True),
        ("User-agent: joro\n# Disallow: /\nDisallow: /y", True),
        ("User-agent: joro\nDisallow:", True),  # an empty value forbids nothing
        ("User-agent: joro\nDisallow: # /", True),
        ("agent: joro\nforbid: /", True),
        (": joro\n: /", True),
        ("Disallow: /\nUser-agent: joro", True),  # 2.2.2: rules before any group count for nobody
    ],
)
def test_a_line_is_a_name_a_colon_and_a_value(text: str, allowed: bool) -> None:
    assert allows(text) is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("User-agent joro\nDisallow /", False),
        ("User-agent\tjoro\nDisallow \t /", False),
        ("User-agent: joro\nDisallow /x /y", True),  # three words: no one knows what is meant
        ("User-agent: joro\nDisallow/", True),
        ("User-agent: joro\nDisallow / # see: below", False),  # the colon of a comment is no colon
        ("User agent: joro\nDisallow: /", False),
        ("Useragent: joro\nDisallow: /", False),
        ("User_agent: joro\nDisallow: /", True),
        ("User-agents: joro\nDisallowed: /", False),  # the beginning of the name counts
        ("User-agent: joro\nDissallow: /", False),
        ("User-agent: joro\nDissalow: /", False),
        ("User-agent: joro\nDisalow: /", False),
        ("User-agent: joro\nDiasllow: /", False),
        ("User-agent: joro\nDisallaw: /", False),
        ("User-agent: joro\nDisallow: /\nAllows: /x", True),
        ("User-agent: joro\nDisallow: /\nAlow: /x", False),
    ],
)
def test_google_forgives_common_slips_and_no_others(text: str, allowed: bool) -> None:
    assert allows(text) is allowed


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_every_kind_of_line_end_is_one(end: str) -> None:
    robots = parse(end.join(["User-agent: joro", "", "", "Disallow: /x/"]).encode(), "joro")
    assert robots.rule_for(PAGE) == "line 4: Disallow: /x/"


def test_characters_that_end_lines_only_in_unicode_do_not() -> None:
    assert allows("User-agent: joro\nAllow: /\x0bDisallow: /x/\x0c\x1c\x85")


@pytest.mark.parametrize(
    ("start", "allowed"),
    [
        (b"", False),
        (b"\xef\xbb\xbf", False),
        (b"\xef\xbb", False),
        (b"\xef", False),
        (b"\xbb\xbf", True),
        (b"\xef\x11", True),
        (b"\xef\xbb\xbf\xef\xbb\xbf", True),
    ],
)
def test_a_byte_order_mark_may_be_broken_off_but_not_else(start: bytes, allowed: bool) -> None:
    assert allows(start + b"User-agent: joro\nDisallow: /") is allowed


def test_a_zero_byte_ends_its_line() -> None:
    assert not allows(b"User-agent: joro\0x\nDisallow: /x\0yz\n")


def test_google_cuts_a_line_at_16663_bytes() -> None:
    head = "Disallow: "
    kept = "/" + "a" * (16_663 - len(head) - 1)
    text = for_us(head + kept + "b")
    assert not allows(text, "http://a.jp" + kept)
    assert allows(text, "http://a.jp" + kept[:-1])


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("joro", False),
        ("JORO", False),  # 2.2.1: product tokens in any case
        ("joro/1.0", False),  # up to the first character no token has
        ("joro bot", False),
        ("joro;x", False),
        ("jorobot", True),
        ("joro-x", True),
        ("joro_x", True),
        ("jor", True),
        ("x joro", True),
        ("*", False),
        ("* everyone", False),  # Google
        ("*\teveryone", False),
        ("*everyone", True),
        ("**", True),
        ("", True),
        ("1joro", True),
    ],
)
def test_a_group_is_ours_when_its_product_token_is(value: str, allowed: bool) -> None:
    assert allows(f"User-agent: {value}\nDisallow: /") is allowed


def test_our_token_is_compared_as_it_stands() -> None:
    text = "User-agent: foo bar\nAllow: /\nUser-agent: *\nDisallow: /"
    assert allows(text, agent="foo")
    assert not allows(text, agent="foo bar")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        # 2.2.1: everyone's group is for those whom no group names
        ("User-agent: *\nDisallow: /\nUser-agent: joro\nAllow: /y", True),
        ("User-agent: joro\nDisallow: /y\nUser-agent: *\nDisallow: /", True),
        ("User-agent: joro\nUser-agent: *\nDisallow: /", False),
        ("User-agent: other\nDisallow: /", True),
        ("User-agent: *\nDisallow: /\nUser-agent: joro", True),
        # 2.2.1: several names for one group, several groups for one name
        ("User-agent: other\nUser-agent: joro\nDisallow: /", False),
        ("User-agent: joro\nUser-agent: other\nDisallow: /", False),
        ("User-agent: joro\nDisallow: /y\nUser-agent: z\nAllow: /\nUser-agent: joro\nDisallow: /x", False),
        ("User-agent: *\nDisallow: /y\n\nUser-agent: *\nDisallow: /x", False),
        # a rule closes the list of names
        ("User-agent: joro\nDisallow: /y\nUser-agent: other\nDisallow: /x", True),
        # 2.2.4: other lines do not
        ("User-agent: joro\nSitemap: http://a.jp/s\nUser-agent: other\nDisallow: /", False),
        ("User-agent: joro\nCrawl-delay: 5\nNoindex: /\nUser-agent: other\nDisallow: /", False),
        # empty lines mean nothing
        ("User-agent: joro\n\n\nDisallow: /y\n\nDisallow: /x", False),
        ("User-agent: joro\n\nUser-agent: other\n\nDisallow: /", False),
    ],
)
def test_groups_are_joined_and_parted_as_the_rfc_says(text: str, allowed: bool) -> None:
    assert allows(text) is allowed


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (["Disallow: /x/page.html", "Allow: /x/"], False),  # 2.2.2: the longest match decides
        (["Allow: /x/page.html", "Disallow: /x/"], True),
        (["Allow: /x/", "Disallow: /x/"], True),  # 2.2.2: of equals, Allow
        (["Disallow: /x/", "Allow: /x/"], True),
        (["Allow: /x/p", "Disallow: /*.html"], False),  # an asterisk has length, too
        (["Allow: /x/page", "Disallow: /*.html"], True),
        (["Disallow: /X/"], True),  # 2.2.2: paths are case-sensitive
        (["Disallow: x/"], True),  # a path starts with a slash
        (["Disallow: *x/"], False),
        (["Disallow: /y", "Disallow: /x"], False),
    ],
)
def test_the_most_specific_rule_decides(rules: list[str], allowed: bool) -> None:
    assert allows(for_us(*rules)) is allowed


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/fish", "/fish", True),
        ("/fish", "/fishheads?id=1", True),
        ("/fish", "/catfish", False),
        ("/fish", "/Fish", False),
        ("/fish/", "/fish", False),
        ("/fish*", "/fish", True),  # 2.2.3: any number of characters, none included
        ("/*.php", "/a/b.php?c", True),
        ("/*.php", "/php", False),
        ("/*.php$", "/a/b.php", True),  # 2.2.3: the end
        ("/*.php$", "/a/b.php?c", False),
        ("/*.php$", "/b.php/b.php", True),
        ("/fish*.php", "/fishheads/cat.php?x", True),
        ("/a*b*c", "/a-c-b", False),
        ("/a*b*b", "/ab", False),
        ("/a*a$", "/a", False),
        ("/a*a$", "/aa", True),
        ("/$", "/", True),
        ("/$", "/x", False),
        ("/a$b", "/a$bc", True),  # a dollar sign inside is itself
        ("/a$$", "/a$", True),
        ("*", "/x", True),
        ("*$", "/x", True),
        ("$", "/", False),
        ("**x**", "/yx", True),
        ("/a*$", "/ab", True),
        ("/?q", "/?q=1", True),
        ("/*;s=", "/p;s=1", True),
        ("/a?b*c$", "/a?bc", True),
    ],
)
def test_asterisk_and_dollar_are_the_only_special_characters(pattern: str, path: str, matches: bool) -> None:
    assert allows(for_us(f"Disallow: {pattern}"), path) is not matches


@given(st.text("/ab*$", min_size=1, max_size=9), st.text("ab/", max_size=9))
def test_patterns_match_as_their_regular_expression_does(pattern: str, path: str) -> None:
    core, end = (pattern[:-1], "$") if pattern.endswith("$") else (pattern, "")
    plain = re.match(".*".join(map(re.escape, core.split("*"))) + end, "/" + path)
    assert allows(for_us(f"Disallow: {pattern}"), "http://a.jp/" + path) is (plain is None)


def test_a_pattern_bomb_is_read_to_its_end() -> None:
    robots = parse(for_us("Disallow: /" + "*a" * 2_000 + "*b").encode(), "joro")
    assert robots.allows("/" + "a" * 20_000)
    assert not robots.allows("/" + "a" * 20_000 + "b")


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("/ツ", "/%E3%83%84", True),  # 2.2.2: octets outside ASCII are compared escaped
        ("/%e3%83%84", "/%E3%83%84", True),
        ("/a%2fb", "/a%2Fb", True),
        ("/a%2Fb", "/a/b", False),  # a reserved character and its escape are two things
        ("/%7ejoe", "/~joe", True),  # 2.2.2: an unreserved one and its escape are one
        ("/%7Ejoe", "/%7Ejoe", True),
        ("/100%*", "/100%25", True),
        ("/?u=http://b.jp?x&y", "/?u=http://b.jp?x&y", True),
    ],
)
def test_escapes_are_compared_in_one_spelling(rule: str, path: str, matches: bool) -> None:
    assert allows(for_us(f"Disallow: {rule}"), path) is not matches


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("/My Documents/", "/My Documents/a"),  # our URLs have %20
        ("/My%20Documents/", "/My Documents/a"),
        ("/<x>", "/<x>"),
        ('/"{`}', '/"{`}'),
        ("/a?q='{", "/a?q='{"),  # in a query other characters are escaped than in a path
        ("/*'s", "/a?b's"),
        ("/*'s", "/a'sb"),
        ("/a\\b", "/a\\b"),  # a slash to browsers and to us
        ("/a|b^c[0]", "/a|b^c[0]"),
        ("/a|b^c[0]", "/a%7Cb%5Ec%5B0%5D"),  # 2.2.2: one resource, whoever escaped it
        ("/a%7cb%5ec%5b0%5d", "/a|b^c[0]"),
        ("/a?{%7B", "/a?{%7B"),
        ("/* x$", "/a x"),
        ("/\x01a", "/\x01a"),
    ],
)
def test_a_page_is_forbidden_however_its_link_is_written(rule: str, written: str) -> None:
    url = canonical("http://a.jp" + written)
    assert not allows(for_us(f"Disallow: {rule}"), url)
    assert allows(for_us(f"Disallow: {rule}"), "http://a.jp/elsewhere")


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/file-with-a-%2a.html", "/path/file-with-a-%2A.html", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-b.html", False),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/path/foo-%24", "/path/foo-$bar", True),
        ("/path/foo-%24$", "/path/foo-$bar", False),
        ("/path/foo-%24", "/path/foo-", False),
        ("/a%2A*%24b$", "/a*x$b", True),
        ("/a%2A*%24b$", "/ax$b", False),
    ],
)
def test_an_escaped_asterisk_or_dollar_sign_means_itself(
    rule: str, path: str, matches: bool
) -> None:  # 2.2.3
    assert allows(for_us(f"Disallow: {rule}"), path) is not matches


@given(st.text(st.characters(min_codepoint=33, exclude_characters="#", codec="utf-8"), min_size=1))
def test_who_forbids_a_path_as_it_is_written_forbids_the_page_it_leads_to(path: str) -> None:
    path = re.sub(r"\.|(?i:%2e)|[*$]|\s+\Z", "", path.replace("!", " "))  # a space is as likely as a letter
    written = path.strip().rstrip("? ") or "x"  # an empty query is none to us: `/?` leads to `/`
    assert not allows(for_us(f"Disallow: /{written}"), canonical(f"http://a.jp/{written}"))


@pytest.mark.parametrize("path", ["/my files/", "/my%20files/", "/{x}", "/?q='x'"])
def test_an_allow_is_found_again_in_the_spelling_of_our_urls(path: str) -> None:
    text = for_us("Disallow: /", f"Allow: {path}")
    assert allows(text, canonical("http://a.jp" + path))
    assert not allows(text, "http://a.jp/my")


def test_an_allow_is_taken_by_the_letter() -> None:
    text = for_us("Disallow: /", "Allow: /%62%61%7A")
    assert not allows(text, "/baz")
    assert allows(text, "/%62%61%7A")
    assert not allows(for_us("Disallow: /", "Allow: /%2A"), "/*")


def test_bytes_that_are_no_utf_8_match_their_escapes() -> None:
    assert not allows(b"User-agent: joro\nDisallow: /\xa4\xd5", canonical("http://a.jp/%a4%d5"))


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/d/", True), ("/d/index.html", True), ("/d/index.htm", False), ("/d/x", False), ("/", False)],
)
def test_google_takes_an_allowed_index_page_for_its_directory(path: str, allowed: bool) -> None:
    assert allows(for_us("Disallow: /", "Allow: /d/index.html"), path) is allowed


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "/"),
        ("http://a.jp", "/"),
        ("http://a.jp/x;p?q=http://b/#f", "/x;p?q=http://b/"),
        ("http://a.jp?q", "/?q"),
        ("http://a.jp;p", "/;p"),
        ("http://a.jp#/x", "/"),
        ("//a.jp/x", "/x"),
        ("a.jp/x", "/x"),
        ("/x", "/x"),
        ("http://a.jp//x", "//x"),
    ],
)
def test_what_is_compared_is_the_path_with_parameters_and_query(url: str, path: str) -> None:
    assert not allows(for_us(f"Disallow: {path}$"), url)


def test_robots_txt_itself_is_always_allowed() -> None:  # 2.2.2
    robots = parse(b"User-agent: *\nDisallow: /", "joro")
    assert robots.allows("http://a.jp/robots.txt")
    assert not robots.allows("http://a.jp/robots.txt?x")
    assert not robots.allows("http://a.jp/x/robots.txt")
    assert DISALLOW_ALL.allows("http://a.jp/robots.txt")


@pytest.mark.parametrize(
    ("rule", "seconds"),
    [
        ("Crawl-delay: 10", 10.0),
        ("crawl-DELAY:0.5", 0.5),
        ("Crawl-delay: .5", 0.5),
        ("Crawl-delay: 3 seconds", 3.0),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay:", None),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: inf", None),
        ("Crawl-delay: soon", None),
        ("Crawl-delay: " + "9" * 400, 1e9),
        ("Crawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3", 7.0),
    ],
)
def test_a_crawl_delay_is_a_number_of_seconds(rule: str, seconds: float | None) -> None:
    assert parse(for_us(rule, "Disallow: /y").encode(), "joro").crawl_delay_s == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("User-agent: *\nCrawl-delay: 9\n\nUser-agent: joro\nCrawl-delay: 1", 1.0),
        ("User-agent: *\nCrawl-delay: 9\nDisallow:\nUser-agent: joro\nDisallow: /", None),
        ("User-agent: other\nCrawl-delay: 9\n\nUser-agent: *\nDisallow: /", None),
        ("Crawl-delay: 9", None),
    ],
)
def test_a_crawl_delay_is_for_those_its_group_names(text: str, seconds: float | None) -> None:
    assert parse(text.encode(), "joro").crawl_delay_s == seconds


def test_sitemaps_stand_anywhere_and_are_whole_urls() -> None:  # 2.2.4
    text = """Sitemap: http://a.jp/1.xml
        User-agent: other
        SITEMAP:HTTPS://A.jp:443/2.xml # comment
        Disallow: /
        Site-map: http://b.jp/ツ
        Sitemap: /3.xml
        Sitemap: http://a.jp/1.xml
        Sitemap:"""
    assert parse(text.encode(), "joro").sitemaps == (
        "http://a.jp/1.xml",
        "https://a.jp/2.xml",
        "http://b.jp/%E3%83%84",
    )


def test_500_kib_are_read_and_a_line_cut_there_is_left_out() -> None:  # 2.5
    start = b"User-agent: joro\nDisallow: /first\n"
    filler = b"#" * (SIZE_LIMIT_BYTES - len(start) - len(b"\nDisallow: /x"))
    robots = parse(start + filler + b"\nDisallow: /xyz\nDisallow: /after\n", "joro")
    assert not robots.allows("/first")
    assert robots.allows("/xyz")
    assert robots.allows("/after")


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        (200, False),
        (204, False),
        (404, True),  # 2.3.1.3: unavailable
        (401, True),
        (403, True),
        (410, True),
        (301, True),  # 2.3.1.2: redirects without end count as unavailable
        (500, False),  # 2.3.1.4: unreachable
        (503, False),
        (429, False),  # Google: like 5xx
        (0, False),  # no answer at all
        (999, False),
        (100, False),
    ],
)
def test_the_status_decides_before_the_body(status: int, allowed: bool) -> None:
    assert from_status(status, b"User-agent: *\nDisallow: /", "joro").allows(PAGE) is allowed


def test_an_unreachable_robots_txt_allows_nothing_whatever_the_body_says() -> None:
    assert not from_status(503, b"User-agent: *\nAllow: /", "joro").allows(PAGE)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["Disallow: /x", "Allow: /x/"], "line 3: Allow: /x/"),
        (["", "Dissallow /x # ours"], "line 3: Disallow: /x"),
        (["Disallow: /", "Allow: /x/page.html"], "line 3: Allow: /x/page.html"),
        (["Disallow: /*.html$"], "line 2: Disallow: /*.html$"),
        (["Disallow: /x", "Disallow: /x"], "line 2: Disallow: /x"),
        (["Disallow: /y"], None),
    ],
)
def test_the_deciding_line_can_be_shown(rules: list[str], said: str | None) -> None:
    assert parse(for_us(*rules).encode(), "joro").rule_for(PAGE) == said


def test_it_is_said_when_there_is_no_line() -> None:
    assert DISALLOW_ALL.rule_for(PAGE) == "robots.txt cannot be had, so nothing is allowed"
    assert ALLOW_ALL.rule_for(PAGE) is None


@given(st.binary(), st.text(), st.text())
def test_no_file_and_no_url_makes_it_fail(body: bytes, agent: str, url: str) -> None:
    robots = parse(body, agent)
    assert robots.allows(url) in (True, False)
    assert robots.allows(url) or robots.rule_for(url)


@given(st.lists(st.sampled_from(["Allow: /a", "Disallow: /a*b", "Disallow: /", "Allow: /ab$"])))
def test_the_order_of_rules_does_not_matter(rules: list[str]) -> None:
    answers = [
        [allows(for_us(*order), path) for path in ("/", "/a", "/ab", "/acb", "/b")]
        for order in (rules, sorted(rules), rules[::-1])
    ]
    assert answers[0] == answers[1] == answers[2]


def test_a_file_that_says_nothing_to_us_costs_no_memory() -> None:
    assert parse(b"User-agent: other\nDisallow: /", "joro") is ALLOW_ALL


def test_lines_of_old_files_are_not_remembered_for_ever() -> None:
    parse(b"\n".join(b"key-%d: x" % n for n in range(5_000)), "joro")
    assert robotstxt._kind.cache_info().currsize <= 1_024
