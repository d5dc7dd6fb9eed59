import json
from dataclasses import asdict
from pathlib import Path

import pytest

from bench import crawl
from bench.peers import ring, stacks
from bench.peers.contenders import CONTENDERS, Contender
from bench.peers.ring import Result


def result(
    name: str, *, pages: int = 1_000, cpu_s: float = 1.0, pages_per_s: float = 500.0, failure: str = ""
) -> Result:
    return Result(name, pages, 1_000, pages, cpu_s, 2.0, 80.0, pages_per_s, 0.25, failure)


def contender(*needs: Path | str) -> Contender:
    return Contender("peer", "", lambda course, folder: [], needs=needs)


def test_the_best_round_is_the_one_with_least_cpu_time_per_page() -> None:
    rounds = [result("joro", cpu_s=3.0), result("joro", cpu_s=2.0), result("joro", cpu_s=4.0)]
    assert crawl.best(rounds)["joro"].cpu_s == 2.0


def test_a_failed_run_counts_for_nothing() -> None:
    assert crawl.best([result("peer", failure="fetched 3 of 1000 pages")]) == {}


def test_ratios_are_in_pages_per_cpu_second() -> None:
    runs = [result("joro", cpu_s=0.5), result("scrapy", cpu_s=6.0)]
    figures = crawl.compared(crawl.best(runs), None)
    assert figures["crawl.ratio_scrapy"] == (12.0, "x")


def test_a_peer_that_missed_pages_is_paid_for_those_it_fetched() -> None:
    runs = [result("joro"), result("spider", pages=900, cpu_s=0.9)]
    assert crawl.compared(crawl.best(runs), None)["crawl.ratio_spider"] == (1.0, "x")


def test_few_servers_have_a_scaling_of_their_own() -> None:
    runs = [result("joro"), result("joro_2", cpu_s=1.5, pages_per_s=850.0)]
    figures = crawl.compared(crawl.best(runs), 9_000.0)
    assert figures["crawl.scaling_2_few"] == (1.7, "x")
    assert figures["crawl.limit_wrk_pages_per_s"] == (9_000.0, "pages/s")


def test_scaling_compares_with_one_process_beside_the_web_and_with_one_that_has_a_core_to_itself() -> None:
    runs = [
        result("joro", pages_per_s=500.0),
        result("joro_2", pages_per_s=850.0),
        result("joro_beside", pages_per_s=425.0),
    ]
    assert crawl.scaled(crawl.best(runs)) == {
        "crawl.scaling_2": (1.7, "x"),
        "crawl.scaling_cores": (2.0, "x"),
    }


def test_the_share_of_the_web_is_told() -> None:
    assert crawl.compared(crawl.best([result("joro")]), None)["crawl.web_share"][0] == 0.2


def test_the_table_has_the_fastest_first() -> None:
    rows = crawl.table(crawl.best([result("scrapy", cpu_s=9.0), result("joro")])).splitlines()
    assert [row.split()[1] for row in rows[2:]] == ["joro", "scrapy"]


def test_the_middle_rate_leaves_out_start_and_end() -> None:
    slow_start, steady, slow_end = [0.0, 50.0], [100.0, 101.0, 102.0, 103.0], [150.0, 200.0]
    assert ring.middle_rate(slow_start + steady + slow_end) == pytest.approx(4 / 50)
    assert ring.middle_rate([float(second) for second in range(100)]) == 1.0


@pytest.mark.parametrize("times", [[], [1.0]])
def test_nothing_has_no_rate(times: list[float]) -> None:
    assert ring.middle_rate(times) == 0.0


def test_every_round_has_another_order_and_everyone_in_it() -> None:
    names = [each.name for each in ring.order(CONTENDERS, 3)]
    rounds = [names[start : start + len(CONTENDERS)] for start in range(0, len(names), len(CONTENDERS))]
    assert len(rounds) == 3
    assert len({each[0] for each in rounds}) == 3
    assert all(set(each) == {contender.name for contender in CONTENDERS} for each in rounds)


def test_what_a_ring_writes_can_be_read() -> None:
    text = json.dumps({"results": [asdict(result("joro"))], "wrk_pages_per_s": None})
    assert ring.results(text) == ([result("joro")], None)


def test_a_contender_says_what_it_misses(tmp_path: Path) -> None:
    assert "no-such-program is not installed" in contender("sh", "no-such-program").missing()
    assert contender("sh", tmp_path).missing() == ""
    assert "peer.py" in contender(tmp_path / "peer.py").missing()


def test_ours_takes_part_under_the_names_the_figures_use() -> None:
    assert {"joro", "joro_2", "joro_beside", *crawl.FLOORED} <= {each.name for each in CONTENDERS}


STACKS = """\
main (/x/src/joro/robot.py:12);parse (/v/site-packages/turbo/html.py:3);0x7f00 (_html.so) 3
main (/x/src/joro/robot.py:99);deflate (igzip.so) 1
main (/x/src/joro/robot.py:12);epoll_pwait (libc.so.6) 50
"""


def test_functions_are_charged_with_what_they_call() -> None:
    assert stacks.inclusive(list(stacks.folded(STACKS)), within="joro/") == {"joro/robot.py main": 4}


def test_c_is_charged_to_the_python_function_that_called_it() -> None:
    found = stacks.in_python(list(stacks.folded(STACKS)))
    assert found == {"turbo/html.py parse": 3, "joro/robot.py main": 1}


def test_c_functions_without_a_name_count_for_their_library() -> None:
    assert stacks.in_c(list(stacks.folded(STACKS))) == {"_html.so": 3, "igzip.so deflate": 1}


def test_the_report_leaves_out_waiting() -> None:
    assert stacks.report(STACKS, 10).startswith("4 samples over 10 pages")
