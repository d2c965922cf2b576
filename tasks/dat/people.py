"""Lists that people wrote, out of a spreadsheet: each with its score by people's rule, and by the strict one.

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
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.nouns.rules import MAX_WORD_CHARS
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.dat.words import CODE, REASONS

if TYPE_CHECKING:
    import pandas as pd

COUNTED = 7  # words that count
_PARTICIPANT = ("participant", "participant id", "subject", "subject id", "参加者", "参加者番号", "参加者ID", "被験者")
_TRIAL = ("trial", "item", "list", "session", "試行", "試行番号", "リスト", "項目", "課題")
_RESPONSE = ("response", "answer", "回答", "解答", "反応")
_SCORE = ("sozo score", "score", "得点", "スコア")
_NUMBERING = re.compile(r"\s*([①-⑳]|[(（]?[0-9０-９]{1,2}([)）.．:：\s]|$))?[\s・•*●○■-]*")
_AROUND = " 　。．.「」『』\"'“”"


def people_words(text: str, *, english: bool = False) -> list[str]:
    """The words of a response as a person writes it, in characters of normal width (NFKC).

    In English a word may have a space in it, and case makes no difference.

    >>> people_words("1. 犬\\n2. ﾈｺ"), people_words("・犬，法律、 海。"), people_words("1.犬 2.猫 ③鳥")
    (['犬', 'ネコ'], ['犬', '法律', '海'], ['犬', '猫', '鳥'])
    """
    pieces = re.split(r"[\n\r\t,，、､;；]" if english else r"[\s,，、､;；]", text.lower() if english else text)
    words = [unicodedata.normalize("NFKC", _NUMBERING.sub("", piece, count=1)).strip(_AROUND) for piece in pieces]
    return [word for word in words if word]


def read_written(sheet: Sheet, *, english: bool = False) -> "pd.DataFrame":
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
    lists["words"] = [people_words("\n".join(row), english=english) for row in cells]
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
    """What lists are worth, row by row: scores 0 to 2 (NaN without one), reasons, the words that count, and the others.

    The reason by people's rule is `too_few_words` (fewer than seven were written) or `fewer_than_7_valid`.
    """
    words = [own[:NUM_WORDS] for own in lists["words"]]
    scorer.words.look_up([word for own in words for word in own])  # in one batch; below it is remembered
    numbers = np.full((len(lists), NUM_WORDS), CODE[Reason.FORMAT], np.int32)  # what was not written is no word
    for row, own in zip(numbers, words, strict=True):
        row[: len(own)] = scorer.words.look_up(own)
    bad = scorer.words.bad_words(numbers)
    first = np.argsort(bad != 0, axis=1, kind="stable")[:, :COUNTED]
    enough = (bad == 0).sum(axis=1) >= COUNTED
    chosen = scorer.words.rows[np.take_along_axis(numbers, first, axis=1)[enough]]
    strict = scorer.score(list(lists["text"]))
    results = lists[["participant", "trial"]].assign(score=np.nan, strict_score=strict.scores.astype(float), reason="")
    results.loc[enough, "score"] = mean_pairwise_distance(scorer.vectors.matrix, chosen)
    short = np.array([len(own) < COUNTED for own in words])
    results.loc[~enough, "reason"] = np.where(short, "too_few_words", "fewer_than_7_valid")[~enough]
    results["strict_reason"] = [str(strict.reason(k) or "") for k in range(len(lists))]
    judged = [list(zip(own, codes.tolist(), strict=False)) for own, codes in zip(words, bad, strict=True)]
    results["words"] = ["、".join([word for word, code in own if not code][:COUNTED]) for own in judged]
    results["refused"] = [
        "、".join(f"{word[:MAX_WORD_CHARS]} ({REASONS[-1 - code]})" for word, code in own if code) for own in judged
    ]
    return results


def percentiles(scores: np.ndarray, sheet: Sheet, scale: str) -> tuple[np.ndarray, int]:
    """The percent of the norms that are below each score, shape (lists,), and half of those equal; the norms' number.

    Norms are the column score of a spreadsheet. UserError where its column sozo_scale names another scale.
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
    if (wrong := ~norms.between(0, 2)).any():
        raise UserError(f"{sheet.path}, row {wrong.idxmax()}: {column[wrong.idxmax()][:40]!r} is no score from 0 to 2")
    if norms.empty:
        raise UserError(f"{sheet.path}: holds no score; give those of your own sample")
    ends = [np.searchsorted(np.sort(norms), scores.round(4), side) for side in ("left", "right")]
    return np.where(np.isnan(scores), np.nan, 50 * np.add(*ends) / len(norms)), len(norms)
