"""DAT's rewards as TRL takes them (paper, section 5.1.3): the score as a whole, and its parts as rewards of their own.

`dat_reward` works in `GRPOTrainer(reward_funcs=[dat_reward])`, from `trl grpo --reward_funcs sozo.rewards.dat_reward`,
and in any trainer that calls a function with the texts of each process: it needs nothing but `completions`. Its
settings are the default ones; `make_dat_reward` takes others.

Usable and distance are two rewards, too: summed into one, an unusable list's 0 drowns what distances differ by. Each
is normalised alone with TRL's `multi_objective_aggregation: normalize_then_sum`. A group with no usable list has zero
advantage; one with a single usable list learns from being usable alone.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from math import fsum, log
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import settings_of
from sozo.rewards.reward import Part, Reward, ScoredCompletion
from sozo.scoring.distance import distance_to_others
from sozo.scoring.keys import set_keys
from sozo.scoring.parse import NUM_WORDS, reasons_in
from sozo.tasks.dat.instruments import measure
from sozo.tasks.dat.scorer import DatResult, DatScorer, DatSettings
from sozo.tasks.dat.table import usable_lists
from sozo.tasks.task import Answer, Item

SEEN_AS = ("list", "set")  # what of an answer was seen before


class DatReward(Reward):
    """Reward function: 10 x DAT score, in [0, 20]; 0 for an unusable answer and for one seen before in this run.

    Seen before are the same words in the same order (`seen_as` list), or the same lemmas in any order
    (set): 林檎 and りんご are one, and so are all orders of one list.
    `settings` are fields of `sozo.tasks.dat.scorer.DatSettings`, such
    as noun_checker; with `olson`, scores are 0 to 200. Instead of them `build` may make the scorer, in the process that
    uses it. Nothing is loaded before the first call, or before `reward.scorer` is asked for.

    Logged through TRL's `log_metric`, over all processes: `dat/usable`, `dat/score` (of usable answers),
    `dat/different_words`, `dat/duplicate_share`, `dat/reason/<reason>` (shares), `dat/seconds`, and the instruments of
    `sozo.tasks.dat.instruments` (`dat/pairing`, `dat/glued_share`); through `log_extra` the columns words,
    score, reason and duplicate.

    >>> first = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日".split(), 1))
    >>> reward = make_dat_reward(noun_checker="jumandic")
    >>> [round(r, 1) for r in reward(completions=[first, first, "1. 犬"])]
    [8.2, 0.0, 0.0]
    """

    console: Sequence[tuple[str, str, str]] = (
        ("score", "dat/score", ".4f"),
        ("usable", "dat/usable", "6.1%"),
        ("different words", "dat/different_words", "5.0f"),
    )
    loaded = "scorer"
    names = (
        "dat_reward",
        "dat",
    )  # its own, the same whatever the settings: it is the key in W&B; and its metrics'

    def __init__(
        self,
        build: Callable[[], DatScorer] | None = None,
        *,
        scale: float = 10.0,
        penalise_duplicates: bool = True,
        seen_as: str = "list",
        **settings: Any,
    ) -> None:
        if seen_as not in SEEN_AS:
            raise UserError(
                f"seen_as must be one of {', '.join(SEEN_AS)}, not {quoted(seen_as)}"
            )
        self._seen_as = seen_as
        super().__init__(
            *self.names, scale=scale, penalise_duplicates=penalise_duplicates
        )
        self._build = build or partial(
            shared_scorer, settings_of(DatSettings, settings)
        )

    @cached_property
    def scorer(self) -> DatScorer:
        """Built when first asked for: ask before training to see errors early."""
        return self._build()

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        results = self.scorer.score([answer.text for answer in answers])
        # In float32, like the scores: the product in float64 would differ in the last digits.
        rewards = (np.nan_to_num(results.scores, nan=0.0) * self.scale).tolist()
        completions = []
        for k, result in enumerate(results):
            facts = {"words": result.words}
            text = results.texts[k]
            key = results.keys[k] and self._key(result, results.keys[k])
            completions.append(
                ScoredCompletion(
                    text, result.score, result.reason, rewards[k], facts=facts, key=key
                )
            )
        return completions

    def _key(self, result: DatResult, of_list: bytes | None) -> bytes | None:
        if self._seen_as == "list":
            return of_list
        numbers = self.scorer.words.look_up(list(result.words or ()))
        numbers = numbers[numbers >= 0]  # by Olson's rule others may be among them
        return set_keys(self.scorer.words.lemmas[numbers][None])[0]

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        lists = [
            completion.facts["words"]
            for completion in completions
            if completion.score is not None
        ]
        number = {
            word: k
            for k, word in enumerate(
                dict.fromkeys(word for words in lists for word in words)
            )
        }
        numbers = np.array([[number[word] for word in words] for words in lists])
        metrics = {
            f"dat/reason/{reason}": 0.0
            for reason in reasons_in(self.scorer.rules.language)
        } | super().metrics(completions)
        metrics["dat/different_words"] = float(len(number))
        return metrics | {
            f"dat/{name}": value
            for name, value in measure(self.scorer, list(number), numbers).items()
        }

    def columns(self, completion: ScoredCompletion) -> dict[str, Any]:
        return {
            "words": " ".join(completion.facts.get("words") or ()),
            **super().columns(completion),
        }

    def describe(self) -> dict[str, Any]:
        about = {**super().describe(), "seen_as": self._seen_as}
        return about | self.scorer.describe()


class DatUsable(DatReward):
    """Reward function: 1 for a usable list, else 0. A list that was seen before is as usable."""

    console = ()
    names = ("dat_usable", "dat_usable")

    def __init__(
        self, build: Callable[[], DatScorer] | None = None, **settings: Any
    ) -> None:
        super().__init__(build, scale=1.0, penalise_duplicates=False, **settings)

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        completions = super().alone(items, answers)
        return [
            replace(completion, reward=float(completion.score is not None))
            for completion in completions
        ]

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        return {}  # TRL logs the mean, which is all there is


class DatDistance(DatReward):
    """Reward function: the DAT score of a usable list, in [0, 2]; None for an unusable one, 0 for one seen before.

    Its parts are the words, each worth its mean distance to the other nine: their mean is the score. Beside
    `DatUsable` it loads nothing of its own where the settings are the same.

    >>> text = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日".split(), 1))
    >>> usable, distance = (make(noun_checker="jumandic") for make in (make_dat_usable, make_dat_distance))
    >>> usable(completions=[text, "1. 犬"]), distance(completions=["1. 犬"])
    ([1.0, 0.0], [None])
    """

    in_parts = True
    names = ("dat_distance", "dat")

    def __init__(
        self, build: Callable[[], DatScorer] | None = None, **options: Any
    ) -> None:
        if options.get("olson"):
            remedy = "take make_dat_reward, or leave olson out"
            raise UserError(
                f"{self.names[0]}: Olson's scores leave three words out; {remedy}"
            )
        super().__init__(build, scale=1.0, **options)

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        completions = [
            replace(completion, reward=None)
            for completion in super().alone(items, answers)
        ]
        usable = [
            k
            for k, completion in enumerate(completions)
            if completion.score is not None
        ]
        rows = np.array(
            [self.scorer.vectors.rows(completions[k].facts["words"]) for k in usable]
        )
        for k, worths in zip(usable, self.worths(rows) if usable else (), strict=True):
            completions[k] = self.paid(completions[k], worths)
        return completions

    def worths(self, rows: np.ndarray) -> list[list[float]]:
        """What each word is worth; `rows` are the words' rows in the encoder's vectors, shape (usable lists, 10)."""
        return distance_to_others(self.scorer.vectors.matrix, rows).tolist()

    def paid(
        self, completion: ScoredCompletion, worths: Sequence[float]
    ) -> ScoredCompletion:
        """A usable list with its reward and those of its words."""
        return with_parts(completion, worths, completion.score)

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        completions = super().among(completions)
        return [
            with_parts(c, [0.0] * len(c.parts)) if c.duplicate else c
            for c in completions
        ]


class DatPairing(DatDistance):
    """Reward function: minus the mean of (u - m)·(v - m) over the pairs of a usable list's words, about -0.1 to 0.1.

    u and v are unit vectors, m the mean vector of the words of the usable lists of `reference`, the folder of a finished
    DAT run, the base model's say. An unusable list has None, one seen before 0. Its parts are the words, each worth its
    mean with the other nine.

    Which words are used earns nothing: words drawn independently of each other, in all places alike, are paid 0 on
    average if they are the reference's, and less if they are others. What still earns without combining is a template,
    another use of words in each place: `dat/position` shows it (docs/reports.md).
    """

    names = ("dat_pairing", "dat")
    free = frozenset({"reference"})  # where it lies

    def __init__(
        self,
        build: Callable[[], DatScorer] | None = None,
        *,
        reference: str | Path,
        **options: Any,
    ) -> None:
        super().__init__(build, **options)
        self._reference = Path(reference)
        if not self._reference.exists():
            raise UserError(
                f"dat_pairing: reference {reference} is not there; it is the folder of a finished DAT run"
            )

    def worths(self, rows: np.ndarray) -> list[list[float]]:
        return combined(self.scorer.vectors.matrix, rows, self._mean).tolist()

    def paid(
        self, completion: ScoredCompletion, worths: Sequence[float]
    ) -> ScoredCompletion:
        return with_parts(completion, worths)

    @cached_property
    def _mean(self) -> np.ndarray:
        words = [word for words in usable_lists(self._reference) for word in words]
        unit = self.scorer.vectors.unit(words)
        if not unit.any():
            raise UserError(
                f"{self._reference} holds no usable list with a vector; reference is a finished DAT run"
            )
        return unit[unit.any(axis=1)].mean(axis=0)

    def describe(self) -> dict[str, Any]:
        lists = repr(usable_lists(self._reference)).encode()
        return {**super().describe(), "reference": hashlib.sha256(lists).hexdigest()}


class DatRarity(DatReward):
    """Reward function: how rare a usable list's words were before this step, the mean in nats; None for other lists.

    A word that made up c of n counted words is worth log((n + 1) / (c + 1)). Counts are of the words that all processes
    drew, and saved with a checkpoint; from one step to the next they keep the share `decay`. With counts of the model's
    own words that is the policy gradient of the entropy of its words, all places taken together: the number of words
    that it uses, not the entropy of its lists.
    """

    in_parts = True
    console = ()
    names = ("dat_rarity", "dat_rarity")

    def __init__(
        self,
        build: Callable[[], DatScorer] | None = None,
        *,
        decay: float = 0.98,
        **settings: Any,
    ) -> None:
        super().__init__(build, scale=1.0, penalise_duplicates=False, **settings)
        self._decay = decay
        self._numbers: dict[str, int] = {}
        self._counts = np.zeros(0)

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        return [
            replace(completion, reward=None)
            for completion in super().alone(items, answers)
        ]

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        paid = super().among(completions)
        usable = [
            k for k, completion in enumerate(paid) if completion.score is not None
        ]
        words = [word for k in usable for word in paid[k].facts["words"]]
        rows = np.array(
            [self._numbers.setdefault(word, len(self._numbers)) for word in words],
            np.int64,
        )
        self._counts = np.append(
            self._counts, np.zeros(len(self._numbers) - len(self._counts))
        )
        worths = log(self._counts.sum() + 1) - np.log(self._counts[rows] + 1)
        self._counts = self._decay * self._counts + np.bincount(
            rows, minlength=len(self._counts)
        )
        for k, of_list in zip(
            usable, worths.reshape(-1, NUM_WORDS).tolist(), strict=True
        ):
            paid[k] = with_parts(paid[k], of_list)
        return paid

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        return {}  # TRL logs the mean, which is all there is

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "decay": self._decay}

    def state(self) -> dict[str, Any]:
        return {
            **super().state(),
            "words": list(self._numbers),
            "counts": self._counts.tolist(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._numbers = {word: number for number, word in enumerate(state["words"])}
        self._counts = np.array(state["counts"])


def combined(unit: np.ndarray, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """For each word u of a list the mean of -(u - mean)·(v - mean) over the list's other words v, shape of `rows`.

    `rows` are rows of the unit vectors `unit`, shape (lists, words).
    """
    moved = unit[rows] - mean
    others = moved.sum(axis=1, keepdims=True) - moved
    return -np.einsum("rkd,rkd->rk", moved, others) / (rows.shape[1] - 1)


def with_parts(
    completion: ScoredCompletion, worths: Sequence[float], reward: float | None = None
) -> ScoredCompletion:
    """A usable list with what each of its words is worth; it is paid `reward`, or else the mean of them."""
    words: Sequence[str] = completion.facts["words"]
    lines = [f"{k}. {word}" for k, word in enumerate(words, 1)]
    # A list is the end of its text, and each line's length is known: `sozo.scoring.parse.split_list`.
    end = len(completion.text.rstrip()) - sum(map(len, lines)) - len(lines)
    parts = []
    for line, word, worth in zip(lines, words, worths, strict=True):
        end += len(line) + 1
        parts.append(Part(end - len(word), end, worth))
    return replace(
        completion,
        reward=fsum(worths) / len(worths) if reward is None else reward,
        parts=parts,
    )


@lru_cache
def shared_scorer(settings: DatSettings) -> DatScorer:
    """One scorer for all rewards of the same settings."""
    return DatScorer.from_settings(settings)


make_dat_reward = DatReward
dat_reward = make_dat_reward()
make_dat_usable = DatUsable
make_dat_distance = DatDistance
make_dat_pairing = DatPairing
make_dat_rarity = DatRarity
