"""Are we still as good as we said?

In:    every `bench/NAME.py` with a `figures()`, and the floors in `bench/floors.json`.
Out:   one line per figure, `bench/latest.json`, and exit code 1 when a floor is broken.
Never: measures two benches in one process: the second would inherit the first one's memory.

`figures()` returns `{"crawl.ratio_scrapy": (14.2, "x")}`; a name without a dot gets the bench's in front.
It raises `bench.CannotRun` when something it compares with is missing: that is told, and no failure.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bench import CannotRun

HERE = Path(__file__).parent

#: name → (value, unit)
Figures = dict[str, tuple[float, str]]
#: name → {"floor": number} or {"ceiling": number}, with "why", and "needs" if it takes what is not everywhere
Floors = dict[str, dict[str, float | str]]


@dataclass
class Measured:
    """What a round of benches gave."""

    figures: Figures = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)  # benches that cannot run here
    failures: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None, *, folder: Path = HERE) -> int:
    """Measure what was asked for, print and write it; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.run", description="Measure, and hold to the floors."
    )
    parser.add_argument("--only", metavar="NAME", help="one bench instead of all")
    only = parser.parse_args(arguments).only
    names = benches(folder)
    if only and only not in names:
        parser.error(f"no bench {only}; there are: {', '.join(names) or 'none'}")
    floors: Floors = json.loads((folder / "floors.json").read_text(encoding="utf-8"))
    measured = measure([only] if only else names, floors, package=folder.name)
    write(folder / "latest.json", measured.figures, floors, merge=bool(only))
    whole = not (only or measured.skipped or measured.failures)
    problems = measured.failures + list(broken(measured.figures, floors, whole=whole))
    for problem in problems:
        print(f"FAILED  {problem}")
    return 1 if problems else 0


def benches(folder: Path) -> list[str]:
    """The modules with a `figures()`, told from their text: importing them all would cost memory and time."""
    return sorted(path.stem for path in folder.glob("*.py") if _defines_figures(path))


def _defines_figures(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == "figures" for node in tree.body)


def measure(names: Sequence[str], floors: Floors, *, package: str = "bench") -> Measured:
    """Run each bench in a process of its own and print its figures as they come."""
    measured = Measured()
    for name in names:
        try:
            figures = _in_own_process(f"{package}.{name}")
        except CannotRun as reason:
            print(f"{name}: cannot run here: {reason}")
            measured.skipped.append(name)
            continue
        except Exception as error:  # one broken bench must not hide the others' figures
            measured.failures.append(f"{name}: {type(error).__name__}: {error}")
            continue
        named = {key if "." in key else f"{name}.{key}": figure for key, figure in figures.items()}
        for key, (value, unit) in named.items():
            print(line(key, value, unit, floors.get(key, {})), flush=True)
        measured.figures |= named
    return measured


def _in_own_process(module: str) -> Figures:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_figures, module).result()


def _figures(module: str) -> Figures:
    try:
        result: Figures = importlib.import_module(module).figures()
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("joro", "bench"):
            raise  # not a missing peer but a mistake of ours
        raise CannotRun(error.msg) from None
    return result


def line(name: str, value: float, unit: str, limit: dict[str, float | str]) -> str:
    """One figure for a person: `crawl.ratio_scrapy  14.2 x  (floor 12)`."""
    bounds = [f"{word} {limit[word]:,}" for word in ("floor", "ceiling") if word in limit]
    return f"{name:<36} {_number(value):>12} {unit}" + (f"  ({', '.join(bounds)})" if bounds else "")


def _number(value: float) -> str:
    """Three significant digits or all whole ones: more would pretend a precision no bench has."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def broken(figures: Figures, floors: Floors, *, whole: bool) -> Iterator[str]:
    """Every limit that does not hold; of a `whole` round also those whose figure quietly went missing."""
    for name, limit in floors.items():
        if name not in figures:
            if whole and "needs" not in limit:
                yield f"{name} has a limit in floors.json, but no bench measures it"
            continue
        value, unit = figures[name]
        if "floor" in limit and not value >= float(limit["floor"]):  # `not >=`: nan holds no floor
            yield f"{name}: {_number(value)} {unit} is below the floor {limit['floor']:,}"
        if "ceiling" in limit and not value <= float(limit["ceiling"]):
            yield f"{name}: {_number(value)} {unit} is above the ceiling {limit['ceiling']:,}"


def write(path: Path, figures: Figures, floors: Floors, *, merge: bool) -> None:
    """Keep the figures; with `merge` those of the other benches stay."""
    kept = json.loads(path.read_text(encoding="utf-8")) if merge and path.exists() else {}
    for name, (value, unit) in figures.items():
        limits = {
            word: number for word, number in floors.get(name, {}).items() if word in ("floor", "ceiling")
        }
        kept[name] = {"value": value, "unit": unit, **limits}
    text = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
