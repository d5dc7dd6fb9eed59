"""`joro simulate freshness`: how fresh would each revisit policy keep a collection?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import click
from click.core import ParameterSource

from joro.cli.options import directory_option, file_option, make_folder, number_option
from joro.cli.progress import share_bar
from joro.cli.simulate import Number, how_to_draw
from joro.errors import UsageError
from joro.model import DAY_S
from joro.simulator.contest import NAMES, contest, recorded_course, unweighted
from joro.simulator.curves import Entry, Mean, figures, means
from joro.simulator.figures import write
from joro.simulator.freshness import Course
from joro.simulator.histories import DAYS, HALVES, recorded
from joro.simulator.world import BROKEN_SERVERS, GOOD_SERVERS, RecordedWorld, World, made_up

T = TypeVar("T")

#: Options that say how pages are made up, and so have no meaning for recorded ones.
MADE_UP = ("pages", "signals", "equal")


@click.command()
@number_option("--pages", default=20_000, least=100, most=10_000_000, help="How many pages to make up.")
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    default=(0.1, 0.25),
    show_default=True,
    type=Number(1e-4, 1_000),
    metavar="X",
    help="Visits for each change of a page, all pages together. May be repeated.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=NAMES,
    type=click.Choice(NAMES, case_sensitive=False),
    help="Who chooses what is visited (default: everybody). May be repeated.",
)
@click.option("--signals", is_flag=True, help="Some servers tell of changes, some of them wrongly.")
@click.option("--equal", is_flag=True, help="All pages are equally important.")
@file_option(
    "--histories",
    help="Recorded changes instead: page, Unix time, `first` or `change` with tabs between; plain, .gz, .xz.",
)
@click.option("--half", type=click.Choice(HALVES), help="Only this half of the recorded pages.")
@click.option(
    "--days",
    type=Number(2, 36_500),
    metavar="N",
    help=f"Simulated days (default: 240; of a record the last {DAYS:g}).",
)
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    default=(1,),
    show_default=True,
    type=click.IntRange(min=0),
    metavar="N",
    help="Another seed, other pages of the same kind. May be repeated: then means are shown.",
)
@directory_option("--out", help="Where figures (SVG, PNG) and their tables (CSV, Parquet) go.")
@click.pass_context
def freshness(
    context: click.Context,
    pages: int,
    budgets: tuple[float, ...],
    policies: tuple[str, ...],
    signals: bool,
    equal: bool,
    histories: Path | None,
    half: str | None,
    days: float | None,
    seeds: tuple[int, ...],
    out: Path | None,
) -> None:
    """Let revisit policies compete: how fresh does each keep the same pages with the same visits?

    Pages are made up, with change rates nobody is told but the oracle, or repeat changes that were recorded.
    Beside our policies run the adaptive rules of Nutch and StormCrawler. The first half of the days serves to
    learn; with recorded pages all days count. "Of optimum" is what could be reached with all rates known, in
    the long run: in a few days the start still shows, when everything was just seen. It hears no signals:
    with --signals, who hears them can have more than 100 %.

    \b
    joro simulate freshness                                       everybody, two budgets: some minutes
    joro simulate freshness --pages 2000 --policy optimal --policy uniform --seed 1 --seed 2 --out fresh
    joro simulate freshness --signals --budget 0.25
    joro simulate freshness --histories changes.tsv.xz --budget 0.25 --budget 1 --budget 3
    """
    _check(context, histories, half)
    if out is not None:
        make_folder(out)
    days = days or (DAYS if histories else 240.0)
    entries = []
    budgets, policies, seeds = _once(budgets), _once(policies), _once(seeds)
    with share_bar("simulating") as (start, advance):
        start(len(seeds) * len(budgets) * len(policies))
        for seed in seeds:
            world = recorded(histories, half, days) if histories else _made_up(pages, seed, signals, equal)
            course = recorded_course(days, seed) if histories else Course(days=days, seed=seed)
            for row in contest(world, policies, budgets, course, progress=advance):
                entries.append(Entry(seed, row))
    how = _described(world, days, seeds)
    click.echo(how)
    _show(means(entries), signals=signals)
    if out:
        _write(entries, how, out)


def _once(words: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(words))


def _check(context: click.Context, histories: Path | None, half: str | None) -> None:
    """Options that contradict each other."""
    if half and not histories:
        raise UsageError(f"--half {half} divides recorded pages", remedy="name their --histories, too")
    for name in MADE_UP if histories else ():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(
                f"--{name} is for made-up pages", remedy="leave it out, or leave out --histories"
            )


def _made_up(pages: int, seed: int, signals: bool, equal: bool) -> World:
    good, broken = (GOOD_SERVERS, BROKEN_SERVERS) if signals else (0.0, 0.0)
    world = made_up(pages, seed, good=good, broken=broken)
    return unweighted(world) if equal else world


def _described(world: World, days: float, seeds: Sequence[int]) -> str:
    kind = "recorded" if isinstance(world, RecordedWorld) else "made-up"
    changes = world.change_per_s.sum() * DAY_S
    mean = f", mean of {len(seeds)} seeds" if len(seeds) > 1 else ""
    return f"{len(world):,} {kind} pages, {changes:,.1f} changes a day, {days:g} days{mean}"


def _show(rows: Sequence[Mean], *, signals: bool) -> None:
    """A line for each budget and policy, the freshest first."""
    optimum = "of optimum*" if signals else "of optimum"
    titles = f"{optimum:>12}{'±':>7}{'captured':>10}{'used':>7}"
    click.echo(f"{'budget':>8}  {'policy':<14}{'fresh':>8}{'weighted':>10}{titles}")
    for row in sorted(rows, key=lambda row: (row.budget, -row.weighted)):
        share = "" if row.share is None else f"{row.share:.2%}"
        spread = f"{100 * row.spread:.2f}" if row.spread else ""
        click.echo(
            f"{row.budget:>8g}  {row.policy:<14}{row.fresh:>8.2%}{row.weighted:>10.2%}{share:>12}{spread:>7}"
            f"{row.captured:>10.2%}{row.used:>7.0%}"
        )
    if signals:
        click.echo("* of what could be reached without signals, with all rates known")


def _write(entries: Sequence[Entry], how: str, out: Path) -> None:
    files = [name for figure in figures(entries, how) for name in write(figure, out)]
    click.echo(f"written: {len(files)} files in {out}{how_to_draw()}")
