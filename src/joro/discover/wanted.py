"""Is a page, now that we have it, one to keep?

In:    a page's URL, how far it is from a seed, its language and text.
Out:   why it is not kept ("" = it is), and whether its links are followed.
Never: sees the page itself; what a page asks of robots is in its directives.
Paper: S3 2 (footnote): all pages of .jp, elsewhere only Japanese ones; S4 4.2: a filter for unwanted pages.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from joro.config import Scope
from joro.discover.scope import domains_in
from joro.errors import ConfigError
from joro.url import host_of

#: Scripts that separate words lie below: from here on (Han, kana, hangul) a word may stand anywhere.
_FIRST_WIDE = "\u2e80"
_TAG = re.compile(r"[a-z]{2,3}")
#: Countries that people write for their languages, and that are the code of no other one.
_COUNTRIES = {"jp": "ja", "cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "ua": "uk"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a page."""

    refusal: str = ""  # for people: why it is not kept
    follow: bool = True

    @property
    def keep(self) -> bool:
        """Does the page enter the collection?"""
        return not self.refusal


KEEP = Verdict()


class Wanted:
    """The operator's taste. Language and text need only be worked out when `needs_…` says so."""

    def __init__(self, settings: Scope) -> None:
        under = domains_in(settings.everything_under, "scope.everything_under")
        self._under = frozenset(under)
        self._suffixes = tuple(f".{domain}" for domain in under)
        self._languages = frozenset(map(_language, settings.languages_elsewhere))
        self._words = tuple(dict.fromkeys(filter(None, map(_plain, settings.unwanted_words))))
        self._limit = settings.unwanted_limit

    @property
    def needs_language(self) -> bool:
        """Does the language of a page matter?"""
        return bool(self._languages)

    @property
    def needs_text(self) -> bool:
        """Does the text of a page matter?"""
        return bool(self._words)

    def verdict(self, url: str, hops: int, language: str = "", text: str = "") -> Verdict:
        """Links of a page that is not kept are not followed, except a seed's: someone chose it.

        A page of unknown language is kept: it has hardly any text, and losing the way through it costs more.
        """
        refusal = self._by_language(url, language) or self._by_words(text)
        return Verdict(refusal, follow=hops == 0) if refusal else KEEP

    def _by_language(self, url: str, language: str) -> str:
        if not language or not self._languages or _primary(language) in self._languages:
            return ""
        host = host_of(url)
        inside = host in self._under or host.endswith(self._suffixes)
        return "" if inside else f"language {language}"

    def _by_words(self, text: str) -> str:
        if not self._words or not text:
            return ""
        plain = _plain(text)
        found = [word for word in self._words if word in plain and _stands_alone(word, plain)]
        return f"unwanted words: {', '.join(found)}" if len(found) >= self._limit else ""


def _language(text: str) -> str:
    """The language an operator means: a mistyped one would let no page in."""
    language = _primary(text.strip())
    if not _TAG.fullmatch(language) or language in _COUNTRIES:
        hint = f"did you mean {_COUNTRIES[language]}?" if language in _COUNTRIES else 'write it like "ja"'
        raise ConfigError(f"scope.languages_elsewhere: {text!r} is no language", remedy=hint)
    return language


def _primary(language: str) -> str:
    return language.lower().partition("-")[0]


def _plain(text: str) -> str:
    """One spelling for full and half width, upper and lower case."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _stands_alone(word: str, text: str) -> bool:
    """Is the word somewhere not a mere part of a longer one (Essex)?"""
    position = text.find(word)
    while position >= 0:
        end = position + len(word)
        if not (_joined(text[position - 1 : position], word[0]) or _joined(word[-1], text[end : end + 1])):
            return True
        position = text.find(word, position + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Do two neighbours belong to one word? Letters and digits of scripts that write spaces do."""
    return left.isalnum() and right.isalnum() and left < _FIRST_WIDE and right < _FIRST_WIDE
