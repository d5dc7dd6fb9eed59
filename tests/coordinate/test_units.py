from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.beat import Piece
from joro.coordinate.split import split
from joro.coordinate.units import allowance, homes, is_part, lies_in, part_name, server_in


def test_a_part_is_named_after_its_server() -> None:
    assert part_name("http://a.example", 3) == "http://a.example#3"
    assert server_in("http://a.example#3") == server_in("http://a.example") == "http://a.example"
    assert is_part("http://a.example#3")
    assert not is_part("http://a.example")


def test_the_innermost_directory_decides_whose_a_page_is() -> None:
    piece = Piece(["/", "/a/b/"], ["/a/"], 2.0)
    assert lies_in(homes(piece), "http://a.example/a/b/c.html")
    assert not lies_in(homes(piece), "http://a.example/a/c.html")
    assert lies_in(homes(piece), "http://a.example/new")


def test_a_query_is_no_directory() -> None:
    piece = Piece(["/"], ["/a/"], 2.0)
    assert lies_in(homes(piece), "http://a.example/page?back=/a/")


@given(
    st.dictionaries(st.sampled_from(["/", "/a/", "/b/", "/a/c/", "/d/"]), st.integers(1, 500), min_size=1),
    st.integers(2, 4),
    st.integers(0, 3_000),
)
def test_parts_may_not_have_more_pages_together_than_their_server(
    pages: dict[str, int], count: int, quota: int
) -> None:
    parts = split({directory: float(number) for directory, number in pages.items()}, count, 1.0)
    whole = sum(pages.values())
    pieces = [Piece([], [], part.interval_s, 0.0, round(part.kb), whole) for part in parts]
    together = sum(max(allowance(piece, quota), piece.found) for piece in pieces)
    assert together <= max(quota, whole)
