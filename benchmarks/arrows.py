"""How often has a model that equals its base an arrow on the first screen, and how often one that differs?

    python benchmarks/arrows.py                                       # what arrows.csv lacks; prints each condition
    python benchmarks/arrows.py --only "JCQ.*" --worlds 200 --output build/arrows.csv

An arrow is an interval that leaves out "no difference". The intervals of a model hold together in 95% of worlds: 0.025
is shared by the first measures of its tasks, 0.025 by its other differences. `before` is the rule before that: first
measures' intervals of 1 - 0.05 / tasks, the others' of 95% each, and over seeds that of the seeds' differences alone.
Intervals are sozo's own, of answers that are drawn here: of DAT from a fixed pool of lists, which a model prefers by
their score, by another encoder's, and by how common their words are; of JCQ as a judge scores, of SAT around each
story's own mean. In worlds of equal models what a model prefers is, over its trainings, as often more as less.
"""

import argparse
import csv
import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from arrow_worlds import Dat, Jcq, Run, Sat, Task

from sozo.scoring.measure import LEVEL, t_test
from sozo.scoring.second_encoder import gain_with_variances
from sozo.scoring.statistics import compare_independent, compare_paired
from sozo.scoring.statistics.comparison import base_variance, shared_by_item
from sozo.scoring.statistics.hill import hill_number, hill_ratio, log_hill_variance
from sozo.scoring.statistics.means import welch_freedom
from sozo.scoring.statistics.seeds import over_seeds

TABLE = Path(__file__).with_suffix(".csv")
FIELDS = ("condition", "truth", "seed", "worlds", "difference", "now", "before")
RULES = ("now", "before")


class Found(NamedTuple):
    """A difference with its interval; without one `low` and `high` are None."""

    value: float | None
    low: float | None
    high: float | None


def found_of(result: Any) -> Found:
    """What sozo's statistics return; 0 is no difference."""
    return Found(result.value, result.low, result.high)


# Differences: `between` two models, and what those of several seeds share: its variance, and of how many it is known.


@dataclass(frozen=True)
class Difference:
    """A difference of a model from its base."""

    name: str
    first: bool = False
    share: bool = False

    def between(self, base: Run, model: Run, level: float) -> Found:
        raise NotImplementedError

    def gap(self, base: Run, model: Run) -> float | None:
        """The same without its interval."""
        return self.between(base, model, LEVEL).value

    def of_base(self, base: Run, models: Sequence[Run]) -> tuple[float, int] | None:
        """The variance of the only run of a base."""
        raise NotImplementedError

    def shared(
        self, bases: Sequence[Run], models: Sequence[Run]
    ) -> tuple[float, int] | None:
        return self.of_base(bases[0], models) if len(bases) == 1 else None


class Apart(Difference):
    """A mean of answers that have no partners."""

    def between(self, base: Run, model: Run, level: float) -> Found:
        return found_of(
            compare_independent(
                base[self.name], model[self.name], share=self.share, level=level
            )
        )

    def of_base(self, base: Run, models: Sequence[Run]) -> tuple[float, int]:
        return base_variance(base[self.name], share=self.share), len(base[self.name])


class Paired(Difference):
    """A mean over items that both answered."""

    def between(self, base: Run, model: Run, level: float) -> Found:
        sides = base[self.name], model[self.name]
        found = compare_paired(
            *sides, share=self.share, level=level, strata=base.get("kinds")
        )
        return (
            with_judge(found_of(found), found.n, base, level)
            if self.first and "judge" in base
            else found_of(found)
        )

    def shared(self, bases: Sequence[Run], models: Sequence[Run]) -> tuple[float, int]:
        pairs = [
            (base[self.name], model[self.name])
            for base, model in pairs_of(bases, models)
        ]
        return shared_by_item(
            pairs, share=self.share and len(bases) == 1, strata=bases[0].get("kinds")
        )


class Words(Difference):
    """The logarithm of the ratio of different words at equal n."""

    def between(self, base: Run, model: Run, level: float) -> Found:
        ratio = hill_ratio(base["lists"], model["lists"], level=level)
        return Found(
            *(
                None if end is None else math.log(end)
                for end in (ratio.value, ratio.low, ratio.high)
            )
        )

    def gap(self, base: Run, model: Run) -> float:
        lists = base["lists"], model["lists"]
        counts = [np.unique(own, return_counts=True)[1] for own in lists]
        words = [
            hill_number(n, len(own), min(map(len, lists)))
            for n, own in zip(counts, lists, strict=True)
        ]
        return math.log(words[1] / words[0])

    def of_base(self, base: Run, models: Sequence[Run]) -> tuple[float, int]:
        size = min(len(run["lists"]) for run in (base, *models))
        return log_hill_variance(base["lists"], size), len(base["lists"])


class Pairing(Difference):
    """What pairing gains by another encoder, in standard deviations of the base's scores."""

    def gain(self, base: Run, model: Run) -> tuple[float, tuple[float, float]] | None:
        before, after = base["parts"], model["parts"]
        values = float(after.values[3]), float(after.variances[3])
        return gain_with_variances(
            before.scores, (float(before.values[3]), before.without[3]), values
        )

    def between(self, base: Run, model: Run, level: float) -> Found:
        gain = self.gain(base, model)
        if gain is None:
            return Found(None, None, None)
        value, variances = gain
        freedom = welch_freedom(
            variances, [len(side["parts"].scores) for side in (base, model)]
        )
        return Found(
            value, *t_test(value, math.sqrt(sum(variances)), freedom, level)[:2]
        )

    def of_base(self, base: Run, models: Sequence[Run]) -> tuple[float, int]:
        gains = [self.gain(base, model) for model in models]
        return float(np.mean([gain[1][0] for gain in gains if gain])), len(
            base["parts"].scores
        )


def pairs_of(bases: Sequence[Run], models: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Each model after the base of its seed, or after the only one."""
    return list(
        zip(bases if len(bases) > 1 else [*bases] * len(models), models, strict=True)
    )


DIFFERENCES = {
    "dat": (
        Apart("dat", first=True),
        Apart("dat/usable", share=True),
        Words("dat/words"),
        Pairing("dat/pairing"),
    ),
    "jcq": (
        Paired("jcq", first=True),
        Paired("jcq/judged", share=True),
        Paired("jcq/complete", share=True),
    ),
    "sat": (
        Paired("sat", first=True),
        *(Paired(f"sat/{name}", share=True) for name in ("judged", "complete", "kept")),
    ),
}


def with_judge(found: Found, n: int, base: Run, level: float) -> Found:
    """The interval with the judge's noise in it, known from the base's answers judged again."""
    from sozo.eval.judge_noise import with_noise
    from sozo.scoring.measure import Estimate

    noise, times = base["judge"]
    if not noise or found.low is None:
        return found
    change = Estimate(found.value, found.low, found.high, n, level=level)
    return found_of(with_noise(change, noise, times))


@dataclass(frozen=True)
class Condition:
    """Tasks, and from how many trainings a model and its base are; `truth` is the difference that is there."""

    tasks: tuple[Task, ...]
    seeds: int = 1
    base_seeds: int = 1
    truth: str = ""
    name: str = field(default="", kw_only=True)

    def runs(
        self, random: np.random.Generator
    ) -> Iterator[tuple[str, list[Run], list[Run]]]:
        for asked in self.tasks:
            task = asked.world(random)
            bases = [
                task.run(random, is_base=True, trained=self.base_seeds > 1)
                for _ in range(self.base_seeds)
            ]
            yield (
                type(asked).__name__.lower(),
                bases,
                [task.run(random) for _ in range(self.seeds)],
            )


def levels(
    differences: Sequence[tuple[Difference, Sequence[Run]]],
) -> dict[str, list[float]]:
    """The levels of the intervals of a model's differences by each rule; of each with its runs, the base's first.

    A share that is full in all runs cannot differ, and is not counted.
    """
    counted = [
        d
        for d, runs in differences
        if not (d.share and all(full(run[d.name]) for run in runs))
    ]
    first = sum(d.first for d in counted)
    rest, tasks = len(counted) - first, sum(d.first for d, _ in differences)
    now = [1 - 0.025 / max(1, first if d.first else rest) for d, _ in differences]
    return {
        "now": now,
        "before": [1 - 0.05 / tasks if d.first else LEVEL for d, _ in differences],
    }


def full(values: Any) -> bool:
    return min(values.values() if isinstance(values, dict) else values) == 1


def over(
    difference: Difference, bases: Sequence[Run], models: Sequence[Run]
) -> dict[str, Any]:
    """By each rule a function from a level to the interval."""
    if len(models) == 1:
        return dict.fromkeys(
            RULES, lambda level: difference.between(bases[0], models[0], level)
        )
    values = [difference.gap(base, model) for base, model in pairs_of(bases, models)]
    gaps = {seed: value for seed, value in enumerate(values) if value is not None}
    shared = difference.shared(bases, models)
    return {
        "now": lambda level: found_of(over_seeds(gaps, shared=shared, level=level)),
        "before": lambda level: found_of(over_seeds(gaps, level=level)),
    }


def arrows(condition: Condition, random: np.random.Generator) -> dict[str, set[str]]:
    """The names of the differences that have an arrow in one world, by each rule."""
    there = [
        (d, bases, models)
        for name, bases, models in condition.runs(random)
        for d in DIFFERENCES[name]
    ]
    by_rule = levels([(d, [*bases, *models]) for d, bases, models in there])
    shown: dict[str, set[str]] = {rule: set() for rule in RULES}
    for k, (difference, bases, models) in enumerate(there):
        interval = over(difference, bases, models)
        for rule in RULES:
            found = interval[rule](by_rule[rule][k])
            if found.low is not None and (found.low > 0 or found.high < 0):
                shown[rule].add(difference.name)
    return shown


SPREADS = {
    "alike": 0,
    "spread by one error": 1,
    "spread by three errors": 3,
}  # of trainings; in errors of a run


def equal() -> Iterator[Condition]:
    """Models that equal their bases."""
    for answers, usable in ((300, 0.9), (300, 0.98), (40, 0.9), (20, 0.9), (40, 0.98)):
        rare = ", 2% unusable" if usable > 0.9 else ""
        yield Condition((Dat(answers, usable),), name=f"DAT, {answers} answers{rare}")
    for items in (35, 700):
        yield Condition((Jcq(items),), name=f"JCQ, {items} items")
        yield Condition(
            (Jcq(items, higher=1.2),), name=f"JCQ, {items} items, many at the ceiling"
        )
    for noise, error in (
        ("half an error", 0.015),
        ("one error", 0.03),
        ("two errors", 0.06),
    ):
        for again, times in ((1, "once"), (2, "twice")):
            task = Jcq(700, judge=error, again=again)
            yield Condition(
                (task,),
                name=f"JCQ, 700 items, judge's noise of {noise}, judged again {times}",
            )
    for noise, error in (("two errors", 0.06), ("three errors", 0.09)):
        tasks = Dat(), Jcq(700, judge=error, again=1), Sat()
        yield Condition(
            tasks,
            name=f"three tasks, JCQ 700 items, judge's noise of {noise}, judged again once",
        )
    yield Condition((Dat(), Jcq(35), Sat()), name="three tasks, JCQ 35 items")
    yield Condition((Dat(), Jcq(700), Sat()), name="three tasks, JCQ 700 items")
    for spread, errors in SPREADS.items():
        # A run's mean over 35 questions is off by 0.09, one over 113 stories by this share of a deviation.
        tasks = (
            Dat(spread=errors),
            Jcq(spread=0.09 * errors),
            Sat(spread=errors / math.sqrt(2 * 113)),
        )
        for of, seeds, base_seeds in (
            (tasks[:1], 3, 1),
            (tasks[:1], 5, 1),
            (tasks, 5, 1),
            (tasks[:1], 5, 5),
            (tasks, 5, 5),
        ):
            yield Condition(
                of, seeds, base_seeds, name=name_of(of, seeds, base_seeds, spread)
            )

    own, alike = (Jcq(taste=0.4),), "alike, each model with questions of its own"
    yield Condition(own, name="JCQ, 35 items, each model with questions of its own")
    for base_seeds in (1, 5):
        yield Condition(own, 5, base_seeds, name=name_of(own, 5, base_seeds, alike))


def name_of(tasks: Sequence[Task], seeds: int, base_seeds: int, spread: str) -> str:
    asked = type(tasks[0]).__name__.upper() if len(tasks) == 1 else "three tasks"
    return f"{asked}, {seeds} seeds from {'one run' if base_seeds == 1 else base_seeds}, trainings {spread}"


def true() -> Iterator[Condition]:
    """Models that differ from their bases."""
    gain, fewer = Dat(gain=0.29), Dat(common=0.455)
    higher, words, all_higher = (
        "score +0.29 sd",
        "different words -9%",
        "DAT +0.29 sd, JCQ +0.2, SAT +0.21 sd",
    )
    yield Condition((gain,), truth=higher, name="DAT, 300 answers")
    yield Condition((fewer,), truth=words, name="DAT, 300 answers")
    for items in (35, 700):
        jcq = Jcq(items, gain=0.2)
        yield Condition((jcq,), truth="score +0.2", name=f"JCQ, {items} items")
        yield Condition(
            (gain, jcq, Sat(gain=0.21)),
            truth=all_higher,
            name=f"three tasks, JCQ {items} items",
        )
        yield Condition(
            (fewer, Jcq(items), Sat()),
            truth=words,
            name=f"three tasks, JCQ {items} items",
        )
    for spread, errors in SPREADS.items():
        for base_seeds in (1, 5):
            for truth, task in ((higher, gain), (words, fewer)):
                tasks = (replace(task, spread=errors),)
                yield Condition(
                    tasks,
                    5,
                    base_seeds,
                    truth,
                    name=name_of(tasks, 5, base_seeds, spread),
                )


def simulate(condition: Condition, seed: int, worlds: int) -> Iterator[dict[str, Any]]:
    """Rows of the table: in which share of the worlds any difference has an arrow, and each one."""
    random = np.random.default_rng(
        [seed, *condition.name.encode(), *condition.truth.encode()]
    )
    shown: dict[str, Counter[str]] = {rule: Counter() for rule in RULES}
    for _ in range(worlds):
        for rule, names in arrows(condition, random).items():
            shown[rule].update([*names, "any"] if names else [])
    names = [
        d.name
        for task in condition.tasks
        for d in DIFFERENCES[type(task).__name__.lower()]
    ]
    for name in ("any", *names):
        rates = {rule: f"{shown[rule][name] / worlds:.4f}" for rule in RULES}
        of = {
            "condition": condition.name,
            "truth": condition.truth,
            "seed": seed,
            "worlds": worlds,
        }
        yield of | {"difference": name} | rates


def main() -> None:
    """Simulate what the table lacks, and write it after each condition."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=2000, help="of equal models")
    parser.add_argument(
        "--true", type=int, default=300, help="worlds with a true difference"
    )
    parser.add_argument(
        "--only",
        default="",
        help="regular expression that a condition's name has to match",
    )
    parser.add_argument("--output", type=Path, default=TABLE)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if args.output.exists():
        with args.output.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    known = {tuple(str(row[name]) for name in FIELDS[:4]) for row in rows}
    conditions = [*equal(), *true()]
    places = {
        (condition.name, condition.truth): place
        for place, condition in enumerate(conditions)
    }
    for condition in conditions:
        worlds = args.true if condition.truth else args.worlds
        key = condition.name, condition.truth, str(args.seed), str(worlds)
        if key in known or not re.match(args.only, condition.name):
            continue
        started = time.monotonic()
        rows += simulate(condition, args.seed, worlds)
        rows.sort(
            key=lambda row: places.get((row["condition"], row["truth"]), len(places))
        )
        args.output.parent.mkdir(parents=True, exist_ok=True)
        with args.output.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, FIELDS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
        print(
            f"{condition.name}; {condition.truth or 'equal'}: {worlds} worlds, {time.monotonic() - started:.0f} s"
        )
        for row in (
            row for row in rows if tuple(str(row[name]) for name in FIELDS[:4]) == key
        ):
            now, before = (float(row[rule]) for rule in RULES)
            error = math.sqrt(now * (1 - now) / worlds)
            print(
                f"    {row['difference']:14} {now:6.1%} (se {error:.1%}), before {before:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
