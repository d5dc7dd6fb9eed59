"""What do all pages of one host have in common?

In:    a host.
Out:   its `Look`: site name, header, navigation, style and footer, ready as text.
Never: depends on a page or on time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from joro.testweb.chance import Stream, source
from joro.testweb.paths import path
from joro.testweb.plan import Host
from joro.testweb.texts import Texts

#: Words of the frame, by language: navigation, date, advertisement, contact, rights.
FRAME: dict[str, tuple[str, ...]] = {
    "ja": (
        "ホーム",
        "更新日",
        "広告",
        "お問い合わせ",
        "無断転載を禁じます",
        "関連ページ",
        "前のページへ戻る",
    ),
    "en": ("Home", "Updated", "Advertisement", "Contact", "All rights reserved", "Related pages", "Back"),
}

STYLES = (
    "body{margin:0;font:16px/1.6 sans-serif;color:#222;background:#fff}",
    "#head{background:#246;color:#fff;padding:12px 20px}#nav li{display:inline;margin-right:1em}",
    "#main{max-width:44em;margin:0 auto;padding:1em}#side{float:right;width:14em;font-size:90%}",
    ".ad{border:1px solid #ccc;padding:8px;margin:1em 0;background:#fafae0}#foot{clear:both;color:#777}",
    "a{color:#06c;text-decoration:none}a:hover{text-decoration:underline}time{color:#888}",
)

SCRIPT = (
    "(function(){var d=document,l=d.getElementsByTagName('a');for(var i=0;i<l.length;i++){"
    "l[i].addEventListener('click',function(e){window.lastClick=this.href;});}"
    "window.pageViews=(window.pageViews||0)+1;})();"
)


@dataclass(frozen=True)
class Look:
    """The frame around every page of a host."""

    site: str  # its name for people
    words: tuple[str, ...]
    head: str  # style and script inside <head>
    header: str
    footer: str


class Looks:
    """Looks by host; the latest few thousand are kept."""

    def __init__(self, seed: int, texts: Texts) -> None:
        self._seed = seed
        self._texts = texts
        self.of = lru_cache(maxsize=5_000)(self._make)

    def _make(self, host: Host) -> Look:
        rng = source(self._seed, Stream.LOOK, host.number)
        prose = self._texts.prose(host.language)
        words = FRAME.get(host.language, FRAME["en"])
        site = f"{prose.title(rng, host.topic)} - {host.name}"
        styles = "\n".join(rng.sample(STYLES, rng.randint(3, len(STYLES))))
        script = f"<script>{SCRIPT}</script>" if rng.random() < 0.7 else ""
        header = f'<div id="head"><img src="/img/logo.gif" alt="{site}" width="120" height="40"> {site}</div>'
        footer = (
            f'<div id="foot"><p>&copy; 2026 {prose.name(rng)} ({host.name}). {words[4]}.</p>'
            f'<p><img src="/img/mark.gif" alt="" width="16" height="16"> {words[3]}: '
            f"webmaster@{host.name}</p></div>"
        )
        return Look(site, words, f"<style>{styles}</style>{script}", header, footer)


def relative(host: Host, place: int) -> str:
    """How a page of the host itself is linked where <base href="/"> stands."""
    return path(host, place)[1:] or "./"
