"""The words of a list as parts of its text, each with a worth of its own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sozo.rewards.reward import Part, ScoredCompletion
from sozo.scoring.distance import distance_to_others
from sozo.scoring.embeddings import WordVectors


def distances_to_others(vectors: WordVectors, lists: Sequence[Sequence[str]]) -> list[list[float]]:
    """For each list of ten words each word's mean distance to the other nine."""
    if not lists:
        return []
    rows = np.array([vectors.rows(words) for words in lists])  # the matrix grows with them
    return distance_to_others(vectors.matrix, rows).tolist()


def unpaid(completion: ScoredCompletion) -> ScoredCompletion:
    """The same without a number from this reward."""
    return replace(completion, reward=None)


def with_parts(completion: ScoredCompletion, reward: float, worths: Sequence[float]) -> ScoredCompletion:
    """A valid list that is paid `reward`, and for each word what it is worth."""
    words: Sequence[str] = completion.facts["words"]
    lines = [f"{k}. {word}" for k, word in enumerate(words, 1)]
    # A list is the end of its text, and each line's length is known: `sozo.scoring.parse.split_list`.
    end, parts = len(completion.text.rstrip()) - sum(map(len, lines)) - len(lines), []
    for line, word, worth in zip(lines, words, worths, strict=True):
        end += len(line) + 1
        parts.append(Part(end - len(word), end, worth))
    return replace(completion, reward=reward, parts=parts)
