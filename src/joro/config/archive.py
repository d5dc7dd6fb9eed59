"""How is the archive written?

In:    nothing.
Out:   the section `[archive]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import DAY_S, setting


@dataclass(frozen=True)
class Archive:
    """How the archive is written."""

    warc_limit_bytes: int = setting(1_000_000_000, "a WARC file is closed at this size", least=1_000)
    commit_every_s: float = setting(
        1.0, "at most this much work is done again after a crash", least=0.01, most=DAY_S
    )
    metadata: bool = setting(
        False, "write a metadata record beside every page: its links, its charset, links from the seed"
    )
    tdmrep: bool = setting(
        False, "ask every server once for /.well-known/tdmrep.json, where it may reserve text and data mining"
    )
    url: str = setting(
        "",
        "`joro archive upload` copies closed WARCs there: s3://bucket/prefix, or a directory; empty: nowhere",
    )
