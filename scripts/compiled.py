"""How do the modules that every page passes through become machine code?

In:    their Python source, as it is: mypyc compiles it, by the types it has anyway.
Out:   a wheel with a compiled twin beside each of them, which Python prefers. Only when asked for:
       HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 pip install .
Never: leaves anything in the source tree: a twin there would outlive its source. Compiles what is installed
       as editable.

Which modules, and what it is worth: docs/decisions/0010-compiled-core.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import MutableMapping
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
        """Compile, and put what comes of it into the wheel."""
        if version == "editable":
            return
        modules = [str(Path(name)) for name in self.config["modules"]]
        self._folder = tempfile.TemporaryDirectory(prefix="joro-core-")
        place = Path(self._folder.name) / "src"
        shutil.copytree(Path(self.root) / "src", place, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        run = subprocess.run([sys.executable, str(Path(__file__).resolve()), *modules], cwd=place)
        if run.returncode:
            raise RuntimeError(
                "the compiled core cannot be built (see above); install a C compiler and Python's headers, "
                "or leave HATCH_BUILD_HOOK_ENABLE_CUSTOM away: joro works without, only slower"
            )
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for twin in place.rglob("*.so"):
            if "build" not in twin.relative_to(place).parts:
                build_data["force_include"][str(twin)] = str(twin.relative_to(place))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel is made."""
        if version != "editable":
            self._folder.cleanup()


def compile_here(modules: list[str]) -> None:
    """Compile modules of the package in this folder; their twins lie beside them afterwards."""
    from mypyc.build import mypycify
    from setuptools import setup

    choose_flags(os.environ)
    extensions = mypycify([*_MYPY, *modules], opt_level=_OPTIMIZED, debug_level="0", multi_file=True)
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
        environment["CFLAGS"] += f" {_AS_ONE}"
        environment["LDFLAGS"] = f"{environment.get('LDFLAGS', '')} {_LINKED_AS_ONE}".lstrip()


if __name__ == "__main__":
    compile_here(sys.argv[1:])
