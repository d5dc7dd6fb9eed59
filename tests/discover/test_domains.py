"""Domains of many servers, each a function from a URL to a text and links; and the laws of `Domains`."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.traps import Reply, Tour, every_name
from joro.discover.domains import FIRST_SERVERS, Domains, domain_of
from joro.discover.traps import Traps
from joro.parse.likeness import likeness

Pages = Callable[[str], tuple[str, list[str]]]

CHANCE = random.Random(7)
#: A language: few of its words are common, most are rare, and every page needs some of these.
WORDS = ["".join(CHANCE.choices("abcdefghiklmnoprstuvwz", k=CHANCE.randint(3, 9))) for _ in range(40_000)]
COMMON = list(accumulate(1.0 / rank for rank in range(1, len(WORDS) + 1)))


def prose(key: object, words: int = 60) -> str:
    """What a person might write: as in any language, the word of rank r comes with a probability of 1 / r."""
    chance = random.Random(str(key))
    return " ".join(WORDS[bisect(COMMON, chance.random() * COMMON[-1])] for _ in range(words))


def blog(number: int) -> str:
    return f"http://blog{number}.blogs.example/"


def tour(pages: Pages, limit: int = 6_000) -> Tour:
    def fetch(url: str) -> Reply:
        text, links = pages(url)
        anchors = "".join(f'<a href="{link}">more</a>' for link in links)
        return Reply(200, "text/html; charset=utf-8", f"<title>A page</title><p>{text}</p>{anchors}".encode())

    return Tour(fetch).collect("http://www.blogs.example/", limit)


def listed(url: str) -> tuple[str, list[str]]:
    """Two thousand blogs, all named on the front page."""
    return prose(url), [blog(number) for number in range(2_000)] if "www" in url else []


def friends(url: str) -> tuple[str, list[str]]:
    """Two thousand blogs of one page, each with five others among its friends."""
    return prose(url), [blog(random.Random(f"{url} {n}").randrange(2_000)) for n in range(5)]


def ring(url: str) -> tuple[str, list[str]]:
    """Two thousand blogs in a ring: each leads to one that nobody knew."""
    number = int(url.split(".")[0].removeprefix("http://blog")) if "blog" in url.split(".")[0] else 0
    return prose(url), [blog((number + 1) % 2_000)]


def stocked(url: str) -> tuple[str, list[str]]:
    """Two thousand dull shops named on one page: their texts are made of few words, but they have an end."""
    text = " ".join(random.Random(url).choices(WORDS[:40], k=40))
    return text, [blog(number) for number in range(2_000)] if "www" in url else []


@pytest.mark.parametrize(
    ("pages", "servers"), [(listed, 2_000), (friends, 1_980), (ring, 2_000), (stocked, 2_000)]
)
def test_a_large_honest_domain_is_collected_whole(pages: Pages, servers: int) -> None:
    done = tour(pages)
    assert done.refused == {}
    assert len({url for url in done.fetched if "www" not in url}) >= servers


def test_a_domain_that_has_every_name_costs_less_than_a_hundred_visits() -> None:
    done = Tour(every_name).collect("http://www.every.example/")
    assert FIRST_SERVERS // 2 < len(done.fetched) < 100
    reason = next(iter(done.refused.values()))
    assert "first pages of servers of every.example" in reason


def alike(url: str) -> tuple[str, list[str]]:
    host = url.split("/")[2]
    name = f"{random.Random(url).getrandbits(40):010x}"
    return f"The domain {host} is for sale, call us today and ask.", [
        f"http://{name}.blogs.example/",
        url + "2",
    ]


def named(url: str) -> tuple[str, list[str]]:
    names = [random.Random(f"{url} {n}").choice(WORDS) for n in range(5)]
    return " ".join(names), [f"http://{name}.blogs.example/" for name in names]


def redirected(url: str) -> Reply:
    name = f"{random.Random(url).getrandbits(40):010x}"
    return Reply(302, "text/html", b"", f"http://{name}.blogs.example/")


@pytest.mark.parametrize("pages", [alike, named])
def test_near_copies_without_end_cost_little(pages: Pages) -> None:
    assert len(tour(pages).fetched) < 200


def test_redirects_from_name_to_name_have_an_end() -> None:
    assert len(Tour(redirected).collect("http://www.blogs.example/").fetched) < 100


def test_redirects_to_the_same_host_or_out_of_the_domain_prove_nothing() -> None:
    def fetch(url: str) -> Reply:
        if "www" in url:
            text = "".join(f'<a href="{blog(number)}">x</a>' for number in range(300))
            return Reply(200, "text/html", text.encode())
        if url.startswith("http:"):
            return Reply(301, "text/html", b"", url.replace("http:", "https:"))
        return Reply(200, "text/html", f"<p>{prose(url)}</p>".encode())

    done = Tour(fetch).collect("http://www.blogs.example/")
    assert len(done.fetched) == 601


SAME = (b"This page is the same on all of the hosts of this domain.",)


def closed(domains: Domains, domain: str = "d.example", hosts: int = 100) -> None:
    """Show hosts with one page for all, each leading to another one."""
    for number in range(hosts):
        domains.lets_in(f"http://h{number}.{domain}")
        domains.observe(f"http://h{number}.{domain}/", SAME, [f"http://h{number + 1}.{domain}/"])


def fresh(load: Callable[[str], bytes | None] = lambda name: None) -> Domains:
    return Domains(load, lambda server: False)


def test_known_servers_the_domain_itself_and_other_domains_are_let_in_whatever_happens() -> None:
    domains = Domains(lambda name: None, lambda server: server == "http://old.d.example")
    closed(domains)
    assert not domains.lets_in("http://new.d.example")
    for server in (
        "http://old.d.example",
        "http://d.example",
        "https://www.d.example",
        "http://new.e.example",
    ):
        assert domains.lets_in(server)
    assert [domains.shuns(server) for server in ("http://d.example", "http://new.e.example")] == [None, None]


def test_hosts_of_different_owners_have_no_common_account() -> None:
    domains = fresh()
    closed(domains, "github.io")
    assert domains.closed == set()
    assert [domain_of(f"http://{host}") for host in ("a.github.io", "192.0.2.1", "x.a.github.io")] == [
        "",
        "",
        "a.github.io",
    ]


def test_a_closed_domain_gets_another_try_and_opens_when_that_has_something_to_say() -> None:
    domains = fresh()
    closed(domains)
    tries = [number for number in range(300) if domains.lets_in(f"http://n{number}.d.example")]
    assert tries == [13, 77, 205]  # of the first hundred fifty were refused, too: 64, 128, 256
    server = f"http://n{tries[0]}.d.example"
    assert domains.shuns(server) is None
    domains.observe(f"{server}/", likeness([prose("something")]).pieces, [])
    assert domains.closed == set()
    assert domains.lets_in("http://another.d.example")


def test_who_said_something_new_is_asked_on_when_the_domain_is_closed() -> None:
    domains = fresh()
    closed(domains, hosts=40)
    domains.observe("http://good.d.example/", likeness([prose("good")]).pieces, [])
    closed(domains)
    assert domains.shuns("http://h7.d.example") is not None
    assert domains.shuns("http://good.d.example") is None


def test_a_try_that_brings_nothing_leaves_the_domain_closed() -> None:
    domains = fresh()
    closed(domains)
    server = next(name for n in range(99) if domains.lets_in(name := f"http://n{n}.d.example"))
    domains.observe(f"{server}/", SAME, [])
    assert domains.closed == {"d.example"}
    assert domains.shuns(server) is not None


def test_what_was_learned_outlives_the_process_and_is_no_servers() -> None:
    before = fresh()
    closed(before)
    saved = dict(before.unsaved(all_states=True))
    assert list(saved) == ["*.d.example"]
    assert dict(before.unsaved(all_states=True)) == {}
    after = Traps(saved.get, lambda server: False)
    assert "first pages of servers of d.example 0 % said something new" in (
        after.shuns("http://n.d.example") or ""
    )
    assert after.admit(["http://n.d.example/", "http://d.example/"]) == ["http://d.example/"]


def test_states_that_leave_memory_are_saved_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joro.discover.domains.KEPT", 1)
    domains = fresh()
    closed(domains, "d.example")
    closed(domains, "e.example")
    assert "*.d.example" in dict(domains.unsaved())
    closed(domains, "d.example", 1)
    assert domains.shuns("http://n.e.example") is not None


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=150))
def test_a_domain_of_few_servers_is_never_closed(pages: list[tuple[int, bool]]) -> None:
    known = set[str]()
    domains = Domains(lambda name: None, known.__contains__)
    for number, leads_on in pages:
        server = f"http://h{number}.d.example"
        assert domains.lets_in(server)
        known.add(server)
        domains.observe(f"{server}/", [b"always the same"], ["http://x.d.example/"] * leads_on)
        assert domains.shuns("http://new.d.example") is None
