"""What did a planning round come to, for people?

In:    the plan; the reports that robots keep of theirs, each with its last commit.
Out:   one report of a round, or of the rounds of several robots together: its figures, and one line.
Never: plans.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from joro.schedule import figures
from joro.schedule.feasible import NEUTRAL, Rule
from joro.schedule.plan import Plan
from joro.store.frontier import Frontier

#: What adds up over robots.
_SUMMED = (
    "servers", "sockets", "bound", "bound_after", "infeasible_servers", "infeasible_after", "missed",
    "visits_per_day", "visits_per_day_after", "for_refresh", "for_discovery", "need", "need_after",
    "servers_revised", "asked_per_day", "affordable_per_day", "servers_priced",
)  # fmt: skip

#: So much more than was asked for is told, and what may have asked for it.
NOTABLY, ON_TOP = 1.1, "second visits, watched sources, cycles or most_interval_s"


class PlanReport(msgspec.Struct):
    """One planning round, for people."""

    time: float
    servers: int
    sockets: int
    bound: int  # C, before anything was revised
    bound_after: int
    infeasible_servers: int
    infeasible_after: int
    missed: int  # visits since the round before
    rule: str
    strength: float  # 1: nothing was revised
    visits_per_day: float  # wished
    visits_per_day_after: float  # kept
    for_refresh: int  # sockets
    for_discovery: int
    price: float
    need: float = 0.0  # Σ min(e_i / I_i, 1), before and after
    need_after: float = 0.0
    servers_revised: int = 0  # that give way more than others, because they bear no more
    most_revised: float = 1.0  # of the one hardest hit: how many times less often it is visited than wished
    asked_per_day: float = 0.0  # visits_per_day, this robot's part; 0: as many as can be
    affordable_per_day: float = 0.0  # that sockets, politeness and least_interval_s allow
    servers_priced: int = 0  # of `servers_revised`, those that no rule touches: visits there became dearer

    @property
    def is_revised(self) -> bool:
        """Did intervals have to give way?"""
        return self.visits_per_day_after < self.visits_per_day * (1 - 1e-9)

    @property
    def is_overdrawn(self) -> bool:
        """Does the operator ask for more visits than there can be?"""
        return self.servers > 0 and self.asked_per_day > self.affordable_per_day * (1 + 1e-9)

    @property
    def is_beyond(self) -> bool:
        """Are there clearly more visits than the operator asks for? The budget binds none but the policy."""
        return 0 < NOTABLY * self.asked_per_day < self.visits_per_day_after

    @property
    def how(self) -> str:
        """By what intervals gave way, or visits became dearer."""
        rule, everywhere = Rule(self.rule), self.strength > NEUTRAL[Rule(self.rule)]
        if not self.servers_revised:
            return rule.told(self.strength)
        some = "1 server" if self.servers_revised == 1 else f"{self.servers_revised:,} servers up to"
        few = f"{some} {self.most_revised:,.3g} times less often"
        if self.servers_priced:
            only = self.servers_priced == self.servers_revised
            few += ", by price" if only else f", {self.servers_priced:,} of them by price"
            if only and not everywhere:
                return few
        return f"{rule.told(self.strength)}{' and' if everywhere else ':'} {few}"

    def __str__(self) -> str:
        """One line."""
        kept = "planned as wished" if self.missed or self.is_overdrawn else "kept as wished"
        if self.is_revised:
            kept = f"cut to {self.visits_per_day_after:,.0f} ({self.how})"
        if self.is_overdrawn:
            kept += f" ({self.asked_per_day:,.0f} are asked for, {self.affordable_per_day:,.0f} can be made)"
        elif self.is_beyond:
            kept += f" ({self.asked_per_day:,.0f} are asked for; {ON_TOP} take more)"
        return (
            f"plan: {self.visits_per_day:,.0f} visits a day to {self.servers:,} servers, {kept};"
            f" they need {self.bound} of {self.sockets} sockets, {self.for_discovery} are left for discovery;"
            f" {self.missed} visits missed, {self.infeasible_servers} servers cannot keep pace"
        )


def report_of(plan: Plan, time: float, sockets: int, price: float) -> PlanReport:
    """What is known of a round by its plan."""
    before, after = plan.revision.before, plan.revision.after
    return PlanReport(
        time, before.servers, sockets, before.bound, after.bound, before.infeasible_servers,
        after.infeasible_servers, before.missed, plan.revision.rule.value, plan.revision.strength,
        before.visits_per_day, after.visits_per_day, plan.pools.refresh + plan.pools.infeasible,
        plan.pools.discovery, price, before.need + before.infeasible_need,
        after.need + after.infeasible_need, len(plan.own.keys() | plan.priced.keys()), plan.most_revised,
        servers_priced=len(plan.priced.keys() - plan.own.keys()),
    )  # fmt: skip


def last_report(frontier: Frontier) -> PlanReport | None:
    """What the last round of a share came to, as of its last commit; None before the first."""
    packed = frontier.kept(figures.KEPT_AS).get(figures.KEPT_AS)
    return msgspec.json.decode(packed, type=PlanReport) if packed else None


def combined(reports: Sequence[PlanReport]) -> PlanReport:
    """The plans of several robots as one: numbers add up, strength and price are those of the hardest hit."""
    most = max(reports, key=lambda report: report.strength)
    sums = {name: sum(getattr(report, name) for report in reports) for name in _SUMMED}
    latest, hardest = max(report.time for report in reports), max(each.most_revised for each in reports)
    return structs.replace(most, **sums, time=latest, most_revised=hardest)
