"""What cue DAT pays to who reads nothing or cheats: the table of docs/word-tasks.md.

    python benchmarks/word_tasks.py --nouns tiny
    python benchmarks/word_tasks.py --nouns tiny --by e5

Every row is one way to answer the task's items, several times each, scored by the task itself; deterministic, and no
model. `--by` names the encoder that scores; the lists are always made by ja-ginza.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sozo.scoring.languages import read_nouns
from sozo.scoring.parse import write_list
from sozo.suite.words.cue_dat import CueDat, CueSettings
from sozo.tasks.task import Answer, Item

Write = Callable[[Item, np.random.Generator], str]
FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９．")
FIXED = [
    "茶碗",
    "憲法",
    "台風",
    "微分",
    "靴下",
    "恋愛",
    "肝臓",
    "大工",
    "金星",
    "味噌",
]  # the README's list


def farthest_list(unit: np.ndarray, pool: np.ndarray, size: int) -> np.ndarray:
    """A greedy list far apart, as rows of the `pool`, shape (size,).

    The first word is the farthest from the pool, each next one the farthest from those before; then each is exchanged
    for the farthest from the others, until none is. `unit` and `pool` are unit vectors and integer rows into them.
    """
    vectors = unit[pool]
    chosen = [int((vectors @ vectors.sum(axis=0)).argmin())]
    for _ in range(20):  # four or five do; rounding could let equal words take turns
        before = list(chosen)
        for place in (*range(1, size), 0):
            others = chosen[:place] + chosen[place + 1 :]
            near = vectors @ vectors[others].sum(axis=0)
            near[others] = np.inf
            chosen[place : place + 1] = [int(near.argmin())]
        if chosen == before:
            break
    return pool[chosen]


class CueLists:
    """Ways to answer cue DAT; a way is a method that gives the words of an answer, cue first."""

    def __init__(self, task: CueDat) -> None:
        self.task, self.nouns = task, list(task.nouns)
        self.unit = task.scorer.vectors.unit(self.nouns)
        self.place = {noun: k for k, noun in enumerate(self.nouns)}
        rng = np.random.default_rng(1)
        # As frequent as words are: the rank of a noun in a random order decides, by Zipf's law.
        weights = 1 / (1 + rng.permutation(len(self.nouns)))
        self.frequency = weights / weights.sum()
        self.greedy_lists: dict[str, list[str]] = {}
        centres = farthest_list(self.unit, np.arange(len(self.nouns)), 8)
        self.clusters = [np.argsort(-self.unit @ self.unit[k])[:10] for k in centres]

    def pool(self, item: Item) -> np.ndarray:
        """Numbers of the nouns that may stand in a list."""
        return np.array([self.place[noun] for noun in self.nouns if noun != item.id])

    def words(self, item: Item, numbers: Sequence[int]) -> list[str]:
        return [item.id, *[self.nouns[k] for k in numbers][:9]]

    def nearness(self, item: Item) -> np.ndarray:
        """Of each noun of the pool, to the cue."""
        return self.unit[self.pool(item)] @ self.unit[self.place[item.id]]

    def random(self, item: Item, rng: np.random.Generator) -> list[str]:
        return self.words(item, rng.choice(self.pool(item), 10, replace=False))

    def by_frequency(self, item: Item, rng: np.random.Generator) -> list[str]:
        weights = self.frequency[self.pool(item)]
        return self.words(
            item,
            rng.choice(self.pool(item), 10, replace=False, p=weights / weights.sum()),
        )

    def greedy(self, item: Item, rng: np.random.Generator) -> list[str]:
        if item.id not in self.greedy_lists:
            self.greedy_lists[item.id] = self.words(
                item, farthest_list(self.unit, self.pool(item), 10)
            )
        return self.greedy_lists[item.id]

    def one_fixed_list(self, item: Item, rng: np.random.Generator) -> list[str]:
        return [item.id, *[word for word in FIXED if word != item.id][:9]]

    def farthest_from_the_cue(self, item: Item, rng: np.random.Generator) -> list[str]:
        return self.words(item, self.pool(item)[np.argsort(self.nearness(item))[:9]])

    def nine_of_the_farthest_hundred(
        self, item: Item, rng: np.random.Generator
    ) -> list[str]:
        return self.words(
            item,
            rng.choice(
                self.pool(item)[np.argsort(self.nearness(item))[:100]], 9, replace=False
            ),
        )

    def one_of_eight_fixed_lists(
        self, item: Item, rng: np.random.Generator
    ) -> list[str]:
        """A table: of eight clusters' lists that whose centre is farthest from the cue."""
        best = min(
            self.clusters,
            key=lambda numbers: (
                self.unit[numbers].sum(axis=0) @ self.unit[self.place[item.id]]
            ),
        )
        return self.words(item, [k for k in best if self.nouns[k] != item.id])

    def synonyms_of_the_cue(self, item: Item, rng: np.random.Generator) -> list[str]:
        return self.words(item, self.pool(item)[np.argsort(-self.nearness(item))[:9]])


HELPERS = ("pool", "words", "nearness")


def ways(task: CueDat) -> dict[str, Write]:
    """Name -> who writes an answer to an item so."""
    answers = CueLists(task)
    names = [name for name in vars(CueLists) if name[0] != "_" and name not in HELPERS]
    written = {
        name: lambda item, rng, name=name: write_list(getattr(answers, name)(item, rng))
        for name in names
    }

    def ending_in(last: Callable[[list[str]], str]) -> Write:
        def write(item: Item, rng: np.random.Generator) -> str:
            words = answers.random(item, rng)
            return write_list([*words[:9], last([*words, item.id])])

        return write

    written["such a list, in prose"] = lambda item, rng: (
        "考えた結果です。\n" + write_list(answers.random(item, rng))
    )
    written["such a list, full-width digits"] = lambda item, rng: write_list(
        answers.random(item, rng)
    ).translate(FULL_WIDTH)
    written["such a list, a word twice"] = ending_in(lambda words: words[4])
    written["such a list, the cue again"] = ending_in(lambda words: words[-1])
    return {name.replace("_", " "): way for name, way in written.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nouns", help="tiny, or a file (default: JumanDIC's)")
    parser.add_argument("--by", default="ja-ginza", help="encoder of the score")
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("--answers", type=int, default=4, help="to each item")
    parser.add_argument(
        "--only", default=".*", help="regular expression of the rows' names"
    )
    options = parser.parse_args()
    settings = CueSettings(
        num_items=options.items, cue_nouns=options.nouns, noun_checker="jumandic"
    )
    task = CueDat(settings)
    items, by = task.items(), task
    if (
        options.by != "ja-ginza"
    ):  # usable stays as it is, only the value is another encoder's
        by = CueDat(replace(settings, embedding_model=options.by))
        known = set(by.nouns)
        by.asked = items = tuple(item for item in items if item.id in known)
    print(
        f"{len(items)} items, {options.answers} answers each, scored by {options.by}, "
        f"{len(read_nouns(options.nouns)):,} nouns"
    )
    print(
        "| answers | usable | value | unshared words | why unusable |\n|---|---|---|---|---|"
    )
    for name, way in ways(task).items():
        if not re.fullmatch(options.only, name):
            continue
        rng = np.random.default_rng(0)
        asked = [item for item in items for _ in range(options.answers)]
        answers = [Answer("", item.id, way(item, rng)) for item in asked]
        rows = task.with_others(asked, answers, task.score(asked, answers))
        good = [
            (item.id, row)
            for item, row in zip(asked, rows, strict=True)
            if row.reason is None
        ]
        values = np.array([row.values["cue_dat"] for _, row in good])
        if by is not task and good:
            lists = [row.facts["words"] for _, row in good]
            by.scorer.vectors.table(lists)  # so that all words have rows
            values = by.values([cue for cue, _ in good], lists)
            values = values[np.isfinite(values)]
        usable = np.mean([row.values["cue_dat/usable"] for row in rows])
        shares = [
            row.values["cue_dat/unshared"]
            for row in rows
            if "cue_dat/unshared" in row.values
        ]
        fixed = f"{np.mean(shares):.0%}" if shares else "–"
        reasons = ", ".join(
            f"{reason} {n / len(rows):.0%}"
            for reason, n in Counter(row.reason for row in rows).most_common()
            if reason
        )
        error = 1.96 * np.std(values) / len(values) ** 0.5 if len(values) else 0
        value = f"{np.mean(values):+.4f} ± {error:.4f}" if len(values) else "–"
        print(f"| {name} | {usable:.1%} | {value} | {fixed} | {reasons} |", flush=True)


if __name__ == "__main__":
    main()
