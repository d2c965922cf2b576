"""A point of both frontiers: distance against unique words, for free lists and for words drawn independently."""

from dataclasses import dataclass

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings.reference import random_lists
from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.dat.frontier import free_lists, independent_words

AGREE = 0.0005  # two starts, in mean score
_TABLES, _MOST_SWEEPS = 5, 40


@dataclass(frozen=True, slots=True)
class Place:
    """Where tables of so many lists are on average: every number is of one table."""

    mean: float  # DAT score, 0 to 2
    unique_words: float
    perplexity: float  # plug-in: exp of the entropy of the words' shares in the table


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """Both frontiers at one strength."""

    strength: float
    lists: int  # in a table
    free: Place | None  # None if nobody asked, or two starts did not agree: then nobody knows where it is
    independent: Place | None  # None if hardly any list of independent words has ten different ones
    starts_differ: float | None  # mean score of lists begun too far apart less that of lists begun at random
    sweeps: int  # redraws of every word until the starts agreed


def frontier_point(
    unit: np.ndarray, strength: float, lists: int, rng: np.random.Generator, *, free: bool = True
) -> FrontierPoint:
    """Both frontiers at `strength` in tables of `lists`, or that of independent words alone; `unit` as in `free_lists`.

    Half of the free lists begin at random, half too far apart and with few words: those that four times the strength
    makes likely. In between lies what they draw near to; they are there when their means agree.
    """
    independent = independent_place(unit, independent_words(unit, strength), lists, rng)
    if not free:
        return FrontierPoint(strength, lists, None, independent, None, 0)
    half = lists // 2
    few = np.argsort(-independent_words(unit, 4 * strength))[: max(2 * NUM_WORDS, len(unit) // 16)]
    far = few[free_lists(unit[few], 4 * strength, half, rng)]
    begun = np.concatenate([far, random_lists(len(unit), lists - half, rng)])
    sweeps, differ = 0, np.inf
    while abs(differ) > AGREE and sweeps < _MOST_SWEEPS:
        tables = []
        for _ in range(_TABLES):  # rows keep their places, so that both halves stay apart
            begun = free_lists(unit, strength, lists, rng, start=begun, sweeps=2)
            tables.append(begun)
        scores = mean_pairwise_distance(unit, np.concatenate(tables)).reshape(_TABLES, lists)
        differ, sweeps = float(scores[:, :half].mean() - scores[:, half:].mean()), sweeps + 2 * _TABLES
    place = _place(unit, tables) if abs(differ) <= AGREE else None
    return FrontierPoint(strength, lists, place, independent, differ, sweeps)


def independent_place(unit: np.ndarray, p: np.ndarray, lists: int, rng: np.random.Generator) -> Place | None:
    """Of lists of independent words, drawn with `p`, that have ten different ones: they alone are valid."""
    kept, wanted = np.zeros((0, NUM_WORDS), np.int64), _TABLES * lists
    for _ in range(20):
        words = rng.choice(len(p), (wanted, NUM_WORDS), p=p)
        kept = np.concatenate([kept, words[(np.diff(np.sort(words, axis=1)) > 0).all(axis=1)]])
        if len(kept) >= wanted:
            return _place(unit, list(kept[:wanted].reshape(_TABLES, lists, NUM_WORDS)))
    return None


def _place(unit: np.ndarray, tables: list[np.ndarray]) -> Place:
    counts = [np.unique(table, return_counts=True)[1] for table in tables]
    entropies = [-float(share @ np.log(share)) for share in (count / count.sum() for count in counts)]
    means = [float(mean_pairwise_distance(unit, table).mean(dtype=np.float64)) for table in tables]
    unique, perplexity = np.mean([len(count) for count in counts]), np.mean(np.exp(entropies))
    return Place(float(np.mean(means)), float(unique), float(perplexity))
