"""JumanDIC as MeCab compiled it (PyPI package jumandic), and the nouns of the paper's random baseline in it.

MeCab's `sys.dic` is a header of ten 32-bit integers and a charset name, a double array (base and check, two int32 a
unit), 16-byte tokens and NUL-terminated features. `matrix.bin` holds the connection costs. Both are mapped, not copied.
"""

import mmap
import re
import struct
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sozo.data.cache import kept
from sozo.data.errors import UserError, require
from sozo.data.extras import install_command

_MAGIC = 0xEF718F77
_HEADER = 72
_TOKEN = np.dtype(
    [
        ("left", "<u2"),
        ("right", "<u2"),
        ("pos", "<u2"),
        ("cost", "<i2"),
        ("feature", "<u4"),
        ("compound", "<u4"),
    ]
)
_NOUN = re.compile("名詞,(?:普通名詞|サ変名詞|時相名詞),")
_REPRESENTATIVE = re.compile(r'代表表記:([^\s/"]+)/')
# How people sorted the nouns: semantic categories (カテゴリ) and domains (ドメイン).
CATEGORIES = (
    "人",
    "組織・団体",
    "動物",
    "動物-部位",
    "植物",
    "植物-部位",
    "自然物",
    "色",
    "形・模様",
    "数量",
    "時間",
    "抽象物",
    "人工物-その他",
    "人工物-乗り物",
    "人工物-食べ物",
    "人工物-衣類",
    "人工物-金銭",
    "場所-その他",
    "場所-機能",
    "場所-施設",
    "場所-施設部位",
    "場所-自然",
)
LOOKUP = "-forms"  # behind the revision of an encoder whose words are looked up by their forms
_LABEL = r':([^\s,"]+)'
_CATEGORY, _DOMAIN = re.compile("カテゴリ" + _LABEL), re.compile("ドメイン" + _LABEL)
_NO_DOMAIN = "無し"
_IN_HIRAGANA = re.compile("[ぁ-ゖー]+")
_POLITE = re.compile("[おご][^ぁ-ゖー]")
_TO_HIRAGANA = {code: code - 0x60 for code in range(ord("ァ"), ord("ヶ") + 1)}
_TO_KATAKANA = {hiragana: katakana for katakana, hiragana in _TO_HIRAGANA.items()}


class DictionaryEntry(NamedTuple):
    """One reading: its CSV feature (品詞,細分類,活用型,活用形,原形,読み,意味), and its cost standing alone."""

    feature: str
    cost: int


class CompiledDictionary:
    """The compiled dictionary in `folder` (holds `sys.dic` and `matrix.bin`).

    >>> [entry.feature[:7] for entry in default_dictionary().lookup("林檎")]
    ['名詞,普通名詞']
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / "sys.dic"
        if not path.is_file():
            raise UserError(
                f"{path}: no compiled JumanDIC here; {install_command('offline')} brings one"
            )
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, _, _, _, _, _, array_size, token_size, feature_size, _ = struct.unpack(
            "<10I", self._bytes[:40]
        )
        if magic ^ _MAGIC != len(self._bytes) or not self._bytes[
            40:_HEADER
        ].lower().startswith(b"utf-8\0"):
            raise UserError(
                f"{path}: not a MeCab dictionary compiled as UTF-8; reinstall the package jumandic"
            )
        self._array = np.frombuffer(
            self._bytes, "<i4", array_size // 4, _HEADER
        ).reshape(-1, 2)
        self._tokens = np.frombuffer(
            self._bytes, _TOKEN, token_size // _TOKEN.itemsize, _HEADER + array_size
        )
        self._features = _HEADER + array_size + token_size
        self._end = self._features + feature_size
        self._left_size = int(np.fromfile(folder / "matrix.bin", "<u2", 1)[0])
        self._matrix = np.memmap(folder / "matrix.bin", "<i2", "r", 4)

    def lookup(self, surface: str) -> list[DictionaryEntry]:
        """Every entry whose surface is exactly `surface`, in the dictionary's order; empty if there is none."""
        array = self._array
        base = int(array[0, 0])
        for byte in surface.encode("utf-8", "replace"):
            position = base + byte + 1
            if position >= len(array) or array[position, 1] != base:
                return []
            base = int(array[position, 0])
        value = int(array[base, 0])
        if array[base, 1] != base or value >= 0:
            return []
        first, count = (-value - 1) >> 8, (-value - 1) & 0xFF
        return [self._entry(token) for token in self._tokens[first : first + count]]

    def features(self) -> Iterator[str]:
        """The features of all entries. A few entries of the package are not UTF-8; their bad bytes come as U+FFFD."""
        for feature in self._bytes[self._features : self._end].split(b"\0"):
            if feature:
                yield feature.decode("utf-8", "replace")

    def _entry(self, token: np.void) -> DictionaryEntry:
        start = self._features + int(token["feature"])
        feature = self._bytes[start : self._bytes.find(b"\0", start)].decode(
            "utf-8", "replace"
        )
        # The cost of the sentence "BOS word EOS"; the context id of both ends is 0.
        edges = int(self._matrix[self._left_size * int(token["left"])]) + int(
            self._matrix[int(token["right"])]
        )
        return DictionaryEntry(feature, int(token["cost"]) + edges)


@cache
def default_dictionary() -> CompiledDictionary:
    """The dictionary of the installed package jumandic."""
    require("jumandic", "the dictionary of nouns")
    return CompiledDictionary(
        Path(str(distribution("jumandic").locate_file("jumandic/dicdir")))
    )


def make_tagger(options: str = "") -> Any:
    """MeCab with this dictionary (`fugashi.GenericTagger`), with more of its command-line options if wanted."""
    require("fugashi", "the noun checker jumandic")
    import fugashi

    folder = default_dictionary().folder
    return fugashi.GenericTagger(f'-r "{folder / "mecabrc"}" -d "{folder}" {options}')


@cache
def load_nouns() -> tuple[str, ...]:
    """The nouns of the random baseline (section 5.1.1), sorted by code point.

    They are 普通名詞, サ変名詞 and 時相名詞, each by its representative form (代表表記), without the entries that a
    program registered (自動獲得). The paper's random answers held 22,085 distinct valid words.

    >>> len(load_nouns()), "林檎" in load_nouns()
    (22128, True)
    """
    return tuple(sorted(_spellings()))


@cache
def _spellings() -> dict[str, list[str]]:
    """Of each noun, by its representative form, how the dictionary spells it."""
    nouns: dict[str, list[str]] = kept(
        "jumandic", (version("jumandic") + _NOUN.pattern).encode(), _find_spellings
    )
    return nouns


def _find_spellings() -> dict[str, list[str]]:
    spellings: dict[str, list[str]] = {}
    for feature in default_dictionary().features():
        counts = _NOUN.match(feature) and "自動獲得" not in feature
        if counts and (form := _REPRESENTATIVE.search(feature)):
            spellings.setdefault(form[1], []).append(feature.split(",", 5)[4])
    return spellings


@cache
def _nouns_by_kana() -> dict[str, set[str]]:
    nouns: dict[str, set[str]] = {}
    for noun, spellings in _spellings().items():
        for spelling in spellings:
            nouns.setdefault(_hiragana(spelling), set()).add(noun)
    return nouns


def _hiragana(word: str) -> str:
    return word.translate(_TO_HIRAGANA)


def nouns_of(word: str) -> frozenset[str]:
    """The common nouns that are spelled like `word`, in either kana, by their representative forms. No name is one.

    >>> nouns_of("ネコ"), sorted(nouns_of("かみ")), nouns_of("ほし")
    (frozenset({'猫'}), ['加味', '神', '紙', '髪'], frozenset({'星'}))
    """
    return frozenset(_nouns_by_kana().get(_hiragana(word), ()))


def lookup_forms(word: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """The forms under which a vocabulary has a Japanese word, whose mean is its vector; none where it has no vector.

    The word as it is written, or another spelling of the one noun that it can be, without お or ご before kanji; else the
    `known` words of two characters or more into which it can be cut. A noun in kana is looked up by its representative
    form first, and one that may be several has none in hiragana: by kana a corpus means names (さとう is near surnames,
    はし near うたがわ).

    >>> known = {"猫", "はし", "ハシ", "一心", "同体"}.__contains__
    >>> [lookup_forms(word, known) for word in ("ねこ", "はし", "ハシ", "一心同体", "犬")]
    [('猫',), (), ('ハシ',), ('一心', '同体'), ()]
    """
    if spelling := _spelling(word, known):
        return (spelling,)
    if len(nouns_of(word)) > 1:
        return ()
    if _POLITE.match(word) and (spelling := _spelling(word[1:], known)):
        return (spelling,)
    return _cut(word, known)


def _spelling(word: str, known: Callable[[str], bool]) -> str:
    nouns = nouns_of(word)
    if len(nouns) != 1:
        several = nouns and _IN_HIRAGANA.fullmatch(word)
        return word if known(word) and not several else ""
    (noun,) = nouns
    in_kana = _IN_HIRAGANA.fullmatch(_hiragana(word))
    first = [noun, word] if in_kana else [word, noun]
    others = [*first, *_spellings()[noun], word.translate(_TO_KATAKANA)]
    return next(filter(known, others), "")


def _cut(word: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """From the left the longest pieces with which the rest can be cut as well; one in kana alone must be a noun."""
    behind: dict[int, tuple[str, ...]] = {len(word): ()}
    for start in range(len(word) - 2, -1, -1):
        for end in filter(behind.__contains__, range(len(word), start + 1, -1)):
            piece = word[start:end]
            counts = nouns_of(piece) or not _IN_HIRAGANA.fullmatch(_hiragana(piece))
            if counts and (spelling := _spelling(piece, known)):
                behind[start] = (spelling, *behind[end])
                break
    return behind.get(0, ())


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
    matches = (
        label.search(feature) for feature in features if feature.startswith("名詞,")
    )
    return frozenset(name for match in matches if match for name in match[1].split(";"))
