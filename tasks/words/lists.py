"""What the tasks of ten nouns share: settings, validity, the value by one encoder and by a second, fixed lists."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from sozo.data.errors import UserError
from sozo.data.jsonl import write_objects
from sozo.data.nouns import read_nouns
from sozo.data.prompts import fill, prompt
from sozo.data.settings import setting
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.final_text import final_text
from sozo.scoring.measure import Measure
from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.finished import ITEMS, Finished
from sozo.tasks.task import Answer, Bound, Complete, Item, Outcome, Row, Task
from sozo.tasks.words.view import WordsView

SPLITS = TRAIN, TEST = "train", "test"
_LINE = re.compile(r"^[0-9]+\.[ \u3000](\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class ItemSettings:
    """Which items are asked."""

    split: str = setting(TEST, "test, or train: items that share no cue and no solution with test's.")
    num_items: int | None = setting(None, "Items (default: 256; one-kana DAT: every kana).")
    item_seed: int = setting(0, "Seed of which items are drawn.")

    @property
    def rng(self) -> np.random.Generator:
        """Which draws the items."""
        if self.split not in SPLITS or (self.num_items is not None and self.num_items < 3) or self.item_seed < 0:
            raise UserError("a word task needs the split train or test, 3 items or more, and an item_seed of 0 or more")
        return np.random.default_rng(self.item_seed)


@dataclass(frozen=True)
class WordSettings(ItemSettings, DatSettings):
    """DAT's settings, and where cues come from; distances are always by centred vectors."""

    second_encoder: str | None = setting(None, "A second encoder of the value; of chain the second gate (default e5).")
    cue_nouns: str | None = setting(
        None, "Nouns that cues and neighbours come from: a file, or tiny (default: JumanDIC's)."
    )


def split_of(cue: str) -> str:
    """The split that a cue, a kana or a solution belongs to, whatever list it was drawn from.

    >>> [split_of(cue) for cue in "犬猫"]
    ['train', 'test']
    """
    return SPLITS[hashlib.sha256(cue.encode()).digest()[0] % 2]


def centred(name: str) -> str:
    """The encoder of this name without its common direction."""
    return name if name.startswith("centred:") else f"centred:{name}"


class FinishedLists(Finished):
    """Lists on disk, and how many of its words a list has for itself among those of its item."""

    same = ("items_sha256",)
    size = NUM_WORDS - 1  # words of a list beside its cue

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        if not measure.name.endswith("/unique_words"):
            return super().by_item(measure)
        lists: dict[str, list[list[str]]] = {item: [] for item in self.prompts}
        for answer in self.answers():
            if answer.reason is None:
                lists[answer.item].append(_LINE.findall(final_text(answer.text) or "")[-self.size :])
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


def list_measures(name: str, *more: Measure, **options: Any) -> tuple[Measure, ...]:
    """The measures of a task of lists: its value, validity, more of its own, the value by the second encoder, and what
    tells lists from one fixed list for each item."""
    valid, unique = (Measure(f"{name}/{short}", share=True) for short in ("valid", "unique_words"))
    return (Measure(name, **options), valid, *more, Measure(f"{name}/second", group=None), unique)


class ListTask(Task):
    """Lists of ten nouns, of which the first may be the item's cue, written in the prompt.

    A subclass has `cues` (what is asked), `text` (an answer as a list of ten) and `value` (what lists are worth).
    """

    Settings = WordSettings
    Finished = FinishedLists
    view = WordsView()
    max_new_tokens = 256
    batch_size = 256
    column: ClassVar[str] = "cue"  # of the items
    settings: WordSettings

    def __init__(self, settings: WordSettings | None = None) -> None:
        own = (settings or self.Settings()).settled()
        super().__init__(replace(own, embedding_model=centred(own.embedding_model), olson=False))

    @classmethod
    def bounds(cls) -> tuple[Bound, ...]:
        """Valid lists, and the words that lists of one item do not share."""
        return tuple(Bound(measure=cls.measures[k], margin=0.05, least=30) for k in (1, -1))

    @cached_property
    def scorer(self) -> DatScorer:
        """Checker and encoder, loaded when first needed."""
        return DatScorer.of(self.settings)

    @cached_property
    def second_vectors(self) -> WordVectors | None:
        """Vectors of the second encoder."""
        name = self.settings.second_encoder
        return WordVectors(make_encoder(centred(name))) if name else None

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The nouns that may stand in a list, from which everything is drawn."""
        nouns = list(read_nouns(self.settings.cue_nouns))
        numbers = self.scorer.words.look_up(nouns)
        known = [number >= 0 and self.scorer.words.rows[number] >= 0 for number in numbers.tolist()]
        return tuple(compress(nouns, known))

    def cues(self) -> Sequence[str]:
        """All cues of the split, in an order of their own."""
        return sorted(noun for noun in self.nouns if split_of(noun) == self.settings.split)

    @classmethod
    def templates(cls) -> Mapping[str, str]:
        """The prompts in which a cue may be asked about, by name."""
        return {"cue": prompt(cls.name)}  # type: ignore[arg-type]

    def ask(self, cue: str) -> str:
        """The prompt about a cue."""
        return fill(self.templates()["cue"], cue=cue)

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        rng, cues = self.settings.rng, self.cues()
        count = min(self.settings.num_items or 256, len(cues))
        chosen = [cues[k] for k in rng.permutation(len(cues))[:count].tolist()]
        if len(chosen) < 3:
            raise UserError(f"{self.name} finds only {len(chosen)} items; give more nouns as cue_nouns")
        return tuple(Item(cue, self.ask(cue), {self.column: cue}) for cue in chosen)

    def items(self) -> Sequence[Item]:
        return self._items

    def text(self, cue: str, answer: str) -> str:
        """The answer as a list of ten whose first word is the cue, which the answer may repeat in its first line."""
        written, first = final_text(answer) or "", f"1. {cue}\n"
        return written if written.startswith(first) else first + written

    def value(self, vectors: WordVectors, cues: Sequence[str], lists: Sequence[Sequence[str]]) -> np.ndarray:
        """What lists of ten are worth by some encoder: (lists,), NaN where a word has no vector."""
        raise NotImplementedError

    def failed(self, cue: str, words: Sequence[str]) -> str | None:
        """Why a list of ten different nouns is none that was asked for."""
        return None

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        cues = [str(item.columns[self.column]) for item in items]
        rows, good = [], []
        scores = self.scorer.score([self.text(cue, answer.text) for cue, answer in zip(cues, answers, strict=True)])
        for k, (cue, result) in enumerate(zip(cues, scores, strict=True)):
            reason = str(result.reason) if result.reason else self.failed(cue, result.words or ())
            rows.append(Row({f"{self.name}/valid": float(reason is None)}, reason, {"words": result.words}))
            good += [k] if reason is None else []
        lists, of_lists = [rows[k].facts["words"] for k in good], [cues[k] for k in good]
        for name, vectors in ((self.name, self.scorer.vectors), (f"{self.name}/second", self.second_vectors)):
            values = self.value(vectors, of_lists, lists) if vectors and lists else ()
            for k, value in zip(good, values, strict=False):
                if np.isfinite(value):
                    rows[k] = replace(rows[k], values={**rows[k].values, name: float(value)})
        return rows

    def deciding(self) -> dict[str, Any]:
        asked = repr([(item.prompt, dict(item.columns)) for item in self.items()])
        return {"items_sha256": hashlib.sha256(asked.encode()).hexdigest(), **super().deciding()}

    def describe(self) -> dict[str, Any]:
        known = self.second_vectors.describe() if self.second_vectors else {}
        return self.scorer.describe() | {f"second_{name}": value for name, value in known.items()}

    def finish(self, run: Complete) -> Outcome | None:
        rows = ({"id": item.id, "prompt": item.prompt, **item.columns} for item in self.items())
        write_objects(run.folder / ITEMS, rows)
        return None

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Prompts of this task about cues of the test split."""
        ends = [template.split("{cue}") for template in cls.templates().values()]
        for item in items:
            for before, after in ends:
                cue = item.prompt.removeprefix(before).removesuffix(after)
                if item.prompt == before + cue + after and split_of(cue) == TEST:
                    what = f"training data ask {cls.name} about {cue}, which is of its test split"
                    raise UserError(f"{what}; take the setting split: train")
