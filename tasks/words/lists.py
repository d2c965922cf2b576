"""What the tasks of ten nouns share: which cues are asked, what a valid list is, and what tells a fixed list."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import fill, prompt
from sozo.data.settings import setting
from sozo.scoring.final_text import final_text
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import Measure
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.task import Answer, Bound, ChosenItems, Item, Row
from sozo.tasks.words.items import ItemSettings, refuse_test
from sozo.tasks.words.view import WordsView

Lists = Sequence[Sequence[str]]  # of words


@dataclass(frozen=True)
class WordSettings(ItemSettings, DatSettings):
    """DAT's settings, and where cues come from; distances are always by centred vectors."""

    cue_nouns: str | None = setting(
        None, "Nouns that cues and neighbours come from: a file, or tiny (default: JumanDIC's)."
    )

    def __post_init__(self) -> None:
        ItemSettings.__post_init__(self)
        DatSettings.__post_init__(self)
        if self.language != "ja":
            raise UserError(f"the word tasks ask for Japanese nouns, not for {self.language}; leave language out")


def centred(encoder: str) -> str:
    """The name of an encoder whose vectors are centred."""
    return "centred:" + encoder.removeprefix("centred:")


def unshared(lists: Lists) -> list[float]:
    """Of each of two or more lists the share of its words that another list lacks, on average over the others.

    >>> unshared([["犬", "海"], ["海", "法"], ["海", "犬"]])
    [0.25, 0.5, 0.25]
    """
    counts, others = Counter(word for words in lists for word in words), len(lists) - 1
    return [1 - sum(counts[word] - 1 for word in words) / (others * len(words)) for words in lists]


def list_measures(name: str, *own: Measure, scale: tuple[float, float] | None = None) -> tuple[Measure, ...]:
    """The value, validity, the task's own measures, and the words that lists of one item do not share."""
    unique = Measure(f"{name}/unshared", share=True, together=True)
    return (Measure(name, scale=scale), Measure(f"{name}/valid", share=True), *own, unique)


class ListTask(ChosenItems):
    """Lists of ten nouns. A subclass says what lists are worth (`values`), and perhaps how far they keep a rule."""

    Settings = WordSettings
    view = WordsView()
    max_new_tokens = 256
    batch_size = 256
    rule: ClassVar[str] = ""  # the measure of how much of a list keeps the task's own rule
    settings: WordSettings

    def __init__(self, settings: WordSettings | None = None) -> None:
        own = (settings or self.Settings()).settled()
        super().__init__(replace(own, embedding_model=centred(own.embedding_model)))

    @classmethod
    def bounds(cls) -> tuple[Bound, ...]:
        """Valid lists, and the words that lists of one item do not share."""
        return tuple(Bound(measure=cls.measures[k], margin=0.05, least=30) for k in (1, -1))

    @cached_property
    def scorer(self) -> DatScorer:
        """Checker and encoder, loaded when first needed."""
        return DatScorer.of(self.settings)

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The nouns that may stand in a list, from which everything is drawn."""
        nouns, table = list(read_nouns(self.settings.cue_nouns)), self.scorer.words
        numbers = table.look_up(nouns).tolist()
        return tuple(noun for noun, k in zip(nouns, numbers, strict=True) if k >= 0 and table.rows[k] >= 0)

    def cues(self) -> Iterable[str]:
        """What may be asked about, of both splits."""
        return self.nouns

    @property
    def form(self) -> str:
        """Which of the prompts is taken."""
        return "cue"

    @classmethod
    def templates(cls) -> Mapping[str, str]:
        """The prompts in which a cue may be asked about, by name."""
        return {"cue": prompt(cls.name)}  # type: ignore[arg-type]

    @cached_property
    def asked(self) -> tuple[Item, ...]:
        """The items."""
        template = self.templates()[self.form]
        cues = self.settings.shuffled(self.cues())[: self.settings.num_items]
        return tuple(Item(cue, fill(template, cue=cue), {"cue": cue}) for cue in cues)

    def items(self) -> Sequence[Item]:
        return self.asked

    def text(self, cue: str, answer: str) -> str:
        """The answer as a list of ten whose first word is the cue, which the answer may repeat in its first line."""
        written, first = final_text(answer) or "", f"1. {cue}\n"
        return written if written.startswith(first) else first + written

    def values(self, cues: Sequence[str], lists: Lists) -> Mapping[str, np.ndarray]:
        """What lists of ten are worth, and how much of each keeps the `rule` (0 to 1), by measure.

        Each is of shape (lists,), NaN where a word has no vector.
        """
        raise NotImplementedError

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Every answer has `NAME/valid`, every list of ten different nouns its share by the task's own rule."""
        cues = [str(item.columns["cue"]) for item in items]
        results = self.scorer.score([self.text(cue, answer.text) for cue, answer in zip(cues, answers, strict=True)])
        valid, rule = f"{self.name}/valid", f"{self.name}/{self.rule}"
        rows = [Row({valid: 0.0}, str(result.reason), {"words": result.words}) for result in results]
        good = [k for k, result in enumerate(results) if result.reason is None]
        worth = self.values([cues[k] for k in good], [rows[k].facts["words"] for k in good]) if good else {}
        for place, k in enumerate(good):
            values = {name: float(column[place]) for name, column in worth.items()}
            kept = values.get(rule, 1.0)
            if kept == 1:
                rows[k] = Row({valid: 1.0, **values}, None, rows[k].facts)
            else:
                rows[k] = Row({valid: 0.0, rule: kept}, f"not_{self.rule}", rows[k].facts)
        return rows

    def score_together(self, item: Item, answers: Sequence[Answer], rows: Sequence[Row]) -> list[Row]:
        """The share of every list's words that the others lack too, if there are others."""
        if len(rows) < 2:
            return list(rows)
        lists = [[word for word in row.facts["words"] if word != item.columns["cue"]] for row in rows]
        shares, name = unshared(lists), f"{self.name}/unshared"
        return [replace(row, values={**row.values, name: share}) for row, share in zip(rows, shares, strict=True)]

    def describe(self) -> dict[str, Any]:
        return self.scorer.describe()

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Prompts of this task about cues of the test split."""
        refuse_test(cls.name, cls.templates().values(), items, lambda cue: [cue])
