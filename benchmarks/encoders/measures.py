"""What can be said of an encoder without a model: does it see what people see, and what is its distance made of."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sozo.data.jumandic import categories, domains
from sozo.scoring.distance import mean_pairwise_distance, paired_distance
from sozo.scoring.embeddings import Encoder, WordVectors
from sozo.scoring.embeddings.derived import random_lists
from sozo.studies.correlation import r_of

PAIRS = 1_000_000
_CHUNK = 1 << 15


@dataclass(frozen=True, slots=True)
class Measured:
    """One encoder."""

    name: str
    revision: str
    dimensions: int
    nouns: int  # that it has a vector for
    distinct: int  # of these, those whose vector no other noun has
    same_category: float | None  # AUC; see `auc_of_sharing`
    same_domain: float | None
    mean: float  # of the scores of random lists
    std: float  # their standard deviation (ddof = 1)
    common_direction: float  # see `common_direction_share`
    r: dict[
        str, float | None
    ]  # Pearson's, with every encoder's scores of the same lists


def labels_of(
    words: Sequence[str], label: Callable[[str], Iterable[str]]
) -> np.ndarray:
    """Each word's labels as bits, int64 of shape (words,): two words share a label where `a & b` is not 0.

    >>> labels_of(["ab", "b", ""], list).tolist()
    [3, 2, 0]
    """
    every = [sorted(label(word)) for word in words]
    bit = {
        name: 1 << k
        for k, name in enumerate(sorted({name for labels in every for name in labels}))
    }
    return np.array([sum(bit[name] for name in labels) for labels in every], np.int64)


def random_pairs(words: int, pairs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of two different words, uniformly: two int64 of shape (pairs,), numbers below `words` (at least 2)."""
    rng = np.random.default_rng(seed)
    left = rng.integers(words, size=pairs)
    return left, (left + rng.integers(1, words, size=pairs)) % words


def auc_of_sharing(
    unit: np.ndarray, labels: np.ndarray, pairs: int, seed: int
) -> float | None:
    """How well nearness tells pairs of words that share a label from pairs that do not, over words that have labels.

    The area under the ROC curve: the probability that of one pair of each kind the one that shares is the nearer, a
    tie counting half; 0.5 is chance, 1 is perfect. `unit` are float32 unit vectors, shape (words, dimensions), and
    `labels` as of `labels_of`; `pairs` random pairs are looked at. None where no two words have labels (English ones).
    """
    labelled = np.flatnonzero(labels)
    if len(labelled) < 2:
        return None
    left, right = labelled[np.stack(random_pairs(len(labelled), pairs, seed))]
    starts = range(0, pairs, _CHUNK)  # a million pairs of vectors would fill the memory
    parts = [
        paired_distance(unit, left[i : i + _CHUNK], right[i : i + _CHUNK])
        for i in starts
    ]
    return auc(-np.concatenate(parts), (labels[left] & labels[right]) != 0)


def auc(values: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve of `values`, shape (n,), for a bool array of which there is at least one of each kind.

    >>> auc(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.625
    """
    from scipy.stats import mannwhitneyu

    first, second = values[positive], values[~positive]
    pairs_in_order = mannwhitneyu(first, second, method="asymptotic").statistic
    return float(pairs_in_order / (len(first) * len(second)))


def common_direction_share(unit: np.ndarray, lists: np.ndarray) -> float:
    """Share of the variance of lists' scores that lies along the vectors' mean: what centring would take out.

    Of a cosine, the part along the direction of the mean vector is the product of the words' coordinates there. A score
    is the sum of that part and the rest, and its variance the sum of its covariances with both; this is the first one's
    share. `unit` as in `auc_of_sharing`, `lists` numbers of words, shape (lists, k).
    """
    mean = unit.mean(axis=0, dtype=np.float64)
    along = (unit @ (mean / np.linalg.norm(mean)))[lists]
    k = lists.shape[1]
    part = ((along**2).sum(axis=1) - along.sum(axis=1) ** 2) / (k * (k - 1))
    covariances = np.cov(part, mean_pairwise_distance(unit, lists))
    return float(covariances[0, 1] / covariances[1, 1])


def own_vectors(unit: np.ndarray) -> int:
    """How many words have a vector that no other word has, of `unit` as in `auc_of_sharing`; zeros are no vector.

    >>> own_vectors(np.array([[1, 0], [1, 0], [0, 1], [0, 0]], np.float32))
    1
    """
    counts = Counter(vector.tobytes() for vector in unit[unit.any(axis=1)])
    return sum(count == 1 for count in counts.values())


def measure_encoders(
    encoders: Sequence[Encoder],
    nouns: Sequence[str],
    cache: Path | None,
    lists: int,
    seed: int,
) -> tuple[list[Measured], dict[str, int]]:
    """Each encoder's numbers, and of how many nouns, lists and pairs they are.

    The pairs and lists are of those of the `nouns` that all the encoders have a vector for.
    """
    units = [WordVectors(encoder, cache).unit(nouns) for encoder in encoders]
    shared = np.flatnonzero(np.all([unit.any(axis=1) for unit in units], axis=0))
    words = [nouns[k] for k in shared.tolist()]
    by_category, by_domain = labels_of(words, categories), labels_of(words, domains)
    random = random_lists(len(words), lists, seed)
    scores = {}
    for encoder, unit in zip(encoders, units, strict=True):
        scores[encoder.name] = mean_pairwise_distance(unit[shared], random).astype(
            np.float64
        )
    measured = []
    for encoder, unit in zip(encoders, units, strict=True):
        own, vectors = scores[encoder.name], unit[shared]
        measured.append(
            Measured(
                name=encoder.name,
                revision=encoder.revision,
                dimensions=unit.shape[1],
                nouns=int(unit.any(axis=1).sum()),
                distinct=own_vectors(unit),
                same_category=auc_of_sharing(vectors, by_category, PAIRS, seed),
                same_domain=auc_of_sharing(vectors, by_domain, PAIRS, seed),
                mean=float(own.mean()),
                std=float(own.std(ddof=1)),
                common_direction=common_direction_share(vectors, random),
                r={name: r_of(own, theirs) for name, theirs in scores.items()},
            )
        )
    return measured, {
        "nouns": len(words),
        "of": len(nouns),
        "lists": lists,
        "pairs": PAIRS,
    }
