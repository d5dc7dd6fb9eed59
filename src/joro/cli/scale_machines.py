"""`joro scale-report --machines`: the part of it that needs a network."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from joro.clock import RealClock
from joro.scaling import table
from joro.scaling.chart import can_draw, draw_machines
from joro.scaling.machines import DISTANCES_MS, Field, Scaling, measure_machines
from joro.scaling.network import Network
from joro.testweb.running import separate
from joro.testweb.settings import Settings

#: So few that the links of five robots, not two processors, are what holds them back.
MACHINE_UNITS = 8
#: Where the test web's hosts are.
WEB = "10.98.0.0/16"
HOSTS_PER_UNIT = 3
#: Nobody runs out of pages while it is measured.
PAGES_PER_HOST = 120
COLUMNS = tuple(each.name for each in dataclasses.fields(Scaling))


def report_machines(machines: Sequence[int], units: int, latency_s: float, out: Path) -> None:
    """Measure each number of machines, tell, and draw."""
    click.echo(table.line(("machines", "pages/s", "possible", "share", "MB/s", "processors", "limit")))
    scalings = []
    with _field(max(machines) * units, latency_s) as field:
        for count in machines:
            scalings.append(measure_machines(field, count, units))
            click.echo(table.line(_cells(scalings[-1])))
            table.keep(scalings, COLUMNS, out / "machines.csv")
    click.echo(conclusion(scalings))
    if can_draw():
        far = ", ".join(f"{2 * each:g}" for each in DISTANCES_MS[: max(machines)])
        note = f"{units} units a robot · {latency_s * 1e3:g} ms an answer · {far} ms there and back"
        draw_machines(scalings, f"{note} · {os.cpu_count()} processors for all", out / "machines")
    click.echo(table.written(out / "machines"))


def conclusion(scalings: Sequence[Scaling]) -> str:
    """What the figures say, in a sentence."""
    first, last = scalings[0], scalings[-1]
    gain = last.pages_per_s / first.pages_per_s if first.pages_per_s else 0.0
    possible = last.possible_per_s / first.possible_per_s
    return (
        f"{last.machines} machines are {gain:.2f} × as fast as {first.machines}; "
        f"their links allow {possible:.2f} ×."
    )


@contextmanager
def _field(units: int, latency_s: float) -> Iterator[Field]:
    hosts = HOSTS_PER_UNIT * units
    settings = Settings(
        hosts=hosts,
        pages=hosts * PAGES_PER_HOST,
        sizes="even",
        addresses="own",
        network=WEB,
        profile="bench",
        latency_s=latency_s,
    )
    with Network() as network:
        home = network.machine("web", also=WEB)
        with separate(settings, home.run, home.dial) as web:

            def log(since: float) -> list[tuple[float, int, str]]:
                rows = web.oracle.get("/log", since=since)
                return [(each["end"], each["bytes"], each["client"]) for each in rows]

            seeds = [host["url"] for host in web.oracle.get("/hosts")]
            yield Field(network, web.config, seeds, latency_s, log, RealClock().now)


def _cells(each: Scaling) -> tuple[str, ...]:
    return (
        str(each.machines),
        f"{each.pages_per_s:,.0f}",
        f"{each.possible_per_s:,.0f}",
        f"{100 * each.pages_per_s / each.possible_per_s:.0f} %",
        f"{each.bytes_per_s / 1e6:,.1f}",
        f"{100 * each.machine_busy:.0f} %",
        each.limit,
    )
