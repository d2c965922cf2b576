"""Whether a text is one sentence with two given nouns, what it has but nouns (its frame), and its content words.

Rules, no model: Japanese is read by MeCab with JumanDIC, English by the dictionary of lemminflect.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from sozo.data.english import FUNCTION, dictionary, noun_lemmas
from sozo.data.foreign import nfkc
from sozo.scoring.final_text import Ending, refuses
from sozo.tasks.sat.gate import distinct_share, kana_share, morphemes
from sozo.tasks.sat.score import what_counts

LENGTHS = {"ja": (15, 120), "en": (8, 60)}  # characters; words
_ENDS = {"ja": "[。!?]", "en": r"[.!?](?=[\s」』”\"')]|$)"}
# Of 1,001 sentences of the packaged tales, and of 2,010 of English licences and pages.
_KANA = 0.3  # share of letters: tales from 0.38, English 0
_FUNCTION_WORDS = 0.1  # share of words: 98% of the prose from 0.22, lists 0
# Mean connection cost: 99.7% of the tales are below it, and 33% of them shuffled.
_JOINT = -1800.0
_DISTINCT = 0.6  # share of 4-grams that are new: tales from 0.92, 99.5% of the English from 0.68

_CLOSING = "[」』”\"')]+$"
_OPENS = "|".join(word.capitalize() for word in sorted(FUNCTION))
# The first never end a sentence; the others do where a function word opens the next one.
_ABBREVIATION = re.compile(
    r"\b(?:(?:Mr|Mrs|Ms|Dr|St|Mt|Prof|vs|e\.g|i\.e)\.(?=\s)|[Nn]o\.(?=\s+\d)"
    r"|(?:(?:[A-Za-z]\.)+[A-Za-z]|[A-Z]|Ph\.D|Inc|Co|Ltd|Corp|Jr|Sr)\."
    rf"(?=[)\"'”]?\s+(?!(?:{_OPENS})\b)))|(?:\betc\.|\.{{2,}})(?=\s+[a-z])"
)
_QUOTED = re.compile(
    r"「[^「」。!?]*[。!?]?」|『[^『』。!?]*[。!?]?』|[“\"][^“”\".!?]*[.!?]?[”\"]"
)
# Marks of Markdown; a number or letter of a list (3.5 and J.K. are none); an announcement of what comes.
_DECORATION = re.compile(
    r"[*#`|<>{}\[\]_~]|^[^\w「『“\"'(]"
    r"|^\(?(?:\d{1,3}|[a-e])\)|^\d{1,3}[.、:](?!\d)|^[a-e]\.\s?(?=[^\x00-\x7f])"
    r"|^[^:「\"“]{0,40}(?:文|例|答え?|以下|sentence|answer|example|here)[^:「\"“]{0,20}:",
    re.IGNORECASE,
)
# An article before what no noun phrase begins with: of the prose in 0.4%, of the prose shuffled in 59%.
_BROKEN = re.compile(
    r"\b(?:an?|the|my|your|their) (?:an?|the|of|to|in|on|at|by|for|from|with|and|or|but|is|are|was|were|be|has|have|he"
    r"|she|it|they|we|i|that|this|will|would|can|if|as)\b|\b(?:an?|the|of|and|or|my|your|their)\W*$"
)
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")

_NOUNS = ("名詞", "未定義語")
_LOOSE = ("時相名詞", "副詞的名詞", "形式名詞", "数詞")  # 昨日鏡を, 鏡三枚
_SAYS_NOTHING = ("副詞的名詞", "形式名詞", "数詞")
_CONTENT = (*_NOUNS, "動詞", "形容詞", "副詞")
_PREDICATES = ("動詞", "形容詞", "判定詞", "助動詞")
_TAKEN_OUT = (*_NOUNS, "特殊", "接頭辞")
_EDGE = ("", "0", "", "", "")
_POLITE = tuple("おご御")
_PLURAL = ("達", "たち", "ら", "さん", "ちゃん", "くん", "君", "様", "さま", "ごと")
_REPRESENTATIVE = re.compile(r"代表表記:(\S+)")


class Read(NamedTuple):
    """A text by its words."""

    length: int
    alone: set[str]  # of the two nouns those that stand by themselves
    frame: str
    words: list[str]  # content words but the two, each once, as in the dictionary
    prose: bool  # whether its words follow each other as in prose


def read_sentence(
    text: str, asked: str, pair: tuple[str, str], language: str
) -> tuple[str | None, Read | None]:
    """Why a model's text is not one sentence with both nouns, or what it says; `asked` is the prompt.

    >>> read_sentence("鏡の前に置いた郵便を、猫がそっと運んだ。", "", ("鏡", "郵便"), "ja")[1].frame
    'のに置いたをがそっと運んだ'
    >>> read_sentence("郵便局で買った鏡台を、猫がそっと運んだ。", "", ("鏡", "郵便"), "ja")[0]
    'inside_word'
    """
    answer, unusable = what_counts(text)
    if unusable:
        return str(unusable), None
    answer = nfkc(answer).replace("’", "'")
    if refuses(answer):
        return str(Ending.REFUSED), None
    if wrong := _wrong_form(answer, asked, language):
        return wrong, None
    read = _READERS[language](answer, pair)
    least, most = LENGTHS[language]
    wrong = None
    if not least <= read.length <= most:
        wrong = "wrong_length"
    elif len(read.alone) < len(pair):
        lower = answer.lower()
        there = all(word in lower for word in pair)
        wrong = "inside_word" if there else "without_word"
    elif distinct_share(answer.lower()) < _DISTINCT:
        wrong = "said_again"
    elif not read.prose:
        wrong = "word_list"
    return wrong, None if wrong else read


def _wrong_form(answer: str, asked: str, language: str) -> str | None:
    said, prompt = _letters(answer), _letters(asked)
    if prompt and (said in prompt or prompt in said):
        return "prompt_again"
    if len(answer.splitlines()) > 1:
        return "not_one"
    if _DECORATION.search(answer):
        return "decorated"
    end = _ENDS[language]
    # What is said within a sentence may end as one; two sentences that are said are two.
    body = re.sub(f"({end})({_CLOSING})", r"\2\1", _ABBREVIATION.sub("", answer))
    body = _QUOTED.sub("「」", body)
    ends = [match.end() for match in re.finditer(f"(?:{end})+", body)]
    if len(body) not in ends:
        return "no_end"
    if len(ends) > 1:
        return "not_one"
    if language == "ja":
        return "other_language" if kana_share(answer) < _KANA else None
    letters = [letter for letter in answer if letter.isalpha()]
    foreign = sum(not letter.isascii() for letter in letters)
    return "other_language" if foreign > len(letters) / 10 else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _read_ja(text: str, pair: tuple[str, str]) -> Read:
    tokens = list(morphemes(text))
    alone = set()
    words = dict[str, None]()
    frame = ""
    for before, token, behind in zip(
        [_EDGE, *tokens], tokens, [*tokens[1:], _EDGE], strict=False
    ):
        surface, _, pos, sub, meaning = token
        if surface in pair:
            if pos == "名詞" and not (_leads(before) or _follows(behind)):
                alone.add(surface)
        elif pos in _CONTENT and sub not in _SAYS_NOTHING and _letters(surface):
            known = _REPRESENTATIVE.search(meaning)
            words[known[1] if known else surface] = None
        if pos not in _TAKEN_OUT:
            frame += surface
    joint = sum(int(token[1]) for token in tokens) / max(1, len(tokens))
    prose = joint <= _JOINT and any(token[2] in _PREDICATES for token in tokens)
    return Read(len(text), alone, frame, list(words), prose)


def _leads(token: Sequence[str]) -> bool:
    """Whether a morpheme makes one word with the noun behind it."""
    surface, _, pos, _, _ = token
    return _is_noun(token) or (pos == "接頭辞" and surface not in _POLITE)


def _follows(token: Sequence[str]) -> bool:
    """Whether a morpheme makes one word with the noun before it."""
    surface, _, _, sub, _ = token
    return _is_noun(token) or (sub == "名詞性名詞接尾辞" and surface not in _PLURAL)


def _is_noun(token: Sequence[str]) -> bool:
    surface, _, pos, sub, _ = token
    return pos in _NOUNS and sub not in _LOOSE and surface.isalnum()


def _read_en(text: str, pair: tuple[str, str]) -> Read:
    tokens = [word.removesuffix("'s") for word in _WORD.findall(text.lower())]
    known = dictionary()
    alone = set()
    others = []
    for token in tokens:
        own = {token, *known["noun"].get(token, ())}.intersection(pair)
        alone |= own
        others += [] if own else [token]
    content = (token for token in others if token not in FUNCTION)
    words = dict.fromkeys(_lemmas().get(token, token) for token in content)
    frame = " ".join(token for token in tokens if token not in noun_lemmas())
    share = sum(token in FUNCTION for token in tokens) / max(1, len(tokens))
    verb = "'" in text or any(
        token in known["verb"] or token in known["aux"] for token in others
    )
    prose = verb and share >= _FUNCTION_WORDS and not _BROKEN.search(" ".join(tokens))
    return Read(len(tokens), alone, frame, list(words), prose)


@cache
def _lemmas() -> dict[str, str]:
    known: dict[str, str] = {}
    for pos in ("adv", "adj", "verb"):
        known |= {word: own[0] for word, own in dictionary()[pos].items()}
    return known | noun_lemmas()


_READERS = {"ja": _read_ja, "en": _read_en}
