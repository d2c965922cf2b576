"""How far apart are random nouns? Quantiles of their lists' scores, among which `sozo words` places a list.

    python benchmarks/random_lists.py            # writes suite/people/random_lists.json; half a minute on a CPU core

Of each language 100,000 lists of ten nouns of its dictionary, all of them usable, by its default encoder; the scores
of all ten, and of the first seven, that 0%, 1%, ..., 100% of the lists are below.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from sozo.models.nouns import RandomNouns
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.parse import NUM_WORDS, split_list
from sozo.suite.people.words import RANDOM_LISTS, column
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.words import COUNTED

CHECKERS = {"ja": "jumandic", "en": "lemminflect"}
PERCENTS = np.arange(101)
BATCH = 10_000


def quantiles(language: str, lists: int, seed: int) -> dict[str, np.ndarray]:
    """Scores that so many percent of random lists are below, by their column."""
    task = Dat(DatSettings(language=language, noun_checker=CHECKERS[language]))
    nouns = LANGUAGES[language].nouns()
    generator = RandomNouns(nouns, accepts=task.accepts)
    vectors = task.scorer.vectors
    tables = []
    for batch in range(-(-lists // BATCH)):
        number = min(BATCH, lists - batch * BATCH)
        answers = generator.answer([""] * number, seed, batch)
        tables.append(vectors.table([split_list(each.text) for each in answers]))
    rows = np.concatenate(tables)
    return {
        column(vectors.encoder, n): np.percentile(
            mean_pairwise_distance(vectors.matrix, rows[:, :n]), PERCENTS
        )
        for n in (COUNTED, NUM_WORDS)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RANDOM_LISTS)
    given = parser.parse_args()
    made = {}
    for language in CHECKERS:
        for name, scores in quantiles(language, given.lists, given.seed).items():
            made[name] = [round(float(score), 5) for score in scores]
    given.output.write_text(json.dumps(made) + "\n", "utf-8")


if __name__ == "__main__":
    main()
