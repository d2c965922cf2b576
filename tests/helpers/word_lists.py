"""Lists of words with what each is worth."""

from itertools import permutations

import numpy as np

from fakes import list_text
from sozo.rewards.reward import Part, Reward
from sozo.scoring.distance import distance_to_others

WORDS = "犬猫水山"


UNIT = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)


def spans(text, words):
    """Where the words stand, as parts that are worth nothing."""
    places, at = [], 0
    for word in words:
        at = text.index(word, at)
        places.append(Part(at, at + len(word), 0.0))
    return places


class Three(Reward):
    """Lists of three words, paid by their distances; a list of 山 first is unusable."""

    in_parts = True

    def alone(self, items, answers):
        scored = []
        for item, answer in zip(items, answers, strict=True):
            words = [line.partition(" ")[2] for line in answer.text.split("\n")]
            rows = np.array([[WORDS.index(word) for word in words]])
            worths = distance_to_others(UNIT, rows)[0].tolist()
            parts = [
                p._replace(worth=w)
                for p, w in zip(spans(answer.text, words), worths, strict=True)
            ]
            result = self.scored(
                item,
                answer.text,
                None if words[0] == "山" else float(np.mean(worths)),
                "bad",
            )
            paid = None if result.score is None else result.score
            scored.append(
                type(result)(
                    answer.text,
                    result.score,
                    None,
                    paid,
                    parts=() if paid is None else parts,
                )
            )
        return scored


def usable(completions, **kwargs):
    """A reward of the whole answer."""
    return [
        float("1. 山" not in completion[0]["content"]) for completion in completions
    ]


LISTS = list(permutations(range(4), 3))


TEXTS = [list_text([WORDS[w] for w in words]) for words in LISTS]
