"""Gains by the runs' own encoder, and by a second one that nobody trained on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sozo.eval.evaluated import not_alike
from sozo.eval.seeds import Method
from sozo.scoring.measure import LEVEL, Estimate
from sozo.scoring.second_encoder import GainParts, SecondEncoder, Seen, gain
from sozo.scoring.statistics.means import few
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task

# Names of what is known of a gain, and where `GainParts` has it; the first is by the runs' own encoder.
PARTS = {
    "gain_own": "",
    "gain_second": "total",
    "gain_shuffled": "shuffled",
    "gain_centred": "centred",
    "gain_word_choice": "word_choice",
    "gain_position": "position",
    "gain_pairing": "pairing",
}


@dataclass(frozen=True, slots=True)
class SecondGain:
    """A method's gains over its base in a task's first measure, a run each."""

    by_scorer: Sequence[
        Estimate
    ]  # without a value, but with a reason, where both runs are not on one scale
    parts: Sequence[GainParts]
    from_one: bool  # whether some are from one run of the base, whose error they share
    lacking: bool  # whether it can score too few answers of some run
    alone: bool  # whether it is of one training beside a base of several, whose spread is not that of the model

    def estimate(self, name: str) -> Estimate:
        """One of `PARTS`, over the runs."""
        if self.lacking:
            return _too_few()
        each = self.by_scorer
        if name != "gain_own":
            each = [getattr(one, PARTS[name]) or _too_few() for one in self.parts]
        values = {k: one.value for k, one in enumerate(each) if one.value is not None}
        if len(values) < len(each):
            return next(one for one in each if one.value is None)
        if self.alone:
            return Estimate(each[0].value, n=1, reason=few(1, "seeds"))
        if len(each) == 1:
            return each[0]
        if self.from_one and name != "gain_pairing":  # what these share is not known
            return Estimate(
                sum(values.values()) / len(values),
                n=len(values),
                reason=translatable("from one run"),
            )
        return over_seeds(values, shared=self.shared, level=each[0].level)

    @property
    def shared(self) -> tuple[float, int] | None:
        """The variance that gains in pairing from a base's only run share, and of how many answers it is known."""
        known = [
            (one.base_variance, one.pairing.base_n) for one in self.parts if one.pairing
        ]
        if not (self.from_one and known):
            return None
        return sum(variance for variance, _ in known) / len(known), known[0][1] or 0

    @property
    def known_pairs(self) -> float | None:
        """The share of the pairs of words of which the second encoder knows both; None where it scores too few."""
        return (
            None
            if self.lacking
            else sum(one.known_pairs for one in self.parts) / len(self.parts)
        )


def _too_few() -> Estimate:
    return Estimate(reason=translatable("the second encoder scores too few lists"))


@dataclass(frozen=True)
class SecondGains:
    """What a second encoder makes of models' answers, each of which it sees once."""

    encoder: SecondEncoder

    @property
    def name(self) -> str:
        """The encoder's."""
        return self.encoder.encoder.name

    @cached_property
    def _seen(self) -> dict[str, Seen | None]:
        return {}

    def gains(
        self, base: Method, method: Method, task: type[Task], level: float = LEVEL
    ) -> SecondGain | None:
        """The gains of a method in a task, with intervals of a level for pairing, and else of 95%; None without any."""
        own, parts, bases, there = (
            list[Estimate](),
            list[GainParts](),
            set[str](),
            False,
        )
        for seed, model in method.runs.items():
            before, after = base.at(seed).run(task.name), model.run(task.name)
            if before is None or after is None:
                continue
            there = True
            seen = [self._see(run) for run in (before, after)]
            if seen[0] is None or seen[1] is None:
                continue
            if apart := not_alike(before, after):
                own.append(Estimate(reason=apart))
            else:
                own.append(
                    gain(before.by_answer(before.main), after.by_answer(after.main))
                    or _too_few()
                )
            bases.add(str(before.folder))
            pairing = seen[1].over(seen[0], level).pairing
            parts.append(replace(seen[1].over(seen[0]), pairing=pairing))
        lacking = len(parts) < len(method.runs)
        alone = base.several and not method.several
        return (
            SecondGain(own, parts, len(bases) < len(parts), lacking, alone)
            if there
            else None
        )

    def _see(self, run: RunResult) -> Seen | None:
        key = str(run.folder)
        if key not in self._seen:
            self._seen[key] = run.seen_by(self.encoder)
        return self._seen[key]
