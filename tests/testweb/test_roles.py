from __future__ import annotations

from collections import Counter

import pytest

from joro.errors import UsageError
from joro.testweb.roles import KINDS, NORMAL, ROLES, cast


def test_a_thousand_hosts_hold_every_kind() -> None:
    kinds = set(cast(7, 1_000, ()))
    assert kinds == {(NORMAL, "")} | {(role, kind) for role, (_, kinds) in ROLES.items() for kind in kinds}


def test_most_hosts_are_normal() -> None:
    assert Counter(role for role, _ in cast(7, 1_000, ()))[NORMAL] > 600


def test_only_the_roles_asked_for_appear() -> None:
    assert {role for role, _ in cast(7, 40, ("trap",))} == {NORMAL, "trap"}
    assert {kind for _, kind in cast(7, 40, ("trap",))} == {"", *ROLES["trap"][1]}


def test_the_first_host_is_normal_even_on_the_smallest_web() -> None:
    assert cast(7, 1, ()) == [(NORMAL, "")]
    assert all(cast(seed, 3 * KINDS, ())[0][0] == NORMAL for seed in range(20))


def test_an_unknown_role_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="no role 'nice'"):
        cast(7, 10, ("nice",))
