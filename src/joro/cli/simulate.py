"""`joro simulate`: carry out a schedule in simulated time, and repeat the experiments of S0."""

from __future__ import annotations

import importlib
import importlib.util
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from joro.cli.options import directory_option, make_folder, number_option
from joro.cli.progress import share_bar
from joro.errors import UsageError
from joro.model import DAY_S
from joro.schedule.feasible import Capacity, Demand, Revision, Rule, revise
from joro.schedule.sockets import MARGIN, Order, wanted

if TYPE_CHECKING:
    from joro.simulator.log import Book
    from joro.simulator.population import Population
    from joro.simulator.trial import Outcome, Trial

F = TypeVar("F", bound=Callable[..., Any])

#: Subcommands that live in modules of their own: name → module of this folder.
ELSEWHERE = {"freshness": "simulate_freshness"}
#: More sockets than this no machine has.
MOST_SOCKETS = 1_000_000
_NUMBER = re.compile(r"\d{1,9}")  # Python itself reads 4,300 digits at most
#: Of a list that cannot be read, so many characters are repeated.
_SHOWN = 80
#: Infeasible servers named in a report.
NAMED = 5
#: S0's days were chosen so that every server is visited as often, at least.
TIMES_DUE = 3


class Number(click.FloatRange):
    """A number in a range; `nan` is in none, though click lets it pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number to count with.", param, ctx)
        return number


class _Group(click.Group):
    """Imports a subcommand of another module only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        there = [name for name, module in ELSEWHERE.items() if importlib.util.find_spec(f"joro.cli.{module}")]
        return [*super().list_commands(ctx), *there]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in ELSEWHERE or cmd_name not in self.list_commands(ctx):
            return super().get_command(ctx, cmd_name)
        command = getattr(importlib.import_module(f"joro.cli.{ELSEWHERE[cmd_name]}"), cmd_name)
        assert isinstance(command, click.Command)
        return command


def _numbers(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(_NUMBER.fullmatch(word) and 1 <= int(word) <= MOST_SOCKETS for word in words):
        raise UsageError(
            f"--sockets {text[:_SHOWN]!r} are no numbers from 1 to {MOST_SOCKETS:,}",
            remedy="write them like 28,36,84",
        )
    return tuple(sorted({int(word) for word in words}))


def _orders(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[Order, ...]:
    words = [word.strip().upper() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in Order.__members__]
    if unknown or not words:
        known = ", ".join(Order.__members__)
        raise UsageError(f"--policy {text!r} names no order of servers", remedy=f"choose from {known}")
    return tuple(dict.fromkeys(Order[word] for word in words))


def _trial_options(command: F) -> F:
    """What every simulation of sockets can be told."""
    options = (
        click.option(
            "--days",
            default=1.0,
            show_default=True,
            type=Number(min=0.001, max=36_500),
            metavar="N",
            help="Simulated days for each trial.",
        ),
        click.option(
            "--sockets",
            callback=_numbers,
            metavar="N,…",
            help="Numbers of sockets to try (default: multiples of the lower bound).",
        ),
        click.option(
            "--policy",
            "orders",
            default=",".join(Order.__members__),
            show_default=True,
            callback=_orders,
            metavar="P,…",
            help="In which order waiting servers get a socket.",
        ),
        directory_option("--out", help="Where figures 3 to 8 (SVG, PNG) and their tables (CSV, Parquet) go."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(cls=_Group, invoke_without_command=True)
@click.option("--paper", is_flag=True, help="Repeat S0's whole experiment, and write paper.md about it.")
@_trial_options
@number_option("--seed", default=1, help="Another seed, other servers of the same kind.")
@number_option("--servers", default=82_034, least=10, most=10_000_000, help="How many servers to make up.")
@click.pass_context
def simulate(
    context: click.Context,
    paper: bool,
    days: float,
    sockets: tuple[int, ...],
    orders: tuple[Order, ...],
    out: Path | None,
    seed: int,
    servers: int,
) -> None:
    """Carry out a schedule in simulated time: who would be visited when, and what would be missed?

    Without a subcommand the servers are made up, with the statistics printed in S0.

    \b
    joro simulate --paper --out s0                       figures 3 to 8 and a page, some minutes
    joro simulate --paper --days 300 --policy EDF --sockets 38 --out s0
    joro simulate --servers 5000 --sockets 2,3,4,6       a table
    joro simulate replay my-web --revisit 7              the servers of a collection of ours
    """
    given = [
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if context.invoked_subcommand:
        if given:
            name = context.invoked_subcommand
            raise UsageError(
                "options before the subcommand have no effect", remedy=f"write them behind {name}"
            )
    elif not given:
        click.echo(context.get_help())
    elif paper:
        _repeat_paper(days, orders, sockets, seed, servers, out or Path("s0"))
    else:
        _try_out(days, orders, sockets, seed, servers, out)


def _repeat_paper(
    days: float, orders: tuple[Order, ...], sockets: tuple[int, ...], seed: int, servers: int, out: Path
) -> None:
    from joro.simulator import page
    from joro.simulator.paper import Settings, experiment, perform, scaled, statements

    make_folder(out)
    one = experiment(Settings(days, orders, sockets, seed, servers))
    with share_bar("simulating") as (start, advance):
        perform(one, start, advance)
    if part := scaled(servers):
        click.echo(part)
    for each in statements(one):
        verdict = "agrees" if each.agrees else "differs"
        click.echo(f"{each.what:<50} {each.published:>22} {each.ours:>24} {each.tolerance:>8}  {verdict}")
    files = page.write(one, out)
    click.echo(f"written: {out}/{files[0]} and {len(files) - 1} files beside it{how_to_draw()}")


def _try_out(
    days: float,
    orders: tuple[Order, ...],
    sockets: tuple[int, ...],
    seed: int,
    servers: int,
    out: Path | None,
) -> None:
    from joro.simulator.population import fitted
    from joro.simulator.trial import Trial

    if out is not None:
        make_folder(out)
    everyone = fitted(seed, servers)
    feasible = everyone.select(everyone.feasible())
    click.echo(
        f"{len(everyone):,} servers, of which {len(feasible):,} can keep their schedule: "
        f"these need {feasible.need:.2f} sockets"
    )
    trials = partial(_trials, sockets, orders, Trial(1, days=days))
    outcomes = _run(feasible, trials(feasible.need))
    _show(outcomes, feasible.need)
    if out is not None:
        _draw(everyone, feasible, _run_all(everyone, outcomes, trials), outcomes, out)


@simulate.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True), metavar="COLLECTION|LOG")
@_trial_options
@click.option(
    "--revisit",
    default=7.0,
    show_default=True,
    type=Number(min=1e-4, max=36_500),
    metavar="DAYS",
    help="How often a page is to be visited, where the log does not tell.",
)
@click.option(
    "--elapsed",
    default=0.0,
    type=Number(min=0.0, max=DAY_S),
    metavar="SECONDS",
    help="Assume this download time for servers without a recorded one.",
)
@click.option(
    "--minimum",
    default=1.0,
    show_default=True,
    type=Number(min=0.0, max=365 * DAY_S),
    metavar="SECONDS",
    help="Pause between two requests to a server.",
)
@click.option("--staggered", is_flag=True, help="Servers start at random moments instead of all at once.")
@click.option(
    "--rule",
    default=Rule.STRETCH.value,
    show_default=True,
    type=click.Choice([rule.value for rule in Rule]),
    help="What gives way where the schedule cannot be kept (thin: as stretch, for a log knows no weights).",
)
def replay(
    source: Path,
    days: float,
    sockets: tuple[int, ...],
    orders: tuple[Order, ...],
    out: Path | None,
    revisit: float,
    elapsed: float,
    minimum: float,
    staggered: bool,
    rule: str,
) -> None:
    """Simulate the servers of a real crawl: a collection's archive, or a log as S1's robots send it.

    The download times of each server are taken from the log and used over and over; how often it is asked
    follows from its pages. Where the schedule cannot be kept, it is revised, and that is simulated as well.

    \b
    joro simulate replay my-web --revisit 1 --sockets 4,8,16
    joro simulate replay transfer.log.200011160900 --minimum 10 --days 30 --out report
    """
    from joro.simulator.trial import Trial

    if out is not None:
        make_folder(out)
    book = _read(source)
    everyone = book.population(revisit * DAY_S, elapsed)
    _describe(book, everyone, minimum)
    feasible = everyone.select(everyone.feasible(minimum))
    like = Trial(1, Order.EDF, days, 1 if staggered else None, minimum)
    trials = partial(_trials, sockets, orders, like)
    outcomes = _run(feasible, trials(feasible.need)) if len(feasible) else []
    if outcomes:
        _show(outcomes, feasible.need)
        _warn_if_nothing_was_due(outcomes, feasible)
    if out is not None:
        sizes = ", of pages as packed in the archive" if book.is_packed else ""
        _draw(everyone, feasible, _run_all(everyone, outcomes, trials), outcomes, out, sizes)
    most = (sockets or _multiples(feasible.need))[-1]
    demand = book.demand(everyone.names, revisit * DAY_S)
    revision = _revise(Rule(rule), demand, everyone, most, minimum)
    click.echo(str(revision))
    if revision.is_needed:
        if revision.rule is Rule.THIN:
            click.echo("No page of a log weighs more than another, so thin did what stretch does.")
        revised = everyone.revisited(_revised_s(revision, demand, len(everyone)))
        missed = _run(revised, [replace(like, sockets=most)])[0].missed
        click.echo(f"Simulated with the revised intervals, EDF misses {missed:,} visits.")


def _trials(sockets: tuple[int, ...], orders: tuple[Order, ...], like: Trial, need: float) -> list[Trial]:
    """Every number of sockets, or multiples of what is needed, with every order; otherwise like that one."""
    numbers = sockets or _multiples(need)
    return [replace(like, sockets=number, order=order) for number in numbers for order in orders]


def _multiples(need: float) -> tuple[int, ...]:
    """Sockets from half of what is needed to what is more than enough."""
    tried = [math.ceil(times * need) for times in (0.5, 0.75, 1.0, MARGIN, 2.0, 3.0)]
    return tuple(sorted({*tried, wanted(need)} - {0})) or (1,)


def _read(source: Path) -> Book:
    from joro.simulator.log import read, size_of

    with share_bar("reading") as (start, advance):
        start(size_of(source))
        return read(source, advance)


def _describe(book: Book, everyone: Population, minimum_s: float) -> None:
    able = everyone.feasible(minimum_s)
    click.echo(
        f"{book.visits:,} visits to {book.pages:,} pages of {len(book.servers):,} servers; "
        f"{book.untimed:,} without a time, {book.unreadable:,} lines not understood"
    )
    click.echo(
        f"download time {everyone.mean_s.mean():.3f} s on average, longest {everyone.longest_s.max():.1f} s; "
        f"{everyone.visits_per_day:,.0f} visits a day need {everyone.need_with(minimum_s):.2f} sockets"
    )
    if not able.all():
        use = (everyone.longest_s + minimum_s) / everyone.interval_s
        worst = [everyone.names[place] for place in (-use).argsort()[:NAMED] if not able[place]]
        more = int((~able).sum()) - len(worst)
        click.echo(f"cannot keep pace: {', '.join(worst)}{f' and {more:,} more' if more else ''}")


def _revise(rule: Rule, demand: Demand, everyone: Population, sockets: int, minimum_s: float) -> Revision:
    import numpy as np

    minimum = np.full(len(everyone), minimum_s)
    return revise(rule, demand, Capacity(everyone.mean_s, everyone.longest_s, minimum), sockets)


def _revised_s(revision: Revision, demand: Demand, servers: int) -> Any:
    """The access interval of each server, when its pages have given way."""
    strength = revision.server_strength[demand.server]
    return 1.0 / demand.loads_per_s(servers, revision.rule, strength)


def _run(population: Population, trials: Sequence[Trial]) -> list[Outcome]:
    from joro.simulator.trial import run

    with share_bar("simulating") as (start, advance):
        start(sum(trial.days for trial in trials))
        return [run(population, trial, advance) for trial in trials]


def _run_all(
    everyone: Population, feasible: Sequence[Outcome], trials: Callable[[float], list[Trial]]
) -> Sequence[Outcome]:
    """The same with all servers, also those that cannot keep pace; where there are none, it has been done."""
    if feasible and len(feasible[0].asked_of) == len(everyone):
        return feasible
    return _run(everyone, trials(everyone.need))


def _show(outcomes: Sequence[Outcome], need: float) -> None:
    """Missed visits, a line for each number of sockets."""
    orders = list(dict.fromkeys(each.trial.order for each in outcomes))
    head = "".join(f"{order.name:>20}" for order in orders)
    click.echo(f"{'sockets':>8} {'× need':>8}{head}   missed, of {outcomes[0].asked:,} visits")
    for number in dict.fromkeys(each.trial.sockets for each in outcomes):
        row = {each.trial.order: each for each in outcomes if each.trial.sockets == number}
        cells = (f"{row[order].missed:,} ({100 * row[order].missed_share:.2f} %)" for order in orders)
        click.echo(f"{number:>8,} {number / need:>8.2f}" + "".join(f"{cell:>20}" for cell in cells))


def _warn_if_nothing_was_due(outcomes: Sequence[Outcome], population: Population) -> None:
    """That nothing was missed says nothing, where no server's interval was over."""
    if not outcomes[0].asked:
        enough = math.ceil(TIMES_DUE * float(population.interval_s.max()) / DAY_S)
        click.echo(
            f"In {outcomes[0].trial.days:g} days no visit was due that could have been missed;"
            f" with --days {enough} every server is due {TIMES_DUE} times."
        )


def _draw(
    everyone: Population,
    feasible: Population,
    with_all: Sequence[Outcome],
    outcomes: Sequence[Outcome],
    out: Path,
    sizes: str = "",
) -> None:
    """S0's figures: 3 to 6 of all servers, 7 and 8 of those that can keep pace, if any can.

    `sizes` says whose bytes are counted, if not those that were sent.
    """
    from joro.simulator.figures import of_missed, of_population, of_throughput, write

    days = f"servers, {with_all[0].trial.days:g} days"
    every, need = f"{len(everyone):,} {days}", feasible.need
    drawn = of_population(everyone)
    title = "Figure 6: missed downloads, all servers"
    drawn.append(of_missed("figure-6", (title, every), with_all, everyone.need))
    if outcomes:
        these, able = f"{len(feasible):,} {days}", "feasible servers"
        drawn += [
            of_missed("figure-7", (f"Figure 7: missed downloads, {able}", these), outcomes, need),
            of_throughput("figure-8", (f"Figure 8: throughput, {able}", these + sizes), outcomes, need),
        ]
    else:
        click.echo("No server can keep its schedule, so there is nothing for figures 7 and 8.")
    files = [name for figure in drawn for name in write(figure, out)]
    click.echo(f"written: {len(files)} files in {out}{how_to_draw()}")


def how_to_draw() -> str:
    """What to install for pictures; nothing, where it is installed."""
    from joro.simulator.figures import can_draw

    return "" if can_draw() else "; for pictures, too: pip install 'joro[simulate]'"
