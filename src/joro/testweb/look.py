"""What do all pages of one host have in common?

In:    a host.
Out:   its `Look`: site name, words of the frame, style, header, footer, and how it writes a link.
Never: depends on a page or on time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from html import escape
from random import Random

from joro.testweb.chance import Stream, source
from joro.testweb.plan import Host
from joro.testweb.texts import Texts


@dataclass(frozen=True)
class Words:
    """What the frame says, in one language."""

    updated: str
    advertisement: str
    contact: str
    rights: str
    related: str


WORDS = {
    "ja": Words("更新日", "広告", "お問い合わせ", "無断転載を禁じます。", "関連ページ"),
    "en": Words("Updated", "Advertisement", "Contact", "All rights reserved.", "Related pages"),
    "de": Words("Aktualisiert", "Anzeige", "Kontakt", "Alle Rechte vorbehalten.", "Verwandte Seiten"),
    "fr": Words("Mis à jour", "Publicité", "Contact", "Tous droits réservés.", "Pages liées"),
    "es": Words("Actualizado", "Publicidad", "Contacto", "Todos los derechos reservados.", "Páginas afines"),
    "it": Words("Aggiornato", "Pubblicità", "Contatti", "Tutti i diritti riservati.", "Pagine correlate"),
    "pt": Words("Atualizado", "Publicidade", "Contato", "Todos os direitos reservados.", "Páginas afins"),
    "nl": Words("Bijgewerkt", "Advertentie", "Contact", "Alle rechten voorbehouden.", "Verwante pagina's"),
    "ru": Words("Обновлено", "Реклама", "Контакты", "Все права защищены.", "Похожие страницы"),
    "zh": Words("更新时间", "广告", "联系我们", "版权所有。", "相关页面"),
    "ko": Words("수정일", "광고", "문의", "무단 전재를 금합니다.", "관련 페이지"),
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

#: Ways to write a link: address, more attributes, text.
ANCHORS = (
    '<a href="%s"%s>%s</a>',
    '<a href="%s"%s>%s</a>',
    "<a href='%s'%s>%s</a>",
    '<A HREF="%s"%s>%s</A>',
    '<a class="l"\n href="%s"%s>%s</a >',
)


@dataclass(frozen=True)
class Look:
    """The frame around every page of a host."""

    words: Words
    head: str  # style and script inside <head>
    header: str
    footer: str
    anchor: str


class Looks:
    """Looks by host; the latest few thousand are kept."""

    def __init__(self, seed: int, texts: Texts, *, plain: bool) -> None:
        self._seed = seed
        self._texts = texts
        self._plain = plain  # only counted links, written the common way
        self.of = lru_cache(maxsize=5_000)(self._make)

    def _make(self, host: Host) -> Look:
        rng = source(self._seed, Stream.LOOK, host.number)
        words = WORDS.get(host.language, WORDS["en"])
        site = escape(self._texts.title(rng, host))
        styles = "\n".join(rng.sample(STYLES, rng.randint(3, len(STYLES))))
        script = f"<script>{SCRIPT}</script>" if rng.random() < 0.7 else ""
        logo = f'<img src="/img/logo.gif" alt="{site}" width="120" height="40">'
        return Look(
            words=words,
            head=f'<link rel="stylesheet" href="/style.css">\n<style>{styles}</style>{script}\n',
            header=f'<div id="head">{logo} {site} - {host.name}</div>\n',
            footer=self._footer(rng, host, words),
            anchor=ANCHORS[0] if self._plain else rng.choice(ANCHORS),
        )

    def _footer(self, rng: Random, host: Host, words: Words) -> str:
        owner = escape(self._texts.name(rng, host))
        mail = f"webmaster@{host.name}"
        contact = (
            mail if self._plain else f'<a href="mailto:{mail}">{mail}</a> <a href="javascript:print()">*</a>'
        )
        return (
            f'<div id="foot"><p>&copy; 2026 {owner}. {words.rights}</p>\n'
            f'<p><img src="/img/mark.gif" alt=""> {words.contact}: {contact}</p></div>\n'
        )
