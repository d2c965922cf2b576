"""Which items a word task asks: two splits that share nothing, and a seeded draw of one of them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sozo.data.errors import UserError
from sozo.data.settings import setting
from sozo.tasks.task import Item

SPLITS = TRAIN, TEST = "train", "test"


@dataclass(frozen=True)
class ItemSettings:
    """Which items are asked."""

    split: str = setting(TEST, "test, or train: items that share no cue and no solution with test's.")
    num_items: int = setting(256, "Items at most (one-kana DAT has fewer).")
    item_seed: int = setting(0, "Seed of which items are drawn.")

    def shuffled(self, cues: Iterable[str]) -> list[str]:
        """The cues of the split in a random order."""
        if self.split not in SPLITS or self.num_items < 3 or self.item_seed < 0:
            raise UserError("a word task needs the split train or test, 3 items or more, and an item_seed of 0 or more")
        own = sorted(cue for cue in cues if split_of(cue) == self.split)
        order = np.random.default_rng(self.item_seed).permutation(len(own))
        return [own[k] for k in order.tolist()]


def split_of(cue: str) -> str:
    """The split of a cue, a kana or a solution, whatever list it was drawn from.

    >>> [split_of(cue) for cue in "犬猫"]
    ['train', 'test']
    """
    return SPLITS[hashlib.sha256(cue.encode()).digest()[0] % 2]


def digest(items: Sequence[Item]) -> dict[str, str]:
    """What is asked, as a setting that decides a score."""
    asked = repr([(item.prompt, dict(item.columns)) for item in items])
    return {"items_sha256": hashlib.sha256(asked.encode()).hexdigest()}
