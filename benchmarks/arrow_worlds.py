"""Worlds of answers for arrows.py: what models that equal each other, or do not, get in DAT, JCQ and SAT."""

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from sozo.scoring.second_encoder import parts_of

Run = dict[
    str, Any
]  # what a model's answers to a task came out as: values by the measures' names


@cache
def pool() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """50,000 lists of 2,000 words by Zipf's law, shape (lists, 10); their scores; what a model may prefer of them in
    standard deviations, shape (3, lists); the other encoder's vectors without their mean."""
    random, words = np.random.default_rng(1), 2000
    raw = [
        random.normal(size=(words, 40)) + 0.8 * random.normal(size=40) for _ in range(2)
    ]
    own, other = (
        (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32) for v in raw
    )
    other = other - other.mean(0)
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    rate = (np.arange(1, words + 1) ** 0.9).astype(np.float32)
    lists = np.concatenate(
        [
            np.argpartition(
                random.standard_exponential((1000, words), np.float32) * rate,
                10,
                axis=1,
            )[:, :10]
            for _ in range(50)
        ]
    )
    scores, others = (
        1 - ((unit[lists].sum(1) ** 2).sum(1) - 10) / 90 for unit in (own, other)
    )
    facts = np.stack([scores, others, -np.log(lists + 1.0).sum(1)])
    return (
        lists,
        scores,
        (facts - facts.mean(1, keepdims=True)) / facts.std(1, keepdims=True),
        other,
    )


@dataclass(frozen=True)
class Dat:
    """Lists of a fixed pool, `answers` of which a share is usable.

    `gain` is how much a model prefers high scores, in standard deviations; `common` common words; `spread` how far
    trainings differ in these, and in pairing and usable answers, in standard errors of a run.
    """

    answers: int = 300
    usable: float = 0.9
    gain: float = 0.0
    common: float = 0.0
    spread: float = 0.0

    def world(self, random: np.random.Generator) -> "Dat":
        return self

    def run(
        self,
        random: np.random.Generator,
        *,
        is_base: bool = False,
        trained: bool = True,
    ) -> Run:
        lists, scores, facts, other = pool()
        usable, spread = self.usable, self.spread * trained
        preferred = np.zeros(3) if is_base else np.array([self.gain, 0.0, self.common])
        if spread:
            # In such steps a run's score, pairing and number of different words move by one of their errors each.
            errors = np.array([1.0, 1.0, 1.8]) / math.sqrt(self.answers * usable)
            preferred = preferred + spread * errors * random.normal(size=3)
            reach = math.sqrt(3 * usable * (1 - usable) / self.answers) * spread
            usable += random.uniform(-reach, reach)
        n = int(random.binomial(self.answers, usable))
        if preferred.any():
            weights = np.exp(preferred @ facts).cumsum()
            drawn = np.searchsorted(weights, random.random(n) * weights[-1])
        else:
            drawn = random.integers(0, len(lists), n)
        return {
            "dat": scores[drawn],
            "dat/usable": np.r_[np.ones(n), np.zeros(self.answers - n)],
            "lists": lists[drawn],
            "parts": parts_of(other, lists[drawn]),
        }


@dataclass(frozen=True)
class Jcq:
    """Questions of seven kinds: whole numbers from 1 to 5 by four criteria, and their mean.

    `higher` lifts all of them, until many are at the ceiling. `taste` is by how much a model does some questions
    better than its base and others worse, whatever its training. `judge` is by how much a judging moves a mean; `again`
    how many runs are judged twice.
    """

    items: int = 35
    higher: float = 0.0
    taste: float = 0.0
    gain: float = 0.0
    spread: float = 0.0
    judge: float = 0.0
    again: int = 0
    judged: float = 0.99
    complete: float = 0.95
    questions: Any = None
    liked: Any = 0.0

    def world(self, random: np.random.Generator) -> "Jcq":
        kinds = np.arange(self.items) % 7
        levels = np.linspace(2.2, 4.4, 7)[kinds] + self.higher
        liked = random.normal(0, self.taste, self.items) if self.taste else 0.0
        return replace(
            self, questions=levels + random.normal(0, 0.4, self.items), liked=liked
        )

    def judging(self, random: np.random.Generator, answers: np.ndarray) -> np.ndarray:
        criteria = answers[:, None] + random.normal(0, 0.5, (self.items, 4))
        return np.clip(np.rint(criteria), 1, 5).mean(1) + (
            random.normal(0, self.judge) if self.judge else 0.0
        )

    def run(
        self,
        random: np.random.Generator,
        *,
        is_base: bool = False,
        trained: bool = True,
    ) -> Run:
        n = self.items
        answers = (
            self.questions + random.normal(0, 0.5, n) + (0.0 if is_base else self.liked)
        )
        scores, judged = self.judging(random, answers), random.random(n) < self.judged
        moved = self.gain * (not is_base) + self.spread * trained * random.normal()
        run = {
            "jcq": {
                k: s + moved if j else None
                for k, (s, j) in enumerate(zip(scores.tolist(), judged, strict=True))
            },
            "jcq/judged": dict(enumerate(judged.astype(float).tolist())),
            "jcq/complete": dict(
                enumerate((random.random(n) < self.complete).astype(float).tolist())
            ),
            "kinds": {k: str(k % 7) for k in range(n)},
        }
        if is_base and self.again:
            run["judge"] = self.noise(random, answers, scores), self.again
        return run

    def noise(
        self, random: np.random.Generator, answers: np.ndarray, scores: np.ndarray
    ) -> float:
        """The judge's noise, of the base's answers and as many other runs' as are judged again."""
        from sozo.eval.judge_noise import noise_of

        gaps = []
        for k in range(self.again):
            if k:
                answers = self.questions + random.normal(0, 0.5, self.items)
                scores = self.judging(random, answers)
            apart = self.judging(random, answers) - scores
            gaps.append(
                (float(apart.mean()), float(apart.std(ddof=1)) / math.sqrt(self.items))
            )
        return noise_of(gaps)


@dataclass(frozen=True)
class Sat:
    """Stories that are easy or hard to alter; `gain` is in standard deviations of the differences."""

    gain: float = 0.0
    spread: float = 0.0
    stories: Any = None

    def world(self, random: np.random.Generator) -> "Sat":
        return replace(self, stories=random.normal(0.5, 0.08, 113))

    def run(
        self,
        random: np.random.Generator,
        *,
        is_base: bool = False,
        trained: bool = True,
    ) -> Run:
        n, error = len(self.stories), 0.04
        moved = (
            (self.gain * (not is_base) + self.spread * trained * random.normal())
            * error
            * math.sqrt(2)
        )
        run = {
            "sat": dict(
                enumerate((self.stories + moved + random.normal(0, error, n)).tolist())
            )
        }
        for name, share in (("judged", 1.0), ("complete", 0.99), ("kept", 0.85)):
            run[f"sat/{name}"] = dict(
                enumerate((random.random(n) < share).astype(float).tolist())
            )
        return run


Task = Dat | Jcq | Sat
