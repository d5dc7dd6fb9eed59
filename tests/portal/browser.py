"""A real Chromium, driven over its debugging pipe: no driver, no package, no port that anyone could find.

Every wish of the DevTools protocol is a line of JSON that ends with a zero byte (fd 3 in, fd 4 out).
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: scripts/system-packages.sh installs it"
)

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-default-apps --disable-extensions --mute-audio "
    "--disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
).split()
PATIENCE_S = 30.0


class Browser:
    """One window."""

    def __init__(self, wishes: int, answers: int) -> None:
        self._wishes, self._answers = wishes, answers
        self._unread = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One wish, and its answer."""
        self._number += 1
        wish: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            wish["sessionId"] = self._session
        os.write(self._wishes, json.dumps(wish).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, (method, answer)
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        deadline = time.monotonic() + patience_s
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            self._unread += os.read(self._answers, 1 << 20)
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def open(self, address: str) -> None:
        """Go there, and wait until everything is loaded."""
        self.events.clear()
        answer = self.ask("Page.navigate", url=address)
        assert not answer.get("errorText"), answer
        self.wait_for("Page.loadEventFired")

    def wait_for(self, event: str) -> None:
        while not any(each["method"] == event for each in self.events):
            self.events.append(self._next())

    def settle(self, quiet_s: float = 1.0) -> None:
        """Wait until nothing has been loading for a while: what a page does late, it has done then."""
        quiet_since = time.monotonic()
        end = quiet_since + PATIENCE_S
        while time.monotonic() - quiet_since < quiet_s and time.monotonic() < end:
            self.ask("Runtime.evaluate", expression="1")
            if any(each["method"] == "Network.requestWillBeSent" for each in self.events):
                quiet_since = time.monotonic()
            self.events.clear()
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def follow(self, selector: str) -> None:
        """Click on an element as a person does, and wait for the page behind it."""
        self.events.clear()
        place = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView();"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.click(*place)
        self.wait_for("Page.loadEventFired")

    def click(self, x: float, y: float) -> None:
        self.ask("Page.captureScreenshot")  # nobody clicks, and no frame is hit, before it is painted
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """One key: `Tab`, `Enter`."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            extra = text if kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra)

    def look(self, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Choose the size of the window and the colours people prefer."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def frame_text(self) -> str:
        """What stands in the frames of the page; a sandboxed one has a process, and a session, of its own."""
        found = [_text(self.ask("DOM.getDocument", depth=-1, pierce=True)["root"], inside=False)]
        own = self._session
        targets = self.ask("Target.getTargets")["targetInfos"]
        for target in (each["targetId"] for each in targets if each["type"] == "iframe"):
            frame = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            try:
                self._session = frame
                found.append(_text(self.ask("DOM.getDocument", depth=-1, pierce=True)["root"], inside=True))
            finally:
                self._session = own
            self.ask("Target.detachFromTarget", sessionId=frame)
        return "".join(found)

    def picture(self, path: Path) -> None:
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=False)
        path.write_bytes(base64.b64decode(shot["data"]))


def _text(node: dict[str, Any], *, inside: bool) -> str:
    """The text of a document, of all of it or only inside its frames."""
    text = node["nodeValue"] if inside and node["nodeName"] == "#text" else ""
    text += "".join(_text(child, inside=inside) for child in node.get("children", ()))
    return text + (_text(node["contentDocument"], inside=True) if "contentDocument" in node else "")


@contextmanager
def browsing(profile: Path, *flags: str) -> Iterator[Browser]:
    """A browser that has never been anywhere."""
    assert CHROMIUM is not None
    wishes_out, wishes = os.pipe()
    answers, answers_in = os.pipe()

    def pipes() -> None:
        # Numbers 3 and 4 may be among those we have: first out of the way, then into place.
        high_out, high_in = os.dup(wishes_out), os.dup(answers_in)
        os.dup2(high_out, 3)
        os.dup2(high_in, 4)

    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *flags, "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=pipes,
    )
    os.close(wishes_out)
    os.close(answers_in)
    try:
        yield Browser(wishes, answers)
    finally:
        os.close(wishes)
        os.close(answers)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
