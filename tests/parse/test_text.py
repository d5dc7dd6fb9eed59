"""Readers' text: what is seen, block by block, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.html import Tree
from joro.parse.text import main_text, title_of, visible_text, without_soft_breaks


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<h1>One</h1>two<p>three<p>four", "One\ntwo\nthree\nfour"),
        ("<p>in<b>line</b> <i>text</i>\n of  one\tblock", "inline text of one block"),
        ("a<br>b<br><br>c", "a\nb\nc"),
        ("<ul><li>one<li>two</ul><ol><li>three<li>four</ol>", "one\ntwo\nthree\nfour"),
        ("<table><tr><th>a<td>b<tr><td>c</table>d", "a b\nc\nd"),
        ("<dl><dt>a<dd>b</dl>", "a\nb"),
        ("<div>a<div>b</div>c</div>d", "a\nb\nc\nd"),
        ("<a href=x><div>a</div></a>b<center>c</center>d", "a\nb\nc\nd"),
        ("<button>a</button><button>b</button>", "a\nb"),
        ("<fieldset><legend>a</legend>b</fieldset>", "a\nb"),
        ("<pre>  a  b\n\tc</pre>", "a b\nc"),
        ("a&nbsp;&nbsp;b\u3000c", "a b c"),
        ("&lt;b&gt; &amp; &copy;", "<b> & ©"),
        ("1. one<ol><li>2", "1. one\n2"),
    ],
)
def test_every_block_is_a_line(source: str, text: str) -> None:
    assert visible_text(Tree(source)) == text


@pytest.mark.parametrize(
    "source",
    [
        "<script>no</script>",
        "<style>no</style>",
        "<title>no</title>",
        "<template>no</template>",
        "<noscript>no</noscript>",
        "<p hidden>no</p>",
        "<p style='color:red; display:none'>no</p>",
        "<p style='DISPLAY: none'>no</p>",
        "<select><option>no<option>no</select>",
        "<textarea>no</textarea>",
        "<svg><title>no</title><text>no</text></svg>",
        "<iframe>no</iframe>",
        "<object>no</object>",
        "<!-- no -->",
        "<div hidden><noscript>no</noscript><p hidden>no</p>no</div>",
    ],
)
def test_what_nobody_sees_is_not_there(source: str) -> None:
    assert visible_text(Tree(f"<p>yes</p>{source}<p>yes</p>")) == "yes\nyes"


def test_words_around_something_hidden_stay_apart() -> None:
    assert visible_text(Tree("a<select><option>no</select>b")) == "a b"


def test_reading_twice_gives_the_same_text_and_keeps_the_links() -> None:
    tree = Tree(
        "<ol><li><a href=x><p>one</p></a>two<center>three</center></ol><noscript><a href=y></a></noscript>"
    )
    assert visible_text(tree) == visible_text(tree)
    assert len(tree.all("a")) == 2


def test_a_title_is_one_line() -> None:
    assert title_of(Tree("<title> Two\n lines &amp; more </title>")) == "Two lines & more"
    assert title_of(Tree("<p>none")) == ""


def test_lines_of_japanese_are_joined_where_an_editor_broke_them() -> None:
    source = "<p>情報の検\n   索です。\r\n次の文、English\nwords"
    assert without_soft_breaks(source) == "<p>情報の検索です。\r次の文、English\nwords"
    assert visible_text(Tree(without_soft_breaks(source))) == "情報の検索です。 次の文、English words"


def test_lines_of_preformatted_text_are_left_alone() -> None:
    assert without_soft_breaks("<pre>検\n索</pre>") == "<pre>検\n索</pre>"


NEWS = """<body><div class=nav><ul>{menu}</ul></div><div class=content><h1>New archive</h1>{story}</div>
<div class=footer><a href=/imprint>Imprint</a> <a href=/privacy>Privacy</a></div>"""


def test_the_main_text_is_the_story_without_the_menu() -> None:
    menu = "".join(f"<li><a href=/{n}>Section {n}</a>" for n in range(20))
    story = "<p>The archive keeps every version of a page, and the index finds it again, years later.</p>" * 5
    text = main_text(Tree(NEWS.format(menu=menu, story=story)))
    assert "keeps every version" in text
    assert "Section" not in text
    assert "Privacy" not in text


def test_a_page_without_a_main_part_is_all_main_text() -> None:
    assert main_text(Tree("<a href=x>one</a>")) == "one"


@settings(deadline=None)
@given(st.text())
def test_no_page_makes_it_raise(source: str) -> None:
    tree = Tree(without_soft_breaks(source))
    assert "\n\n" not in visible_text(tree)
    assert isinstance(main_text(tree), str)
