"""How is the repetition of S0's experiment told?

In:    an experiment that was performed.
Out:   `paper.md` with S0's figures 3 to 8 beside it, each with its table.
Never: has a number in its text that was not computed for it, except S0's own.
Paper: S0 3.1, 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from joro.schedule.sockets import Order, bound
from joro.simulator import figures
from joro.simulator.figures import Figure
from joro.simulator.paper import (
    PHASE_SEED,
    VARIANT_TIMES,
    VARIANTS,
    Experiment,
    missed_up_to,
    nothing_missed_from,
    scaled,
    statements,
)
from joro.simulator.trial import Outcome


def write(one: Experiment, folder: Path) -> list[str]:
    """Write page, tables and pictures; the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for figure in _figures(one) for name in figures.write(figure, folder)]
    (folder / "paper.md").write_text("\n".join(_lines(one)) + "\n", encoding="utf-8")
    return ["paper.md", *names]


def _figures(one: Experiment) -> list[Figure]:
    feasible, everyone = one.feasible.need, one.everyone.need
    how = f"{_days(one.settings.days)}, all servers start at once"
    return [
        *figures.of_population(one.everyone),
        figures.of_missed(
            "figure-6", ("Figure 6: missed downloads, all servers", how), one.with_all, everyone
        ),
        figures.of_missed(
            "figure-7", ("Figure 7: missed downloads, feasible servers", how), one.all_at_once, feasible
        ),
        figures.of_missed(
            "figure-7-staggered",
            ("Missed downloads, feasible servers, staggered", "each server starts at a random moment"),
            one.staggered,
            feasible,
        ),
        figures.of_throughput(
            "figure-8", ("Figure 8: throughput, feasible servers", how), one.all_at_once, feasible
        ),
    ]


_OPENING = """\
# The experiment of S0, repeated

S0 is "A Hierarchical Scheduling Method for Refreshing Large Scale Web Archives" (Tamura, Kitsuregawa 2009).

## What was done

{servers:,} servers (seed {seed}) with {times:,} download times; {days} for each trial; one second between two
requests to a server. {feasible:,} of them are feasible: their longest download and the pause fit into the
access interval. A download is missed when a whole period of its server passes without one. The need of
sockets is Σ min(e/I, 1); rounded up it is the bound.

The log of S0 was not published. This population is made from distributions with ten parameters that were
fitted to what S0 prints. That the figures down to the bandwidth agree is therefore no evidence; what becomes
of the downloads is. S0 simulated 300 days, as `--days 300` does.
"""

_THREE_TIMES = """\
## Where S0 needs three times the bound

In S0 EDF and FREQ lose nothing from about 3 × the bound (80 sockets) on, here EDF from
{at_most}{times:.2f} × the need on, {sockets} sockets. Without S0's log the reason cannot be
proved. Two readings of S0 matter:

- S0 prints the idle time as max(I_min, ⌊t/I⌋·I − t), which is never more than I_min. Meant is the end of a
  period. If that is the period in which a download *ended*, one that runs over the end of its period loses
  the whole next one. Joro takes the period in which it *started*.
- S0 calls a server feasible when e_max ≤ I. With a pause between requests some of these miss visits for
  ever, whatever the number of sockets. Joro asks for e_max + I_min ≤ I.

Downloads missed by EDF in {days} under each reading, for multiples of the need of the servers that
are feasible under it; a few a day are a visible line on S0's logarithmic scale of 300 days:
"""

_SHORT = """\
## Where the orders differ from S0's

Short of sockets S0 sees SJF ahead, RM a little behind, and the others alike. Here are missed, with {sockets}
sockets: {ranking}.
So {ahead} is ahead here, but the others are not alike. One reason may be that in this population servers
visited often answer sooner (e grows a little with I), which S0 does not print.

What FCFS and SJF miss above the bound they miss mostly because all servers start at once; the second table
below shows what is left when each server starts at a random moment.
"""


def _days(number: float) -> str:
    return "one day" if number == 1 else f"{number:g} days"


def _lines(one: Experiment) -> list[str]:
    opening = _OPENING.format(
        servers=len(one.everyone),
        seed=one.settings.seed,
        times=len(one.everyone.log_s),
        days=_days(one.settings.days),
        feasible=len(one.feasible),
    )
    return [
        opening,
        *_comparison(one),
        *_three_times(one),
        *_short_of_sockets(one),
        *_tables(one),
        *_pictures(),
    ]


def _comparison(one: Experiment) -> list[str]:
    lines = ["## S0 and ours", ""]
    if part := scaled(len(one.everyone)):
        lines += [part, ""]
    lines += ["| | S0 | ours | tolerance | |", "|---|---|---|---|---|"]
    for each in statements(one):
        verdict = "agrees" if each.agrees else "**differs**"
        lines.append(f"| {each.what} | {each.published} | {each.ours} | {each.tolerance} | {verdict} |")
    return [*lines, ""]


def _three_times(one: Experiment) -> list[str]:
    need = one.feasible.need
    times = nothing_missed_from(one.all_at_once, Order.EDF, need)
    if times is None:
        return []
    return [
        _THREE_TIMES.format(
            at_most="" if missed_up_to(one.all_at_once, Order.EDF, need) else "at most ",
            times=times,
            sockets=round(times * need),
            days=_days(one.variant_days),
        ),
        *_variants(one),
        "",
    ]


def _variants(one: Experiment) -> list[str]:
    heads = [f"{times:g} ×" for times in VARIANT_TIMES]
    lines = ["| reading of S0 | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for variant, outcomes in zip(VARIANTS, one.variants, strict=True):
        cells = [f"{each.missed:,}" for each in outcomes]
        lines.append(f"| {variant.name} | " + " | ".join(cells) + " |")
    return lines


def _short_of_sockets(one: Experiment) -> list[str]:
    numbers = {each.trial.sockets for each in one.all_at_once}
    half = min(numbers, key=lambda number: abs(number - one.feasible.need / 2), default=0)
    rivals = [each for each in one.all_at_once if each.trial.sockets == half]
    if len(rivals) < len(Order) or half >= one.feasible.need:
        return []
    rivals.sort(key=lambda each: each.missed)
    ranking = ", ".join(f"{each.trial.order.name} {100 * each.missed_share:.1f} %" for each in rivals)
    return [_SHORT.format(sockets=half, ranking=ranking, ahead=rivals[0].trial.order.name)]


def _tables(one: Experiment) -> list[str]:
    feasible, everyone = one.feasible.need, one.everyone.need
    return [
        "## Missed downloads",
        "",
        f"Feasible servers, all at once (need {feasible:.2f}, bound {bound(feasible)}):",
        "",
        *_table(one.all_at_once, feasible),
        f"Feasible servers, staggered (random phases, seed {PHASE_SEED}):",
        "",
        *_table(one.staggered, feasible),
        f"All servers, all at once (need {everyone:.2f}, bound {bound(everyone)}):",
        "",
        *_table(one.with_all, everyone),
    ]


def _table(outcomes: Sequence[Outcome], need: float) -> list[str]:
    orders = list(dict.fromkeys(each.trial.order for each in outcomes))
    lines = ["| sockets | × need | " + " | ".join(order.name for order in orders) + " |"]
    lines.append("|---" * (len(orders) + 2) + "|")
    for number in dict.fromkeys(each.trial.sockets for each in outcomes):
        row = {each.trial.order: each for each in outcomes if each.trial.sockets == number}
        cells = [f"{row[order].missed:,} ({100 * row[order].missed_share:.1f} %)" for order in orders]
        lines.append(f"| {number} | {number / need:.2f} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _pictures() -> list[str]:
    ending = "svg" if figures.can_draw() else "csv"
    mark = "!" if figures.can_draw() else ""
    names = ["figure-3", "figure-4", "figure-5", "figure-6", "figure-7", "figure-7-staggered", "figure-8"]
    return ["## Figures", "", *(f"{mark}[{name}]({name}.{ending})\n" for name in names)]
