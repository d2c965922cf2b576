"""Cue DAT: nine nouns far from a given one; a list's value is how much farther they are from their own cue."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import fill, prompt
from sozo.data.settings import rare_setting
from sozo.scoring.distance import cosines_to_cues
from sozo.scoring.final_text import final_text
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import Measure
from sozo.suite.words.items import ItemSettings, refuse_test
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.task import Answer, ChosenItems, Item, Row
from sozo.tasks.view import View

Lists = Sequence[Sequence[str]]  # of words
_VALUE, _VALID, _UNSHARED = "cue_dat", "cue_dat/usable", "cue_dat/unshared"
_PROMPTS = {
    "cue": prompt("cue_dat", __package__),
    # A model that was trained on DAT goes on where the first line of its answer ends.
    "dat": prompt("dat") + "1. {cue}",
    "dat-line": prompt("dat") + "\n1. {cue}",
}


@dataclass(frozen=True)
class CueSettings(ItemSettings, DatSettings):
    """DAT's settings, and what is asked; distances are always by centred vectors."""

    cue_nouns: str | None = rare_setting(
        None, "Nouns that cues come from: a file, or tiny (default: JumanDIC's)."
    )
    cue_prompt: str = rare_setting(
        "cue",
        "cue (our prompt), dat (DAT's with the first line behind it, as tiny takes it), or dat-line (below it).",
    )

    def __post_init__(self) -> None:
        ItemSettings.__post_init__(self)
        DatSettings.__post_init__(self)
        if self.language != "ja":
            raise UserError(
                f"cue_dat asks for Japanese nouns, not for {self.language}; leave language out"
            )


class CueDat(ChosenItems):
    """Mean cosine of nine words to the other items' cues, minus that to their own; a word is not compared with itself.

    >>> CueDat().items()[0].prompt.splitlines()[1][-30:]
    'きるだけ離れた単語を9個考え、以下の形式で出力してください。'
    """

    name = "cue_dat"
    title = "Cue DAT"
    Settings = CueSettings
    measures = (
        Measure(_VALUE, scale=(-2, 2)),
        Measure(_VALID, share=True),
        Measure(
            _UNSHARED, share=True, together=True
        ),  # words that other lists of its item lack
    )
    view = View(__file__)
    max_new_tokens = 256
    batch_size = 256
    settings: CueSettings

    def __init__(self, settings: CueSettings | None = None) -> None:
        own = (settings or CueSettings()).settled()
        encoder = own.embedding_model.removeprefix("centred:")
        super().__init__(replace(own, embedding_model=f"centred:{encoder}"))

    @classmethod
    def beside(cls) -> tuple[Measure, ...]:
        """Usable lists, and the words that lists of one item do not share."""
        return cls.measures[1:]

    @cached_property
    def scorer(self) -> DatScorer:
        """Checker and encoder, loaded when first needed."""
        return DatScorer.from_settings(self.settings)

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The nouns that may stand in a list, from which cues are drawn."""
        nouns, table = list(read_nouns(self.settings.cue_nouns)), self.scorer.words
        numbers = table.look_up(nouns).tolist()
        return tuple(
            noun
            for noun, k in zip(nouns, numbers, strict=True)
            if k >= 0 and table.rows[k] >= 0
        )

    @cached_property
    def asked(self) -> tuple[Item, ...]:
        """The items."""
        if (name := self.settings.cue_prompt) not in _PROMPTS:
            raise UserError(
                f"cue_prompt must be one of {', '.join(_PROMPTS)}, not {name}"
            )
        cues = self.settings.shuffled(self.nouns)[: self.settings.num_items]
        return tuple(
            Item(cue, fill(_PROMPTS[name], cue=cue), {"cue": cue}) for cue in cues
        )

    def items(self) -> Sequence[Item]:
        return self.asked

    def text(self, cue: str, answer: str) -> str:
        """The answer as a list of ten whose first word is the cue, which the answer may repeat in its first line."""
        written, first = final_text(answer) or "", f"1. {cue}\n"
        return written if written.startswith(first) else first + written

    def values(self, cues: Sequence[str], lists: Lists) -> np.ndarray:
        """What lists of ten are worth, shape (lists,); NaN where a word has no vector."""
        vectors = self.scorer.vectors
        pool = list(dict.fromkeys([*(item.id for item in self.asked), *cues]))
        words, known = vectors.table(lists)[:, 1:], np.array(vectors.rows(pool))
        near = cosines_to_cues(vectors.matrix, words, known)
        own = np.arange(len(lists)), np.array([pool.index(cue) for cue in cues])
        to_own = near[own]
        near[own] = np.nan
        return np.asarray(np.nanmean(near, axis=1) - to_own)

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Every answer has `cue_dat/usable`, every list of ten different nouns its value."""
        cues = [str(item.columns["cue"]) for item in items]
        results = self.scorer.score(
            [
                self.text(cue, answer.text)
                for cue, answer in zip(cues, answers, strict=True)
            ]
        )
        rows = [
            Row({_VALID: 0.0}, str(result.reason), {"words": result.words})
            for result in results
        ]
        good = [k for k, result in enumerate(results) if result.reason is None]
        worth = (
            self.values([cues[k] for k in good], [rows[k].facts["words"] for k in good])
            if good
            else ()
        )
        for k, value in zip(good, worth, strict=True):
            rows[k] = Row({_VALID: 1.0, _VALUE: float(value)}, None, rows[k].facts)
        return rows

    def score_together(
        self, item: Item, answers: Sequence[Answer], rows: Sequence[Row]
    ) -> list[Row]:
        """The share of every list's words that the others lack too, if there are others."""
        if len(rows) < 2:
            return list(rows)
        lists = [
            [word for word in row.facts["words"] if word != item.columns["cue"]]
            for row in rows
        ]
        shares = unshared(lists)
        return [
            replace(row, values={**row.values, _UNSHARED: share})
            for row, share in zip(rows, shares, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        return self.scorer.describe()

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Prompts of this task about cues of the test split."""
        refuse_test(cls.name, _PROMPTS.values(), items)


def unshared(lists: Lists) -> list[float]:
    """Of each of two or more lists the share of its words that another list lacks, on average over the others.

    >>> unshared([["犬", "海"], ["海", "法"], ["海", "犬"]])
    [0.25, 0.5, 0.25]
    """
    counts, others = Counter(word for words in lists for word in words), len(lists) - 1
    return [
        1 - sum(counts[word] - 1 for word in words) / (others * len(words))
        for words in lists
    ]
