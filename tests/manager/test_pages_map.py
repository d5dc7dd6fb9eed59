import math

from hypothesis import given
from hypothesis import strategies as st

from joro.manager.pages_map import HEIGHT, MOST, WIDTH, robot_map


def test_the_area_of_a_robot_shows_the_servers_it_holds() -> None:
    drawn = robot_map([("a", 400, "up"), ("b", 100, "up")], {})
    areas = [circle.radius**2 for circle in drawn.circles]
    assert math.isclose(areas[0] / areas[1], 4.0, rel_tol=0.05)


def test_servers_that_move_are_an_arrow_with_their_number() -> None:
    drawn = robot_map([("a", 4, "up"), ("b", 1, "up")], {("a", "b"): 3, ("b", "a"): 1, ("a", "gone"): 5})
    assert [(arrow.title, arrow.count) for arrow in drawn.arrows] == [("a → b", 3), ("b → a", 1)]
    assert drawn.arrows[0].path != drawn.arrows[1].path


@given(st.dictionaries(st.text("abc", min_size=1), st.integers(0, 10**9), max_size=60))
def test_whoever_is_drawn_is_inside_the_drawing(held: dict[str, int]) -> None:
    drawn = robot_map([(name, servers, "up") for name, servers in held.items()], {})
    assert len(drawn.circles) == min(MOST, len(held))
    for circle in drawn.circles:
        assert circle.radius <= circle.x <= WIDTH - circle.radius
        assert circle.radius <= circle.y <= HEIGHT - circle.radius
