"""The DAT reward as TRL takes it (paper, section 5.1.3): 10 x DAT score, 0 if invalid or seen before.

Works in `GRPOTrainer(reward_funcs=[dat_reward])`, from `trl grpo --reward_funcs rewards.dat_reward`, and in any trainer
that calls a function with the texts of each process: it needs nothing but `completions`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from data.processes import gather, rank
from data.schema import Reason
from rewards.duplicates import SeenResponses
from rewards.embeddings import DEFAULT_ENCODER
from rewards.nouns import NounRules
from rewards.tasks.dat.scorer import DatRules, DatScorer, ScorerSettings

Completion = str | Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ScoredCompletion:
    """One completion with all that the reward knows of it. `score` is None when invalid; `reward` is what was paid."""

    text: str
    words: tuple[str, ...] | None
    score: float | None
    reason: str | None
    duplicate: bool
    reward: float


class DatReward:
    """Reward function: 10 x DAT score; 0 for an invalid response and for one seen before in this run.

    Args:
        build: Makes the scorer, at the first call (or at `scorer`), in the process that uses it.
        scale: Reward per unit of DAT score (the paper: 10), so rewards lie in [0, 20].
        penalise_duplicates: Pay 0 for a response that this run has seen before.

    Attributes:
        seen: History of the duplicate penalty; save it with a checkpoint and load it on resume.
        last: The previous call's completions of all processes, in rank order.

    Logged through TRL's `log_metric`, over all processes: `dat/valid_rate`, `dat/mean_score` (of valid responses),
    `dat/unique_words`, `dat/duplicate_share`, `dat/reason/<reason>` (shares), `dat/proper_noun_share` and
    `dat/wikipedia_share` (of valid words), `dat/seconds`; through `log_extra` the columns words, score, reason and
    duplicate.

    >>> one = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日".split(), 1))
    >>> reward = make_dat_reward(noun_checker="jumandic")
    >>> [round(r, 1) for r in reward(completions=[one, one, "1. 犬"])]
    [8.1, 0.0, 0.0]
    """

    def __init__(
        self, build: Callable[[], DatScorer], *, scale: float = 10.0, penalise_duplicates: bool = True
    ) -> None:
        self.__name__ = "dat_reward"  # TRL's name for the metric, the same whatever the settings
        self._build = build
        self._scorer: DatScorer | None = None
        self.scale = scale
        self.penalise_duplicates = penalise_duplicates
        self.seen = SeenResponses()
        self.last: list[ScoredCompletion] = []

    @property
    def scorer(self) -> DatScorer:
        """The scorer, built when first asked for: ask before training to see errors early."""
        if self._scorer is None:
            self._scorer = self._build()
        return self._scorer

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {"scale": self.scale, "penalise_duplicates": self.penalise_duplicates, **self.scorer.describe()}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scorer": None, "last": []}

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Completion] = (),
        *,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **kwargs: Any,
    ) -> list[float | None]:
        """Rewards of this process's completions (texts or conversations), in order, each in [0, 2 x scale].

        In a distributed run every process must call it together, as TRL does.
        """
        start = time.perf_counter()
        failure: Exception | None = None
        local = _Local([], [], 0, 0)
        try:
            local = self._score(completions)
        except Exception as error:
            # Told to all before it is raised: a process that fails alone would leave the others waiting for ever.
            failure = error
        everyone: list[_Local | str] = gather(local if failure is None else f"{type(failure).__name__}: {failure}")
        if failure is not None:
            raise failure
        parts: list[_Local] = []
        for number, part in enumerate(everyone):
            if isinstance(part, str):
                raise RuntimeError(f"the DAT reward failed on process {number}: {part}")
            parts.append(part)

        duplicates = self.seen.check([key for part in parts for key in part.keys])
        if not self.penalise_duplicates:
            duplicates = [False] * len(duplicates)
        scored = [item for part in parts for item in part.scored]
        self.last = [
            replace(item, duplicate=True, reward=0.0) if duplicate else item
            for item, duplicate in zip(scored, duplicates, strict=True)
        ]
        offset = sum(len(part.scored) for part in parts[: rank()])
        mine = self.last[offset : offset + len(completions)]

        if log_metric:
            for name, value in self._metrics(parts, time.perf_counter() - start).items():
                log_metric(name, value)
        if log_extra:
            log_extra("words", [" ".join(item.words or ()) for item in mine])
            for column in ("score", "reason", "duplicate"):
                log_extra(column, [getattr(item, column) for item in mine])
        return [item.reward for item in mine]

    def _score(self, completions: Sequence[Completion]) -> _Local:
        texts = [completion_text(completion) for completion in completions]
        results = self.scorer.score(texts)
        rewards = np.nan_to_num(results.scores, nan=0.0) * self.scale
        scored = [
            ScoredCompletion(text, result.words, result.score, result.reason, False, reward)
            for text, result, reward in zip(texts, results, rewards.tolist(), strict=True)
        ]
        return _Local(scored, results.keys, results.proper_nouns, results.wikipedia_words)

    def _metrics(self, parts: Sequence[_Local], seconds: float) -> dict[str, float]:
        total = len(self.last)
        if not total:
            return {}
        valid = [item for item in self.last if item.score is not None]
        reasons = Counter(item.reason for item in self.last)
        words = sum(len(item.words or ()) for item in valid)
        metrics = {
            "dat/valid_rate": len(valid) / total,
            "dat/unique_words": float(len({word for item in valid for word in item.words or ()})),
            "dat/duplicate_share": sum(item.duplicate for item in self.last) / total,
            "dat/seconds": seconds,
            **{f"dat/reason/{reason}": reasons[reason] / total for reason in Reason},
        }
        if valid:
            metrics["dat/mean_score"] = sum(item.score or 0.0 for item in valid) / len(valid)
            metrics["dat/proper_noun_share"] = sum(part.proper_nouns for part in parts) / words
            metrics["dat/wikipedia_share"] = sum(part.wikipedia_words for part in parts) / words
        return metrics


@dataclass(frozen=True, slots=True)
class _Local:
    """What one process tells the others."""

    scored: list[ScoredCompletion]
    keys: list[bytes | None]
    proper_nouns: int
    wikipedia_words: int


def completion_text(completion: Completion) -> str:
    """The text of a completion: itself, or the last message of a conversation (TRL gives either).

    >>> completion_text([{"role": "assistant", "content": "1. 犬"}])
    '1. 犬'
    """
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if part.get("type") == "text")


def make_dat_reward(
    *,
    noun_checker: str = "auto",
    embedding_model: str = DEFAULT_ENCODER,
    embedding_revision: str | None = None,
    embedding_cache: str | None = None,
    scale: float = 10.0,
    penalise_duplicates: bool = True,
    reasoning: bool = True,
    repeated_by_representative: bool = False,
    olson: bool = False,
    accept_affixes: bool = False,
    accept_unknown_katakana: bool = False,
    reject_proper_nouns: bool = False,
) -> DatReward:
    """A configured DAT reward. Nothing is loaded before the first call, or before `reward.scorer` is asked for.

    Args:
        noun_checker: `auto`, `jumanpp` or `jumandic`.
        embedding_model: `ja-ginza`, `openai:NAME`, or a sentence-transformers hub id or folder.
        embedding_revision: Hub revision of the embedding model.
        embedding_cache: Folder of a disk cache of word vectors.
        scale: Reward per unit of DAT score.
        penalise_duplicates: Pay 0 for a response seen before in the run.
        reasoning: See `DatRules`, with the next two.
        repeated_by_representative: See `DatRules`.
        olson: See `DatRules`. Scores are then 0 to 200: mind `scale`.
        accept_affixes: See `NounRules`, with the last two.
        accept_unknown_katakana: See `NounRules`.
        reject_proper_nouns: See `NounRules`.

    >>> make_dat_reward(embedding_model="ja-ginza", scale=1.0).__name__
    'dat_reward'
    """
    rules = DatRules(reasoning=reasoning, repeated_by_representative=repeated_by_representative, olson=olson)
    nouns = NounRules(accept_affixes, accept_unknown_katakana, reject_proper_nouns)
    settings = ScorerSettings(noun_checker, embedding_model, embedding_revision, embedding_cache, rules, nouns)
    return DatReward(settings.build, scale=scale, penalise_duplicates=penalise_duplicates)


def _scorer_from_environment() -> DatScorer:
    """For `dat_reward`, which nobody can pass arguments to: SOZO_NOUN_CHECKER and SOZO_EMBEDDING_MODEL choose."""
    return ScorerSettings(
        os.environ.get("SOZO_NOUN_CHECKER", "auto"), os.environ.get("SOZO_EMBEDDING_MODEL", DEFAULT_ENCODER)
    ).build()


dat_reward = DatReward(_scorer_from_environment)
