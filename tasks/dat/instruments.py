"""What lists of words tell beside their mean: where it comes from, how many kinds of words, and which loopholes."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec

import numpy as np

from sozo.data.jumandic import categories, domains
from sozo.scoring.second_encoder import FEWEST_LISTS, decompose
from sozo.scoring.statistics.hill import hill_interval, hill_number
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.dat.shuffle import shuffle_lists
from sozo.tasks.dat.words import BITS

PARTS = ("word_choice", "position", "pairing")
_SURE = (
    "word_choice",
    "pairing",
)  # where no place has words of its own, position's jackknife covers 98% to 99%
_KINDS = ("categories", "domains")
# As they are, and with the words shuffled among the lists.
FLEXIBILITY = tuple(
    f"{kind}{shuffled}" for kind in _KINDS for shuffled in ("", "_shuffled")
)
DIVERSITY = ("perplexity", "inverse_simpson")
_FEWEST_FOR_ERRORS = 30  # below, 1.96 standard errors cover less than 93%
LOOPHOLES = tuple(f"{kind}_share" for kind in BITS)


def measure(
    scorer: DatScorer, words: Sequence[str], lists: np.ndarray
) -> dict[str, float]:
    """The instruments of usable lists by their names, those with an interval followed by their standard errors.

    `lists` are numbers in `words`, integers of shape (lists, 10). Decomposed are three lists and more, and from 30 on
    there are standard errors; categories are of Japanese words and need the package jumandic; rare words a base model.
    Under Olson's protocol there is only diversity.
    """
    if not len(lists):
        return {}
    counts = np.bincount(lists.ravel())
    values = {
        name: hill_number(counts[counts > 0], len(lists), order=k)
        for k, name in enumerate(DIVERSITY, 1)
    }
    if scorer.rules.olson:
        return values
    sure = len(lists) >= _FEWEST_FOR_ERRORS
    if len(lists) >= FEWEST_LISTS:
        parts = asdict(decompose(scorer.vectors.unit(words), lists))
        values |= {
            name: parts[name]
            for part in PARTS
            for name in (part, *[f"{part}_se"] * (sure and part in _SURE))
        }
    if scorer.rules.language == "ja" and find_spec("jumandic"):
        shuffled = shuffle_lists(lists, np.random.default_rng(0))
        for name, of in zip(_KINDS, (categories, domains), strict=True):
            kinds = [of(word) for word in words]
            counts = different(kinds, lists)
            values[name] = float(counts.mean())
            if sure:
                values[f"{name}_se"] = float(counts.std(ddof=1) / math.sqrt(len(lists)))
            values[f"{name}_shuffled"] = float(different(kinds, shuffled).mean())
    flags = scorer.flags(words)[lists]
    return values | {
        f"{kind}_share": float(np.mean(flags & BITS[kind] > 0))
        for kind in scorer.words.kinds
    }


def diversity_ends(lists: np.ndarray) -> dict[str, float]:
    """The ends of the intervals of different words and the instruments of diversity, where there are some, by name.

    >>> diversity_ends(np.array([[0, 1], [0, 2], [0, 1]]))["all_different_words_high"]
    6.0
    """
    ends: dict[str, float] = {}
    for order, name in enumerate(("all_different_words", *DIVERSITY)):
        found = hill_interval(lists, order=order)
        if found.low is not None and found.high is not None:
            ends |= {f"{name}_low": found.low, f"{name}_high": found.high}
    return ends


def different(kinds: Sequence[frozenset[str]], lists: np.ndarray) -> np.ndarray:
    """How many different kinds the words of each list have together: integers, shape (lists,).

    >>> different([frozenset("ab"), frozenset("b"), frozenset()], np.array([[0, 1], [1, 2], [2, 2]])).tolist()
    [2, 1, 0]
    """
    bit = {
        kind: 1 << i for i, kind in enumerate(sorted(frozenset().union(*kinds)))
    }  # JumanDIC has 22 and 12
    bits = np.array([sum(bit[kind] for kind in own) for own in kinds], np.uint64)
    return np.bitwise_count(np.bitwise_or.reduce(bits[lists], axis=1))
