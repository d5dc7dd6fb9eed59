from tests.portal.album import NEWEST, OLDEST, SECOND, UNCHANGED
from tests.portal.conftest import Ask

URL = "url=http%3A%2F%2Ftown.example.jp%2F"


def address(old: str, new: str, view: str = "side", part: str = "main", url: str = URL) -> str:
    return f"/compare?{url}&from={old}&to={new}&view={view}&part={part}"


def test_the_words_that_changed_are_marked_on_both_sides(turn: Ask) -> None:
    text = turn(address(OLDEST, SECOND)).text
    assert "広場の木は<del>緑</del>です。</td>" in text
    assert "広場の木は<ins>赤</ins>です。</td>" in text
    assert "<strong>1</strong> line changed, <strong>0</strong> added, <strong>0</strong> removed." in text


def test_inline_both_stand_in_one_line(turn: Ask) -> None:
    text = turn(address(SECOND, NEWEST, "inline")).text
    assert "広場の木は赤<del>です</del><ins>くなりました</ins>。</p>" in text


def test_any_address_leads_to_the_one_of_the_captures_meant_older_first(turn: Ask) -> None:
    answer = turn(f"/compare?{URL}&from=2099&to=2020")
    assert (answer.status, answer.headers["location"]) == (302, address(OLDEST, NEWEST))


def test_identical_captures_are_said_to_be(turn: Ask) -> None:
    assert "<strong>Identical</strong>, byte for byte" in turn(address(SECOND, UNCHANGED)).text


def test_only_the_main_text_is_compared_unless_all_is_wished(turn: Ask) -> None:
    assert '<td dir="auto">町</td>' in turn(address(OLDEST, SECOND, part="all")).text
    assert turn(address(OLDEST, SECOND, part="all")).text != turn(address(OLDEST, SECOND)).text


def test_what_cannot_be_compared_or_was_never_archived_is_told(turn: Ask) -> None:
    stamp = NEWEST
    picture = "url=http%3A%2F%2Ftown.example.jp%2Fpixel.png"
    assert "same capture" in turn(address(stamp, stamp, url=picture)).text
    assert turn(address(stamp, stamp, url="url=http%3A%2F%2Fnever.example%2F")).status == 404
    assert turn("/compare").status == 404
    assert turn(f"/compare?{URL}&from=x&to=y").status == 404


def test_unchanged_lines_far_from_a_change_are_folded() -> None:
    from joro.portal.compare import folded
    from joro.portal.difference import compared

    lines = [str(n) for n in range(20)]
    folds = list(folded(compared("\n".join(lines), "\n".join(["x", *lines[1:]]))))
    assert [(len(fold.rows), fold.is_folded) for fold in folds] == [(4, False), (17, True)]
