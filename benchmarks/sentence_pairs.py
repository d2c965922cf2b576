"""The pairs of nouns of the task sentences: near, middle and far by two encoders, in splits that share no noun.

    python benchmarks/sentence_pairs.py --output suite/sentences/pairs.csv

The nouns of sentence_nouns.txt were written and read by people. A hash of a noun puts it into one split; it stands in
three pairs at most. A band is one of ranks among all pairs of the language's nouns, by cosines of centred vectors, and
both encoders must put a pair into it. The order in which pairs are tried is a hash's. At a band's edge the rounding of a
processor decides, so another one may make another file: the packaged one stays.
"""

import argparse
import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.languages import LANGUAGES
from sozo.suite.sentences.task import CHOOSE, TEST, TRAIN

NOUNS = Path(__file__).with_name("sentence_nouns.txt")
# By rank of similarity among all pairs, 0 the farthest.
BANDS = {"near": (0.93, 1.0), "middle": (0.45, 0.7), "far": (0.0, 0.3)}
PAIRS = {TRAIN: (43, 43, 42), CHOOSE: (11, 11, 10), TEST: (32, 32, 32)}


def number(*words: str) -> int:
    """A number that the words alone decide."""
    return int(hashlib.sha256("/".join(words).encode()).hexdigest()[:12], 16)


def split_of(noun: str) -> str:
    """In proportion to the pairs of each split."""
    place = number(noun) % 256
    return TRAIN if place < 108 else CHOOSE if place < 164 else TEST


def ranks(nouns: list[str], encoder: str) -> np.ndarray:
    """Of each pair of nouns the share of pairs that are farther apart, shape (nouns, nouns)."""
    unit = WordVectors(make_encoder(encoder)).unit(nouns)
    unit -= unit.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    near = unit @ unit.T
    known = np.sort(near[np.triu_indices(len(nouns), 1)])
    return np.searchsorted(known, near) / len(known)


def pairs(language: str, nouns: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """First and second noun, split and band."""
    both = [ranks(nouns, name) for name in (LANGUAGES[language].encoder, "e5")]
    used = Counter[str]()
    every = [
        (a, b)
        for a, b in combinations(range(len(nouns)), 2)
        if split_of(nouns[a]) == split_of(nouns[b])
        and not alike(language, nouns[a], nouns[b])
    ]
    every.sort(key=lambda pair: number(nouns[pair[0]], nouns[pair[1]]))
    for split, sizes in PAIRS.items():
        for (band, (least, most)), size in zip(BANDS.items(), sizes, strict=True):
            found = 0
            for a, b in every:
                own = nouns[a], nouns[b]
                if found == size or split_of(own[0]) != split:
                    continue
                agreed = all(least <= rank[a, b] <= most for rank in both)
                if agreed and max(used[noun] for noun in own) < 3:
                    used.update(own)
                    found += 1
                    first, second = sorted(own, key=lambda noun: number(*own, noun))
                    yield first, second, split, band
            if found < size:
                raise SystemExit(f"{language}: {found} of {size} pairs: {split} {band}")


def alike(language: str, one: str, other: str) -> bool:
    """Whether two nouns are written alike, so that one could stand for the other."""
    if language == "ja":
        return not set(one).isdisjoint(other)
    return one in other or other in one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    output = parser.parse_args().output
    nouns: dict[str, list[str]] = {}
    for line in NOUNS.read_text("utf-8").splitlines():
        language, *own = line.split()
        nouns.setdefault(language, []).extend(own)
    table = [["language", "first", "second", "split", "band"]]
    for language, own in nouns.items():
        # The bands of a split stand mixed, so that who asks a few asks of each.
        rows = sorted(pairs(language, own), key=lambda row: number("order", *row))
        for split in PAIRS:
            table += [[language, *row] for row in rows if row[2] == split]
    with output.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
