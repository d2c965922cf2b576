"""Cue DAT: nine nouns far from a given one; a list's value is how much farther they are from their own cue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.data.settings import setting
from sozo.scoring.distance import cosines_to_cues
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import interval, p_value
from sozo.scoring.parse import split_list
from sozo.scoring.said import said
from sozo.scoring.table import Cell
from sozo.tasks.finished import Finished
from sozo.tasks.task import Complete, Outcome
from sozo.tasks.words.lists import Lists, ListTask, WordSettings, list_measures

Own = tuple[np.ndarray, np.ndarray]  # an index: lists, and of each the place of its own cue
_PERMUTATIONS, _MOST = 999, 4096


@dataclass(frozen=True)
class CueSettings(WordSettings):
    """What is asked beside the cues."""

    cue_prompt: str = setting(
        "cue", "cue (our prompt), dat (DAT's with the first line behind it, as tiny takes it), or dat-line (below it)."
    )


class FinishedCues(Finished):
    """Lists, and what they have with cues dealt anew."""

    def cell(self, measure: Measure) -> Cell:
        """The mean, and below its main measure's what 95% of the deals have."""
        cell, null = super().cell(measure), self.metrics.get("null")
        if measure != self.main or not null:
            return cell
        ends = interval(null["low"], null["high"], measure, signed=True)
        return replace(cell, below=(said("cues dealt anew {ends}, {p}", ends=ends, p=p_value(null["p"])),))


class CueDat(ListTask):
    """Mean cosine of nine words to the other items' cues, minus that to their own; a word is not compared with itself.

    >>> CueDat().items()[0].prompt.splitlines()[1][-30:]
    'きるだけ離れた単語を9個考え、以下の形式で出力してください。'
    """

    name = "cue_dat"
    title = "Cue DAT"
    Settings = CueSettings
    measures = list_measures("cue_dat", scale=(-2, 2))
    Finished = FinishedCues
    settings: CueSettings

    @classmethod
    def templates(cls) -> Mapping[str, str]:
        # A model that was trained on DAT goes on where the first line of its answer ends.
        return {**super().templates(), "dat": prompt("dat") + "1. {cue}", "dat-line": prompt("dat") + "\n1. {cue}"}

    @property
    def form(self) -> str:
        if (name := self.settings.cue_prompt) not in self.templates():
            raise UserError(f"cue_prompt must be one of {', '.join(self.templates())}, not {name}")
        return name

    def values(self, cues: Sequence[str], lists: Lists) -> Mapping[str, np.ndarray]:
        near, own = self.near(cues, lists)
        to_own = near[own]
        near[own] = np.nan
        return {"cue_dat": np.nanmean(near, axis=1) - to_own}

    def near(self, cues: Sequence[str], lists: Lists) -> tuple[np.ndarray, Own]:
        """Mean cosine of each list's nine words to each item's cue, (lists, cues), and the places of its own cues."""
        vectors = self.scorer.vectors
        pool = list(dict.fromkeys([*(item.id for item in self.asked), *cues]))
        words, known = vectors.table(lists)[:, 1:], np.array(vectors.rows(pool))
        own = np.arange(len(lists)), np.array([pool.index(cue) for cue in cues])
        return cosines_to_cues(vectors.matrix, words, known), own

    def finish(self, run: Complete) -> Outcome:
        """The null too: these answers' lists with cues dealt anew."""
        finished = self.written(run.folder)
        answers = [answer for answer in finished.answers() if answer.reason is None][:_MOST]
        cues = [answer.item for answer in answers]
        lists = [split_list(self.text(cue, answer.text)) or () for cue, answer in zip(cues, answers, strict=True)]
        near = null(*self.near(cues, lists)) if len(lists) > 1 else None
        return Outcome(finished.summarised(self.measures, run.source) | {"null": near})


def null(near: np.ndarray, own: Own) -> dict[str, float]:
    """How much farther lists are from their own cue than from cues dealt anew over them (see `CueDat.near`).

    `mean` is the difference; `low` and `high` hold 95% of what permutations have; `p` is the share of those, and of the
    answers as they are, that are as far.
    """
    (lists, cues), rng = own, np.random.default_rng(0)
    dealt = np.array([np.nanmean(near[lists, rng.permutation(cues)]) for _ in range(_PERMUTATIONS)])
    observed, mean = np.nanmean(near[own]), dealt.mean()
    high, low = mean - np.quantile(dealt, (0.025, 0.975))
    p = (1 + (dealt <= observed).sum()) / (1 + _PERMUTATIONS)
    return {"mean": float(mean - observed), "low": float(low), "high": float(high), "p": float(p)}
