"""`joro cooperate-report`: how well do robots share servers, and what would another assignment do?"""

from __future__ import annotations

from pathlib import Path

import click

from joro.cli.options import directory_option, make_folder, number_option
from joro.cli.progress import share_bar
from joro.cli.simulate import how_to_draw
from joro.errors import UsageError


@click.command()
@click.option("--simulate", is_flag=True, help="Simulate S1's 17 robots and 6,500 servers (the default).")
@directory_option(
    "--run", help="Judge a real run: servers.csv, distances.csv and shares.csv as a manager writes them."
)
@number_option("--seeds", default=5, least=1, most=100, help="Simulated worlds.")
@number_option("--servers", default=6_500, least=100, help="Simulated servers.")
@directory_option(
    "--out",
    default=Path("cooperate-report"),
    show_default=True,
    help="Where the page, the tables and the figures go.",
)
def cooperate_report(simulate: bool, run: Path | None, seeds: int, servers: int, out: Path) -> None:
    """Compare ways to share servers among robots: at random, by S1's rule, by our plan.

    Makes S1's tables 5 to 8 and figures 11 to 15, and says where and why they differ from those printed. A
    simulation also writes what it assigned as a run, in DIR/run.

    \b
    joro cooperate-report --simulate --out report
    joro cooperate-report --run report/run --out again
    """
    from joro.coordinate import experiment
    from joro.simulator import cooperate_page

    if simulate and run:
        raise UsageError("--simulate and --run exclude each other", remedy="give one of them")
    if run:
        files = cooperate_page.write(experiment.read(run), (), make_folder(out))
    else:
        files = _simulated(seeds, servers, make_folder(out))
    click.echo(f"written: {out}/{files[0]} and {len(files) - 1} files beside it{how_to_draw()}")


def _simulated(seeds: int, servers: int, out: Path) -> list[str]:
    from joro.coordinate import experiment
    from joro.simulator import cooperate_page
    from joro.simulator.cooperate import FIRST_SEED, middle, perform

    trials = []
    with share_bar("simulating") as (start, advance):
        start(seeds)
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            trials.append(perform(seed, servers))
            advance(1)
    for name in trials[0].taken:
        slowest = middle([trial.taken[name].slowest_h for trial in trials])
        ratio = middle([trial.taken[name].slowest_by_fastest for trial in trials])
        times = middle([trial.speed_up(name) for trial in trials])
        click.echo(f"{name:<28} slowest robot {slowest:>22} h, by fastest {ratio:>20}, × random {times:>20}")
    experiment.write(trials[0].experiment, out / "run")
    return cooperate_page.write(trials[0].experiment, trials, out)
