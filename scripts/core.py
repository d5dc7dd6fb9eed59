"""Where is the compiled core of exactly this source?

In:    nothing: the source tree we lie in.
Out:   a folder for PYTHONPATH, on standard output, made when it is missing; an empty line, and the reason on
       standard error, where there is no C compiler.
Never: hands out a core of other source: its folder is named after all that went into it.

    PYTHONPATH=$(python -m scripts.core) python -m joro --version
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORES = ROOT / ".core"
#: Besides every module: how it is compiled, and which of them are.
RECIPE = ("pyproject.toml", "scripts/compiled.py")


def fingerprint(root: Path = ROOT) -> str:
    """Of all that a core is made of: source, recipe, interpreter."""
    whole = hashlib.sha256(sys.version.encode())
    for path in [*sorted((root / "src").rglob("*.py")), *(root / name for name in RECIPE)]:
        content = path.read_bytes()
        whole.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:16]


def why_not() -> str:
    """What is missing here to compile; "" if nothing is."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler}); on Debian and Ubuntu: apt-get install gcc"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python.h is missing; on Debian and Ubuntu: apt-get install python3-dev"
    return ""


def make(target: Path) -> bool:
    """Compile into a folder that appears only when it is whole; those of other source go."""
    draft = CORES / f"draft-{os.getpid()}"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "install", "--no-deps", "--target", str(draft), str(ROOT)]
    environment = {**os.environ, "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"}
    try:
        if subprocess.run(command, env=environment, stdout=sys.stderr).returncode:
            return False
        for old in CORES.glob("[0-9a-f]" * 16):
            shutil.rmtree(old)
        draft.rename(target)
        return True
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def main() -> None:
    """Print the folder."""
    target = CORES / fingerprint()
    reason = "" if target.exists() else why_not()
    if not reason and not target.exists():
        print("core: compiling (once for each state of the source; a minute or two)", file=sys.stderr)
        CORES.mkdir(exist_ok=True)
        reason = "" if make(target) else "compiling failed, see above"
    if reason:
        print(f"core: pure Python, slower: {reason}", file=sys.stderr)
    print("" if reason else target)


if __name__ == "__main__":
    main()
