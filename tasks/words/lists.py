"""What the tasks of ten nouns share: which cues are asked, what a valid list is, and what tells a fixed list."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sozo.data.errors import UserError
from sozo.data.nouns import read_nouns
from sozo.data.prompts import fill, prompt
from sozo.data.settings import setting
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.final_text import final_text
from sozo.scoring.measure import Measure
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.finished import Finished
from sozo.tasks.task import Answer, Bound, Item, Row, Task
from sozo.tasks.words.items import TEST, ItemSettings, digest, split_of
from sozo.tasks.words.view import WordsView

_LINE = re.compile(r"^[0-9]+\.[ \u3000](\S+)$", re.MULTILINE)
_COMPARED = 9  # words of a list beside its cue


@dataclass(frozen=True)
class WordSettings(ItemSettings, DatSettings):
    """DAT's settings, and where cues come from; distances are always by centred vectors."""

    cue_nouns: str | None = setting(
        None, "Nouns that cues and neighbours come from: a file, or tiny (default: JumanDIC's)."
    )


class FinishedLists(Finished):
    """Lists on disk, and how many of their words the lists of one item do not share."""

    same = ("items_sha256",)

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        if not measure.name.endswith("/unshared"):
            return super().by_item(measure)
        lists: dict[str, list[list[str]]] = {item: [] for item in self.prompts}
        for answer in self.answers():
            if answer.reason is None:
                lists[answer.item].append(_LINE.findall(final_text(answer.text) or "")[-_COMPARED:])
        return {item: unshared(of_item) for item, of_item in lists.items()}


def unshared(lists: Sequence[Sequence[str]]) -> float | None:
    """Share of a list's words that another list lacks, on average over all pairs of lists; None of fewer than two.

    >>> unshared([["犬", "海"], ["海", "法"]]), unshared([["犬", "海"]])
    (0.5, None)
    """
    if len(lists) < 2:
        return None
    counts = Counter(word for words in lists for word in words).values()
    pairs = len(lists) * (len(lists) - 1)
    return 1 - sum(count * (count - 1) for count in counts) / (pairs * len(lists[0]))


def list_measures(name: str, *own: Measure, scale: tuple[float, float] | None = None) -> tuple[Measure, ...]:
    """The value, validity, the task's own measures, and the words that lists of one item do not share."""
    valid, unique = (Measure(f"{name}/{short}", share=True) for short in ("valid", "unshared"))
    return (Measure(name, scale=scale), valid, *own, unique)


class ListTask(Task):
    """Lists of ten nouns. A subclass says what lists are worth (`value`), and perhaps how far they keep a rule."""

    Settings = WordSettings
    Finished = FinishedLists
    view = WordsView()
    max_new_tokens = 256
    batch_size = 256
    column: ClassVar[str] = "cue"  # of the items
    rule: ClassVar[str] = ""  # the measure of how much of a list keeps the task's own rule
    settings: WordSettings

    def __init__(self, settings: WordSettings | None = None) -> None:
        own = (settings or self.Settings()).settled()
        name = "centred:" + own.embedding_model.removeprefix("centred:")
        super().__init__(replace(own, embedding_model=name, olson=False))

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
        return tuple(Item(cue, fill(template, cue=cue), {self.column: cue}) for cue in cues)

    def items(self) -> Sequence[Item]:
        return self.asked

    def text(self, cue: str, answer: str) -> str:
        """The answer as a list of ten whose first word is the cue, which the answer may repeat in its first line."""
        written, first = final_text(answer) or "", f"1. {cue}\n"
        return written if written.startswith(first) else first + written

    def value(self, vectors: WordVectors, cues: Sequence[str], lists: Sequence[Sequence[str]]) -> np.ndarray:
        """What lists of ten are worth by some encoder: (lists,), NaN where a word has no vector."""
        raise NotImplementedError

    def kept(self, cues: Sequence[str], lists: Sequence[Sequence[str]]) -> np.ndarray:
        """How much of each list keeps the task's own rule: (lists,), 0 to 1."""
        return np.ones(len(lists))

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Every answer has `NAME/valid`, every list of ten different nouns its share by the task's own rule."""
        cues = [str(item.columns[self.column]) for item in items]
        results = self.scorer.score([self.text(cue, answer.text) for cue, answer in zip(cues, answers, strict=True)])
        valid, rule = f"{self.name}/valid", f"{self.name}/{self.rule}"
        rows = [Row({valid: 0.0}, str(result.reason), {"words": result.words}) for result in results]
        good = [k for k, result in enumerate(results) if result.reason is None]
        own, lists = [cues[k] for k in good], [rows[k].facts["words"] for k in good]
        if not good:
            return rows
        for k, value, kept in zip(
            good, self.value(self.scorer.vectors, own, lists), self.kept(own, lists), strict=True
        ):
            values = {valid: float(kept == 1)} | ({rule: float(kept)} if self.rule else {})
            if kept == 1:
                rows[k] = Row({self.name: float(value), **values}, None, rows[k].facts)
            else:
                rows[k] = Row(values, f"not_{self.rule}", rows[k].facts)
        return rows

    def deciding(self) -> dict[str, Any]:
        return digest(self.items()) | super().deciding()

    def describe(self) -> dict[str, Any]:
        return self.scorer.describe()

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Prompts of this task about cues of the test split."""
        ends = [template.split("{cue}") for template in cls.templates().values()]
        for text in (item.prompt for item in items):
            for before, after in ends:
                cue = text.removeprefix(before).removesuffix(after)
                if text == before + cue + after and split_of(cue) == TEST:
                    raise UserError(f"training data ask {cls.name} about {cue}, of its test split; set split to train")
