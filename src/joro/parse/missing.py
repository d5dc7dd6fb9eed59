"""Does a page say that there is no such page, though its server said 200?

In:    title and visible text of a page; or where a redirect leads.
Out:   yes or no, as a mark: nothing is dropped from the archive for it.
Never: asks the server for a page that cannot exist.

Such a page is short and says so in its title, or in one of its first lines, which then speaks of a page. A
long page that speaks of "not found" is about something, and so is a short one that does not speak of itself.
"""

from __future__ import annotations

import re

from joro.model import Response
from joro.url import join, path_of, server_of

#: Longer texts have something else to say. Menus count too, so it is not all too short.
TEXT_LIMIT_CHARS = 1_500
#: What says that a page is missing stands at the beginning of such a page.
OPENING_CHARS = 600

_MISSING = re.compile(
    r"^404\b|\b(?:error|status|code|http)[ :-]*404\b|\b404[ :-]*(?:error|page|file|fehler|not)\b"
    r"|\b(?:could not|cannot) be found\b|\bnot found\b|\bdo(?:es)?(?: not|n't) exist"
    r"|\bno longer (?:exists?|available|here)|\b(?:page|file|document) (?:is )?not available"
    r"|\bthere is no \S+ (?:here|on this)|\bno such (?:page|file|document|article)|\bnothing (?:was )?found\b"
    r"|見つかりません|見当たりません|存在しません|ページはありません|削除され(?:た|ました)|移動または削除"
    r"|nicht gefunden|existiert nicht|nicht mehr (?:vorhanden|verfügbar)"
    r"|introuvable|n['’]existe (?:pas|plus)|pas été trouvée?"
    r"|no (?:se (?:ha )?encontr\w+|existe)|página no encontrada|non (?:è stata )?trovat[ao]|non esiste"
    r"|não (?:foi )?encontrad[ao]|não existe|niet gevonden|bestaat niet"
    r"|не найден[ао]?|не существует|找不到|不存在|未找到|찾을 수 없|존재하지 않",
    re.IGNORECASE,
)
#: What is said to be missing, or its path. "The treasure was not found" stands in stories.
_PAGE = re.compile(
    r"\b(?:pages?|files?|documents?|articles?|url|address|content|requested|looking for)\b"
    r"|(?:^|\s)/[\w.]+/?|ページ|ファイル|記事|文書|url|アドレス|コンテンツ|お探し|\b(?:seite|datei|dokument|inhalt|artikel)\b"
    r"|\b(?:page|fichier|adresse|contenu)\b|\b(?:página|pagina|archivo|arquivo|documento|contenido|conteúdo)\b"
    r"|\b(?:bestand|inhoud)\b|страниц|файл|документ|页面|网页|文件|頁面|網頁|페이지|문서",
    re.IGNORECASE,
)
_HOME = re.compile(r"/(?:index|home|default|main|top)?(?:\.\w+)?$", re.IGNORECASE)


def is_soft_404(title: str, text: str) -> bool:
    """Is this page an error in the dress of a page?"""
    if len(text) > TEXT_LIMIT_CHARS:
        return False
    return _MISSING.search(title) is not None or any(
        _MISSING.search(line) and _PAGE.search(line) for line in text[:OPENING_CHARS].split("\n")
    )


def target_of(url: str, response: Response) -> str:
    """Where a redirect leads; "" for any other answer."""
    location = response.headers.get("location", "") if 300 <= response.status < 400 else ""
    return join(url, location) or "" if location else ""


def is_sent_home(url: str, target: str) -> bool:
    """Does a redirect lead from somewhere in a site to its front page, as if nothing had been there?"""
    if not target:
        return False
    home = server_of(target).replace("//www.", "//") == server_of(url).replace("//www.", "//")
    return home and path_of(target) == "/" and _HOME.fullmatch(path_of(url)) is None
