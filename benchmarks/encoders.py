"""Which encoder deserves to be a reward, or a second encoder: what docs/measure.md reports.

    python benchmarks/encoders.py ja-ginza e5 categories --output runs/encoders

Names are as in --embedding-model. Tables in Markdown for people (encoders.md), JSON for programs (metrics.json).
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sozo.data.errors import one_line_errors
from sozo.data.jumandic import categories, domains
from sozo.data.published import load_text
from sozo.data.record import write_json
from sozo.scoring.distance import mean_pairwise_distance, paired_distance
from sozo.scoring.embeddings import Encoder, WordVectors, make_encoder
from sozo.scoring.embeddings.derived import NUM_LISTS, random_lists
from sozo.scoring.embeddings.prompts import PAPER
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.table import Cell, Content, markdown, tabulate
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


_AUC, _SCORE, _R = Measure("auc", 3), Measure("score", 4), Measure("r", 2)
_ABOUT = """\
Over the {nouns:,} of {of:,} nouns that all these encoders have a vector for. *Distinct vectors*: nouns whose vector no
other noun has; those that share one are at distance 0. *Same category* and *same domain* are AUCs over {pairs:,} random
pairs of nouns that people sorted (JumanDIC): how well nearness tells those that share one; 0.5 is chance. *Mean* and
*sd* are of the DAT scores of {lists:,} random lists, *common direction* the share of these scores' variance that lies
along the encoder's mean vector: it is about single words, not about pairs.
"""
_PAPERS = """\
The paper's random lists, by {encoder}: mean {score}, sd {std} (Table 11). It does not say with which prompt; the row
that has these numbers is set up as the paper's.
"""


def main() -> None:
    """Measure encoders and write `encoders.md` and `metrics.json`, numbers unrounded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", metavar="ENCODER")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--nouns", help="tiny, or a file with one noun per line (default: JumanDIC's)"
    )
    parser.add_argument("--num_lists", type=int, default=NUM_LISTS)
    parser.add_argument("--seed", type=int, default=0, help="of lists and pairs")
    args = parser.parse_args()
    names, output = args.names, args.output
    made = [make_encoder(name) for name in dict.fromkeys(names)]
    measured, counts = measure_encoders(
        made, read_nouns(args.nouns), None, args.num_lists, args.seed
    )
    parts = ["# Encoders", _ABOUT.format(**counts)]
    parts.append(markdown(tabulate("Encoders", [_row(one) for one in measured])))
    if any(PAPER in name for name in names):
        parts.append(_PAPERS.format(encoder=PAPER, **load_text("dat_training")[0]))
    parts += ["## Pearson's r of their scores of the same random lists"]
    rows = [_correlations(one) for one in measured]
    page = "\n\n".join([*parts, markdown(tabulate("r", rows))]) + "\n"
    output.mkdir(parents=True, exist_ok=True)
    (output / "encoders.md").write_text(page, "utf-8")
    numbers = counts | {
        "seed": args.seed,
        "encoders": [asdict(one) for one in measured],
    }
    write_json(output / "metrics.json", numbers)
    print(page)


def _row(encoder: Measured) -> dict[str, Content]:
    return {
        "Encoder": encoder.name,
        "Nouns": encoder.nouns,
        "Distinct vectors": encoder.distinct,
        "Same category": Cell(encoder.same_category, _AUC),
        "Same domain": Cell(encoder.same_domain, _AUC),
        "Mean": Cell(encoder.mean, _SCORE),
        "Sd": Cell(encoder.std, _SCORE),
        "Common direction": Cell(encoder.common_direction, SHARE),
    }


def _correlations(encoder: Measured) -> dict[str, Content]:
    return {
        "Encoder": encoder.name,
        **{name: Cell(r, _R) for name, r in encoder.r.items()},
    }


if __name__ == "__main__":
    with one_line_errors("encoders"):
        main()
