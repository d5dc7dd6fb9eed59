"""How do the modules that every page passes through become machine code?

In:    their Python source, as it is: mypyc compiles it, by the types it has anyway; and the little C we have.
Out:   a compiled twin beside each of them, which Python prefers; `make wheel` packs them.
Never: leaves anything in the source tree: a twin there would outlive its source. Packs anything into what is
       installed as editable.

Which modules, and what it is worth: docs/decisions/0010-compiled-core.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # we are the compiler, in a process of its own
    BuildHookInterface = object

#: What cannot be imported while a wheel is built has no types; what it gives is then looked at as it comes.
_MYPY = ("--ignore-missing-imports", "--follow-imports=normal", "--no-warn-unused-configs")
_OPTIMIZED = "3"
#: GCC then sees all modules as one program, whose parts call each other without a look-up: 4 to 7 % of a
#: crawl.
_AS_ONE = "-flto=auto -fvisibility=hidden -fno-semantic-interposition -fno-plt"
_LINKED_AS_ONE = f"-flto=auto -O{_OPTIMIZED} -Wl,-Bsymbolic"


class CompiledCore(BuildHookInterface):  # type: ignore[misc]  # hatchling ships its types, if it is there
    """Hatchling's way into the making of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the core that `scripts/core.py` made into the wheel."""
        if version == "editable":
            return
        core = Path(os.environ.get("JORO_CORE", ""))
        twins = list(core.rglob("*.so")) if core.name else []
        if not twins:
            raise RuntimeError(
                "JORO_CORE names no compiled core; use make wheel, or pip install . without one"
            )
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for twin in twins:
            build_data["force_include"][str(twin)] = str(twin.relative_to(core))


def compile_here(modules: list[str]) -> None:
    """Compile modules of the package in this folder; their twins lie beside them afterwards."""
    from mypyc.build import mypycify
    from setuptools import Extension, setup

    choose_flags(os.environ)
    ours = [name for name in modules if name.endswith(".c")]
    python = [name for name in modules if name not in ours]
    extensions = mypycify([*_MYPY, *python], opt_level=_OPTIMIZED, debug_level="0", multi_file=True)
    extensions += [Extension(name[:-2].replace("/", "."), [name]) for name in ours]
    setup(
        name="joro-core",
        packages=[],
        py_modules=[],
        ext_modules=extensions,
        script_args=["--quiet", "build_ext", "--inplace", f"-j{os.cpu_count() or 1}"],
    )


def choose_flags(environment: MutableMapping[str, str]) -> None:
    """What the compiler is told; whoever has flags of their own knows better."""
    if "CFLAGS" in environment:
        return
    environment["CFLAGS"] = "-g0"
    compiler = (environment.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    about = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    if "Free Software Foundation" in about and sys.platform == "linux":
        learned = _profile_flags(environment)
        environment["CFLAGS"] += f" {_AS_ONE}{learned}"
        environment["LDFLAGS"] = f"{environment.get('LDFLAGS', '')} {_LINKED_AS_ONE}{learned}".lstrip()


def _profile_flags(environment: Mapping[str, str]) -> str:
    """For a core that counts what happens, or one made by such counts: 3 to 8 % of a crawl."""
    if folder := environment.get("JORO_PROFILE_MAKE"):
        return f" -fprofile-generate={folder}"
    folder = environment.get("JORO_PROFILE_USE")
    if not folder or not Path(folder).exists():
        return ""
    # What was never run is compiled as ever, not for size.
    return f" -fprofile-use={folder} -fprofile-partial-training -Wno-missing-profile"


if __name__ == "__main__":
    compile_here(sys.argv[1:])
