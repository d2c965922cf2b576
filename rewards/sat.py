"""SAT's reward as TRL takes it: the distance between story and rewrite, for a text that is a rewrite at all."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import settings_of
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.tasks.sat.compliance import LENGTH_BAND
from sozo.tasks.sat.gate import Gate
from sozo.tasks.sat.score import SatScorer, SatSettings
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.task import Answer, Item

# Every rewrite is new: without a limit, a long run would keep the vectors of all
_MOST_VECTORS = 1 << 14


class SatReward(Reward):
    """Reward function: `scale` times the distance (0 to 2) of a text that passes `Gate`; 0 for any other.

    Nothing is loaded before the first call, or before `tools` is asked for.

    A text that is stopped gets nothing and not a share: noise is the farthest from a story of all, so that a tenth of
    its distance would still be worth as much as an honest rewrite's own.

    The column `story` of the dataset says what was to be rewritten.

    Args:
        scale: With 10 the reward is of the size of DAT's.
        min_length: Nothing of fewer characters is paid, nor of more than `max_length`.
        settings: Fields of `sozo.tasks.sat.score.SatSettings`: `stories`, a file, adds tales of one's own to the
            packaged ones, from which the gate tells a rewrite's story.

    Logged over all processes: `sat/paid_share`, `sat/mean_distance` (of the paid), `sat/gate/<reason>` and
    `sat/duplicate_share` (shares), `sat/seconds`.

    >>> reward = make_sat_reward(min_length=10)
    >>> story = "鶴を助けた若者の家に、美しい娘が来て機を織った。"
    >>> texts = ["鶴の着ぐるみの若者が動画を撮っていると、次の日、布を売りたいという娘が来た。", story]
    >>> [round(paid, 1) for paid in reward(completions=texts, story=[story, story])]
    [2.4, 0.0]
    """

    console = (
        ("mean distance", "sat/mean_distance", ".4f"),
        ("paid", "sat/paid_share", "6.1%"),
    )
    loaded = "tools"
    logged = ("paid_share", "mean_distance", "gate")

    def __init__(
        self,
        *,
        scale: float = 10.0,
        penalise_duplicates: bool = True,
        min_length: int = LENGTH_BAND[0],
        max_length: int = LENGTH_BAND[1],
        **settings: Any,
    ) -> None:
        if not 0 < min_length <= max_length:
            raise UserError(
                f"no rewrite has {min_length} to {max_length} characters; give min_length <= max_length"
            )
        super().__init__(
            "sat_reward", "sat", scale=scale, penalise_duplicates=penalise_duplicates
        )
        self.settings = settings_of(SatSettings, settings)
        self.length = (min_length, max_length)

    @cached_property
    def tools(self) -> tuple[SatScorer, Gate]:
        """Scorer and gate, made when first asked for: ask before training to see errors early."""
        tales = [
            story.text for story in (*load_stories(), *self.settings.load_stories())
        ]
        return self.settings.scorer(), Gate(tales, self.length)

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """See the class; a dataset without the column story is a UserError."""
        scorer, gate = self.tools
        if not all(isinstance(item.columns.get("story"), str) for item in items):
            raise UserError(
                "SAT's reward needs the dataset's column story: the text that was to be rewritten"
            )
        scorer.forget(_MOST_VECTORS)
        asked = [
            (item.columns["story"], answer.text)
            for item, answer in zip(items, answers, strict=True)
        ]
        reasons = [gate(*pair) for pair in asked]
        passed = [
            pair for pair, reason in zip(asked, reasons, strict=True) if not reason
        ]
        compared = iter(
            scorer.compare([story for story, _ in passed], [text for _, text in passed])
        )
        scored = []
        for item, (_, text), reason in zip(items, asked, reasons, strict=True):
            distance, unusable = (None, str(reason)) if reason else next(compared)
            scored.append(self.scored(item, text, distance, unusable))
        return scored

    def describe(self) -> dict[str, Any]:
        scorer, gate = self.tools
        return {
            **super().describe(),
            **scorer.describe(),
            "length_band": list(gate.length),
        }


make_sat_reward = SatReward
