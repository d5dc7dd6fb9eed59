"""Wheels to release: tiny ones that do what a test needs, and real ones of this tree."""

import base64
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.conftest import ROOT

#: What a tiny joro does: it passes its self-check, notes every start in starts.txt, and runs for ever.
MAIN = """
import os, sys, time
from joro import __version__
if sys.argv[1] == "self-check":
    {check}
    print(f"joro {{__version__}} works here")
    sys.exit(0)
{begin}
with open(sys.argv[-1], "a") as file:
    file.write(__version__ + "\\n")
{work}
"""
FOR_EVER = "time.sleep(600)"


def tiny_wheel(
    folder: Path,
    version: str,
    *,
    check: str = "pass",
    begin: str = "",
    work: str = FOR_EVER,
    requires: tuple[str, ...] = (),
    python: str = ">=3.11",
    says: str = "",
) -> Path:
    """A joro of a few lines; `check` is what it does in its self-check, `begin` and `work` before and after
    it has noted its start."""
    files = {
        "joro/__init__.py": f'__version__ = "{says or version}"\n',
        "joro/__main__.py": MAIN.format(check=check, begin=begin, work=work),
        f"joro-{version}.dist-info/METADATA": "".join(
            f"{line}\n"
            for line in (
                "Metadata-Version: 2.1",
                "Name: joro",
                f"Version: {version}",
                f"Requires-Python: {python}",
                *(f"Requires-Dist: {each}" for each in requires),
            )
        ),
        f"joro-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    return packed(folder / f"joro-{version}-py3-none-any.whl", files)


def packed(path: Path, files: dict[str, str]) -> Path:
    """A wheel of these files, with the RECORD that pip wants."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = next(name for name in files if name.endswith("/METADATA")).replace("METADATA", "RECORD")
    lines = [f"{name},sha256={digest(text.encode())},{len(text.encode())}" for name, text in files.items()]
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")
    return path


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def real_wheel(folder: Path, version: str, **changed: str) -> Path:
    """A wheel of this tree under another version; `changed` files (cli__crawl=…) get lines at their end."""
    tree = folder / f"tree-{version}"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "joro", tree / "src" / "joro", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    (tree / "src" / "joro" / "__init__.py").write_text(f'"""Joro."""\n\n__version__ = "{version}"\n')
    for name, lines in changed.items():
        path = tree / "src" / "joro" / f"{name.replace('__', '/')}.py"
        path.write_text(path.read_text(encoding="utf-8") + lines, encoding="utf-8")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(words, cwd=tree, check=True, capture_output=True)
    return folder / "dist" / f"joro-{version}-py3-none-any.whl"
