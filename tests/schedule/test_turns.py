from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.sockets import Pool, Pools
from joro.schedule.turns import Turns

KNOWN, SLOW, NEW = Pool.REFRESH, Pool.INFEASIBLE, Pool.DISCOVERY


class Ranks:
    """Ranks and pools as a test wants them."""

    def __init__(
        self, rank: Callable[[str, float], float], pool: dict[str, Pool], pools: Pools | None
    ) -> None:
        self.rank = rank
        self.pool = pool
        self.pools = pools
        self.urgent: set[str] = set()

    def is_urgent(self, server: str) -> bool:
        return server in self.urgent

    def pool_of(self, server: str) -> Pool:
        return self.pool.get(server, Pool.REFRESH)


def by_rank(rank: Callable[[str, float], float]) -> Turns:
    return Turns(Ranks(rank, {}, None))


def test_the_server_ready_first_comes_first() -> None:
    turns = Turns()
    turns.enter("b", 20.0)
    turns.enter("a", 10.0)
    assert [turns.take(30.0), turns.take(30.0), turns.take(30.0)] == ["a", "b", None]


def test_a_server_that_has_come_to_be_urgent_while_it_waits_is_ranked_anew() -> None:
    ranks = Ranks(lambda server, _: -math.inf if server in ranks.urgent else 1.0, {}, None)
    turns = Turns(ranks)
    for server in "abc":
        turns.enter(server, 0.0)
    assert turns.take(1.0) == "a"
    ranks.urgent.add("c")
    for _ in range(2):
        turns.enter("c", 0.0)
    assert [turns.take(1.0) for _ in range(3)] == ["c", "b", None]


def test_nobody_is_taken_before_its_time() -> None:
    turns = Turns()
    turns.enter("a", 10.0)
    assert turns.take(9.99) is None
    assert turns.next_ready_at() == 10.0


def test_a_busy_server_cannot_enter_again() -> None:
    turns = Turns()
    turns.enter("a", 0.0)
    turns.take(0.0)
    turns.enter("a", 0.0)
    assert turns.take(1.0) is None
    assert turns.is_busy("a")


def test_a_server_given_back_without_a_time_leaves() -> None:
    turns = Turns()
    turns.enter("a", 0.0)
    turns.take(0.0)
    turns.give_back("a", None)
    assert (len(turns), turns.next_ready_at(), turns.is_busy("a")) == (0, math.inf, False)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 100), st.booleans())),
    st.sampled_from([Turns, lambda: by_rank(lambda server, ready_at: -ready_at)]),
)
def test_no_server_is_ever_out_twice(steps: list[tuple[str, float, bool]], make: Callable[[], Turns]) -> None:
    turns, out, now = make(), set[str](), 0.0
    for server, moment, give in steps:
        turns.enter(server, moment)
        now = max(now, moment)
        taken = turns.take(now)
        assert taken is None or taken not in out
        out |= {taken} if taken else set()
        if give and server in out:
            out.remove(server)
            turns.give_back(server, moment)


def ranked(**keys: float) -> Turns:
    turns = by_rank(lambda server, _: keys[server])
    for server in keys:
        turns.enter(server, 0.0)
    return turns


def test_of_servers_that_are_ready_the_smallest_rank_comes_first() -> None:
    turns = ranked(a=3.0, b=1.0, c=2.0)
    assert [turns.take(5.0) for _ in range(4)] == ["b", "c", "a", None]


def test_no_rank_makes_a_server_ready_before_its_time() -> None:
    turns = by_rank(lambda server, _: 0.0 if server == "late" else 1.0)
    turns.enter("late", 10.0)
    turns.enter("soon", 1.0)
    assert [turns.take(5.0), turns.take(5.0), turns.next_ready_at()] == ["soon", None, 10.0]


def test_servers_without_refreshing_come_last() -> None:
    assert ranked(discovery=math.inf, refresh=1e12).take(0.0) == "refresh"


def pooled(pools: Pools, **pool: Pool) -> tuple[Turns, Ranks]:
    ranks = Ranks(lambda server, ready_at: ready_at, pool, pools)
    turns = Turns(ranks)
    for server in pool:
        turns.enter(server, 0.0)
    return turns, ranks


def all_of(turns: Turns, now: float = 1.0) -> list[str]:
    return list(iter(lambda: turns.take(now) or "", ""))


def test_servers_that_cannot_keep_pace_take_no_sockets_of_the_others() -> None:
    turns, _ = pooled(Pools(8, 2, 1, least_discovery=1), slow1=SLOW, slow2=SLOW, slow3=SLOW, fine=KNOWN)
    assert all_of(turns) == ["fine", "slow1", "slow2"]
    turns.give_back("fine", 9.0)
    assert turns.take(1.0) is None
    turns.give_back("slow1", None)
    assert turns.take(1.0) == "slow3"


def test_who_cannot_keep_pace_may_have_what_discovery_leaves_but_its_least_share() -> None:
    turns, _ = pooled(Pools(2, 1, 3, least_discovery=1), **dict.fromkeys("abcdef", SLOW))
    assert all_of(turns) == ["a", "b", "c"]


def test_where_all_servers_have_known_pages_discovery_has_some_of_their_turns() -> None:
    turns, _ = pooled(Pools(2, 0, 1, least_discovery=1), a=KNOWN, b=KNOWN)
    assert all_of(turns) == ["a", "b"]
    assert [turns.is_for_new("a"), turns.is_for_new("b")] == [True, False]


def test_discovery_has_its_least_share_before_known_pages_and_the_surplus_after_them() -> None:
    turns, _ = pooled(Pools(2, 0, 3, least_discovery=1), new1=NEW, new2=NEW, new3=NEW, new4=NEW, known=KNOWN)
    assert all_of(turns) == ["new1", "known", "new2", "new3"]


def test_known_pages_may_have_what_discovery_leaves() -> None:
    turns, _ = pooled(Pools(1, 0, 3, least_discovery=1), **dict.fromkeys("abcd", KNOWN))
    assert all_of(turns) == ["a", "b", "c", "d"]


def test_one_socket_is_shared_by_turns() -> None:
    turns, _ = pooled(Pools(1, 0, 0), new=NEW)
    assert turns.take(1.0) == "new"


def test_who_waits_for_a_socket_of_its_pool_is_not_waited_for() -> None:
    turns, _ = pooled(Pools(8, 1, 0), slow1=SLOW, slow2=SLOW)
    turns.take(1.0)
    assert turns.next_ready_at() == math.inf
    turns.give_back("slow1", 7.0)
    assert turns.next_ready_at() == 0.0


def test_a_server_changes_pools_when_a_known_page_of_it_falls_due() -> None:
    turns, ranks = pooled(Pools(2, 0, 0), server=NEW)
    assert turns.take(1.0) is None
    ranks.pool["server"] = KNOWN
    turns.enter("server", 5.0)
    assert turns.take(1.0) == "server"
    assert turns.take(9.0) is None


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(Pool), st.floats(0, 9), st.booleans())),
    st.integers(1, 3),
)
def test_no_pool_has_ever_more_than_its_sockets(
    steps: list[tuple[str, Pool, float, bool]], infeasible: int
) -> None:
    turns, ranks = pooled(Pools(9, infeasible, 2, least_discovery=1))
    out, now = dict[str, Pool](), 0.0
    for server, pool, moment, give in steps:
        if server not in out:
            ranks.pool[server] = pool
        turns.enter(server, moment)
        now = max(now, moment)
        taken = turns.take(now)
        assert taken not in out
        if taken is not None:
            out[taken] = NEW if turns.is_for_new(taken) else ranks.pool[taken]
        assert list(out.values()).count(SLOW) <= infeasible + 1
        assert list(out.values()).count(NEW) <= 2
        if give and server in out:
            del out[server]
            turns.give_back(server, moment)


def test_who_left_and_came_back_waits_as_long_as_is_said_then() -> None:
    for turns in (Turns(), by_rank(lambda server, ready_at: 0.0)):
        turns.enter("a", 1.0)
        turns.leave("a")
        assert (len(turns), turns.take(5.0)) == (0, None)
        turns.enter("a", 9.0)
        assert (turns.take(8.0), turns.take(9.0)) == (None, "a")
