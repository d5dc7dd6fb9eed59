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
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORES = ROOT / ".core"
#: Besides every module: how it is compiled, and which of them are.
RECIPE = ("pyproject.toml", "scripts/compiled.py", "scripts/core.py")
#: Collected while a core learns what happens often: enough for every branch that matters, in ten seconds.
TRAINING_PAGES = 3_000
#: Lies in a core that was made by a profile: one without is slower, and looks the same.
TRAINED = "trained"


def fingerprint(root: Path = ROOT) -> str:
    """Of all that a core is made of: source, recipe, interpreter."""
    whole = hashlib.sha256(sys.version.encode())
    ours = [path for path in (root / "src").rglob("*.*") if path.suffix in (".py", ".c", ".h")]
    files = [*sorted(ours), *(root / name for name in RECIPE)]
    for path in files:
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
    profile = CORES / f"profile-{os.getpid()}"
    place = draft / "src"
    try:
        shutil.copytree(ROOT / "src", place, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        is_trained = _compile(place, "make", profile) and _train(place)
        if not is_trained:
            print("core: without a profile, a twentieth slower", file=sys.stderr)
        if not _compile(place, "use", profile):
            return False
        if is_trained:
            (place / TRAINED).touch()
        shutil.rmtree(place / "build", ignore_errors=True)
        for old in CORES.glob("[0-9a-f]" * 16):
            shutil.rmtree(old)
        place.rename(target)
        return True
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(profile, ignore_errors=True)


def _compile(place: Path, how: str, profile: Path) -> bool:
    """Compile what lies in `place` there, to make a profile or with the one that was made."""
    shutil.rmtree(place / "build", ignore_errors=True)
    for twin in place.rglob("*.so"):
        twin.unlink()
    recipe = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    settings = recipe["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    command = [
        sys.executable,
        str(ROOT / "scripts" / "compiled.py"),
        *settings["modules"],
        *settings["c-modules"],
    ]
    environment = {**os.environ, f"JORO_PROFILE_{how.upper()}": str(profile)}
    return subprocess.run(command, cwd=place, env=environment, stdout=sys.stderr).returncode == 0


def _train(place: Path) -> bool:
    """Let a core that counts collect the test web, so that the compiler learns what happens often."""
    from joro import config
    from joro.testweb.running import separate
    from joro.testweb.settings import Settings

    with separate(Settings(hosts=60, pages=TRAINING_PAGES)) as web, tempfile.TemporaryDirectory() as folder:
        tables = tomllib.loads(config.render(web.config))
        tables.setdefault("politeness", {})["interval_s"] = 0.0
        (Path(folder) / config.FILE_NAME).write_text(config.render(config.from_tables(tables)))
        command = [
            sys.executable,
            "-m",
            "joro",
            "crawl",
            "-C",
            folder,
            "--quiet",
            "--limit",
            str(TRAINING_PAGES),
        ]
        environment = {**os.environ, "PYTHONPATH": str(place)}
        return not subprocess.run([*command, *web.seeds], env=environment, stdout=sys.stderr).returncode


def main() -> None:
    """Print the folder."""
    target = CORES / fingerprint()
    reason = "" if target.exists() else why_not()
    if not reason and not target.exists():
        print("core: compiling (once for each state of the source; three minutes)", file=sys.stderr)
        CORES.mkdir(exist_ok=True)
        reason = "" if make(target) else "compiling failed, see above"
    if reason:
        print(f"core: pure Python, slower: {reason}", file=sys.stderr)
    print("" if reason else target)


if __name__ == "__main__":
    main()
