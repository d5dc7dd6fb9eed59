"""Tags are found in any text; in well-formed XML, those that expat finds."""

from collections.abc import Iterator
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.markup import ODD_LIMIT, TEXT_LIMIT_CHARS, Markup, Tag, attributes


def tags(*pieces: str) -> list[Tag]:
    return list(Markup(pieces))


def names(text: str) -> list[str]:
    return [slash + name for _, name, slash, _ in tags(text)]


def test_a_tag_brings_the_text_before_it() -> None:
    assert tags("<a>one<b x='1'>two</b>three</a>") == [
        ("", "a", "", ""),
        ("one", "b", "", " x='1'"),
        ("two", "b", "/", ""),
        ("three", "a", "/", ""),
    ]


def test_an_empty_element_is_two_tags() -> None:
    assert names("<a/><b c='/' />") == ["a", "/a", "b", "/b"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a &amp; b &lt; &#65;&#x42;", "a & b < AB"),
        ("&nbsp;&eacute;&hellip;", "\xa0é…"),
        ("?a=1&copy=2&b;", "?a=1&copy=2&b;"),
        ("a & b", "a & b"),
        ("&#0;&#xD800;&#x110000;", "\ufffd\ufffd\ufffd"),
        ("<![CDATA[<b>&amp;</b>]]> &amp; <![CDATA[]]]]>", "<b>&amp;</b> & ]]"),
        ("1<!-- <x> -->2<?php echo '<y>' ?>3", "123"),
        ("1 < 2 <3 << <", "1 < 2 <3 << <"),
    ],
)
def test_text_is_what_a_reader_would_see(written: str, text: str) -> None:
    assert tags(f"<a>{written}</a>")[1][0] == text


def test_entities_of_a_doctype_are_neither_read_nor_expanded() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y SYSTEM "file:///etc/passwd">]><a>&x;&y;</a>'
    assert tags(bomb) == [("", "a", "", ""), ("&x;&y;", "a", "/", "")]


def test_a_tag_may_hold_the_sign_that_ends_it() -> None:
    assert tags("<a b='>' c=\"'>\">")[0][3] == " b='>' c=\"'>\""


def test_what_is_cut_off_is_no_tag() -> None:
    assert names("<a><b></b><c d='") == ["a", "b", "/b"]
    assert names("<a><!-- <b> ") == names("<a><![CDATA[ <b> ") == ["a"]


def test_skip_passes_everything_up_to_the_end_tag() -> None:
    markup = Markup(["<a><x><a><![CDATA[</x>]]></a></x><y><![CDATA[</y>]]></y><z><b/></a>"])
    seen = []
    for _, name, slash, _ in markup:
        seen.append(slash + name)
        if name in "xyz" and not slash:
            markup.skip(name)
    assert seen == ["a", "x", "/x", "/a", "/x", "y", "/y", "z", "b", "/b", "/a"]


def test_attributes_are_read_in_quotes_or_without() -> None:
    assert attributes(""" a="1&amp;2" b='"' c=x a="2" d /""") == {"a": "1&2", "b": '"', "c": "x"}


def test_long_text_is_cut() -> None:
    assert len(tags("<a>" + "x" * 50_000 + "</a>")[1][0]) <= TEXT_LIMIT_CHARS


@pytest.mark.parametrize("piece", ["<a<", "<!--x-->", "<!a[", "<a b='", "<![CDATA[", "<"])
def test_a_document_of_nothing_but_oddities_ends(piece: str) -> None:
    assert names(piece * (ODD_LIMIT + 2) + "<b>") in ([], ["b"])


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20)
NAME = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_.-]{0,5}(?::[a-z]{1,3})?\Z")


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    """Well-formed XML."""
    name = draw(NAME)
    attrs = draw(st.dictionaries(st.from_regex(r"\A[a-z]{1,4}\Z"), TEXT, max_size=2))
    tag = name + "".join(f" {key}={quoteattr(value)}" for key, value in attrs.items())
    if depth == 0 or draw(st.booleans()):
        return f"<{tag}/>"
    parts = st.one_of(
        TEXT.map(escape),
        TEXT.filter(lambda text: "]]>" not in text).map(lambda text: f"<![CDATA[{text}]]>"),
        TEXT.filter(lambda text: "-" not in text).map(lambda text: f"<!--{text}-->"),
        st.sampled_from(["<?php a > b ?>", "&#65;", "&lt;"]),
        documents(depth=depth - 1),
    )
    return f"<{tag}>{''.join(draw(st.lists(parts, max_size=4)))}</{name}>"


def by_expat(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(text, tag, attributes) as a real parser sees them."""
    parser = expat.ParserCreate()
    seen: list[tuple[str, str, dict[str, str]]] = []
    said: list[str] = []

    def note(name: str, attrs: dict[str, str]) -> None:
        seen.append(("".join(said), name, attrs))
        said.clear()

    parser.StartElementHandler = note
    parser.EndElementHandler = lambda name: note(f"/{name}", {})
    parser.CharacterDataHandler = said.append
    parser.Parse(text.encode(), True)
    return iter(seen)


@settings(deadline=None)
@given(documents())
def test_of_well_formed_xml_it_sees_what_expat_sees(document: str) -> None:
    ours = [
        (text, slash + name, attributes(written) if not slash else {})
        for text, name, slash, written in tags(document)
    ]
    assert ours == list(by_expat(document))


@settings(deadline=None)
@given(
    st.lists(
        st.text()
        | st.sampled_from(["<a>", "</a>", "<!--", "-->", "<![CDATA[", "]]>", "<!D [", "]>", "'", '"'])
    )
)
def test_how_a_text_is_cut_makes_no_difference(pieces: list[str]) -> None:
    assert tags(*pieces) == tags("".join(pieces))
