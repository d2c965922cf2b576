"""The Divergent Association Task (paper, section 3.2): one prompt, asked many times; a score is a distance."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Self

import numpy as np

from sozo.data.prompts import prompt
from sozo.data.schema import ERROR, Reason, utf8_safe
from sozo.scoring.final_text import STATES, no_answer
from sozo.scoring.measure import Measure
from sozo.scoring.nouns import SPEAKERS
from sozo.scoring.parse import NUM_WORDS
from sozo.scoring.second_encoder import FEWEST_LISTS, decompose
from sozo.tasks.dat.found import found_words
from sozo.tasks.dat.frontier import NounFrontier
from sozo.tasks.dat.instruments import diversity_ends, measure
from sozo.tasks.dat.scorer import AUTO, DatScorer, DatSettings
from sozo.tasks.dat.summary import DIFFERENT_WORDS, DatRunResult, summarise
from sozo.tasks.dat.table import read_lists, read_table
from sozo.tasks.dat.view import DatView
from sozo.tasks.dat.words import PROMPTS, REFUSE, REPRESENTATIVE
from sozo.tasks.task import Answer, Complete, Item, Row, Task


class Dat(Task):
    """Name ten words as far apart in meaning as you can.

    >>> [item.prompt.splitlines()[-1] for item in Dat().items()]
    ['10. 単語10']
    """

    name = "dat"
    title = "Divergent Association Task"
    Settings = DatSettings
    measures = (
        Measure("dat", per_item=False, scale=(0, 2)),
        Measure("dat/usable", share=True, per_item=False),
    )
    curve = (measures[0], DIFFERENT_WORDS)
    second = Measure("dat/gain_pairing", 2, unit="sd")
    max_new_tokens = 256
    batch_size = 1024
    result_type = DatRunResult
    view = DatView()
    settings: DatSettings

    @classmethod
    def beside(cls) -> tuple[Measure, ...]:
        """Usable answers, and different words at equal n."""
        return cls.measures[1], DIFFERENT_WORDS

    def __init__(self, settings: DatSettings | None = None) -> None:
        asked = settings or DatSettings()
        super().__init__(asked.resolved())
        self._default_checker = asked.noun_checker == AUTO

    @cached_property
    def scorer(self) -> DatScorer:
        """Loaded when first needed."""
        return DatScorer.from_settings(self.settings)

    @property
    def language(self) -> str:
        """Of the words (`sozo.scoring.languages`)."""
        return self.settings.language

    def noun_source(self) -> Self:
        return self

    def items(self) -> Sequence[Item]:
        return (Item("", prompt(PROMPTS[self.language])),)

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Distance of usable answers; every answer has the value `dat/usable`, 0 or 1."""
        rows = []
        for result in self.scorer.score([answer.text for answer in answers]):
            values = (
                {"dat/usable": 0.0}
                if result.score is None
                else {"dat": result.score, "dat/usable": 1.0}
            )
            rows.append(
                Row(
                    values,
                    result.reason and str(result.reason),
                    {"words": result.words},
                )
            )
        return rows

    def together(self, rows: Sequence[Row]) -> dict[str, float]:
        """Different words, and pairing."""
        lists = [row.facts["words"] for row in rows if row.reason is None]
        different = float(len({word for words in lists for word in words}))
        values = {"dat/different_words": different}
        if not self.settings.olson and len(lists) >= FEWEST_LISTS:
            words, numbers = np.unique(np.array(lists), return_inverse=True)
            unit = self.scorer.vectors.unit(words.tolist())
            values["dat/pairing"] = decompose(
                unit, numbers.reshape(len(lists), -1)
            ).pairing
        return values

    def for_people(self) -> Self:
        """The task with the noun checker for people, unless one was chosen; a Japanese word in two spellings is one."""
        checker, repeated = self.settings.noun_checker, self.settings.repeated_words
        if self._default_checker:
            checker += SPEAKERS
        if self.language == "ja" and repeated == REFUSE:
            repeated = REPRESENTATIVE
        settings = replace(self.settings, noun_checker=checker, repeated_words=repeated)
        return self if settings == self.settings else type(self)(settings)

    def frontier(
        self, nouns: Sequence[str], encoder: str | None = None
    ) -> NounFrontier:
        """Lists of these nouns that are as random as they can be at their mean score, by default that of this task."""
        return NounFrontier(nouns, self.scorer.vectors, encoder, self.language)

    def accepts(self, texts: Sequence[str]) -> list[bool]:
        """Of each answer whether it is usable: random lists that are not are drawn again."""
        return (self.scorer.score(texts).codes == 0).tolist()

    def describe(self) -> dict[str, Any]:
        return self.scorer.describe()

    def facts(self) -> dict[str, Any]:
        return (
            {"encoder_servers": servers}
            if (servers := self.scorer.vectors.servers)
            else {}
        )

    def columns(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> dict[str, Any]:
        """The table's columns as Arrow arrays, where that spares a million Python objects."""
        import pyarrow as pa

        scores = self.scorer.score([answer.text for answer in answers])
        unusable = scores.codes != 0
        # A word's lone surrogates are written out as its text's are.
        stored = replace(scores, texts=[utf8_safe(text) for text in scores.texts])
        reasons = [
            scores.reason(i) if bad else None for i, bad in enumerate(unusable.tolist())
        ]
        return {
            "words": [stored.words(i) for i in range(len(stored))],
            "score": pa.array(scores.scores, mask=unusable),
            "reason": [
                no_answer(a) or reason
                for a, reason in zip(answers, reasons, strict=True)
            ],
        }

    def finish(self, run: Complete) -> dict[str, Any]:
        answers = run.folder / "answers"
        row = summarise(
            answers,
            source=run.source,
            num_usable=run.num_usable,
            language=self.settings.language,
        )
        words, lists = read_lists(answers, run.num_usable)
        metrics = replace(
            row, instruments=measure(self.scorer, words, lists) | diversity_ends(lists)
        ).metrics()
        written = self.written(run.folder, metrics)
        unread = [
            text
            for reason in (Reason.FORMAT, *STATES)
            if reason != ERROR
            for text in written.texts(reason)
        ]
        other = sum(
            len(found_words(text, self.settings.language)) != NUM_WORDS
            for text in unread
        )
        return metrics | {
            "ten_words": row.came - other,
            "states": written.states,
            "refused": self._refused(answers, run.num_usable),
        }

    def _refused(self, answers: Path, num_usable: int | None) -> dict[str, int]:
        """The five words that most often stand in unusable lists and are refused by themselves, with how often."""
        table = read_table(answers, num_usable)
        words = (
            table.filter(table["reason"].is_valid())["words"].combine_chunks().flatten()
        )
        counts = {
            row["values"]: row["counts"] for row in words.value_counts().to_pylist()
        }
        refused = self.scorer.words.look_up(list(counts)) < 0
        return dict(Counter(dict(compress(counts.items(), refused))).most_common(5))
