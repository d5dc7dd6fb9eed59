"""How are known pages kept fresh?

In:    nothing.
Out:   the section `[refresh]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import CENTURY_S, YEAR_S, Form, setting

POLICIES = Form("optimal|interval|gamma|uniform", '"optimal", "interval", "gamma" or "uniform"')
ORDERS = Form("edf|freq|fcfs|rm|sjf", '"edf", "freq", "fcfs", "rm" or "sjf"')
REVISIONS = Form("stretch|floor|thin", '"stretch", "floor" or "thin"')


@dataclass(frozen=True)
class Refresh:
    """When known pages are visited again. What the words mean: `docs/decisions/0005-refresh.md`."""

    enabled: bool = setting(
        False, "visit known pages again, and go on when nothing new is left; `joro crawl` then never ends"
    )
    policy: str = setting(
        "optimal",
        "optimal = freshest for the visits there are; interval = as often as a page changes; gamma = S4's"
        " chance; uniform = all alike",
        form=POLICIES,
    )
    visits_per_day: int = setting(
        0,
        "visits to known pages, all robots together; second visits, watched sources, cycles and what"
        " most_interval_s takes come on top; 0 = as many as sockets and politeness allow",
        least=0,
    )
    visits_per_change: int = setting(
        10,
        "optimal visits no page more often than so many times for each change expected, however many visits"
        " there are; 0 = no such limit",
        least=0,
    )
    every_version_percent: int = setting(
        0,
        "what optimal aims at: 0 = pages as they are now (search), 100 = every version (archive)",
        least=0,
        most=100,
    )
    least_interval_s: float = setting(
        3_600.0,
        "no page is visited again sooner; under optimal, nor sooner than in a minute",
        least=1.0,
        most=CENTURY_S,
    )
    most_interval_s: float = setting(
        5_184_000.0, "every page is visited again after this time", least=60.0, most=CENTURY_S
    )
    first_interval_s: float = setting(
        604_800.0,
        "wait before the second visit, until the crawl has seen how pages change",
        least=1.0,
        most=CENTURY_S,
    )
    gamma_alpha_percent: int = setting(
        5, "least chance of a usual page under gamma, however little it changes", least=0, most=100
    )
    gone_visits: int = setting(
        4, "a page gone at so many visits in a row, each twice as far apart, is given up", least=1
    )
    batch_pages: int = setting(
        0,
        "known pages are taken in batches of so many, the next when one is done or too slow; 0 = as they are"
        " due",
        least=0,
    )
    batch_collapsed_percent: int = setting(
        20,
        "a batch is too slow when this is left of its best speed, and few of its servers",
        least=1,
        most=99,
    )
    batch_window_s: float = setting(
        300.0,
        "the speed of a batch is the mean of so long; none ends before twice that",
        least=1.0,
        most=YEAR_S,
    )
    important: tuple[str, ...] = setting(
        (), "servers whose pages matter more than others: server key, host:port or host, `*` for anything"
    )
    importance: int = setting(4, "by so many times", least=1, most=1_000)
    languages: tuple[str, ...] = setting(
        (), 'servers with a page in one of these are gone through whole in every cycle: ["ja"]'
    )
    cycle_days: int = setting(30, "length of a cycle", least=1)
    watch: bool = setting(
        True, "also read feeds, sitemaps and front pages, as often as something new appears there"
    )
    guess_sitemaps: bool = setting(
        False, "ask a server whose robots.txt names no sitemap once for /sitemap.xml"
    )
    order: str = setting(
        "edf", "which waiting server gets the next socket: earliest deadline, S0's choice, or …", form=ORDERS
    )
    plan_every_s: float = setting(
        600.0, "sockets and prices are worked out anew so often", least=1.0, most=YEAR_S
    )
    socket_margin_percent: int = setting(
        130, "sockets kept for refreshing, as a part of the least number that can do", least=100
    )
    discovery_percent: int = setting(
        10,
        "sockets that new pages have in any case, of all; one at least, where there are two",
        least=0,
        most=90,
    )
    when_infeasible: str = setting(
        "stretch",
        "what gives way when sockets do not suffice: stretch = all intervals by one factor; floor = the"
        " shortest intervals; thin = the least important pages",
        form=REVISIONS,
    )

    @property
    def first_wait_s(self) -> float:
        """How long a page waits for its second visit: first_interval_s, or as long as any page may wait."""
        return min(self.first_interval_s, self.most_interval_s)
