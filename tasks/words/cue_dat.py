"""Cue DAT: nine nouns far from a given one; a list's value is how much farther they are from their own cue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import fill, prompt
from sozo.data.settings import setting
from sozo.scoring.distance import cosines_to_cues
from sozo.scoring.embeddings import WordVectors
from sozo.tasks.task import Complete, Outcome
from sozo.tasks.words.lists import ListTask, WordSettings, list_measures

_PERMUTATIONS, _MOST = 999, 4096


@dataclass(frozen=True)
class CueSettings(WordSettings):
    """What is asked beside the cues."""

    cue_prompt: str = setting(
        "cue", "cue (our prompt), dat (DAT's with the first line behind it, as tiny takes it), or dat-line (below it)."
    )


class CueDat(ListTask):
    """Mean cosine of nine words to the other items' cues, minus that to their own; a word is not compared with itself.

    >>> CueDat().items()[0].prompt.splitlines()[1][-30:]
    'から意味や用途ができるだけ離れた単語を9個考え、以下の形式で出力してください。'
    """

    name = "cue_dat"
    title = "Cue DAT"
    Settings = CueSettings
    measures = list_measures("cue_dat", scale=(-2, 2))
    settings: CueSettings

    @classmethod
    def templates(cls) -> Mapping[str, str]:
        # A model that was trained on DAT goes on where the first line of its answer ends.
        return {**super().templates(), "dat": prompt("dat") + "1. {cue}", "dat-line": prompt("dat") + "\n1. {cue}"}

    def ask(self, cue: str) -> str:
        if (form := self.settings.cue_prompt) not in self.templates():
            raise UserError(f"cue_prompt must be one of {', '.join(self.templates())}, not {form}")
        return fill(self.templates()[form], cue=cue)

    def value(self, vectors: WordVectors, cues: Sequence[str], lists: Sequence[Sequence[str]]) -> np.ndarray:
        near, own = self.near(vectors, cues, lists)
        near_own = near[np.arange(len(near)), own]
        near[np.arange(len(near)), own] = np.nan
        return np.asarray(np.nanmean(near, axis=1) - near_own)

    def near(
        self, vectors: WordVectors, cues: Sequence[str], lists: Sequence[Sequence[str]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean cosine of each list to each item's cue, and which is its own; shapes (lists, cues) and (lists,)."""
        pool = list(dict.fromkeys([*(item.id for item in self.items()), *cues]))
        known = np.array(vectors.rows(pool))
        rows = np.array(vectors.rows([word for words in lists for word in words[1:]])).reshape(len(lists), -1)
        near = cosines_to_cues(vectors.matrix, rows, known)
        near[:, known < 0] = np.nan
        return near, np.array([pool.index(cue) for cue in cues])

    def finish(self, run: Complete) -> Outcome | None:
        """The value if cues are dealt anew over the answers: what choice of words alone would have."""
        super().finish(run)
        finished = self.written(run.folder)
        answers = [answer for answer in finished.answers() if answer.reason is None][:_MOST]
        metrics = finished.summarised(self.measures, run.source)
        if len(answers) > 1:
            lists = self.scorer.score([self.text(answer.item, answer.text) for answer in answers])
            words = [lists.words(k) or () for k in range(len(lists))]
            metrics["null"] = null(*self.near(self.scorer.vectors, [answer.item for answer in answers], words))
        return Outcome(metrics)


def null(near: np.ndarray, own: np.ndarray) -> Mapping[str, Any]:
    """How far lists are from cues dealt anew, beside how far they are from their own: see `CueDat.near`.

    The observed mean minus the mean of permutations, the permutations' middle 95%, and the share of them (itself among
    them) in which the lists are as far from their cues as they were.
    """
    rng, lists = np.random.default_rng(0), np.arange(len(near))
    dealt = np.array([-np.nanmean(near[lists, rng.permutation(own)]) for _ in range(_PERMUTATIONS)])
    observed = -float(np.nanmean(near[lists, own]))
    low, high = np.quantile(dealt, (0.025, 0.975)) - dealt.mean()
    p = (1 + (dealt >= observed).sum()) / (1 + _PERMUTATIONS)
    return {"mean": observed - float(dealt.mean()), "low": float(low), "high": float(high), "p": float(p)}
