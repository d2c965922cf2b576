"""Lists of ten nouns that need no language model: the random baseline and the frontier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.schema import Completion
from sozo.models.generator import Generator, entropy
from sozo.models.generators import Writer
from sozo.scoring.languages import read_nouns
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.task import Task

# Lists drawn anew at least, and how often without one that can be scored
_AT_ONCE = 64
_IN_VAIN = 16
Accepts = Callable[[Sequence[str]], Sequence[bool]]


class RandomNouns:
    """The paper's random baseline (section 5.1.1): ten distinct ones of `nouns`, every ordered choice equally likely.

    That a list has no noun twice and is drawn again where it cannot be scored is ours.

    With `accepts`, which says of texts whether each can be scored, every choice that can, for the paper's 131,072 lists
    were all usable.

    >>> generator = RandomNouns("犬 猫 水 山 川 本 車 空 海 石 鳥 花".split())
    >>> first, second = generator.answer([""] * 2, seed=1, batch=0)
    >>> len(first.text.splitlines()), generator.answer([""] * 2, seed=1, batch=0) == [first, second]
    (10, True)
    """

    temperature = None

    def __init__(
        self,
        nouns: Sequence[str],
        *,
        name: str = "random",
        accepts: Accepts | None = None,
    ) -> None:
        if len(nouns) < NUM_WORDS or len(set(nouns)) < len(nouns):
            raise UserError(
                f"the random baseline needs {NUM_WORDS} distinct nouns at least, each given once"
            )
        self.name = name
        self._nouns = np.array(nouns, dtype=object)
        self._accepts = accepts

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """A list of ten nouns for each of `prompts`, whatever they say."""
        rng = np.random.default_rng(entropy(seed, batch))
        kept = self._accepted(self._draw(len(prompts), rng))
        in_vain = 0
        while len(kept) < len(prompts):
            more = self._accepted(
                self._draw(max(len(prompts) - len(kept), _AT_ONCE), rng)
            )
            kept += more
            in_vain = 0 if more else in_vain + 1
            if in_vain == _IN_VAIN:
                raise UserError(
                    f"hardly any list of these {len(self._nouns):,} nouns can be scored; give other nouns"
                )
        return kept[: len(prompts)]

    def _accepted(self, lists: list[Completion]) -> list[Completion]:
        if self._accepts is None:
            return lists
        accepted = self._accepts([completion.text for completion in lists])
        return [
            completion for completion, good in zip(lists, accepted, strict=True) if good
        ]

    def _draw(self, count: int, rng: np.random.Generator) -> list[Completion]:
        # No draw is rejected: the k-th is among the nouns left; stepping over the earlier ones, in order, numbers it.
        left = len(self._nouns) - np.arange(NUM_WORDS)
        numbers = rng.integers(0, left, size=(count, NUM_WORDS))
        for k in range(1, NUM_WORDS):
            for earlier in np.sort(numbers[:, :k], axis=1).T:
                numbers[:, k] += numbers[:, k] >= earlier
        return _numbered(self._nouns[numbers].tolist())

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {"generator": "random", "nouns": len(self._nouns)} | (
            {"usable_only": True} if self._accepts else {}
        )


class FrontierNouns:
    """Answers with lists from a frontier (`Task.frontier`), whatever the prompts say.

    Lists are drawn with p(list) ~ exp(`strength` x score); with `word_strength`, word by word (`WordByWord`). Where
    they are `dealt`, the words of a batch's lists are dealt anew among them.
    """

    temperature = None

    def __init__(
        self,
        frontier: Any,
        strength: float,
        word_strength: float | None = None,
        *,
        name: str,
        dealt: bool = False,
    ) -> None:
        self.name = name
        self.frontier = frontier
        self._strength = strength
        self._word_strength = word_strength
        self._dealt = dealt

    @cached_property
    def words(self) -> Any:
        """What draws word by word (`WordByWord`); None of lists that are drawn as a whole."""
        if self._word_strength is None:
            return None
        return self.frontier.word_by_word(self._strength, self._word_strength)

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """A list of ten nouns for each of `prompts`."""
        rng = np.random.default_rng(entropy(seed, batch))
        if self.words is None:
            lists = self.frontier.draw(self._strength, len(prompts), rng)
        else:
            rows = self.words.draw(len(prompts), rng).tolist()
            lists = [[self.frontier.nouns[word] for word in row] for row in rows]
        if self._dealt:
            deal(lists, rng)
        return _numbered(lists)

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        strengths = {"strength": self._strength, "word_strength": self._word_strength}
        strengths |= {"dealt": True} if self._dealt else {}
        return {"generator": "frontier", **strengths, **self.frontier.describe()}


def deal(lists: Sequence[list[str]], rng: np.random.Generator) -> None:
    """Let words change lists, in place: each stays at its place, and no list gets one twice.

    >>> lists = [["犬", "海"], ["犬", "空"], ["猫", "犬"]]
    >>> deal(lists, np.random.default_rng(0))
    >>> lists
    [['犬', '空'], ['犬', '海'], ['猫', '犬']]
    """
    for k in [*range(len(lists[0]))] * 4:
        for one, other in zip(lists, rng.permutation(len(lists)), strict=True):
            two = lists[other]
            if one[k] not in two and two[k] not in one:
                one[k], two[k] = two[k], one[k]


@dataclass(frozen=True, slots=True, kw_only=True)
class NounWriter(Writer):
    """The random baseline."""

    nouns: str | None  # None: those of the task's language

    def load(self, task: Task | None = None, **_: Any) -> Generator:
        """Random lists, of a task's nouns such as it can score."""
        source = task.noun_source() if task else None
        nouns = read_nouns(self.nouns, source.language if source else "ja")
        accepts = source.accepts if source else None
        return RandomNouns(nouns, name=self.source, accepts=accepts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierWriter(NounWriter):
    """Lists of a frontier, of a task that has one."""

    strength: float
    word_strength: float | None
    frontier_encoder: str | None  # None: what scores the task
    dealt: bool | None

    def load(self, task: Task | None = None, **_: Any) -> Generator:
        """The frontier is drawn from; a UserError without a task that has one."""
        if (source := task.noun_source() if task else None) is None:
            raise UserError(
                "there is no frontier here; give a language model as --model"
            )
        nouns = read_nouns(self.nouns, source.language)
        frontier = source.frontier(nouns, self.frontier_encoder)
        return FrontierNouns(
            frontier,
            self.strength,
            self.word_strength,
            name=self.source,
            dealt=bool(self.dealt),
        )


def _numbered(lists: Sequence[Sequence[str]]) -> list[Completion]:
    return [Completion(write_list(words)) for words in lists]
