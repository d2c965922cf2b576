"""What answers questions without reading them: a classifier that sees a part of each, as a baseline for a benchmark."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from sozo.scoring.statistics.means import Interval, no_spread, student


def n_grams(text: str) -> set[str]:
    """The runs of 1 to 3 characters in a text.

    >>> sorted(n_grams("無い"))
    ['い', '無', '無い']
    """
    return {text[k : k + n] for n in (1, 2, 3) for k in range(len(text) - n + 1)}


def without_reading(
    tokens: Sequence[Collection[str]], answers: Sequence[str], groups: Sequence[str]
) -> Interval | None:
    """Balanced accuracy, 0 to 1, of naive Bayes that sees the tokens of each question, with its 95% interval.

    It is cross-validated: what it says of a group's questions it learnt from those of the other groups. Balanced
    accuracy is the mean over the answers of the share of their questions that are right; who guesses has one in as many
    as there are answers. The interval is Student's over the groups, which are what is independent. None where there is
    one answer only, or one group.

    >>> tokens, answers = [["dark"], ["light"]] * 8, ["night", "day"] * 8
    >>> without_reading(tokens, answers, list("aabbccddeeffgghh")).mean
    1.0
    """
    kinds, kind = np.unique(np.array(answers), return_inverse=True)
    names, group = np.unique(np.array(groups), return_inverse=True)
    if len(kinds) < 2 or len(names) < 2:
        return None
    place = {token: k for k, token in enumerate(sorted(set().union(*tokens)))}
    seen = np.zeros((len(tokens), len(place)), np.float32)  # which tokens a question has
    for row, of_one in zip(seen, tokens, strict=True):
        row[[place[token] for token in of_one]] = 1
    is_kind = np.eye(len(kinds))[kind]
    in_all, right = is_kind.T @ seen, np.empty(len(tokens))
    for number in range(len(names)):
        own = group == number
        counts = in_all - is_kind[own].T @ seen[own] + 1  # of each answer; one more of each token, as Laplace has it
        likely = seen[own] @ np.log(counts / counts.sum(axis=1, keepdims=True)).T
        right[own] = likely.argmax(axis=1) == kind[own]
    questions = is_kind.sum(axis=0)
    recall = right @ is_kind / questions
    # How far each group moves the mean of the recalls (the delta method).
    moves = np.bincount(group, (right - recall[kind]) / questions[kind])
    mean = student(values := recall.mean() + len(names) / len(kinds) * moves, no_spread(values))
    if mean.low is None or mean.high is None:
        return mean
    return replace(mean, low=max(mean.low, 0.0), high=min(mean.high, 1.0))
