"""Which settings are there, and are the ones in `joro.toml` right?

In:    the text of a `joro.toml`.
Out:   one frozen tree of dataclasses, a section per part; each part receives only its own.
Never: read globally; silently ignores a key; guesses a value.

The dataclasses, a module per section or two, are the only list of settings: the loader (`reading`), the
file `joro init` writes (`writing`) and `docs/reference/configuration.md` are all made from them. A new
section is a module here, a field of `tree.Config` and a name below.
"""

from joro.config.archive import Archive
from joro.config.cooperate import Cooperate, Manager
from joro.config.declare import Form, Override, setting
from joro.config.fetch import Fetch
from joro.config.identity import Identity, Machine
from joro.config.listening import Breaker, Portal
from joro.config.politeness import Politeness
from joro.config.reading import from_tables, load, parse
from joro.config.refresh import Refresh
from joro.config.scope import Scope
from joro.config.servers import PerServer, servers_like
from joro.config.tree import FILE_NAME, Config, settings
from joro.config.update import Update
from joro.config.writing import render

__all__ = [
    "FILE_NAME",
    "Archive",
    "Breaker",
    "Config",
    "Cooperate",
    "Fetch",
    "Form",
    "Identity",
    "Machine",
    "Manager",
    "Override",
    "PerServer",
    "Politeness",
    "Portal",
    "Refresh",
    "Scope",
    "Update",
    "from_tables",
    "load",
    "parse",
    "render",
    "servers_like",
    "setting",
    "settings",
]
