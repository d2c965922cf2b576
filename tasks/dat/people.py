"""Lists that people wrote, out of a spreadsheet: each with its score by people's rule, and by the strict one.

People's rule is Olson's (2021) first seven valid words of ten, however the ten are separated: numbered or not, in
lines, by commas, 、 or spaces, half-width katakana too. What a valid word is, is the same by both rules.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sozo.data.errors import UserError
from sozo.data.schema import Reason
from sozo.data.sheet import Sheet, read_sheet, without_zero
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.dat.words import CODE, REASONS

COUNTED = 7  # words that count
NO_WORDS, TOO_FEW, TOO_FEW_VALID, BEYOND = "no_words", "too_few_words", "fewer_than_7_valid", "beyond_ten"
SCALE = "sozo scale"
_PARTICIPANT = ("participant", "participant id", "subject", "subject id", "参加者", "参加者番号", "参加者ID", "被験者")
_TRIAL = ("trial", "list", "session", "試行", "試行番号", "リスト", "回")
_ITEM = ("item", "項目", "項目番号", "課題")
_RESPONSE = ("response", "answer", "回答", "解答", "反応")
_WORD = ("word", "単語", "語")
_SCORE = ("score", "sozo score", "dat", "得点", "スコア")
_LINES, _SPACES = r"[\n\r\t,，、､;；]", r"\s"
_NUMBERING = re.compile(r"\s*([①-⑳]|[(（]?[0-9０-９]{1,2}([)）.．:：\s]|$))?[\s・•*●○■-]*")
_AROUND = " 　。．.「」『』\"'“”"


@dataclass(frozen=True, slots=True)
class WrittenList:
    """One list of a participant."""

    participant: str
    trial: str  # which of the participant's lists; empty where the file does not say
    apart: bool  # whether each word stood in a cell of its own
    words: list[str] = field(default_factory=list)  # as people's rule reads them
    cells: list[str] = field(default_factory=list)  # as they were written
    rows: list[int] = field(default_factory=list)  # of the sheet, from 0

    @property
    def text(self) -> str:
        """What the strict rule reads: the cell as it is, or words in cells of their own as the list that it asks for."""
        return write_list(self.cells) if self.apart else "".join(self.cells).replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class PersonScore:
    """What a list is worth: by each rule a score, 0 to 2, or a reason."""

    score: float | None
    reason: str | None
    counted: tuple[str, ...]  # the seven words; the valid ones where they are fewer
    refused: tuple[tuple[str, str], ...]  # each other word of the first ten, and why
    strict_score: float | None
    strict_reason: str | None


def people_words(text: str, *, spaces: bool = True) -> list[str]:
    """The words of a response as a person writes it; without `spaces` a word may have one in it, as in English.

    >>> people_words("1. 犬\\n2. ﾈｺ"), people_words("・犬，法律、 海。"), people_words("1.犬 2.猫 ③鳥")
    (['犬', 'ネコ'], ['犬', '法律', '海'], ['犬', '猫', '鳥'])
    """
    pieces = re.split(f"{_LINES}|{_SPACES}" if spaces else _LINES, text)
    return [word for piece in pieces if (word := clean_word(piece))]


def clean_word(cell: str) -> str:
    """A word without numbering, bullet, quotes and full stop, in characters of normal width (NFKC)."""
    return unicodedata.normalize("NFKC", _NUMBERING.sub("", cell, count=1)).strip(_AROUND)


def read_written(sheet: Sheet, *, spaces: bool) -> list[WrittenList]:
    """The lists of a sheet, in order.

    Columns: participant, and response or word1 to word10; trial (or item) where participants wrote several lists. Where
    every response is one word, a participant's rows are one list, and those of each trial if there are trial and item.
    """
    who, what = sheet.column(*_PARTICIPANT), sheet.column(*_RESPONSE)
    numbered = [sheet.column(*(f"{name}{k}" for name in _WORD)) for k in range(1, NUM_WORDS + 1)]
    apart = [column for column in numbered if column is not None]
    missing = ["participant"] * (who is None) + ["response (or word1 to word10)"] * (what is None and not apart)
    if who is None or missing:
        there = ", ".join(filter(None, sheet.headings))
        raise UserError(f"{sheet.path}: no column {' and no column '.join(missing)}; the columns are: {there}")
    if what is not None and apart:
        raise UserError(f"{sheet.path}: has {sheet.headings[what]} and words in columns; rename what is not to be scored")
    trial, item = sheet.column(*_TRIAL), sheet.column(*_ITEM)
    names = [without_zero(row[who]) for row in sheet.rows]
    read = [] if what is None else [people_words(row[what], spaces=spaces) for row in sheet.rows]
    outer, inner = item if trial is None else trial, None  # the columns that number lists, and words
    one_word = len(set(names)) < len(names) and max(map(len, read), default=0) == 1
    if one_word:
        outer, inner = (None, outer) if trial is None or item is None else (trial, item)
    lists, seen = dict[tuple[str, str], WrittenList](), dict[tuple[str, ...], int]()
    for k, row in enumerate(sheet.rows):
        if not names[k]:
            raise UserError(f"{sheet.path}, line {sheet.lines[k]}: names no participant; fill the cell in")
        own = "" if outer is None else without_zero(row[outer])
        place = (names[k], own, *([str(k) if inner is None else without_zero(row[inner])] if one_word else []))
        if (first := seen.setdefault(place, sheet.lines[k])) != sheet.lines[k]:
            again = " ".join(filter(None, (names[k], *place[1:])))
            remedy = "number the lists of a person in a column trial, or keep one row"
            raise UserError(f"{sheet.path}, line {sheet.lines[k]}: {again} was there in line {first}; {remedy}")
        written = lists.setdefault((names[k], own), WrittenList(names[k], own, bool(apart) or one_word))
        cells = [row[column] for column in ([what] if what is not None else apart)]
        written.cells.extend(cell.strip() for cell in cells if cell.strip())
        written.words.extend(read[k] if read else filter(None, map(clean_word, cells)))
        written.rows.append(k)
    return list(lists.values())


def score_written(lists: Sequence[WrittenList], scorer: DatScorer) -> list[PersonScore]:
    """Scores of lists by both rules, in order."""
    strict = scorer.score([written.text for written in lists])
    spoken = [[word.lower() if scorer.rules.olson else word for word in written.words[:NUM_WORDS]] for written in lists]
    known = iter(scorer.words.look_up([word for words in spoken for word in words]).tolist())
    numbers = np.full((len(lists), NUM_WORDS), CODE[Reason.FORMAT], np.int32)  # what was not written is no word
    for k, words in enumerate(spoken):
        numbers[k, : len(words)] = [next(known) for _ in words]
    bad = scorer.words.bad_words(numbers)
    counted = np.argsort(bad != 0, axis=1, kind="stable")[:, :COUNTED]
    enough = (bad == 0).sum(axis=1) >= COUNTED
    rows = scorer.words.rows[np.take_along_axis(numbers, counted, axis=1)[enough]]
    distances = iter(mean_pairwise_distance(scorer.vectors.matrix, rows).tolist() if enough.any() else ())
    results = []
    for k, words in enumerate(spoken):
        good = [word for word, code in zip(words, bad[k].tolist(), strict=False) if code == 0]
        refused = [(w, str(REASONS[-1 - c])) for w, c in zip(words, bad[k].tolist(), strict=False) if c]
        refused += [(word, BEYOND) for word in lists[k].words[NUM_WORDS:]]
        few = NO_WORDS if not words else TOO_FEW if len(words) < COUNTED else TOO_FEW_VALID
        score, reason = (next(distances), None) if enough[k] else (None, few)
        said = strict.reason(k)
        strictly = (None, str(said)) if said else (float(strict.scores[k]), None)
        results.append(PersonScore(score, reason, tuple(good[:COUNTED]), tuple(refused), *strictly))
    return results


def read_norms(path: Path, scale: str) -> np.ndarray:
    """The scores of a spreadsheet of norms, sorted, float64 of shape (scores,); those of another scale are refused."""
    sheet = read_sheet(path)
    column, said = sheet.column(*_SCORE), sheet.column(SCALE)
    if column is None:
        raise UserError(f"{path}: no column score; the columns are: {', '.join(filter(None, sheet.headings))}")
    scores = []
    for line, row in zip(sheet.lines, sheet.rows, strict=True):
        if not row[column].strip():
            continue
        try:
            score = float(row[column])
        except ValueError:
            score = -1.0
        if not 0 <= score <= 2:
            raise UserError(f"{path}, line {line}: {row[column][:40]!r} is no score from 0 to 2; give scores of sozo")
        if said is not None and row[said] not in ("", scale):
            other = f"is of the scale {row[said][:200]!r}, and not of {scale!r}"
            raise UserError(f"{path}, line {line}: {other}; score the norms with the same settings")
        scores.append(score)
    if not scores:
        raise UserError(f"{path}: holds no score; give the scores of your own sample")
    return np.sort(np.array(scores))


def percentile(score: float, norms: np.ndarray) -> float:
    """The percent of sorted norms that are lower, and half of those that are equal.

    >>> percentile(0.8, np.array([0.7, 0.8, 0.9, 1.0]))
    37.5
    """
    return 50 * float(np.searchsorted(norms, score) + np.searchsorted(norms, score, "right")) / len(norms)
