import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.portal.styles import css_text, rewritten_css


def led(ref: str) -> str:
    return f"/r/{ref}"


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("a { b: url(x.png) }", 'a { b: url("/r/x.png") }'),
        ("a { b: URL( 'x y.png' ) }", 'a { b: url("/r/x y.png") }'),
        (r'a { b: url("x\"y") }', 'a { b: url("/r/x%22y") }'),
        (r"a { b: url(x\29 y.png) }", 'a { b: url("/r/x)y.png") }'),
        ('@import "x.css" screen;', '@import "/r/x.css" screen;'),
        ("@IMPORT/**/'x.css';", '@IMPORT/**/"/r/x.css";'),
        ("@import url(x.css);", '@import url("/r/x.css");'),
        ('a { b: image-set("x.png" 1x, "y.png" 2x) }', 'a { b: image-set("/r/x.png" 1x, "/r/y.png" 2x) }'),
        ('a { b: image-set("x" type("image/y")) "z" }', 'a { b: image-set("/r/x" type("image/y")) "z" }'),
    ],
)
def test_every_way_to_write_an_address_is_found(css: str, expected: str) -> None:
    assert rewritten_css(css, led) == expected


@pytest.mark.parametrize(
    "css",
    [
        "/* url(x) */ a {}",
        'a { content: "url(x)" }',
        'a { content: "url(x) }',
        "a { content: 'url(x)\\\n url(y)\n }",
        '@charset "x";',
        "a { b: my-url(x) }",
        "@namespace svg url(http://www.w3.org/2000/svg);",
        "url(",
        "",
    ],
)
def test_what_only_looks_like_an_address_stays(css: str) -> None:
    assert rewritten_css(css, led) == css


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        (r".a\'b { c: url(x) } d { e: 'f' }", r""".a\'b { c: url("/r/x") } d { e: 'f' }"""),
        (r'.a\\\"b { c: url(x) } d { e: "f" }', r'.a\\\"b { c: url("/r/x") } d { e: "f" }'),
        ("a { b: url(it's) url(x) 'c' }", """a { b: url(it's) url("/r/x") 'c' }"""),
    ],
)
def test_a_quote_that_starts_no_string_hides_no_address(css: str, expected: str) -> None:
    assert rewritten_css(css, led) == expected


def test_an_address_cannot_break_out_of_its_string() -> None:
    assert rewritten_css("url(x)", lambda _: '"\\\n</style>') == 'url("%22%5C%0A%3C/style>")'


@given(st.text(alphabet="url()'\"\\/*@import-se \nx", max_size=60))
def test_any_css_at_all_is_read(css: str) -> None:
    rewritten_css(css, led)


@pytest.mark.parametrize("start", ["url(x)", "url(", "image-set("])
def test_long_nonsense_takes_no_time(start: str) -> None:
    for piece in ("url(", "url('", "image-set(", "/*", "@import ", "@import/*", "@namespace ", "\\\n", '"\\'):
        rewritten_css(start + piece * 200_000, led)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('@charset "Shift_JIS"; /* 漢 */'.encode("cp932"), "text/css"),
        ("/* 漢 */".encode("euc_jp"), "text/css; charset=EUC-JP"),
        ("/* 漢 */".encode(), "text/css"),
        ('@charset "Shift_JIS"; /* 漢 */'.encode(), "text/css; charset=utf-8"),
    ],
)
def test_a_style_sheet_is_read_in_the_charset_it_names(content: bytes, kind: str) -> None:
    assert "/* 漢 */" in css_text(content, kind)
