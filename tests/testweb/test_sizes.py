from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from joro.testweb.sizes import power_law, sizes


def test_the_top_hundredth_holds_two_fifths_of_the_pages() -> None:
    counts = power_law(1_000, 100_000)
    assert 0.36 < sum(counts[:10]) / 100_000 < 0.42


@given(st.integers(1, 300), st.integers(0, 5_000))
def test_every_host_has_a_page_and_they_add_up(hosts: int, more: int) -> None:
    counts = power_law(hosts, hosts + more)
    assert min(counts) >= 1
    assert sum(counts) == hosts + more
    assert counts == sorted(counts, reverse=True)


def test_hosts_that_misbehave_stay_small() -> None:
    roles = ["normal"] * 50 + ["trap"] * 50
    assert max(sizes(7, roles, 10_000)[50:]) <= 20


@given(st.integers(1, 300), st.integers(0, 5_000))
def test_even_hosts_differ_by_one_page_at_most(hosts: int, more: int) -> None:
    counts = sizes(7, ["normal"] * hosts, hosts + more, even=True)
    assert sum(counts) == hosts + more
    assert max(counts) - min(counts) <= 1
