"""Encoders measured on the same nouns, pairs and random lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sozo.data.categories import categories, domains
from sozo.data.jumandic import load_nouns
from sozo.eval.encoders.measures import auc_of_sharing, common_direction_share, labels_of
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import Encoder, WordVectors
from sozo.scoring.embeddings.derived import random_lists
from sozo.scoring.statistics import pearson

PAIRS = 1_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One encoder."""

    name: str
    revision: str
    dimensions: int
    nouns: int  # of the random baseline's that it has a vector for
    same_category: float  # AUC; see `auc_of_sharing`
    same_domain: float
    mean: float  # of the scores of random lists
    std: float  # their standard deviation (ddof = 1)
    common_direction: float  # see `common_direction_share`
    r: dict[str, float | None]  # Pearson's, with every encoder's scores of the same lists


def measure_encoders(
    encoders: Sequence[Encoder], cache: Path | None, lists: int, seed: int
) -> tuple[list[Measured], dict[str, int]]:
    """Each encoder's numbers, and of how many nouns, lists and pairs they are.

    The nouns are those of the random baseline that all the encoders have a vector for.
    """
    nouns = load_nouns()
    units = [WordVectors(encoder, cache).unit(nouns) for encoder in encoders]
    having = [unit.any(axis=1) for unit in units]
    shared = np.flatnonzero(np.all(having, axis=0))
    words = [nouns[k] for k in shared]
    by_category, by_domain = (labels_of(words, label) for label in (categories, domains))
    drawn = random_lists(len(words), lists, seed)
    vectors = [unit[shared] for unit in units]
    scores = [mean_pairwise_distance(unit, drawn).astype(np.float64) for unit in vectors]
    measured = [
        Measured(
            name=encoder.name,
            revision=encoder.revision,
            dimensions=unit.shape[1],
            nouns=int(has.sum()),
            same_category=auc_of_sharing(unit, by_category, PAIRS, seed),
            same_domain=auc_of_sharing(unit, by_domain, PAIRS, seed),
            mean=float(own.mean()),
            std=float(own.std(ddof=1)),
            common_direction=common_direction_share(unit, drawn),
            r={other.name: pearson(own, theirs).r for other, theirs in zip(encoders, scores, strict=True)},
        )
        for encoder, unit, has, own in zip(encoders, vectors, having, scores, strict=True)
    ]
    return measured, {"nouns": len(words), "of": len(nouns), "lists": lists, "pairs": PAIRS}
