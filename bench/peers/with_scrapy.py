"""How would Scrapy do the same crawl, tuned as its users tune it for speed?

In:    a file of seeds, and which of Scrapy's ways to take.
Out:   the pages Scrapy fetched, as a number; the test web's own log tells the truth.
Never: imported by us: it runs in the peers' own environment, where Joro is not.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy  # type: ignore[import-not-found]
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found]

_ASYNCIO = {"TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor"}
#: Event loops, by name.
LOOPS: dict[str, dict[str, Any]] = {
    "asyncio": _ASYNCIO,
    "uvloop": _ASYNCIO | {"ASYNCIO_EVENT_LOOP": "uvloop.Loop"},
    "epoll": {"TWISTED_REACTOR": "twisted.internet.epollreactor.EPollReactor"},
}

#: What everybody does first.
PLAIN: dict[str, Any] = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_DELAY": 0, "LOG_ENABLED": False}
#: The same, and off is what the crawl does not need. CONCURRENT_ITEMS alone saves a quarter of the CPU time:
#: it is the number of tasks started for the links of every page.
TUNED: dict[str, Any] = PLAIN | {
    "CONCURRENT_ITEMS": 1,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "AUTOTHROTTLE_ENABLED": False,
    "STATS_DUMP": False,
    "TELNETCONSOLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "AJAXCRAWL_ENABLED": False,
    "COMPRESSION_ENABLED": False,
    "REFERER_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
}


class Crawl(scrapy.Spider):  # type: ignore[misc]
    """Follows every link of every page."""

    name = "bench"

    def __init__(self, seeds: list[str], links: str, known: str) -> None:
        super().__init__()
        self._seeds = seeds
        self._extractor = LinkExtractor() if links == "extractor" else None
        self._known: set[str] | None = set(seeds) if known == "set" else None

    async def start(self) -> AsyncIterator[Any]:
        """Scrapy's name for the first requests."""
        for seed in self._seeds:
            yield scrapy.Request(seed)

    def parse(self, response: Any) -> Iterator[Any]:
        """Scrapy's name for what is done with a page."""
        for url in self._links(response):
            if self._known is not None:
                if url in self._known:
                    continue
                self._known.add(url)
            yield scrapy.Request(url)

    def _links(self, response: Any) -> Iterator[str]:
        if self._extractor is not None:
            return (link.url for link in self._extractor.extract_links(response))
        return (response.urljoin(reference) for reference in response.xpath("//a/@href").getall())


def main() -> None:
    """Crawl, and say how many pages came. The defaults are what was fastest."""
    parser = argparse.ArgumentParser(description="Crawl with Scrapy.")
    parser.add_argument("seeds", type=Path)
    parser.add_argument("--concurrency", type=int, default=400)
    parser.add_argument("--robots", action="store_true", help="obey robots.txt")
    parser.add_argument("--settings", choices=("best", "plain"), default="best")
    parser.add_argument("--links", choices=("extractor", "xpath"), default="xpath")
    parser.add_argument("--known", choices=("scrapy", "set"), default="scrapy", help="who drops known links")
    parser.add_argument("--loop", choices=tuple(LOOPS), default="asyncio")
    wanted = parser.parse_args()
    settings = (PLAIN if wanted.settings == "plain" else TUNED) | LOOPS[wanted.loop]
    settings |= {"ROBOTSTXT_OBEY": wanted.robots, "CONCURRENT_REQUESTS": wanted.concurrency}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Crawl)
    process.crawl(crawler, seeds=wanted.seeds.read_text().split(), links=wanted.links, known=wanted.known)
    process.start()
    print(crawler.stats.get_value("downloader/response_status_count/200"))


if __name__ == "__main__":
    main()
