"""What are the hosts called?

In:    a host's number, language and generator.
Out:   a name under a top-level domain that fits the language.
Never: a name that exists outside: every registrable name carries the mark `-tw` and the host's number.
"""

from __future__ import annotations

from random import Random

#: Top-level domains by language, with weights; what is not listed gets `OTHER_DOMAINS`.
DOMAINS: dict[str, dict[str, int]] = {
    "ja": {
        "jp": 36,
        "co.jp": 18,
        "com": 20,
        "ne.jp": 8,
        "or.jp": 5,
        "ac.jp": 3,
        "net": 6,
        "org": 2,
        "info": 2,
    },
    "en": {"com": 52, "org": 14, "net": 9, "co.uk": 9, "edu": 5, "com.au": 4, "ca": 4, "io": 3},
    "de": {"de": 70, "com": 12, "at": 8, "ch": 6, "org": 4},
    "fr": {"fr": 62, "com": 18, "be": 8, "ca": 6, "org": 6},
    "es": {"es": 50, "com": 20, "com.mx": 12, "com.ar": 12, "org": 6},
    "it": {"it": 80, "com": 16, "org": 4},
    "pt": {"com.br": 60, "pt": 30, "com": 10},
    "ru": {"ru": 80, "com": 12, "net": 8},
    "zh": {"cn": 50, "com.cn": 18, "com": 20, "tw": 12},
    "ko": {"kr": 40, "co.kr": 40, "com": 20},
}
OTHER_DOMAINS = {"com": 60, "org": 20, "net": 20}

_ROMAJI = (
    "hana saku yama kawa mori umi sora kaze hoshi tsuki haru natsu aki fuyu matsu take ume sakura kita "
    "minami higashi nishi naka ishi ta hara shima mura machi eki mise ya do kai sha bi ko ro ka ne"
).split()
_WORDS = (
    "green river stone bright north south open daily home garden market cloud paper silver swift little "
    "grand blue field wood hill lake bridge light point craft works press shop book trail song city park"
).split()
_KANA = "はな さくら やま かわ もり うみ そら かぜ ほし つき はる なつ あき ふゆ まつ たけ".split()

#: One host in a hundred of a Japanese web writes its name in kana.
IDN_SHARE = 0.01


def domain(rng: Random, language: str) -> str:
    """The top-level (or second-level) domain of one host."""
    domains = DOMAINS.get(language, OTHER_DOMAINS)
    return rng.choices(list(domains), weights=list(domains.values()))[0]


def name(rng: Random, language: str, number: int) -> str:
    """The ASCII name of host `number`; IDN names in their `xn--` form."""
    suffix = domain(rng, language)
    if language == "ja" and rng.random() < IDN_SHARE:
        label = f"{rng.choice(_KANA)}{rng.choice(_KANA)}-tw{number}".encode("idna").decode("ascii")
        return f"{label}.{suffix}"
    words = _ROMAJI if language == "ja" else _WORDS
    stem = "".join(rng.choice(words) for _ in range(rng.choice((2, 2, 2, 3))))
    prefix = rng.choice(("www.", "www.", "www.", "", "", "blog.", "shop.", "m."))
    return f"{prefix}{stem}-tw{number}.{suffix}"


def tenant(rng: Random, landlord: str, number: int) -> str:
    """The name of a host that lives on another's domain, as weblogs and shops do."""
    base = landlord.split(".", 1)[1] if landlord.startswith(("www.", "blog.", "shop.", "m.")) else landlord
    return f"{rng.choice(_ROMAJI)}{rng.choice(_ROMAJI)}-{number}.{base}"
