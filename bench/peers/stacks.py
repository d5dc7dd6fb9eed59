"""Which parts of a program took the time, told from samples of its stack?

In:    folded stacks, as py-spy writes them: frames from the outermost, separated by `;`, a blank, a count.
Out:   tables: functions of ours with all they called; Python functions with the C they called; C libraries.
Never: runs anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

#: A Python frame is `name (path/file.py:12)`, one in C `name (library.so)`.
_FRAME = re.compile(r"(?P<name>.+) \((?P<file>[^()]*?)(?::\d+)?\)")
#: Whoever is here waits; the sampler takes some for busy.
_WAITS = ("epoll_pwait", "epoll_wait", "_queue_SimpleQueue_get", "__poll", "sem_clockwait")
_NAMELESS = re.compile(r" 0x[0-9a-f]+")
_INTERPRETER = ("libpython", "python3", "object.h", "pycore", "ceval", "call.c", "dictobject.h")


def report(text: str, pages: int) -> str:
    """The tables; shares of all samples, so that they do not depend on how fast the sampled machine was."""
    stacks = list(folded(text))
    total = sum(count for _, count in stacks)
    parts = [f"{total:,} samples over {pages:,} pages"]
    parts += _rows("with what they call", inclusive(stacks, within="joro/"), total, 40)
    parts += _rows("Python functions with only the C they call", in_python(stacks), total, 40)
    parts += _rows("C functions, what they call included", in_c(stacks), total, 60)
    return "\n".join(parts)


def folded(text: str) -> Iterator[tuple[list[str], int]]:
    """Stacks and how often each was seen, without those that only waited."""
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        if frames and not any(wait in frames for wait in _WAITS):
            yield [short(frame) for frame in frames.split(";")], int(count)


def short(frame: str) -> str:
    """`learn (src/joro/robot.py:12)` as `joro/robot.py learn`."""
    match = _FRAME.fullmatch(frame)
    if match is None:
        return frame
    file = match["file"].replace("\\", "/")
    for start in ("joro/", "site-packages/"):
        if file.startswith(start) or f"/{start}" in file:
            file = (start if start == "joro/" else "") + file.rpartition(start)[2]
            break
    else:
        file = file.rpartition("/")[2]
    return f"{file} {match['name']}"


def inclusive(stacks: list[tuple[list[str], int]], *, within: str) -> Counter[str]:
    """Samples in which a function of `within` was on the stack, however often."""
    found: Counter[str] = Counter()
    for frames, count in stacks:
        for frame in {frame for frame in frames if frame.startswith(within)}:
            found[frame] += count
    return found


def in_python(stacks: list[tuple[list[str], int]]) -> Counter[str]:
    """Samples in which a Python function was the innermost one."""
    found: Counter[str] = Counter()
    for frames, count in stacks:
        found[next((frame for frame in reversed(frames) if _is_python(frame)), "no Python")] += count
    return found


def in_c(stacks: list[tuple[list[str], int]]) -> Counter[str]:
    """Samples in which a C function was on the stack; those without a name count for their library.

    The interpreter's own are left out, except for its garbage collector.
    """
    found: Counter[str] = Counter()
    for frames, count in stacks:
        native = {_NAMELESS.sub("", frame) for frame in frames if not _is_python(frame)}
        for frame in native:
            if "gc_collect_main" in frame or not frame.startswith(_INTERPRETER):
                found[frame] += count
    return found


def _is_python(frame: str) -> bool:
    """With several processes the sampler puts a frame for each at the outer end."""
    return ".py " in frame or frame.startswith(("<", "process "))


def _rows(title: str, counts: Counter[str], total: int, most: int) -> Iterator[str]:
    yield f"\n{title}:"
    for name, count in counts.most_common(most):
        yield f"{count / total:7.1%}  {name}"
