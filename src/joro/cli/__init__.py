"""What can be typed? Finds the subcommand, runs it, and turns every mistake into one clear line.

Subcommands are imported only when called, so that `joro --help` costs milliseconds; their one-line
summaries therefore stand here.
"""

from __future__ import annotations

import errno
import gc
import importlib
import importlib.util
import os
import sys
from typing import NoReturn

import click

from joro import __version__
from joro.errors import JoroError

#: name → (module of this folder, summary), in the order a newcomer would use them.
COMMANDS = {
    "init": ("init", "Make a new collection."),
    "run": ("run", "Collect, index and serve: everything together."),
    "crawl": ("crawl", "Collect pages, starting at the seeds given."),
    "cooperate": ("cooperate", "Collect for a manager, together with other robots."),
    "pause": ("pausing", "Let all robots of a collection stand still."),
    "resume": ("pausing", "Let robots that were paused go on."),
    "refresh": ("refresh", "Visit known pages again, to keep them fresh."),
    "index": ("index", "Make collected pages searchable."),
    "search": ("search", "Search the collected pages."),
    "stats": ("stats", "Show what the collection holds."),
    "explain": ("explain", "Tell all there is to know about one URL."),
    "retry": ("retry", "Let pages that were visited wait once more."),
    "portal": ("portal", "Serve the search page."),
    "archive": ("archive", "Look after the archived captures."),
    "tables": ("tables", "Make tables of captures and links, for SQL and analyses."),
    "sql": ("sql", "Ask the tables a question in SQL."),
    "import": ("take_in", "Take captures of others in: WARC, WACZ, CDXJ."),
    "export": ("export", "Hand a part of the collection on: WACZ, WARC, Parquet, directories."),
    "takedown": ("takedown", "Hide, erase, embargo and exclude pages on request."),
    "owner": ("owner", "Let owners of sites prove it, and order for themselves."),
    "redistribute": ("redistribute", "Hand captures to registered parties, and receive them."),
    "manager": ("manager", "Share servers out among robots on several machines."),
    "breaker": ("breaker", "Stop a robot that asks too much: an access-limiting proxy."),
    "update": ("update", "Let a robot become a newer one by itself."),
    "release": ("release", "Make signed releases that robots update themselves to."),
    "self-check": ("self_check", "See whether this version works on this machine."),
    "testweb": ("testweb", "Serve a synthetic internet on loopback."),
    "scale-report": ("scale_report", "Measure how speed grows with units and processes."),
    "cooperate-report": ("cooperate_report", "Compare ways to share servers among robots."),
    "simulate": ("simulate", "Carry out a schedule in simulated time."),
}

_ROOM = "make room or check the permissions"
_PATH = "check the path"
#: errno → remedy: what the machine refuses though no code of ours is wrong. All else is a mistake of ours.
REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EACCES: _ROOM,
    errno.EROFS: _ROOM,
    errno.ENOTDIR: f"{_PATH}: a part of it is a file",
    errno.EISDIR: f"{_PATH}: a file is meant",
    errno.ENAMETOOLONG: _PATH,
    errno.ELOOP: f"{_PATH}: links in it lead in a circle",
}


class LazyGroup(click.Group):
    """A group that knows its subcommands by name and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        gc.disable()  # of what is loaded now nothing is garbage: a twentieth of the time
        try:
            module = importlib.import_module(f"joro.cli.{COMMANDS[cmd_name][0]}")
        finally:
            gc.enable()
        command = getattr(module, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> None:
        """What a command returns is for nobody: all that `main` gives back is the code of an Exit."""
        super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _core() -> str:
    """Are we compiled (docs/decisions/0010-compiled-core.md)? Found out without loading anything."""
    spec = importlib.util.find_spec("joro.url")
    is_source = spec is None or spec.origin is None or spec.origin.endswith((".py", ".pyc"))
    return "pure Python" if is_source else "compiled core"


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="joro", message=f"%(prog)s, version %(version)s ({_core()})")
def joro() -> None:
    """Collect the web, keep it fresh, archive every version, search it.

    \b
    joro init my-web                        make a collection
    joro crawl -C my-web https://example.org/
    joro search -C my-web "a word"
    joro run -C my-web https://example.org/    all of it, with the portal
    """


def main() -> None:
    """Run the command line; a mistake is one line on stderr and an exit code, never a traceback."""
    # We count in columns and hardly ever multiply matrices; and a thread that NumPy would start for that
    # on every core waits so busily that a command takes a third more CPU time to start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Not standalone, click does not raise the Exit of a command but returns its code.
        exit_code = joro.main(standalone_mode=False) or 0
    except click.Abort:
        sys.exit(130)
    except click.ClickException as mistake:
        mistake.show()
        sys.exit(mistake.exit_code)
    except JoroError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # `joro search … | head`: whoever read us has seen enough
        sys.exit(0)
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        place = error.filename or "the disk"
        _fail(f"{place}: {error.strerror}; {REMEDIES[error.errno]}", 1)
    _leave(exit_code)


def _leave(exit_code: int) -> None:
    """End at once where we served somebody: the server's threads may still let go of objects of ours, and
    before Python 3.14 one that comes for them while the interpreter ends aborts the process (PyO3 #4874).
    """
    if "granian" in sys.modules and sys.version_info < (3, 14):
        import logging  # 10 ms, which other commands need not pay

        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_code)
    sys.exit(exit_code)


def _fail(message: str, exit_code: int) -> NoReturn:
    click.echo(f"joro: {message}", err=True)
    sys.exit(exit_code)
