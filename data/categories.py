"""How people sorted the nouns: JumanDIC's semantic categories (カテゴリ) and domains (ドメイン)."""

import re
from functools import cache

from sozo.data.jumandic import default_dictionary

CATEGORIES = (
    *("人", "組織・団体", "動物", "動物-部位", "植物", "植物-部位", "自然物", "色", "形・模様", "数量", "時間"),
    *("抽象物", "人工物-その他", "人工物-乗り物", "人工物-食べ物", "人工物-衣類", "人工物-金銭"),
    *("場所-その他", "場所-機能", "場所-施設", "場所-施設部位", "場所-自然"),
)
_LABEL = r':([^\s,"]+)'
_CATEGORY, _DOMAIN = re.compile("カテゴリ" + _LABEL), re.compile("ドメイン" + _LABEL)
_NO_DOMAIN = "無し"


@cache
def categories(word: str) -> frozenset[str]:
    """Categories of all nouns that are written like `word`, of the 22 `CATEGORIES`; empty if the dictionary has none.

    Names, numerals and entries from Wikipedia have none, nor have words that are not in the dictionary as a whole.

    >>> sorted(categories("林檎")), categories("富士山")
    (['人工物-食べ物', '植物'], frozenset())
    """
    return _labels(_CATEGORY, word)


@cache
def domains(word: str) -> frozenset[str]:
    """Domains (教育・学習, スポーツ, ..., 12 in all) of all nouns that are written like `word`; most have none.

    >>> sorted(domains("机"))
    ['ビジネス', '教育・学習']
    """
    return _labels(_DOMAIN, word) - {_NO_DOMAIN}


def _labels(label: re.Pattern[str], word: str) -> frozenset[str]:
    features = (entry.feature for entry in default_dictionary().lookup(word))
    matches = (label.search(feature) for feature in features if feature.startswith("名詞,"))
    return frozenset(name for match in matches if match for name in match[1].split(";"))
