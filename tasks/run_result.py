"""A finished run of a task on disk, as comparisons, the report and training read it. No model or encoder is loaded."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sozo.data.errors import UserError
from sozo.data.jsonl import read_objects
from sozo.data.schema import ERROR, iter_tables
from sozo.scoring.final_text import COMPLETE, NOT_AT_HAND, STATES, answer_state
from sozo.scoring.judges.protocol import Status
from sozo.scoring.judges.run import NOT_ASKED
from sozo.scoring.measure import LEVEL, MEAN, Estimate, Measure
from sozo.scoring.numbers import n_of
from sozo.scoring.statistics import compare_independent, compare_paired, mean_interval
from sozo.scoring.statistics.comparison import (
    base_variance,
    effect_independent,
    effect_paired,
    shared_by_item,
)
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable
from sozo.tasks.judge_check import Check, find_check, judge_key

if TYPE_CHECKING:
    import pyarrow as pa

    from sozo.scoring.second_encoder import SecondEncoder, SeenLists

ITEMS = "items.jsonl"
MOST_CUT = 0.02  # a larger share of answers of a state is said beside every number


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One answer of a run with its worth: `values` by the measures' names, or a `reason`."""

    id: str
    item: str
    text: str
    values: Mapping[str, float]
    reason: str | None
    group: str = ""  # its kind of item
    # What became of it (`sozo.scoring.final_text.answer_state`)
    state: str = "complete"
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether it came to a good end, says something, and has its task's form."""
        return self.state == COMPLETE


@dataclass(frozen=True)
class RunResult:
    """A finished run: its items, and its table of answers."""

    # What `kind` can be, where runs have several: the one that says most last
    kinds: ClassVar[tuple[str, ...]] = ()
    # Whether kinds of items (`Item.group`) are fixed: other items would have them too
    strata: ClassVar[bool] = False
    # Settings on which the scores depend
    same: ClassVar[tuple[str, ...]] = ("items_sha256",)
    # Encoders and judges by which the papers' scores of the task are
    papers: ClassVar[tuple[str, ...]] = ()
    # Reasons of answers that have not the form asked for
    wrong_form: ClassVar[tuple[str, ...]] = ()
    # What its task is known by, where that is not the first measure
    headline: ClassVar[Measure | None] = None

    task: str  # the task's name
    main: Measure  # its first measure
    folder: Path
    settings: dict[str, Any]  # what was asked for, from `config.json`
    # What became known on loading (scorer, decoder), from `config.json`
    loaded: dict[str, Any]
    metrics: dict[str, Any]  # what came out, from `metrics.json`
    study: Path | None = None  # the folder of the study that it is of

    @property
    def known_by(self) -> Measure:
        """What its task is known by (`Task.known_by`)."""
        return self.headline or self.main

    @property
    def kind(self) -> str:
        """Which of a model's runs this is: it has one of each kind."""
        return self.task

    @property
    def scale(self) -> dict[str, Any]:
        """What the scores depend on beside the model: runs in which it differs cannot be compared."""
        scale = dict(self.loaded.get("scorer", {}))
        if judge := self.settings.get("judge"):
            # A verdict that was not cut does not depend on the limit, and one that was has no scores.
            scale["judge"] = {
                name: value
                for name, value in judge.items()
                if name not in ("max_tokens", "server")
            }
        return scale | self.asked

    @property
    def asked(self) -> dict[str, Any]:
        """The part of it that says what was asked."""
        return {name: self.settings.get(name) for name in self.same}

    @property
    def judge(self) -> str:
        """The judge that scored; empty without one."""
        return str(self.settings.get("judge", {}).get("model", ""))

    @property
    def reasons(self) -> dict[str, int]:
        """How many answers never came (ERROR) and how many are unusable, by their reasons; no failure of a judge's."""
        judges = (*Status, NOT_ASKED) if self.judge else ()
        reasons = self.metrics.get("reasons", {})
        return {reason: n for reason, n in reasons.items() if reason not in judges}

    @cached_property
    def states(self) -> dict[str, int]:
        """How many answers came to each of STATES, whatever their task and their scores."""
        if known := self.metrics.get("states"):
            return known
        count = Counter[str]()
        with suppress(UserError):  # of answers that are away nobody knows
            count.update(answer.state for answer in self.answers())
        return {state: count[state] for state in STATES}

    @property
    def scored_by(self) -> list[tuple[str, str]]:
        """The encoder and the judge that scored, each with how that is said."""
        encoder, judge = self.scale.get("embedding_model"), self.scale.get("judge", {})
        known = (
            (encoder, "by the vectors of {scorer}"),
            (judge.get("model"), "by {scorer}"),
        )
        return [(name, translatable(form, scorer=name)) for name, form in known if name]

    @property
    def scorer(self) -> str | None:
        """The first of them, if there is one."""
        return next((name for name, _ in self.scored_by), None)

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """What stands beside its numbers wherever they go: items, encoder or judge not the papers', answers' states."""
        caveats = [text for name, text in self.scored_by if name not in self.papers]
        total = sum(self.states.values())
        for why, n in self.states.items():
            form = "{n} of {of} answers {why}"
            if why == ERROR:
                form = "{n} of {of} answers never came"
            if n and (why == ERROR or n > MOST_CUT * total) and why != COMPLETE:
                named = translatable(form, n=n, of=total, why=translatable(why))
                caveats.append(named)
        check = self.judge_check
        if check is None and self.judge:
            caveats.append(translatable("its judge was not tried on planted answers"))
        for ended in ("failed", "undecided"):
            if kinds := [translatable(kind) for kind in (check or {}).get(ended, ())]:
                form = f"its judge {ended}: {{kinds}}"
                caveats.append(translatable(form, kinds=kinds))
        for way in self.settings.get("sampling", "").split(","):
            name, _, n = way.partition("=")
            if name == "best-of":
                chosen = "the best of {n} answers by {measure}"
                caveats.append(translatable(chosen, n=n, measure=self.known_by.name))
        if self.judged_itself:
            caveats.append(translatable("judged by the model that wrote"))
        return (*self.other_items(), *caveats)

    @cached_property
    def judge_check(self) -> Check | None:
        """How the judge that scored did among planted answers; None where it was never tried, or nobody judged."""
        if "judge" not in self.settings:
            return None
        return find_check(self.folder, judge_key(self.settings))

    @property
    def judged_itself(self) -> bool:
        """Whether judge and writer have a name in common: as they were asked for, or as servers called them."""
        decoder = self.loaded.get("decoder") or {}
        writers = {self.settings.get("model"), self.metrics.get("source")}
        writers.add(decoder.get("reply_model"))
        judges = {self.settings.get("judge", {}).get("model")}
        judges |= {row["model"] for row in self.metrics.get("judged_by", ())}
        return bool(judges & writers - {None})

    def other_items(self) -> tuple[str, ...]:
        """What was asked, if it is not what the papers ask."""
        return ()

    def formed(self, reason: str | None, facts: Mapping[str, Any]) -> bool:
        """Whether an answer has the form that its task asks for, by what is known of it."""
        return reason not in self.wrong_form

    @property
    def language(self) -> str:
        """In which single words were asked for (`sozo.scoring.languages`)."""
        return "ja"

    @property
    def servers(self) -> dict[str, Any]:
        """What is known of the servers that scored: two runs that both know something, and not the same, differ."""
        server = self.settings.get("judge", {}).get("server")
        return {"the judge's server": server} if server else {}

    @property
    def temperature(self) -> float | None:
        """At which the answers were drawn, as their generator said; None where there was none, or nobody knows."""
        decoder = self.loaded.get("decoder") or {}
        return decoder.get("temperature")

    @property
    def weights(self) -> tuple[Any, ...]:
        """What is known of the weights that answered: one name may have had others before."""
        names = "model_sha256", "base_sha256", "model_revision"
        return tuple(self.loaded.get(name) for name in names)

    @property
    def written_at(self) -> str | None:
        """The server that wrote the answers and what it called the model, or by which weights; None where none knows."""
        decoder = self.loaded.get("decoder") or {}
        weights = (f"weights {digest[:8]}" for digest in self.weights if digest)
        names = [decoder.get("server"), decoder.get("reply_model"), *weights]
        return " ".join(name for name in names if name) or None

    @cached_property
    def items(self) -> dict[str, dict[str, Any]]:
        """What was asked, by id: `prompt`, perhaps `title` and `group`, and the item's columns."""
        return {row["id"]: row for _, row in read_objects(self.folder / ITEMS)}

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Item -> what was asked."""
        return {name: item["prompt"] for name, item in self.items.items()}

    def answers(self, places: Sequence[int] | None = None) -> Iterator[ScoredAnswer]:
        """Every answer with its worth, in order; or those at `places`, sorted numbers from 0."""
        names = (
            "id",
            "item",
            "text",
            "score",
            "values",
            "reason",
            "facts",
            "finish_reason",
        )
        before = 0
        for table in iter_tables(self.folder, names):
            here = range(before, before + len(table))
            before = here.stop
            if places is not None:
                table = table.take(
                    np.array(
                        [place - here.start for place in places if place in here],
                        np.int64,
                    )
                )
            for name, item, text, score, values, reason, facts, end in zip(
                *table.to_pydict().values(), strict=True
            ):
                own = {} if score is None else {self.main.name: score}
                group = self.items[item].get("group", "")
                known = json.loads(facts) if facts else {}
                state = answer_state(text, end, formed=self.formed(reason, known))
                yield ScoredAnswer(
                    name, item, text, dict(values or own), reason, group, state, known
                )

    @cached_property
    def scored(self) -> tuple[ScoredAnswer, ...]:
        """All of them."""
        return tuple(self.answers())

    def table(self) -> "pa.Table":
        """All answers in columns: id, item, text, score (by what the task is known by; null without one) and reason."""
        import pyarrow as pa

        names = ["id", "item", "text", "score", "reason"]
        table = pa.concat_tables(iter_tables(self.folder, names))
        if self.headline is None:
            return table
        scores = [self.value(answer, self.headline) for answer in self.answers()]
        own = pa.array(scores, table["score"].type)
        return table.set_column(names.index("score"), "score", own)

    def value(self, answer: ScoredAnswer, measure: Measure) -> float | None:
        """An answer's value of a measure; of `TASK/scored` and `TASK/complete`, which any task has, 1 or 0."""
        if measure.name.endswith("/scored"):
            return float(self.main.name in answer.values)
        if not measure.needs_scorer:
            return None if answer.state == NOT_AT_HAND else float(answer.complete)
        return answer.values.get(measure.name)

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        """Item -> mean over its answers that have a value; None where none has.

        Every item that the measure is about is there, in order. Items that are not independent are one (`Item.unit`),
        which has a mean only if each of them has a value.
        """
        # A base's are asked for by each model that is compared with it
        if measure not in self._by_item:
            self._by_item[measure] = self._means(measure)
        return self._by_item[measure]

    @cached_property
    def _by_item(self) -> dict[Measure, Mapping[str, float | None]]:
        return {}

    def _means(self, measure: Measure) -> dict[str, float | None]:
        about = {
            name: row
            for name, row in self.items.items()
            if not measure.kinds or row["group"] in measure.kinds
        }
        unit = {name: row.get("unit") or name for name, row in about.items()}
        values: dict[str, list[float]] = {name: [] for name in unit.values()}
        missing = set(about)
        for answer in self.scored:
            if (
                answer.item in about
                and (value := self.value(answer, measure)) is not None
            ):
                values[unit[answer.item]].append(value)
                missing.discard(answer.item)
        incomplete = {unit[name] for name in missing}
        return {
            name: None if name in incomplete else math.fsum(own) / len(own)
            for name, own in values.items()
        }

    def by_answer(self, measure: Measure) -> np.ndarray:
        """The values of all answers that have one, shape (answers with a value,)."""
        values = (self.value(answer, measure) for answer in self.scored)
        return np.array([value for value in values if value is not None], np.float64)

    def against(self, base: Self, measure: Measure, level: float = LEVEL) -> Estimate:
        """This run's answers against the base's by a measure: paired by item, or not at all.

        A `ratio` is one's own: a task with such a measure has a result type that compares it.
        """
        if measure.ratio:
            raise NotImplementedError(
                f"{measure.name} is compared by a ratio: {type(self).__name__}.against must do it"
            )
        if measure.per_item:
            sides = (base.by_item(measure), self.by_item(measure))
            strata = self._strata
            # Of items that are one (a premise's) a mean is no 0 or 1, unless all are alike.
            if measure.share and any(item.get("unit") for item in self.items.values()):
                found = compare_paired(*sides, level=level, strata=strata)
                if found.low is not None:
                    return found
            found = compare_paired(
                *sides, share=measure.share, level=level, strata=strata
            )
            if found.low is None and measure.scale == (0, 1):
                # All against nothing has no spread, and is a difference of shares.
                return compare_paired(*sides, share=True, level=level)
            return found
        return compare_independent(
            base.by_answer(measure),
            self.by_answer(measure),
            share=measure.share,
            level=level,
        )

    @classmethod
    def shared(
        cls, pairs: Sequence[tuple[Self, Self]], measure: Measure, *, one_base: bool
    ) -> tuple[float, int] | None:
        """The variance that differences of runs share, each a base's and a model's, and of how many it is known.

        Of runs from `one_base` it is that of the base's answers; where items pair answers, that of the items.
        """
        base = pairs[0][0]
        if measure.per_item:
            sides = [
                (before.by_item(measure), after.by_item(measure))
                for before, after in pairs
            ]
            return shared_by_item(
                sides, share=measure.share and one_base, strata=base._strata
            )
        values = base.by_answer(measure)
        return (
            (base_variance(values, share=measure.share), len(values))
            if one_base
            else None
        )

    def sides(self, base: Self, measure: Measure) -> tuple[float | None, float | None]:
        """The two numbers, this run's first, that `against` subtracts or divides: of pairs those of common items."""
        if not measure.per_item:
            return self.estimate(measure).value, base.estimate(measure).value
        ours = self.by_item(measure)
        theirs = base.by_item(measure)
        pairs = ((ours.get(item), value) for item, value in theirs.items())
        both = [pair for pair in pairs if None not in pair]
        if not both:
            return None, None
        own, other = zip(*both, strict=True)
        return math.fsum(own) / len(both), math.fsum(other) / len(both)

    def in_plane(
        self, up: Measure, across: Measure, size: int
    ) -> Mapping[Any, tuple[float, float]]:
        """The place of each item, across and up; the run lies at their mean. Some measures count in `size` answers."""
        heights = self.by_item(up)
        places = {}
        for item, x in self.by_item(across).items():
            y = heights.get(item)
            if x is not None and y is not None:
                places[item] = (x, y)
        return places

    def effect(self, base: Self, measure: Measure) -> float | None:
        """Cohen's d of what `against` compares; None of a ratio."""
        if measure.ratio:
            return None
        if measure.per_item:
            return effect_paired(base.by_item(measure), self.by_item(measure))
        return effect_independent(base.by_answer(measure), self.by_answer(measure))

    def seen_by(self, second: "SecondEncoder") -> "SeenLists | None":
        """What a second encoder makes of the answers; None of too few.

        None of a task whose main measure is no encoder's distance between single words.
        """
        return None

    def estimate(self, measure: Measure) -> Estimate:
        """The mean of a measure: as `metrics.json` has it, else over items (over answers if it is not per item)."""
        if known := self.metrics.get("measures", {}).get(measure.name):
            return Estimate(
                **{name: value for name, value in known.items() if name != "of"}
            )
        strata = None
        if measure.per_item:
            known = {
                item: value
                for item, value in self.by_item(measure).items()
                if value is not None
            }
            values = np.array(list(known.values()))
            kinds = self._strata
            strata = [kinds[item] for item in known] if kinds else None
        else:
            values = self.by_answer(measure)
        found = replace(
            mean_interval(values, share=measure.share, strata=strata),
            n=self.counts(measure)[0],
            p=None,
        )
        return self.adapt(measure).inside(found, MEAN)

    def between(self, other: Self, measure: Measure) -> Cell:
        """What a measure of answers that are judged together is between these and another model's, over items."""
        return Cell()

    def summarised(
        self, measures: Sequence[Measure], source: str | None
    ) -> dict[str, Any]:
        """The content of `metrics.json`: means over items (over answers for a measure that is not per item)."""
        reasons = Counter(
            answer.reason for answer in self.scored if answer.reason is not None
        )
        return {
            "source": source,
            "num_items": len(self.items),
            "num_answers": len(self.scored),
            "usable": sum(answer.reason is None for answer in self.scored),
            "reasons": dict(sorted(reasons.items())),
            "states": self.states,
            "measures": {
                one.name: self.estimate(one).to_json() | {"of": self.counts(one)[1]}
                for one in measures
            },
        }

    @property
    def _strata(self) -> Mapping[str, str] | None:
        return (
            {name: item["group"] for name, item in self.items.items()}
            if self.strata
            else None
        )

    def cell(self, measure: Measure) -> Cell:
        """The mean as tables show it: with its interval and n of N; where there is none, what became of the answers."""
        estimate, (n, of), why = self.estimate(measure), self.counts(measure), ""
        if estimate.value is None:
            reasons = Counter(self.metrics.get("reasons", {})).most_common(3)
            counts = [
                translatable("{n:,} {status}", n=n, status=translatable(reason))
                for reason, n in reasons
                if n
            ]
            why = n_of(n, of)
            if counts:
                why = translatable(
                    "{n:,} of {of:,}: {counts}", n=n, of=of, counts=counts
                )
        # Earlier runs of what a judge scores have written their answers' n.
        return Cell(replace(estimate, n=n), self.adapt(measure), of=of, why=why)

    def counts(self, measure: Measure) -> tuple[int, int]:
        """n of N, over which its mean and interval are: items with a value; answers of a measure not per item."""
        if not measure.per_item:
            return len(self.by_answer(measure)), len(self.scored)
        values = self.by_item(measure).values()
        return sum(value is not None for value in values), len(values)

    def adapt(self, measure: Measure) -> Measure:
        """The measure with the decimals that suit this run's numbers."""
        return measure
