"""Which items a word task asks: two splits that share nothing, and a seeded draw of one of them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sozo.data.errors import UserError
from sozo.data.settings import Checked, rare_setting, setting
from sozo.tasks.task import Item

SPLITS = TRAIN, TEST = "train", "test"


@dataclass(frozen=True)
class ItemSettings(Checked):
    """Which items are asked."""

    split: str = setting(TEST, "test, or train: items that share no cue with test's.")
    num_items: int = setting(256, "Items at most.", least=3)
    item_seed: int = rare_setting(0, "Seed of which items are drawn.", least=0)

    def shuffled(self, cues: Iterable[str]) -> list[str]:
        """The cues of the split in a random order."""
        if self.split not in SPLITS:
            raise UserError(f"split must be train or test, not {self.split}")
        own = sorted(cue for cue in cues if split_of(cue) == self.split)
        order = np.random.default_rng(self.item_seed).permutation(len(own))
        return [own[k] for k in order.tolist()]


def split_of(cue: str) -> str:
    """The split of a cue, whatever list it was drawn from.

    >>> [split_of(cue) for cue in "犬鳥"]
    ['train', 'test']
    """
    return SPLITS[hashlib.sha256(cue.encode()).digest()[0] % 2]


def refuse_test(task: str, templates: Iterable[str], items: Iterable[Item]) -> None:
    """Refuse prompts of a task about cues of the test split."""
    ends = [template.split("{cue}") for template in templates]
    for text in (item.prompt for item in items):
        for before, after in ends:
            cue = text.removeprefix(before).removesuffix(after)
            if text == before + cue + after and split_of(cue) == TEST:
                raise UserError(
                    f"training data ask {task} about {cue}, of its test split; set split to train"
                )
