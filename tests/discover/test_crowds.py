from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.discover.crowds import BARREN, BARREN_FOR_ONE, Crowds
from joro.discover.traps import Traps

NEW = "http://new.d.example"


def barren(crowds: Crowds, hosts: int) -> None:
    for number in range(hosts):
        crowds.note(f"http://b{number}.d.example/", [f"http://x{number}.d.example/", "http://other.example/"])


def fruitful(crowds: Crowds, hosts: int) -> None:
    for number in range(hosts):
        here = f"http://f{number}.d.example/"
        crowds.note(here, [f"{here}page", "http://x.d.example/"])


def test_a_domain_whose_hosts_lead_only_to_each_other_is_shut() -> None:
    crowds = Crowds()
    barren(crowds, BARREN - 1)
    assert not crowds.why_shut(NEW)
    barren(crowds, 1)
    assert crowds.why_shut(NEW) == "16 hosts of d.example led only to further hosts of it"
    assert not crowds.why_shut("http://new.e.example")


@pytest.mark.parametrize("host", ["http://d.example", "https://www.d.example", "http://127.0.0.1"])
def test_a_domain_itself_is_never_shut(host: str) -> None:
    crowds = Crowds()
    barren(crowds, 100)
    assert not crowds.why_shut(host)


def test_hosts_with_pages_of_their_own_are_visited_on() -> None:
    crowds = Crowds()
    fruitful(crowds, 2)
    barren(crowds, 2 * BARREN_FOR_ONE)
    assert not crowds.why_shut("http://f0.d.example")
    assert crowds.why_shut(NEW)
    fruitful(crowds, 3)
    assert not crowds.why_shut(NEW)


def test_a_page_that_leads_nowhere_or_elsewhere_proves_nothing() -> None:
    crowds = Crowds()
    for number in range(100):
        crowds.note(f"http://h{number}.d.example/", ["http://elsewhere.example/"] * (number % 2))
    assert not crowds.why_shut(NEW)


def test_hosts_of_different_owners_are_no_crowd() -> None:
    crowds = Crowds()
    for number in range(100):
        crowds.note(f"http://h{number}.github.io/", [f"http://h{number + 1}.github.io/"])
    assert not crowds.why_shut("http://new.github.io")


def test_what_was_learnt_survives_a_restart() -> None:
    before = Traps()
    barren(before.crowds, 20)
    saved = dict(before.unsaved())
    after = Traps(saved.get)
    assert after.verdict(f"{NEW}/") == "20 hosts of d.example led only to further hosts of it"
    assert after.admit([f"{NEW}/", "http://d.example/"]) == ["http://d.example/"]
    assert dict(before.unsaved()) == {}


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_domain_is_shut_only_if_nearly_all_of_many_hosts_are_barren(few: int, many: int) -> None:
    crowds = Crowds()
    fruitful(crowds, few)
    barren(crowds, many)
    assert bool(crowds.why_shut(NEW)) is (many >= 16 and many >= 8 * few)
