import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.assign import Floats, loads
from joro.coordinate.balance import equalise, give, hand_over, move, spanning_tree

#: S1, figure 8: A–C, B–C, C–D, D–E, D–F. The text has no costs of E and F, but Give(D,C) = 1.5 makes them 20.
A, B, C, D, E, F = range(6)
TREE = [(A, C), (B, C), (C, D), (D, E), (D, F)]
COSTS = np.array([10.0, 10.0, 6.0, 4.0, 10.0, 10.0])


@st.composite
def trees(draw: st.DrawFn) -> tuple[Floats, list[tuple[int, int]]]:
    costs = draw(st.lists(st.floats(0, 1e6), min_size=2, max_size=12))
    return np.array(costs), [(draw(st.integers(0, child - 1)), child) for child in range(1, len(costs))]


def equalised(costs: Floats, tree: list[tuple[int, int]]) -> Floats:
    """The costs after everyone gave what Move says, by the giver's reckoning."""
    after: Floats = costs - move(give(costs, tree)).sum(axis=1)
    return after


def test_the_worked_example_of_s1_gives_its_gives() -> None:
    gives = give(COSTS, TREE)
    assert gives[A, C] == 2.0
    assert gives[C].tolist() == [-2.5, -2.5, 0.0, 3.5, 0.0, 0.0]
    assert gives[D, C] == 1.5


def test_the_worked_example_of_s1_gives_its_moves() -> None:
    moves = move(give(COSTS, TREE))
    assert (moves[A, C], moves[C, A]) == (2.0, -2.0)
    assert moves[C, D] == 2.0


@given(st.floats(0, 20))
def test_the_printed_numbers_do_not_depend_on_how_e_and_f_share_their_20(cost: float) -> None:
    moves = move(give(np.array([10.0, 10.0, 6.0, 4.0, cost, 20.0 - cost]), TREE))
    assert np.allclose([moves[A, C], moves[B, C], moves[C, D]], 2.0)


def test_the_worked_example_with_10_at_e_and_f_ends_as_reckoned_by_hand() -> None:
    assert equalised(COSTS, TREE).tolist() == [8.0, 8.0, 8.0, 11.0, 7.5, 7.5]


def test_the_case_s1_misprints_is_the_mirror_of_the_one_before() -> None:
    gives = np.array([[0.0, -2.5], [2.0, 0.0]])
    assert move(gives).tolist() == [[0.0, -2.0], [2.0, 0.0]]


def test_nothing_moves_where_one_of_two_wants_nothing() -> None:
    assert move(np.array([[0.0, 3.0], [0.0, 0.0]])).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@given(trees())
def test_what_a_gives_b_b_receives(case: tuple[Floats, list[tuple[int, int]]]) -> None:
    moves = move(give(*case))
    assert (moves == -moves.T).all()


@given(trees())
def test_no_cost_is_lost_or_made(case: tuple[Floats, list[tuple[int, int]]]) -> None:
    assert np.isclose(equalised(*case).sum(), case[0].sum())


def test_a_server_goes_to_the_neighbour_nearest_to_it() -> None:
    """S1, figure 9: of B, C and D, who all are to receive, C is nearest to S."""
    costs = np.array([[4.0, 50.0], [3.0, 90.0], [1.0, 90.0], [2.0, 90.0]])
    moves = np.zeros((4, 4))
    moves[0, 1:], moves[1:, 0] = 4.0, -4.0
    assert hand_over(costs, np.array([0, 0]), moves).tolist() == [2, 0]


def test_what_a_neighbour_cannot_reach_is_not_handed_over() -> None:
    costs = np.array([[4.0], [np.inf]])
    assert hand_over(costs, np.array([0]), np.array([[0.0, 9.0], [-9.0, 0.0]])).tolist() == [0]


def test_a_server_too_big_for_move_goes_if_the_later_of_both_is_done_earlier_and_half_comes_back() -> None:
    """Its one server costs A 90 and B 20; B has 34 more. After it had gone, B would have 54 and A nothing."""
    costs, owners = np.array([[90.0, 10.0, 30.0], [20.0, 24.0, 10.0]]), np.array([0, 1, 1])
    moves = np.array([[0.0, 30.0], [-30.0, 0.0]])
    assert hand_over(costs, owners, moves).tolist() == [1, 0, 1]


def test_it_stays_where_that_helps_nobody() -> None:
    costs, owners = np.array([[90.0, 10.0], [80.0, 20.0]]), np.array([0, 1])
    assert hand_over(costs, owners, np.array([[0.0, 35.0], [-35.0, 0.0]])).tolist() == [0, 1]


@given(st.integers(0, 99), st.integers(1, 6))
def test_more_rounds_never_end_later(seed: int, rounds: int) -> None:
    chance = np.random.default_rng(seed)
    costs, owners = chance.lognormal(sigma=2.0, size=(4, 30)), chance.integers(0, 4, 30)
    ends = [
        loads(costs, equalise(costs, owners, [(0, 1), (0, 2), (2, 3)], some)).max() for some in (0, rounds, 9)
    ]
    assert ends == sorted(ends, reverse=True)


@given(st.integers(0, 99), st.integers(2, 6))
def test_rounds_of_handing_over_keep_one_owner_for_each_server(seed: int, robots: int) -> None:
    chance = np.random.default_rng(seed)
    costs = chance.lognormal(size=(robots, 40))
    owners = equalise(costs, chance.integers(0, robots, 40), [(0, one) for one in range(1, robots)], rounds=9)
    assert ((owners >= 0) & (owners < robots)).all()
    assert np.isclose(loads(costs, owners).sum(), costs[owners, np.arange(40)].sum())


def test_servers_move_along_edges_only() -> None:
    costs = np.ones((3, 30))
    owners = equalise(costs, np.zeros(30, np.int64), [(0, 1), (1, 2)], rounds=1)
    assert set(owners.tolist()) == {0, 1}


def test_equal_servers_end_equally_shared() -> None:
    costs = np.ones((3, 30))
    owners = equalise(costs, np.zeros(30, np.int64), [(0, 1), (1, 2)], rounds=50)
    assert np.ptp(loads(costs, owners)) <= 2


def test_the_tree_is_the_shortest_one() -> None:
    distances = np.array([[0, 1, 4, 9], [1, 0, 2, 9], [4, 2, 0, 3], [9, 9, 3, 0]], float)
    assert sorted(tuple(sorted(edge)) for edge in spanning_tree(distances)) == [(0, 1), (1, 2), (2, 3)]


@given(st.integers(1, 9), st.integers(0, 99))
def test_the_tree_joins_everyone(robots: int, seed: int) -> None:
    distances = np.random.default_rng(seed).random((robots, robots))
    reached = {0}
    for one, other in spanning_tree(distances + distances.T):
        assert one in reached
        reached.add(other)
    assert reached == set(range(robots))
