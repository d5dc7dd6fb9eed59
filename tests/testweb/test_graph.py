from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace

import pytest

from joro.testweb.graph import Graph, is_nofollow, linked_pages
from joro.testweb.plan import Plan, make
from tests.testweb.conftest import SETTINGS, a_host


@pytest.fixture(scope="module")
def graph(plan: Plan) -> Graph:
    return Graph(plan)


def reached(graph: Graph, first: int, pages: range) -> set[int]:
    seen, queue = {first}, deque([first])
    while queue:
        for target in graph.links(queue.popleft()):
            if target in pages and target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


def test_every_page_of_a_site_is_reached_from_its_front_page(plan: Plan, graph: Graph) -> None:
    for host in sorted(plan.hosts, key=lambda host: -host.pages)[:20]:
        pages = range(host.first, host.first + host.pages)
        assert len(reached(graph, host.first, pages)) == linked_pages(host)


def test_every_host_is_reached_from_the_first_page(plan: Plan, graph: Graph) -> None:
    hosts = {plan.host_of(page).number for page in reached(graph, 0, range(plan.pages))}
    assert len(hosts) == len(plan.hosts)


def test_a_page_links_to_thirty_others_in_the_mean_and_never_to_itself(plan: Plan, graph: Graph) -> None:
    links = {page: graph.links(page) for page in range(0, plan.pages, 5)}
    assert 27 < sum(map(len, links.values())) / len(links) < 34
    assert all(page not in targets for page, targets in links.items())


def test_bench_pages_have_exactly_thirty_links() -> None:
    plan = make(replace(SETTINGS, profile="bench"))
    graph = Graph(plan)
    assert {len(set(graph.links(page))) for page in range(0, plan.pages, 11)} == {30}


def test_few_pages_gather_most_links(plan: Plan, graph: Graph) -> None:
    degrees = Counter(target for page in range(plan.pages) for target in graph.links(page))
    counts = sorted(degrees.values(), reverse=True)
    top = sum(counts[: plan.pages // 100])
    assert top > 0.10 * sum(counts)
    assert counts[0] > 20 * counts[len(counts) // 2]


def test_most_links_stay_in_the_site_and_most_others_in_the_language(plan: Plan, graph: Graph) -> None:
    host = max((host for host in plan.hosts if host.language == "ja"), key=lambda host: host.pages)
    targets = [
        plan.host_of(target)
        for page in range(host.first + 1, host.first + 50)
        for target in graph.links(page)
    ]
    outside = [other for other in targets if other is not host]
    assert 0.6 < 1 - len(outside) / len(targets) < 0.9
    assert sum(other.language == host.language for other in outside) > 0.7 * len(outside)


def test_front_pages_mark_no_link_nofollow(plan: Plan, graph: Graph) -> None:
    assert not any(
        is_nofollow(host, host.first, target) for host in plan.hosts for target in graph.links(host.first)
    )


def test_an_exact_copy_leads_to_its_own_pages_and_to_the_originals(plan: Plan, graph: Graph) -> None:
    copy = a_host(plan, "copy", "exact")
    hosts = {plan.host_of(target).number for target in graph.links(copy.first)}
    assert hosts & {copy.number, copy.copy_of}
