"""`joro scale-report`: measure how speed grows with units, processes and machines."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import click
from click.core import ParameterSource

from joro.cli.options import directory_option, make_folder, number_option
from joro.cli.scale_machines import MACHINE_UNITS, report_machines
from joro.errors import UsageError
from joro.scaling import table
from joro.scaling.chart import can_draw, draw
from joro.scaling.machines import DISTANCES_MS
from joro.scaling.measure import Ground, Measurement, measure
from joro.testweb.running import Running, running
from joro.testweb.settings import Settings

#: Hosts of the test web for each socket: a unit that becomes free always finds a server that is.
HOSTS_PER_SOCKET = 2
USUAL_UNITS = [50, 100, 150]
_DIGITS, _SHOWN = 9, 40
#: From so many processors on, what other programs did on this machine is worth a line.
OTHERS_MATTER = 0.3
COLUMNS = (
    "units",
    "processes",
    "sockets",
    "pages",
    "pages_per_s",
    "bytes_per_s",
    "robots_cores",
    "web_cores",
    "machine_busy",
    "limit",
)


def _numbers(most: int) -> Callable[[click.Context, click.Parameter, str | None], list[int]]:
    """What reads several numbers, like 50,100."""

    def read(_context: click.Context, parameter: click.Parameter, text: str | None) -> list[int]:
        words = [word.strip() for word in text.split(",")] if text is not None else []
        if not all(_is_number(word) and 1 <= int(word) <= most for word in words):
            raise UsageError(
                f"--{parameter.name} {str(text)[:_SHOWN]} are no numbers from 1 to {most:,}",
                remedy="write them like 50,100",
            )
        return sorted({int(word) for word in words})

    return read


def _counts(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[int]:
    if text is None:
        return []
    first, dash, last = text.partition("-")
    if not (_is_number(first) and (not dash or _is_number(last))):
        raise UsageError(
            f"--machines {text[:_SHOWN]} is no number of machines", remedy="write it like 5, or 1-5"
        )
    least, most = int(first), int(last or first)
    if not 1 <= least <= most <= len(DISTANCES_MS):
        raise UsageError(
            f"--machines {text} cannot be", remedy=f"give 1 to {len(DISTANCES_MS)}, the smaller one first"
        )
    return list(range(least, most + 1))


def _is_number(word: str) -> bool:
    """One that can be read; Python reads none of thousands of digits."""
    return word.isdecimal() and len(word) <= _DIGITS


def _check_machines(context: click.Context, units: list[int]) -> None:
    """With --machines there is one process on each, with so many units, for a set time."""
    for name in ("processes", "pages"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"--machines and --{name} exclude each other", remedy="give one of them")
    if len(units) > 1:
        raise UsageError(
            f"--machines goes with one number of units, not {len(units)}", remedy="give one, like --units 8"
        )


@click.command()
@click.option(
    "--units",
    callback=_numbers(10_000),
    metavar="N,…",
    help="Sockets of each robot.  [default: 50,100,150; with --machines 8]",
)
@click.option(
    "--processes",
    default="1,2",
    show_default=True,
    callback=_numbers(256),
    metavar="N,…",
    help="Not with --machines: there is one on each.",
)
@click.option(
    "--machines",
    callback=_counts,
    metavar="N-N",
    help="Robots on so many machines, with a manager, each farther away than the last; as root.",
)
@number_option("--pages", default=3_000, least=100, help="For each run; not with --machines.")
@click.option(
    "--latency", default=100.0, show_default=True, metavar="MS", help="How long a server takes to answer."
)
@directory_option(
    "--out",
    default=Path("scale-report"),
    show_default=True,
    help="Where the table (CSV) and the chart (SVG, PNG) go.",
)
@click.pass_context
def scale_report(
    context: click.Context,
    units: list[int],
    processes: list[int],
    machines: list[int],
    pages: int,
    latency: float,
    out: Path,
) -> None:
    """Measure pages and megabytes a second against units (sockets), processes and machines.

    Against units and processes on one machine, or with --machines against machines, which are network
    namespaces with links of their own and share the processors of this one.

    The figures are those of the test web's log. It runs on this machine, so the robots do not have all of it:
    the last column says what held each run back, and only where it says "units" would more units help.

    \b
    joro scale-report
    joro scale-report --units 10,50,100 --processes 1,2,4 --pages 10000 --out report
    sudo joro scale-report --machines 1-5
    """
    if machines:
        _check_machines(context, units)
    signal.signal(signal.SIGTERM, _interrupt)
    if machines:
        report_machines(machines, units[0] if units else MACHINE_UNITS, latency / 1_000, make_folder(out))
        return
    units = units or USUAL_UNITS
    settings = _web(max(units) * max(processes), pages, latency / 1_000)
    make_folder(out)
    click.echo(
        table.line(("units", "processes", "pages/s", "MB/s", "robots", "test web", "machine", "limit"))
    )
    with running(settings) as web:
        ground = _ground(web, settings.latency_s)
        measurements = []
        for count in processes:
            for each in units:
                measurements.append(measure(ground, each, count, pages))
                click.echo(table.line(_cells(measurements[-1])))
                table.keep(measurements, COLUMNS, out / "scale-report.csv")
    click.echo("\n".join(conclusions(measurements)))
    if can_draw():
        note = (
            f"{os.cpu_count()} processors shared with the test web · {latency:g} ms an answer · 20 KB pages"
        )
        draw(measurements, settings.latency_s, note, out / "scale-report")
    click.echo(table.written(out / "scale-report"))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # so that processes are ended and files removed


def _web(sockets: int, pages: int, latency_s: float) -> Settings:
    hosts = HOSTS_PER_SOCKET * sockets
    return Settings(
        hosts=hosts,
        pages=max(2 * hosts, pages + pages // 2),
        sizes="even",
        addresses="own",
        profile="bench",
        latency_s=latency_s,
        warm=True,
    )


def _ground(web: Running, latency_s: float) -> Ground:
    def log() -> list[tuple[float, int]]:
        entries = web.oracle.get("/log")
        return [(each["end"], each["bytes"]) for each in entries if each["path"] != "/robots.txt"]

    seeds = [host["url"] for host in web.oracle.get("/hosts")]
    return Ground(web.config, seeds, latency_s, lambda: web.oracle.get("/reset"), log, time.process_time)


def _cells(each: Measurement) -> tuple[str, ...]:
    return (
        str(each.units),
        str(each.processes),
        f"{each.pages_per_s:,.0f}",
        f"{each.bytes_per_s / 1e6:,.1f}",
        f"{each.robots_cores:.2f}",
        f"{each.web_cores:.2f}",
        f"{100 * each.machine_busy:.0f} %",
        each.limit,
    )


def conclusions(measurements: Sequence[Measurement]) -> list[str]:
    """What the figures say, in sentences."""
    best = max(measurements, key=lambda each: each.pages_per_s)
    lines = [
        f"Fastest: {best.pages_per_s:,.0f} pages/s with {best.units} units in {_processes(best.processes)}."
    ]
    for each in measurements:
        alone = next((one for one in measurements if one.units == each.units and one.processes == 1), None)
        if alone is not None and each.processes > 1 and alone.pages_per_s:
            gain = each.pages_per_s / alone.pages_per_s
            lines.append(f"{each.units} units: {_processes(each.processes)} are {gain:.2f} × as fast as one.")
    full = [each for each in measurements if each.limit != "units"]
    if full:
        setups = ", ".join(f"{each.units} × {each.processes} ({each.limit})" for each in full)
        lines.append(f"More units would not have helped: {setups}.")
    others = _others(measurements)
    if others >= OTHERS_MATTER:
        lines.append(f"Other programs kept {others:.1f} of {os.cpu_count()} processors busy meanwhile.")
    return lines


def _others(measurements: Sequence[Measurement]) -> float:
    """Processors in use by neither robots nor test web, on average."""
    every = os.cpu_count() or 1
    rest = [each.machine_busy * every - each.robots_cores - each.web_cores for each in measurements]
    return sum(rest) / len(rest)


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"
