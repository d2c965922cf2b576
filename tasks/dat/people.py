"""Lists that people wrote, out of a spreadsheet: each with its score by people's rule, and by the strict one.

What a model wrote is read by people's rule, too (`found_words`), but only to say that words are there.

People's rule is Olson's (2021) first seven valid words of ten, however the ten are separated: numbered or not, in
lines, by commas, 、 or spaces, half-width katakana too. What a valid word is, is the same by both rules.
"""

import re
import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from sozo.data.errors import UserError
from sozo.data.schema import Reason
from sozo.data.sheet import Sheet
from sozo.scoring.final_text import final_text
from sozo.scoring.nouns.rules import MAX_WORD_CHARS
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.dat.scorer import COUNTED, DatScorer, first_seven
from sozo.tasks.dat.words import CODE, REASONS

if TYPE_CHECKING:
    import pandas as pd

_PARTICIPANT = ("participant", "participant id", "subject", "subject id", "参加者", "参加者番号", "参加者ID", "被験者")
_TRIAL = ("trial", "item", "list", "session", "試行", "試行番号", "リスト", "項目", "課題")
_RESPONSE = ("response", "answer", "回答", "解答", "反応")
_SCORE = ("sozo score", "score", "得点", "スコア")
_BETWEEN = re.compile(r"[\n\r\t,，、､;；]")
_NUMBERING = re.compile(r"\s*([①-⑳]|[(（]?[0-9０-９]{1,2}([)）.．:：\s]|$))?[\s・•*●○■-]*")
_AROUND = " 　。．.「」『』\"'“”"
# What stands around a chat model's words: sentences before and behind them; Markdown, readings and explanations.
_SENTENCES = re.compile(
    r"\A(?:(?:はい|[^\n]{4,})(?<![0-9０-９])[。．.:：!！](?!\Z)\s*){1,2}+|\n[^\n]{4,}+(?<=[。．.!！?？])\Z"
)
_ASIDE = re.compile(
    r"(?<=[^\W\d_])[ \t　*_`]*+(?:[(（][^()（）\n]*+[)）]|[:：].*|(?<=\s)[-–—]\s.*)|^```.*$|\*\*|__|`|\\(?=\.)",
    re.MULTILINE,
)


def people_words(text: str, language: str = "ja") -> list[str]:
    """The words of a response as a person writes it, in characters of normal width (NFKC); English in lower case.

    A space separates English words only where nothing else does: otherwise "ice cream" is meant as one.

    >>> people_words("1. 犬\\n2. ﾈｺ"), people_words("・犬，法律、 海。"), people_words("1.犬 2.猫 ③鳥")
    (['犬', 'ネコ'], ['犬', '法律', '海'], ['犬', '猫', '鳥'])
    >>> people_words("1. Cat\\n2. ice cream", "en"), people_words("Cat moon", "en")
    (['cat', 'ice cream'], ['cat', 'moon'])
    """
    pieces = list(filter(str.strip, _BETWEEN.split(text.lower() if language == "en" else text)))
    if language == "ja" or len(pieces) == 1:
        pieces = [word for piece in pieces for word in piece.split()]
    words = [unicodedata.normalize("NFKC", _NUMBERING.sub("", piece, count=1)).strip(_AROUND) for piece in pieces]
    return [word for word in words if word]


def found_words(text: str, language: str = "ja") -> list[str]:
    """The words that a lenient reader finds in a model's answer: what is numbered or marked, or else each line.

    It says that a model knows the words and not the form. No reward and no score may ask it: a forgiving reader hides
    reward hacking (`sozo.scoring.parse` is the strict one).

    >>> found_words("はい、2個です。\\n犬\\n法律"), found_words("**1. 犬（いぬ）**\\n**2. 法律**")
    (['犬', '法律'], ['犬', '法律'])
    """
    text = final_text(text) or ""
    marked = [line for line in map(str.strip, text.splitlines()) if _NUMBERING.sub("", line, count=1) != line]
    listed = "\n".join(marked) or _SENTENCES.sub("", text)
    return people_words(_ASIDE.sub("", listed), language)


def read_written(sheet: Sheet, language: str = "ja") -> "pd.DataFrame":
    """A sheet's lists, row by row: participant, trial, words (as people's rule reads them), text (as the strict one).

    Columns: participant, and response or word1 to word10; trial or item where participants wrote several lists.
    """
    participant, trial, response = (sheet.column(*names) for names in (_PARTICIPANT, _TRIAL, _RESPONSE))
    columns = [sheet.column(f"word{k}", f"単語{k}", f"語{k}") for k in range(1, NUM_WORDS + 1)]
    apart = [column for column in columns if column is not None]
    needed = {"participant": participant, "response (or word1 to word10)": apart or response}
    if missing := [name for name, column in needed.items() if column is None]:
        raise sheet.missing(*missing)
    if apart and response is not None:
        raise UserError(f"{sheet.path}: has responses and words in columns; rename those that are not to be scored")
    lists = participant.to_frame("participant").assign(trial="" if trial is None else trial)
    if apart:
        cells = [[cell for cell in row if cell] for row in zip(*apart, strict=True)]
        lists["text"] = list(map(write_list, cells))
    else:
        cells = [[text] for text in response]
        lists["text"] = [text.replace("\r\n", "\n") for (text,) in cells]
    lists["words"] = [people_words("\n".join(row), language) for row in cells]
    several, repeated = lists.duplicated("participant"), lists.duplicated(["participant", "trial"])
    for wrong, why in (
        (lists["participant"] == "", "names no participant; fill the cell in"),
        (several & (lists["words"].str.len().max() == 1), "is one word; put a person's ten words into one row"),
        (repeated, "has a participant and trial that were there already; number a person's lists in a column trial"),
    ):
        if wrong.any():
            raise UserError(f"{sheet.path}, row {wrong.idxmax()}: {why}")
    return lists


def score_written(lists: "pd.DataFrame", scorer: DatScorer) -> "pd.DataFrame":
    """What lists are worth, row by row: scores (NaN without one), reasons, the words that count, and the others.

    Scores are 0 to 2; where the scorer goes by Olson's protocol, both rules' are times 100. The reason by
    people's rule is `too_few_words` (fewer than seven were written) or `fewer_than_7_valid`.
    """
    words = [own[:NUM_WORDS] for own in lists["words"]]
    scorer.words.look_up([word for own in words for word in own])  # in one batch; below it is remembered
    numbers = np.full((len(lists), NUM_WORDS), CODE[Reason.FORMAT], np.int32)  # what was not written is no word
    for row, own in zip(numbers, words, strict=True):
        row[: len(own)] = scorer.words.look_up(own)
    bad = scorer.words.bad_words(numbers)
    chosen, codes = first_seven(numbers, bad)
    enough = codes == 0
    strict = scorer.score(list(lists["text"]))
    results = lists[["participant", "trial"]].assign(score=np.nan, strict_score=strict.scores.astype(float), reason="")
    results.loc[enough, "score"] = scorer.distances(chosen[enough])
    short = np.array([len(own) < COUNTED for own in words])
    results.loc[~enough, "reason"] = np.where(short, "too_few_words", "fewer_than_7_valid")[~enough]
    results["strict_reason"] = [str(strict.reason(k) or "") for k in range(len(lists))]
    judged = [list(zip(own, codes.tolist(), strict=False)) for own, codes in zip(words, bad, strict=True)]
    comma = ", " if scorer.rules.language == "en" else "、"
    results["words"] = [comma.join([word for word, code in own if not code][:COUNTED]) for own in judged]
    results["refused"] = [
        comma.join(f"{word[:MAX_WORD_CHARS]} ({REASONS[-1 - code]})" for word, code in own if code) for own in judged
    ]
    return results


def percentiles(scores: np.ndarray, sheet: Sheet, scale: str, most: int) -> tuple[np.ndarray, int]:
    """The percent of the norms that are below each score, shape (lists,), and half of those equal; the norms' number.

    Norms are the column score of a spreadsheet, from 0 to `most`. UserError where its column sozo_scale names another
    scale.
    """
    import pandas as pd

    column, scales = sheet.column(*_SCORE), sheet.column("sozo scale")
    if column is None:
        raise sheet.missing("score")
    if scales is not None and (other := set(scales) - {scale, ""}):
        raise UserError(
            f"{sheet.path}: is of the scale {min(other)!r}, not {scale!r}; score both with the same settings"
        )
    norms = pd.to_numeric(column[column != ""], errors="coerce")
    if (wrong := ~norms.between(0, most)).any():
        raise UserError(
            f"{sheet.path}, row {wrong.idxmax()}: {column[wrong.idxmax()][:40]!r} is no score from 0 to {most}"
        )
    if norms.empty:
        raise UserError(f"{sheet.path}: holds no score; give those of your own sample")
    ends = [np.searchsorted(np.sort(norms), scores.round(4), side) for side in ("left", "right")]
    return np.where(np.isnan(scores), np.nan, 50 * np.add(*ends) / len(norms)), len(norms)
