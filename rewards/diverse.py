"""Any reward times the diversity of its group: an answer is paid for being good, and for being unlike the others."""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from sozo.data.cache import NO_CACHE
from sozo.data.errors import UserError
from sozo.data.foreign import nfkc, quoted, visible
from sozo.rewards.reward import ScoredCompletion
from sozo.rewards.wrapping import Wrapping
from sozo.scoring.distance import paired_distance
from sozo.scoring.embeddings import ALIKE_FROM, Encoder, WordVectors, make_encoder
from sozo.scoring.final_text import judged_part
from sozo.tasks.task import Answer, Item

# What answers can be alike by, with the threshold that holds where none is given; of vectors it is each encoder's.
ALIKE = {"text": 1.0, "ngram": 0.5, "embedding": None}
HOW = ("times", "divide")
# Characters of what is looked for in another text: all of it, or runs of four.
_RUN = {"text": sys.maxsize, "ngram": 4}
_SAME = 1e-8  # a spread that is none, as in TRL
_LOGGED = ("quality", "diversity", "cluster_size", "frac_reward_zero_std")


class DiverseReward(Wrapping):
    """Reward function: the number of another reward, `quality`, by how many answers of its group are like this one.

    A group is all answers to one prompt in one call, on all processes. Two of them are alike:

    - `alike="text"`: if they are equal, in compatibility form (NFKC) and lower case, without white space and what is
      invisible;
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
    not whole, as far as that can be seen: the answers to a prompt are no multiple of the fewest, or one beside more. An
    answer without a vector is not known to differ from any: its c is n.

    Args:
        quality: A reward function, sozo's or one's own, or its dotted path.
        threshold: By default 0.5 of an n-gram's share, and of a cosine what was measured for e5, minilm and ja-ginza;
            for another encoder it must be given. A text has none.
        quality_args: With these, even none, the path is of what makes the reward.
        embedding_model: An encoder, or the name of one (`sozo.scoring.embeddings.make_encoder`).
        name: What it is called in logs. `sozo train grpo` refuses two of one name; TRL by itself logs them as one.

    Logged over all processes, beside what `quality` logs: means over the answers with a number, `diverse/quality`,
    `diverse/diversity` (the factor), `diverse/cluster_size` (c), and `diverse/frac_reward_zero_std`, the share of those
    in whose group this reward pays all the same.

    >>> def length(completions, **columns):
    ...     return [len(text) for text in completions]
    >>> make_diverse_reward(length)(completions=["犬と猫", "犬 と 猫", "海と空"])
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
        name: str = "diverse_reward",
    ) -> None:
        prefix = "diverse" if name == "diverse_reward" else name
        super().__init__(name, prefix, quality, quality_args)
        for option, value, known in (("alike", alike, ALIKE), ("how", how, HOW)):
            if value not in known:
                raise UserError(
                    f"{option} must be one of {', '.join(known)}, not {quoted(value)}"
                )
        if threshold is not None and alike == "text":
            raise UserError(
                "texts are equal or not: leave threshold out, or take alike ngram"
            )
        encoder = str(getattr(embedding_model, "name", embedding_model))
        if threshold is None:
            threshold = ALIKE[alike] or ALIKE_FROM.get(encoder)
        if threshold is None:
            raise UserError(
                f"no threshold was measured for {encoder}; give one (docs/reward.md says how)"
            )
        if isinstance(threshold, bool) or not 0 < threshold <= 1:
            raise UserError(
                f"threshold must be above 0 and at most 1, not {quoted(threshold)}"
            )
        self.alike, self.how, self.threshold = alike, how, threshold
        self._embedding_model = embedding_model
        shown = (("quality", ".3f"), ("diversity", "6.1%"))
        self.console = [(name, f"{prefix}/{name}", form) for name, form in shown]

    @cached_property
    def encoder(self) -> Encoder:
        """Built when first asked for."""
        if isinstance(self._embedding_model, str):
            return make_encoder(self._embedding_model, texts=True, cache=NO_CACHE)
        return self._embedding_model

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """The quality of each, which may depend on others still, and by what it is compared."""
        worths = super().alone(items, answers)
        marks = self._marks([answer.text for answer in answers])
        return [
            replace(worth, facts={"worth": worth, "mark": mark})
            for worth, mark in zip(worths, marks, strict=True)
        ]

    def _marks(self, texts: Sequence[str]) -> Sequence[Any]:
        """What each text is compared by: its form, or its vector."""
        seen = [nfkc(visible(judged_part(text))).split() for text in texts]
        if self.alike != "embedding":
            return ["".join(words).casefold() for words in seen]
        # New each time: in a long training it would keep the vectors of all answers.
        return list(WordVectors(self.encoder).unit([" ".join(words) for words in seen]))

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        """See the class."""
        worths = [replace(c.facts["worth"], key=c.key) for c in completions]
        worths = super().among(worths)
        quality = np.array([worth.reward for worth in worths], np.float64)
        groups = defaultdict(list)
        for place, completion in enumerate(completions):
            groups[completion.group].append(place)
        _refuse_cut([len(places) for places in groups.values()])
        paid = [replace(worth, reward=None, parts=()) for worth in worths]
        for places in groups.values():
            known = [place for place in places if not np.isnan(quality[place])]
            marks = [completions[place].facts["mark"] for place in known]
            facts = self._facts(quality[known], marks) if known else []
            for place, own in zip(known, facts, strict=True):
                own = {**worths[place].facts, **own}
                paid[place] = replace(paid[place], reward=own["reward"], facts=own)
        return paid

    def _facts(
        self, quality: np.ndarray, marks: Sequence[Any]
    ) -> list[dict[str, float]]:
        """What each answer of one group is paid, and why."""
        n = len(marks)
        labels = _clusters(self._alike(marks))
        sizes = np.where(labels < n, np.bincount(labels)[labels], n)
        shares = (n - sizes) / (n - 1) if n > 1 else np.ones(1)
        diversity = 1 / sizes if self.how == "divide" else shares
        reward = np.where(quality > 0, quality * diversity, quality)
        flat = np.repeat(np.ptp(reward) < _SAME, n)
        names = ("reward", *_LOGGED)
        rows = zip(reward, quality, diversity, sizes, flat, strict=True)
        return [dict(zip(names, map(float, row), strict=True)) for row in rows]

    def _alike(self, marks: Sequence[Any]) -> np.ndarray:
        """Which answers of a group are alike; one without a vector is not known to be like itself."""
        if self.alike == "embedding":
            unit, places = np.stack(marks), np.arange(len(marks))
            rows = [paired_distance(unit, places * 0 + k, places) for k in places]
            return np.stack(rows) <= 1 - self.threshold
        runs = [_runs(mark, _RUN[self.alike]) for mark in marks]
        return np.array(
            [
                [len(a & b) >= self.threshold * min(len(a), len(b)) for b in runs]
                for a in runs
            ]
        )

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        known = [c.facts for c in completions if c.reward is not None]
        return super().metrics(completions) | {
            f"{self.prefix}/{name}": float(np.mean([facts[name] for facts in known]))
            for name in _LOGGED
            if known
        }

    def columns(self, completion: ScoredCompletion) -> dict[str, Any]:
        own = {name: completion.facts.get(name) for name in _LOGGED[:2]}
        return super().columns(completion) | own

    def describe(self) -> dict[str, Any]:
        theirs = super().describe()
        own = {"alike": self.alike, "how": self.how, "threshold": self.threshold}
        if self.alike == "embedding":
            own |= WordVectors(self.encoder).describe()
            # What is trained by two encoders is a target of both.
            both = filter(None, [theirs.get("embedding_model"), self.encoder.name])
            theirs = {**theirs, "embedding_model": "+".join(both)}
        return {**theirs, "diversity": own}


def _refuse_cut(sizes: Sequence[int]) -> None:
    """A UserError where prompts have not equally many answers, or a multiple: one prompt may be asked in several rows."""
    least, most = min(sizes, default=0), max(sizes, default=0)
    if most > 1 and (least == 1 or any(size % least for size in sizes)):
        raise UserError(
            f"of one prompt {most} answers came, of another {least}: a group is cut, and its diversity not known; "
            "let generation_batch_size, over all processes, be a multiple of num_generations"
        )


def _runs(text: str, length: int) -> set[str]:
    return {text[k : k + length] for k in range(max(1, len(text) - length + 1))}


def _clusters(alike: np.ndarray) -> np.ndarray:
    """The least place of an answer's cluster, which pairs join; their number where one is not like itself.

    >>> alike = np.array([[1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [1, 0, 1, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]], bool)
    >>> _clusters(alike).tolist()
    [0, 1, 0, 0, 5]
    """
    labels = np.arange(len(alike))
    while True:
        least = np.where(alike, labels, len(alike)).min(axis=1)
        if (least == labels).all():
            return labels
        labels = least


make_diverse_reward = DiverseReward
