"""How are the results of robots that shared servers told?

In:    an experiment, simulated or written down by a manager; when simulated, the trials of several seeds.
Out:   `cooperate.md`, S1's tables 5 to 8 as CSV, and its figures 11 to 15.
Never: has a number in its text that was not computed for it, except S1's own.
Paper: S1 6.3, 6.4.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from joro.coordinate.assign import NOBODY, Floats
from joro.coordinate.experiment import Experiment
from joro.errors import UsageError
from joro.simulator import cooperate_world as s1
from joro.simulator import figures
from joro.simulator.cooperate import (
    COLLECTIONS,
    DRAWS,
    EQUALISED,
    FEW,
    LANES,
    PLANNED,
    PLANNED_200,
    RANDOM,
    ROUNDS,
    SPLIT_200,
    Score,
    Trial,
    middle,
)
from joro.simulator.cooperate_figures import Ends, alone_h, of_experiment
from joro.simulator.cooperate_world import HOUR_MS
from joro.simulator.figures import Row


def write(one: Experiment, trials: Sequence[Trial], folder: Path) -> list[str]:
    """Write page, tables and pictures; the names of the files."""
    if not one.owners:
        raise UsageError("the run has no assignment", remedy="fill shares.csv")
    folder.mkdir(parents=True, exist_ok=True)
    tables = _tables(one, trials)
    for name, rows in tables.items():
        _write_table(folder / f"{name}.csv", rows)
    drawn = [name for each in of_experiment(one, _ends_h(one)) for name in figures.write(each, folder)]
    (folder / "cooperate.md").write_text(_page(one, trials, tables), encoding="utf-8")
    return ["cooperate.md", *(f"{name}.csv" for name in tables), *drawn]


def _ends_h(one: Experiment) -> Ends:
    """What figure 15 compares with: S1's rule where there is one; and beside it our plans."""
    shown = EQUALISED if EQUALISED in one.owners else next(reversed(one.owners))
    ends_h = {"figure-15": (float(hours(one, shown, taken=True).max()), _lanes_h(one, shown))}
    if {PLANNED, PLANNED_200} <= one.owners.keys():
        ends_h["figure-15-planned"] = (
            float(hours(one, PLANNED, taken=True).max()),
            _lanes_h(one, PLANNED_200),
        )
    return ends_h


def each_ms(one: Experiment, name: str, *, taken: bool) -> Floats:
    """What each server takes its robot: as foretold by the probes, or as collected where that is known.

    What its robot neither measured nor collected, and a server of nobody, counts as nothing: see `_unknown`.
    """
    owners = one.owners[name]
    foretold = one.costs_ms[owners, np.arange(len(owners))]
    spent = one.spent_ms.get(name) if taken else None
    each = foretold if spent is None else np.where(np.isnan(spent), foretold, spent)
    return np.where((owners != NOBODY) & np.isfinite(each), each, 0.0)


def hours(one: Experiment, name: str, *, taken: bool) -> Floats:
    """Of each robot."""
    owners = one.owners[name]
    weights = each_ms(one, name, taken=taken)
    spent = np.bincount(np.where(owners == NOBODY, 0, owners), weights=weights, minlength=len(one.robots))
    return spent.astype(np.float64) / HOUR_MS


def _lanes_h(one: Experiment, name: str) -> float:
    """With 200 side by side, by the probes (S1, footnote 12)."""
    longest = float(each_ms(one, name, taken=False).max(initial=0.0)) / HOUR_MS
    return max(longest, float(hours(one, name, taken=False).max()) / LANES)


def _unknown(one: Experiment, name: str) -> str:
    """A line about servers that no number is known of."""
    owners, spent = one.owners[name], one.spent_ms.get(name, np.full(len(one.servers), np.nan))
    known = np.isfinite(one.costs_ms[owners, np.arange(len(owners))]) | np.isfinite(spent)
    silent, free = int((~known & (owners != NOBODY)).sum()), int((owners == NOBODY).sum())
    if not silent and not free:
        return ""
    return (
        f"\n{name}: {silent:,} servers not measured by their robot and {free:,} of nobody are not counted.\n"
    )


def _tables(one: Experiment, trials: Sequence[Trial]) -> dict[str, list[Row]]:
    tables = {
        "table-5": _fastest_and_slowest(one),
        "table-6": _shares(one),
        "table-7": _hours(one),
        "table-8": _alone(one),
    }
    if trials:
        tables["seeds"] = _seeds(trials)
    if one.robots == s1.ROBOTS:
        _beside(tables["table-5"], slowest_s1=s1.SLOWEST, fastest_s1=s1.FASTEST)
        _beside(tables["table-6"], equalised_s1=s1.SHARES)
        _beside(
            tables["table-7"],
            random_s1=s1.RANDOM_H,
            equalised_foretold_s1=s1.EQUALISED_H,
            equalised_taken_s1=s1.MEASURED_H,
        )
        _beside(tables["table-8"], one_thread_s1=s1.ALONE_H, lanes_200_s1=s1.ALONE_200_H)
    return tables


def _beside(rows: list[Row], **columns: Sequence[float]) -> None:
    """What S1 printed, beside each robot; nothing beside the lines below the robots."""
    for name, values in columns.items():
        for place, row in enumerate(rows):
            row[name] = values[place] if place < len(values) else ""


def _fastest_and_slowest(one: Experiment) -> list[Row]:
    reached = one.distances[:, np.isfinite(one.distances).any(axis=0)]
    farthest = np.where(np.isfinite(reached), reached, -1.0).argmax(axis=0)
    slowest, fastest = (
        np.bincount(each, minlength=len(one.robots)) for each in (farthest, reached.argmin(axis=0))
    )
    return [
        {"robot": robot, "slowest": int(low), "fastest": int(high)}
        for robot, low, high in zip(one.robots, slowest, fastest, strict=True)
    ]


def _shares(one: Experiment) -> list[Row]:
    counts = {
        name: np.bincount(each[each != NOBODY], minlength=len(one.robots))
        for name, each in one.owners.items()
    }
    return [
        {"robot": robot} | {name: int(each[place]) for name, each in counts.items()}
        for place, robot in enumerate(one.robots)
    ]


def _hours(one: Experiment) -> list[Row]:
    rows: list[Row] = [{"robot": robot} for robot in (*one.robots, "slowest", "slowest / fastest")]
    for name in one.owners:
        for word, taken in (("foretold", False), ("taken", True)):
            spent = hours(one, name, taken=taken).tolist()
            ratio = max(spent) / min(spent) if min(spent) > 0.0 else math.inf
            for row, value in zip(rows, [*spent, max(spent), ratio], strict=True):
                row[f"{name} {word}"] = _digits(value)
    return rows


def _alone(one: Experiment) -> list[Row]:
    single, many = (each.tolist() for each in alone_h(one))
    rows: list[Row] = [
        {"robot": robot, "one_thread": _digits(one_h), "lanes_200": _digits(many_h)}
        for robot, one_h, many_h in zip(one.robots, single, many, strict=True)
    ]
    for name in one.owners:
        end_h = float(hours(one, name, taken=True).max())
        rows.append({"robot": name, "one_thread": _digits(end_h), "lanes_200": _digits(_lanes_h(one, name))})
    return rows


def _digits(hours: float) -> float:
    """A tenth of an hour is enough for days, but not for a small run."""
    return round(hours, 1) if hours >= 10.0 else float(f"{hours:.3g}")


def _seeds(trials: Sequence[Trial]) -> list[Row]:
    return [
        {
            "seed": trial.seed,
            "assignment": name,
            "when": when,
            "slowest_h": round(score.slowest_h, 2),
            "fastest_h": round(score.fastest_h, 2),
            "slowest_by_fastest": round(score.slowest_by_fastest, 3),
            "spread": round(score.spread, 4),
            "lanes_200_h": round(score.lanes_h, 2),
            "times_random": round(trial.speed_up(name, taken=when == "taken"), 2),
            "least_h": round(trial.least_h, 2),
        }
        for trial in trials
        for when, scores in (("foretold", trial.foretold), ("taken", trial.taken))
        for name, score in scores.items()
    ]


def _write_table(file: Path, rows: Sequence[Row]) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]) if rows else ["robot"])
        table.writeheader()
        table.writerows(rows)


_TITLES = {
    "table-5": "Table 5: servers for which a robot is the slowest, the fastest",
    "table-6": "Table 6: servers of each robot",
    "table-7": "Table 7: hours of each robot, one server at a time",
    "table-8": "Table 8: hours of one robot for all servers, and of all together",
}

_SIMULATED = """\
Simulated: {robots} robots and {servers:,} servers made to have the statistics S1 prints (its measurements
were not published). Tables and figures are those of seed {seed}; below, the median of {count} seeds with the
least and the most.

| assignment | slowest robot, foretold (h) | taken (h) | slowest / fastest, foretold | taken \
| 200 at a time (h) | × random, foretold | taken |
|---|---|---|---|---|---|---|---|
{lines}

*Foretold* is reckoned from the probes, *taken* is what collecting then needs, the mean of {collections}
collections: probes are off by as much as in S1 (on average a quarter for a robot). *Random* is the mean of
{draws} random assignments. No assignment of whole servers can be foretold to end before {least} h.
"""

_DIFFERENCES = """\
## Where this differs from S1, and why

- S1 prints 11.1 ×: random foretold, 1216.1 h, by equalised taken, 109.5 h. Reckoned like that Give and Move
  give {up_s1} × here; like by like {up_taken} × taken (11.1 or more in {reached} of {count} seeds) and
  {up_foretold} × foretold (S1: 8.3). S1 does not say how many rounds it ran, nor what its tree is; both
  matter. After {few_rounds} rounds the slowest robot is foretold {few} h (S1: 146.2), after {rounds}, which
  are used here, the best of them {many} h. Nor does it say what becomes of a server that costs more than is
  to be moved: here it goes where both end earlier for it, and something comes back (`coordinate/balance.py`).
- S1's slowest by fastest is 9.9 (109.5 / 11.0). Here the rule gives {ratio_taken}, and at most 9.9 in
  {even} of {count} seeds.
- S1's text says 37.1 for random; its table 7 gives 1216.1 / 33.8 = 36.0. Here {random_ratio}.
- S1 says 6.3 × (NTT) to 286 × (Hokkaido). 6.3 is 691 / 109.5, Kyoto with one thread; NTT is 7.2 with one
  thread, 12.1 with 200. 286 is 544 / 1.9, Hokkaido with 200.
- S1's 1.9 h with 200 threads is hardly possible by its own footnote 12: PRS06 took 96.7 h for 52 servers,
  so the longest of them took at least 1.86 h, and just that only if all took the same. Here one huge server
  decides: {lanes} h by the rule, which does not know of threads, {lanes_plan} h planned for 200,
  {lanes_split} h when huge servers are split by directory too.
- S1 prints 615 URLs a server on average; 4,653,140 / 6,500 is 716, which the simulated servers have.
- Our plan sees all distances. The last robot is done sooner than by the rule in {better} of {count} seeds
  as foretold, in {better_taken} as taken. Slowest by fastest is {plan_ratio} foretold (rule: {rule_ratio}),
  {plan_ratio_taken} taken (rule: {ratio_taken}).
"""


def _page(one: Experiment, trials: Sequence[Trial], tables: dict[str, list[Row]]) -> str:
    parts = ["# Robots that share servers: S1, chapter 6, again\n"]
    if trials:
        parts += [_simulated(one, trials), _differences(trials)]
    else:
        parts.append(
            f"A run of {len(one.robots)} robots and {len(one.servers):,} servers: {', '.join(one.owners)}.\n"
        )
    parts += [line for name in one.owners if (line := _unknown(one, name))]
    parts += [f"## {title}\n\n{_markdown(tables[name])}" for name, title in _TITLES.items()]
    names = [*(f"figure-{number}" for number in range(11, 15)), *_ends_h(one)]
    parts.append("## Figures\n\n" + "\n\n".join(f"![{name}]({name}.svg)" for name in names) + "\n")
    return "\n".join(parts)


def _markdown(rows: Sequence[Row]) -> str:
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *([str(row.get(name, "")) for name in head] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _simulated(one: Experiment, trials: Sequence[Trial]) -> str:
    return _SIMULATED.format(
        robots=len(one.robots),
        servers=len(one.servers),
        seed=trials[0].seed,
        count=len(trials),
        collections=COLLECTIONS,
        draws=DRAWS,
        lines="\n".join(_line(trials, name) for name in trials[0].taken),
        least=middle([trial.least_h for trial in trials]),
    )


def _line(trials: Sequence[Trial], name: str) -> str:
    foretold, taken = ([scores[name] for scores in which] for which in _scores(trials))
    cells = [
        middle([each.slowest_h for each in foretold]),
        middle([each.slowest_h for each in taken]),
        middle([each.slowest_by_fastest for each in foretold]),
        middle([each.slowest_by_fastest for each in taken]),
        middle([each.lanes_h for each in foretold]),
        middle([trial.speed_up(name, taken=False) for trial in trials]),
        middle([trial.speed_up(name) for trial in trials]),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _scores(trials: Sequence[Trial]) -> tuple[list[dict[str, Score]], list[dict[str, Score]]]:
    return [trial.foretold for trial in trials], [trial.taken for trial in trials]


def _differences(trials: Sequence[Trial]) -> str:
    foretold, taken = _scores(trials)

    def better(which: Sequence[dict[str, Score]]) -> int:
        return sum(each[PLANNED].slowest_h <= each[EQUALISED].slowest_h for each in which)

    return _DIFFERENCES.format(
        up_foretold=middle([trial.speed_up(EQUALISED, taken=False) for trial in trials]),
        up_taken=middle([trial.speed_up(EQUALISED) for trial in trials]),
        up_s1=middle([trial.speed_up_as_s1(EQUALISED) for trial in trials]),
        reached=sum(trial.speed_up(EQUALISED) >= 11.1 for trial in trials),
        even=sum(each[EQUALISED].slowest_by_fastest <= 9.9 for each in taken),
        few_rounds=FEW,
        rounds=ROUNDS,
        few=middle([trial.few_rounds_h for trial in trials]),
        many=middle([each[EQUALISED].slowest_h for each in foretold]),
        random_ratio=middle([each[RANDOM].slowest_by_fastest for each in foretold]),
        ratio_taken=middle([each[EQUALISED].slowest_by_fastest for each in taken]),
        lanes=middle([each[EQUALISED].lanes_h for each in foretold]),
        lanes_plan=middle([each[PLANNED_200].lanes_h for each in foretold]),
        lanes_split=middle([each[SPLIT_200].lanes_h for each in foretold]),
        better=better(foretold),
        better_taken=better(taken),
        count=len(trials),
        plan_ratio=middle([each[PLANNED].slowest_by_fastest for each in foretold]),
        rule_ratio=middle([each[EQUALISED].slowest_by_fastest for each in foretold]),
        plan_ratio_taken=middle([each[PLANNED].slowest_by_fastest for each in taken]),
    )
