"""Kanji remote associates: three kanji, and one that makes a word of two kanji with each of them, in either order."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jumandic import load_nouns
from sozo.data.prompts import fill, prompt
from sozo.data.settings import setting
from sozo.scoring.embeddings.glove import spellings
from sozo.scoring.final_text import final_text
from sozo.scoring.measure import Measure
from sozo.tasks.task import Answer, Bound, Control, Item, Row, Task
from sozo.tasks.words.lists import TEST, ItemSettings, split_of
from sozo.tasks.words.view import WordsView

Partners = Mapping[str, frozenset[str]]  # kanji -> those with which it makes a word
_KANJI = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"([\u4e00-\u9fff])(?!\1)[\u4e00-\u9fff]")
_PARTNERS = range(4, 61)  # common words of an answer
_SOLUTIONS = 3  # at most
_ATTEMPTS = 200  # for each item


@dataclass(frozen=True)
class KanjiSettings(ItemSettings):
    """Which dictionaries say what a word is."""

    edict: str | None = setting(None, "EDICT or JMdict (or .gz), whose words count beside JumanDIC's.", decides=False)


class Kanji(Task):
    """The share of items solved; an answer that is no single kanji is wrong. One solution is what items ask for: the
    task is convergent, and training for creativity should not cost it."""

    name = "kanji"
    title = "Kanji remote associates"
    Settings = KanjiSettings
    measures = (Measure("kanji", share=True), Measure("kanji/valid", share=True))
    # Who always says one kanji solves 2%, and who names a word of the first cue's 4% (docs/word-tasks.md).
    control = Control(measure=measures[0], chance=0.05, margin=0.1, least=144)
    max_new_tokens = 16
    view = WordsView()
    settings: KanjiSettings

    @classmethod
    def bounds(cls) -> tuple[Bound, ...]:
        return (Bound(measure=cls.measures[1], margin=0.05, least=30),)

    @cached_property
    def partners(self) -> tuple[Partners, Partners]:
        """Of all words, which are the key; and of those common ones that items are made of."""
        return read_partners(self.settings.edict)

    def items(self) -> Sequence[Item]:
        return self._items

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        """Answers uniformly, then three of the kanji with which it makes common words."""
        (key, common), rng, split = self.partners, self.settings.rng, self.settings.split
        answers = [kanji for kanji in sorted(common) if len(common[kanji]) in _PARTNERS and split_of(kanji) == split]
        count = self.settings.num_items or 256
        drawn: dict[str, Item] = {}
        for _ in range(_ATTEMPTS * count if answers else 0):
            partners = sorted(common[answers[rng.integers(len(answers))]])
            cues = "".join(partners[k] for k in rng.permutation(len(partners))[:3])
            solutions = sorted(frozenset.intersection(*(key[cue] for cue in cues)) - set(cues))
            name = "".join(sorted(cues))
            if len(solutions) <= _SOLUTIONS and name not in drawn and all(split_of(one) == split for one in solutions):
                columns = {"cues": cues, "solutions": "".join(solutions)}
                drawn[name] = Item(name, fill(prompt("kanji"), cue=cues), columns)
            if len(drawn) == count:
                return tuple(drawn.values())
        raise UserError(f"the dictionaries give {len(drawn)} of {count} items of kanji; take fewer as num_items")

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        rows = []
        for item, answer in zip(items, answers, strict=True):
            text = final_text(answer.text) or ""
            valid = bool(_KANJI.fullmatch(text))
            values = {"kanji": float(valid and text in item.columns["solutions"]), "kanji/valid": float(valid)}
            rows.append(Row(values))
        return rows

    def deciding(self) -> dict[str, Any]:
        asked = repr([(item.id, dict(item.columns)) for item in self.items()])
        return {"items_sha256": hashlib.sha256(asked.encode()).hexdigest(), **super().deciding()}

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Items with a solution of the test split."""
        before = prompt("kanji").partition("{cue}")[0]
        for item in (item for item in items if item.prompt.startswith(before)):
            if any(split_of(kanji) == TEST for kanji in item.columns.get("solutions", "")):
                raise UserError(f"training data hold {item.id} of kanji's test split; take the setting split: train")


@cache
def read_partners(edict: str | None) -> tuple[Partners, Partners]:
    """Kanji -> those with which it makes a word; of JumanDIC's nouns and the dictionary's words, and of common nouns.

    Common are those of JumanDIC's nouns that the dictionary calls common; without a dictionary all of them.
    """
    nouns, others = set(load_nouns()), spellings(Path(edict)) if edict else {}
    common = {noun for noun in nouns if others.get(noun, not edict)}
    return _partners(nouns | others.keys()), _partners(common)


def _partners(words: Iterable[str]) -> Partners:
    partners = defaultdict[str, set[str]](set)
    for word in words:
        if _WORD.fullmatch(word):
            partners[word[0]].add(word[1])
            partners[word[1]].add(word[0])
    return {kanji: frozenset(others) for kanji, others in partners.items()}
