"""How would Crawlee for Python do the same crawl, by its fastest crawler that parses?

In:    a file of seeds; which of Crawlee's ways to take.
Out:   the pages Crawlee fetched, as a number; the test web's own log tells the truth.
Never: imported by us: it runs in the peers' own environment, where Joro is not.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from crawlee import ConcurrencySettings  # type: ignore[import-not-found]
from crawlee.crawlers import ParselCrawler  # type: ignore[import-not-found]
from crawlee.storage_clients import MemoryStorageClient  # type: ignore[import-not-found]


async def crawl(seeds: list[str], *, robots: bool, links: str, concurrency: int) -> int:
    """Follow every link of every page; Crawlee's queue drops the pages known already."""
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=concurrency, desired_concurrency=concurrency, max_concurrency=concurrency
        ),
        respect_robots_txt_file=robots,
        use_session_pool=False,
        retry_on_blocked=False,
        max_request_retries=0,
        configure_logging=False,
        statistics_log_format="inline",
        status_message_logging_interval=timedelta(hours=1),
    )

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def follow(context: Any) -> None:
        if links == "enqueue":
            await context.enqueue_links(strategy="all")
        else:
            await context.add_requests(_links(context))

    def _links(context: Any) -> list[str]:
        url = context.request.loaded_url or context.request.url
        return [urljoin(url, each) for each in context.selector.xpath("//a/@href").getall()]

    finished = await crawler.run(seeds)
    return int(finished.requests_finished)


def main() -> None:
    """Crawl, and say how many pages came."""
    parser = argparse.ArgumentParser(description="Crawl with Crawlee.")
    parser.add_argument("seeds", type=Path)
    parser.add_argument("--robots", action="store_true", help="obey robots.txt")
    parser.add_argument("--links", choices=("enqueue", "xpath"), default="xpath")
    parser.add_argument("--concurrency", type=int, default=50)
    wanted = parser.parse_args()
    logging.disable(logging.CRITICAL)
    seeds = wanted.seeds.read_text().split()
    print(asyncio.run(crawl(seeds, robots=wanted.robots, links=wanted.links, concurrency=wanted.concurrency)))


if __name__ == "__main__":
    main()
