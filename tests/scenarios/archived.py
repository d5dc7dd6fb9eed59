"""What an independent reader finds in a collection's archive."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


def responses(collection: Path) -> Counter[str]:
    """How often each URL was archived (robots.txt left out: it is read again when it has aged)."""
    found: Counter[str] = Counter()
    for warc in sorted((collection / "archive").glob("*.warc.gz")):
        with warc.open("rb") as file:
            for record in ArchiveIterator(file):
                url = record.rec_headers.get_header("WARC-Target-URI")
                if record.rec_type == "response" and not url.endswith("/robots.txt"):
                    found[url] += 1
                record.raw_stream.read()
    return found
