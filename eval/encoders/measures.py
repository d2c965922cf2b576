"""What can be said of an encoder without a model: does it see what people see, and what is its distance made of."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance, paired_distance

_CHUNK = 1 << 15


def labels_of(words: Sequence[str], label: Callable[[str], Iterable[str]]) -> np.ndarray:
    """Each word's labels as bits, int64 of shape (words,): two words share a label where `a & b` is not 0.

    >>> labels_of(["ab", "b", ""], list).tolist()
    [3, 2, 0]
    """
    every = [sorted(label(word)) for word in words]
    bit = {name: 1 << k for k, name in enumerate(sorted({name for labels in every for name in labels}))}
    return np.array([sum(bit[name] for name in labels) for labels in every], np.int64)


def random_pairs(words: int, pairs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of two different words, uniformly: two int64 of shape (pairs,), numbers below `words` (at least 2)."""
    rng = np.random.default_rng(seed)
    left = rng.integers(words, size=pairs)
    return left, (left + rng.integers(1, words, size=pairs)) % words


def auc_of_sharing(unit: np.ndarray, labels: np.ndarray, pairs: int, seed: int) -> float:
    """How well nearness tells pairs of words that share a label from pairs that do not, over words that have labels.

    The area under the ROC curve: the probability that of one pair of each kind the one that shares is the nearer, a
    tie counting half; 0.5 is chance, 1 is perfect. `unit` are float32 unit vectors, shape (words, dimensions), and
    `labels` as of `labels_of`; `pairs` random pairs are looked at.
    """
    labelled = np.flatnonzero(labels)
    left, right = (labelled[side] for side in random_pairs(len(labelled), pairs, seed))
    starts = range(0, pairs, _CHUNK)  # a million pairs of vectors would fill the memory
    parts = [paired_distance(unit, left[i : i + _CHUNK], right[i : i + _CHUNK]) for i in starts]
    return auc(-np.concatenate(parts), (labels[left] & labels[right]) != 0)


def auc(values: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve of `values`, shape (n,), for a bool array of which there is at least one of each kind.

    >>> auc(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.625
    """
    from scipy.stats import rankdata

    ranks = rankdata(values)
    count = int(positive.sum())
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(values) - count)))


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
    both = np.cov(part, mean_pairwise_distance(unit, lists))
    return float(both[0, 1] / both[1, 1])
