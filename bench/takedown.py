"""How soon is a host gone from every view, once its order is given?

The scenario of tests/scenarios/test_takedown.py, portal and redistribution service running. Counted from the
end of `joro takedown add`: the portal's pages as they answer, one after the other, then the commands, each of
which takes most of its time to start.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.scenarios.stage import done, serve_web
from tests.scenarios.test_takedown import collected, one_page
from tests.scenarios.views import Shown, serving


def figures() -> dict[str, tuple[float, str]]:
    """Seconds until all pages of the portal show nothing, and for each command."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with serve_web(directory, "--hosts", 100, "--pages", 2000, "--roles", "normal") as web:
            collection = collected(web, directory)
            url, word, stamp = one_page(web, collection)
        with serving(collection) as (portal, service, token):
            page = Shown(collection, portal, service, token, url, word, (stamp, stamp))
            assert all(view() for view in page.views().values())
            done("takedown", "add", "-C", collection, "--host", url.split("/")[2])
            start = time.monotonic()
            assert not any(view() for view in page.views().values())
            seconds = {"takedown.portal_s": (time.monotonic() - start, "s")}
            for name, view in page.commands().items():
                start = time.monotonic()
                assert not view(), name
                seconds[f"takedown.{name.split()[-1]}_s"] = (time.monotonic() - start, "s")
            start = time.monotonic()
            done("takedown", "collect", "-C", collection)
            seconds["takedown.collect_s"] = (time.monotonic() - start, "s")
    return seconds
