"""How are known pages kept fresh?

In:    nothing.
Out:   the section `[refresh]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import Form, setting

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
        0, "visits to known pages, all robots together; 0 = as many as sockets and politeness allow", least=0
    )
    every_version: float = setting(
        0.0,
        "what optimal aims at: 0 = pages as they are now (search), 1 = every version (archive)",
        least=0.0,
        most=1.0,
    )
    least_interval_s: float = setting(3_600.0, "no page is visited again sooner", least=1.0)
    most_interval_s: float = setting(5_184_000.0, "every page is visited again after this time", least=60.0)
    first_interval_s: float = setting(
        604_800.0, "wait before the second visit, until the crawl has seen how pages change", least=1.0
    )
    gamma_alpha: float = setting(0.05, "least chance of an unimportant page under gamma", least=0.0, most=1.0)
    gone_visits: int = setting(
        4, "a page gone at so many visits in a row, each twice as far apart, is given up", least=1
    )
    watch: bool = setting(
        True, "also read feeds, sitemaps and front pages, as often as something new appears there"
    )
    guess_sitemaps: bool = setting(
        False, "ask a server whose robots.txt names no sitemap once for /sitemap.xml"
    )
    order: str = setting(
        "edf", "which waiting server gets the next socket: earliest deadline, S0's choice, or …", form=ORDERS
    )
    plan_every_s: float = setting(600.0, "sockets and prices are worked out anew so often", least=1.0)
    socket_margin: float = setting(
        1.3, "sockets kept for refreshing, as a multiple of the least number that can do", least=1.0
    )
    when_infeasible: str = setting(
        "stretch",
        "what gives way when sockets do not suffice: stretch = all intervals by one factor; floor = the"
        " shortest intervals; thin = the least important pages",
        form=REVISIONS,
    )
