"""Any reward times the diversity of its group: an answer is paid for being good, and for being unlike the others."""

import hashlib
import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isinf, isnan
from typing import Any

import numpy as np

from sozo.data.cache import NO_CACHE
from sozo.data.errors import UserError
from sozo.data.foreign import as_tokenized, nfkc, quoted
from sozo.rewards.own_rewards import numbers, reward_at
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.scoring.distance import paired_distance
from sozo.scoring.embeddings import Encoder, WordVectors, make_encoder
from sozo.scoring.final_text import judged_part
from sozo.scoring.keys import KEY_BYTES
from sozo.tasks.task import Answer, Item

# What answers can be alike by, with the threshold that holds where none is given.
ALIKE = {"text": 1.0, "ngram": 0.5, "embedding": 0.9}
HOW = ("times", "divide")
_GRAM = 4  # characters
_SAME = 1e-8  # a spread that is none, as in TRL


class DiverseReward(Reward):
    """Reward function: the number of another reward, `quality`, by how many answers of its group are like this one.

    A group is all answers to one prompt in one call, on all processes. Two of them are alike:

    - `alike="text"`: if they are equal, in compatibility form (NFKC) and lower case, without white space, marks and
      what is invisible;
    - `"ngram"`: if of the shorter one's different runs of four characters, in that form, at least the share
      `threshold` is in the other (a text of fewer than four is one run);
    - `"embedding"`: if the cosine of their vectors by `embedding_model` is at least `threshold`.

    A cluster is what pairs of alike answers join, also over others between them. Of n answers of which c are in one
    cluster, each is paid

    - `how="times"`: quality * (n - c) / (n - 1), from 0 to quality: the share of the others that it differs from. It
      is the reward of Darling (arXiv 2509.02534, equations 4 and 5), whose clusters a trained classifier makes;
    - `how="divide"`: quality / c, from quality / n to quality, like uniqueness-aware RL (2601.08763), which divides
      the advantage, and GAPO (2511.12596), by the abstracts of both.

    A group of one is paid its quality, and n equal answers 0 or quality / n. Of a quality of 0 or less the quality is
    paid: nothing that is worth nothing is paid for being odd, and no penalty is smaller for being common. No number
    (None or NaN) stays None, and is no answer of the group. An infinite one is a UserError, and so is a group that is
    not whole, as far as that can be seen: its prompt has fewer answers than others. An answer without a vector is not
    known to differ from any: its c is n.

    Args:
        quality: A reward function, sozo's or one's own, or its dotted path.
        threshold: By default 0.5 of an n-gram's share, 0.9 of a cosine; a text has none.
        quality_args: With these, even none, the path is of what makes the reward.
        embedding_model: An encoder, or the name of one (`sozo.scoring.embeddings.make_encoder`).

    Logged over all processes, beside what `quality` logs: the means `diverse/quality` and `diverse/diversity` (the
    factor), `diverse/cluster_size`, and `diverse/frac_reward_zero_std`, the share of groups that are paid all the same.

    >>> def length(completions, **columns):
    ...     return [len(text) for text in completions]
    >>> make_diverse_reward(length)(["?"] * 3, ["犬と猫", "犬 と 猫", "海と空"])
    [1.5, 2.5, 3.0]
    """

    loaded = "encoder"

    def __init__(
        self,
        quality: Callable[..., Any] | str,
        *,
        alike: str = "text",
        how: str = "times",
        threshold: float | None = None,
        quality_args: Mapping[str, Any] | None = None,
        embedding_model: str | Encoder = "e5",
    ) -> None:
        super().__init__("diverse_reward", "diverse")
        for name, value, known in (("alike", alike, ALIKE), ("how", how, HOW)):
            if value not in known:
                raise UserError(
                    f"{name} must be one of {', '.join(known)}, not {quoted(value)}"
                )
        if threshold is not None and alike == "text":
            raise UserError(
                "texts are equal or not: leave threshold out, or take alike ngram"
            )
        self.threshold = ALIKE[alike] if threshold is None else threshold
        if isinstance(threshold, bool) or not 0 < self.threshold <= 1:
            raise UserError(
                f"threshold must be above 0 and at most 1, not {quoted(threshold)}"
            )
        if isinstance(quality, str):
            quality = reward_at(quality, quality_args)
        if inspect.isclass(quality) or not callable(quality):
            remedy = "give quality_args, or a reward that is made"
            raise UserError(f"quality is no reward, but {quoted(quality)}; {remedy}")
        self.quality = quality
        self.alike, self.how = alike, how
        self._embedding_model = embedding_model
        self._call: tuple[Any, Any, dict[str, Any]] | None = None
        self.console = (
            ("quality", "diverse/quality", ".3f"),
            ("diversity", "diverse/diversity", "6.1%"),
        )

    @property
    def _ours(self) -> Reward | None:
        """The quality, if it is a reward of sozo's, which is asked by its hooks."""
        return self.quality if isinstance(self.quality, Reward) else None

    @cached_property
    def encoder(self) -> Encoder:
        """Built when first asked for."""
        if isinstance(self._embedding_model, str):
            return make_encoder(self._embedding_model, texts=True, cache=NO_CACHE)
        return self._embedding_model

    def __call__(
        self,
        /,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> list[float | None]:
        """See `Reward.__call__`; a quality of one's own is called with the same arguments."""
        self._call = prompts, completions, kwargs
        try:
            return super().__call__(prompts, completions, **kwargs)
        finally:
            self._call = None

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """The quality of each, which may depend on others still, and by what it is compared."""
        judged = self._ours.alone if self._ours else self._judged
        worths = judged(items, answers)
        prompts = self._call and self._call[0]
        asked = [item.prompt for item in items] if prompts is None else prompts
        marks = self._marks([answer.text for answer in answers])
        return [
            replace(
                worth,
                facts={"worth": worth, "mark": mark},
                # Of the whole conversation: many end with the same words.
                group=_digest(str(prompt)),
                parts=(),
            )
            for worth, mark, prompt in zip(worths, marks, asked, strict=True)
        ]

    def _judged(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """What a function of one's own says of each."""
        texts = [answer.text for answer in answers]
        prompts, completions, columns = self._call or (
            [item.prompt for item in items],
            texts,
            {},
        )
        if not texts:  # it may need one
            return []
        name = self._quality_name
        paid = self.quality(prompts=prompts, completions=completions, **columns)
        worths = numbers(name, paid)
        if len(worths) != len(texts):
            raise UserError(
                f"reward {name} gave {len(worths)} values for {len(texts)} completions; return one for each"
            )
        return [
            ScoredCompletion(text, worth, None, worth)
            for text, worth in zip(texts, worths, strict=True)
        ]

    @property
    def _quality_name(self) -> str:
        return getattr(self.quality, "__name__", type(self.quality).__name__)

    def _marks(self, texts: Sequence[str]) -> Sequence[Any]:
        """What each text is compared by: its form, or its vector."""
        seen = [as_tokenized(nfkc(judged_part(text)))[0].split() for text in texts]
        if self.alike != "embedding":
            return ["".join(words).casefold() for words in seen]
        # New each time: in a long training it would keep the vectors of all answers.
        return list(WordVectors(self.encoder).unit([" ".join(words) for words in seen]))

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        """See the class."""
        worths = [replace(c.facts["worth"], key=c.key) for c in completions]
        if self._ours:
            worths = self._ours.among(worths)
        groups = defaultdict(list)
        for place, completion in enumerate(completions):
            groups[completion.group].append(place)
        _refuse_cut([len(places) for places in groups.values()])
        paid = [
            replace(worth, reward=None, group=completion.group, parts=())
            for worth, completion in zip(worths, completions, strict=True)
        ]
        for places in groups.values():
            known = [place for place in places if self._is_number(worths[place].reward)]
            marks = [completions[place].facts["mark"] for place in known]
            sizes = self._cluster_sizes(marks) if known else []
            for place, size in zip(known, sizes, strict=True):
                paid[place] = self._paid(worths[place], paid[place], len(known), size)
        return paid

    def _is_number(self, worth: float | None) -> bool:
        if worth is not None and isinf(worth):
            raise UserError(
                f"reward {self._quality_name} gave {worth}; return a finite number, or None"
            )
        return worth is not None and not isnan(worth)

    def _paid(
        self, worth: ScoredCompletion, paid: ScoredCompletion, n: int, size: int
    ) -> ScoredCompletion:
        """What an answer of a group of `n` is paid that is one of `size` in its cluster."""
        share = (n - size) / (n - 1) if n > 1 else 1.0
        diversity = 1 / size if self.how == "divide" else share
        quality = worth.reward or 0.0
        facts = {"quality": quality, "diversity": diversity, "cluster_size": size}
        reward = quality * diversity if quality > 0 else quality
        return replace(paid, reward=reward, facts={**worth.facts, **facts})

    def _cluster_sizes(self, marks: Sequence[Any]) -> list[int]:
        """How many answers of a group are in the cluster of each, itself among them."""
        n = len(marks)
        if self.alike == "embedding":
            unit = np.stack(marks)
            places = np.arange(n)
            distances = [paired_distance(unit, places * 0 + k, places) for k in places]
            alike = np.stack(distances) <= 1 - self.threshold
            unknown = ~unit.any(axis=1)
        elif self.alike == "ngram":
            grams = [_grams(mark) for mark in marks]
            alike = np.array([[self._overlap(a, b) for b in grams] for a in grams])
            unknown = np.zeros(n, bool)
        else:
            alike = np.array([[a == b for b in marks] for a in marks])
            unknown = np.zeros(n, bool)
        np.fill_diagonal(alike, True)
        sizes = np.bincount(labels := _clusters(alike))[labels]
        return np.where(unknown, n, sizes).tolist()

    def _overlap(self, one: set[str], other: set[str]) -> bool:
        return len(one & other) >= self.threshold * min(len(one), len(other))

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        metrics = self._ours.metrics(completions) if self._ours else {}
        groups = defaultdict(list)
        for completion in completions:
            if completion.reward is not None:
                groups[completion.group].append(completion)
        known = [completion for group in groups.values() for completion in group]
        if not known:
            return metrics
        spreads = [np.ptp([c.reward for c in group]) for group in groups.values()]
        number = sum(1 / c.facts["cluster_size"] for c in known)
        return metrics | {
            "diverse/quality": float(np.mean([c.facts["quality"] for c in known])),
            "diverse/diversity": float(np.mean([c.facts["diversity"] for c in known])),
            "diverse/cluster_size": len(known) / number,
            "diverse/frac_reward_zero_std": float(np.mean(np.array(spreads) <= _SAME)),
        }

    def columns(self, completion: ScoredCompletion) -> dict[str, Any]:
        theirs = self._ours.columns(completion) if self._ours else {}
        facts = completion.facts
        return theirs | {name: facts.get(name) for name in ("quality", "diversity")}

    def describe(self) -> dict[str, Any]:
        theirs = self._ours.describe() if self._ours else {}
        own = {"alike": self.alike, "how": self.how, "threshold": self.threshold}
        if self.alike == "embedding":
            own |= WordVectors(self.encoder).describe()
            # What is trained by two encoders is a target of both.
            both = filter(None, [theirs.get("embedding_model"), self.encoder.name])
            theirs = {**theirs, "embedding_model": "+".join(both)}
        return {"quality": self._quality_name, **theirs, "diversity": own}

    def state(self) -> dict[str, Any]:
        theirs = {"quality": self._ours.state()} if self._ours else {}
        return super().state() | theirs

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if self._ours:
            self._ours.restore(state["quality"])


def _digest(prompt: str) -> str:
    raw = prompt.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(raw, digest_size=KEY_BYTES).hexdigest()


def _refuse_cut(sizes: Sequence[int]) -> None:
    """A UserError where prompts have not equally many answers, or a multiple: one prompt may be asked in several rows."""
    least, most = min(sizes, default=0), max(sizes, default=0)
    if most > 1 and (least == 1 or any(size % least for size in sizes)):
        raise UserError(
            f"of one prompt {most} answers came, of another {least}: a group is cut, and its diversity not known; "
            "let generation_batch_size, over all processes, be a multiple of num_generations"
        )


def _grams(text: str) -> set[str]:
    last = max(1, len(text) - _GRAM + 1)
    return {text[k : k + _GRAM] for k in range(last)}


def _clusters(alike: np.ndarray) -> np.ndarray:
    """The least place of an answer's cluster: what pairs join. `alike` is symmetric, and true of each with itself.

    >>> _clusters(np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 1], [0, 0, 1, 1]], bool)).tolist()
    [0, 1, 0, 0]
    """
    places = np.arange(len(alike))
    while True:
        least = np.where(alike, places, len(alike)).min(axis=1)
        if (least == places).all():
            return places
        places = least


make_diverse_reward = DiverseReward
