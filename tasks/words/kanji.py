"""Kanji remote associates: three kanji, and one that makes a word of two kanji with each of them, in either order."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from random import Random

from sozo.data.jumandic import load_nouns
from sozo.data.prompts import fill, prompt
from sozo.scoring.final_text import final_text
from sozo.scoring.measure import Measure
from sozo.tasks.task import Answer, ChosenItems, Control, Item, Row
from sozo.tasks.view import View
from sozo.tasks.words.items import ItemSettings, refuse_test, split_of

Partners = Mapping[str, frozenset[str]]  # kanji -> those with which it makes a word
_KANJI = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"([\u4e00-\u9fff])(?!\1)[\u4e00-\u9fff]")
_PARTNERS = range(4, 61)  # words of an answer
_SOLUTIONS = 3  # at most
_ROUNDS = 50  # over the answers


class Kanji(ChosenItems):
    """The share of items solved; an answer that is no single kanji is wrong. One solution is what items ask for: the
    task is convergent, and training for creativity should not cost it."""

    name = "kanji"
    title = "Kanji remote associates"
    Settings = ItemSettings
    measures = (Measure("kanji", share=True), Measure("kanji/usable", share=True))
    # Who says one kanji always solves 1%, who names a partner of the first cue some 10%.
    control = Control(measure=measures[0], chance=0.15)
    max_new_tokens = 16
    view = View(__file__)
    settings: ItemSettings

    @cached_property
    def asked(self) -> tuple[Item, ...]:
        """Answers in a random order, again and again; of each time three kanji with which it makes words."""
        key = read_partners()
        answers = self.settings.shuffled(
            kanji for kanji in key if len(key[kanji]) in _PARTNERS
        )
        split, rng, items = (
            self.settings.split,
            Random(self.settings.item_seed),
            dict[str, Item](),
        )
        for answer in answers * _ROUNDS:
            cues = "".join(rng.sample(sorted(key[answer]), 3))
            solutions = solve(key, cues)
            if len(solutions) <= _SOLUTIONS and all(
                split_of(kanji) == split for kanji in solutions
            ):
                columns = {"cues": cues, "solutions": "".join(solutions)}
                items.setdefault(
                    "".join(sorted(cues)),
                    Item(cues, fill(prompt("kanji"), cue=cues), columns),
                )
            if len(items) == self.settings.num_items:
                break
        return tuple(items.values())

    def items(self) -> Sequence[Item]:
        return self.asked

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        rows = []
        for item, answer in zip(items, answers, strict=True):
            text = final_text(answer.text) or ""
            usable = _KANJI.fullmatch(text) is not None
            solved = usable and text in item.columns["solutions"]
            rows.append(Row({"kanji": float(solved), "kanji/usable": float(usable)}))
        return rows

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Prompts with a solution of the test split: an item's answer is in JumanDIC's key, whatever else it was by."""
        refuse_test(
            cls.name,
            [prompt("kanji")],
            items,
            lambda cues: solve(read_partners(), cues),
        )


@cache
def read_partners() -> Partners:
    """Kanji -> those with which it makes a word, of JumanDIC's nouns."""
    partners = defaultdict[str, set[str]](set)
    for word in load_nouns():
        if _WORD.fullmatch(word):
            partners[word[0]].add(word[1])
            partners[word[1]].add(word[0])
    return {kanji: frozenset(others) for kanji, others in partners.items()}


def solve(key: Partners, cues: str) -> list[str]:
    """The kanji that make a word with each cue, without the cues, sorted."""
    partners = [key.get(cue, frozenset()) for cue in cues]
    return sorted(frozenset(key).intersection(*partners) - set(cues))
