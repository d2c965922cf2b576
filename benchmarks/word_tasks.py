"""What the word tasks pay to who reads nothing or cheats: the tables of docs/word-tasks.md.

    python benchmarks/word_tasks.py --task cue_dat --nouns tiny
    python benchmarks/word_tasks.py --task cue_dat --nouns tiny --by e5
    python benchmarks/word_tasks.py --task kanji

Every row is one way to answer the task's items, several times each, scored by the task itself; deterministic, and no
model. `--by` names the encoder that scores; the lists are always made by ja-ginza.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from sozo.scoring.languages import read_nouns
from sozo.scoring.parse import write_list
from sozo.tasks import task_type
from sozo.tasks.task import Answer, Item, Task
from sozo.tasks.words.cue_dat import CueDat
from sozo.tasks.words.kanji import read_partners, solve

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


class KanjiAnswers:
    def __init__(self, task: Task) -> None:
        self.key = read_partners()
        own = [item.columns["solutions"] for item in task.items()]
        train = type(task)(type(task.settings)(split="train", num_items=4096))
        self.train = Counter(
            "".join(item.columns["solutions"] for item in train.items())
        )
        self.best = Counter("".join(own)).most_common(1)[0][0]
        self.all = sorted(self.key)

    def random(self, item: Item, rng: np.random.Generator) -> str:
        return self.all[rng.integers(len(self.all))]

    def one_kanji_the_best_of_train(self, item: Item, rng: np.random.Generator) -> str:
        return self.train.most_common(1)[0][0]

    def one_kanji_the_best_of_these_items(
        self, item: Item, rng: np.random.Generator
    ) -> str:
        return self.best

    def most_productive_partner(self, item: Item, rng: np.random.Generator) -> str:
        near = set().union(*(self.key[cue] for cue in item.columns["cues"]))
        return max(sorted(near), key=lambda kanji: len(self.key[kanji]))

    def fits(self, item: Item, rng: np.random.Generator, cues: int) -> str:
        fitting = sorted(
            set(solve(self.key, item.columns["cues"][:cues]))
            - set(item.columns["cues"])
        )
        return fitting[rng.integers(len(fitting))]

    def fits_the_first_cue(self, item: Item, rng: np.random.Generator) -> str:
        return self.fits(item, rng, 1)

    def fits_two_cues(self, item: Item, rng: np.random.Generator) -> str:
        return self.fits(item, rng, 2)

    def table_look_up(self, item: Item, rng: np.random.Generator) -> str:
        return self.fits(item, rng, 3)

    def the_first_cue(self, item: Item, rng: np.random.Generator) -> str:
        return item.columns["cues"][0]

    def in_prose(self, item: Item, rng: np.random.Generator) -> str:
        return f"答えは「{self.table_look_up(item, rng)}」です。"

    def three_kanji(self, item: Item, rng: np.random.Generator) -> str:
        return "".join(self.fits(item, rng, 2) for _ in range(3))


HELPERS = ("pool", "words", "nearness", "fits")
KINDS = {"cue_dat": CueLists, "kanji": KanjiAnswers}


def ways(task: Task) -> dict[str, Write]:
    """Name -> who writes an answer to an item so."""
    answers = KINDS[task.name](task)
    names = [
        name for name in vars(type(answers)) if name[0] != "_" and name not in HELPERS
    ]
    if task.name == "kanji":
        return {name.replace("_", " "): getattr(answers, name) for name in names}
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
    parser.add_argument("--task", choices=KINDS, required=True)
    parser.add_argument("--nouns", help="tiny, or a file (default: JumanDIC's)")
    parser.add_argument("--by", default="ja-ginza", help="encoder of the score")
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("--answers", type=int, default=4, help="to each item")
    parser.add_argument(
        "--only", default=".*", help="regular expression of the rows' names"
    )
    options = parser.parse_args()
    kind = task_type(options.task)
    own = (
        {}
        if options.task == "kanji"
        else {"cue_nouns": options.nouns, "noun_checker": "jumandic"}
    )
    task = kind(kind.Settings(num_items=options.items, **own))
    items, by = task.items(), task
    if (
        options.by != "ja-ginza"
    ):  # usable stays as it is, only the value is another encoder's
        by = kind(
            kind.Settings(num_items=options.items, embedding_model=options.by, **own)
        )
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
        values = np.array([row.values[kind.name] for _, row in good])
        if by is not task and good:
            lists = [row.facts["words"] for _, row in good]
            by.scorer.vectors.table(lists)  # so that all words have rows
            values = by.values([cue for cue, _ in good], lists)
            values = values[np.isfinite(values)]
        usable = np.mean([row.values[f"{kind.name}/usable"] for row in rows])
        fixed = "–"
        if options.task != "kanji":
            name_of = f"{kind.name}/unshared"
            shares = [row.values[name_of] for row in rows if name_of in row.values]
            fixed = f"{np.mean(shares):.0%}" if shares else "–"
        reasons = ", ".join(
            f"{reason} {n / len(rows):.0%}"
            for reason, n in Counter(row.reason for row in rows).most_common()
            if reason
        )
        error = 1.96 * np.std(values) / len(values) ** 0.5 if len(values) else 0
        value = (
            "–"
            if not len(values)
            else f"{np.mean(values):.1%}"
            if kind.measures[0].share
            else f"{np.mean(values):+.4f} ± {error:.4f}"
        )
        print(f"| {name} | {usable:.1%} | {value} | {fixed} | {reasons} |", flush=True)


if __name__ == "__main__":
    main()
