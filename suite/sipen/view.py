"""How SIPeN's results are shown: controls first, then Tables 4 to 6, beside which answers were given."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import SHARE, n_of, number, p_value, share
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable
from sozo.suite.sipen.items import CATEGORIES, CONTROL, STRONGER, WEAKER
from sozo.suite.sipen.run_result import SipenRunResult
from sozo.suite.sipen.tables import OTHER
from sozo.tasks.view import (
    TERMINAL,
    ModelTable,
    ReaderAnswer,
    ReaderItem,
    RunColumn,
    View,
    counted,
    measured,
    setting_of,
    stored,
)

Stored = Mapping[str, Any]  # an `Estimate` or a `Contrast` as `metrics.json` has it
_LABELS = ("implicature", "entailment", "neither")
_STEPS = ("1 step", "2 steps")
_PLACES = {
    STRONGER: _STEPS,
    WEAKER: _STEPS,
    "": (STRONGER, WEAKER),
}  # what a contrast's row compares, by its direction
# More answers that are none of the options than this, and a line says so
_MOST_UNPARSEABLE = 0.02


class SipenView(View[SipenRunResult]):
    """A model that always says No is perfect by the paper's implicature labels: the answers stand beside the tables."""

    def columns(
        self, measures: Sequence[Measure], runs: Sequence[SipenRunResult]
    ) -> list[RunColumn]:
        directions = dict.fromkeys(
            direction for run in runs for direction in run.metrics["answers"]
        )
        return [
            stored("num_premises", "premises"),
            stored("num_items", "sipen_items"),
            measured(measures[0]),
            *map(measured, measures[1:]),
            *(
                RunColumn(direction, partial(_control, direction), shown=TERMINAL)
                for direction in CONTROL
            ),
            RunColumn("constant", _constant, shown=TERMINAL),
            RunColumn("answers_given", _given, shown=TERMINAL),
            *(
                RunColumn(f"  {name}", partial(_given, only=name), shown=TERMINAL)
                for name in directions
            ),
            *_accuracies(runs),
            *_contrast_columns(runs),
            stored("num_answers"),
            stored("usable"),
            *counted(runs, "reasons", "Unusable"),
            setting_of("sipen_prompt"),
        ]

    def notes(self, run: SipenRunResult) -> list[str]:
        metrics = run.metrics
        notes: list[str] = []
        answers = metrics["num_answers"]
        unparseable = metrics["reasons"]["unparseable"]
        if constant := metrics["constant"]:
            called = "not among the options" if constant == OTHER else constant
            notes.append(
                f"CONSTANT ANSWER: nearly every answer is {called}; accuracies say nothing of understanding."
            )
        if unparseable > _MOST_UNPARSEABLE * answers and constant != OTHER:
            notes.append(
                f"UNPARSEABLE: {n_of(unparseable, answers)} answers are none of the options, and count as wrong."
            )
        lines = []
        for answer, scores in metrics["constant_scores"].items():
            known = [
                f"{name} {number(value, SHARE)}"
                for name, value in scores.items()
                if value is not None
            ]
            lines.append(f"always {answer}: " + ", ".join(known))
        return [*notes, f"Whoever does not read scores: {'; '.join(lines)}."]

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        controls = (measures[0].short, *CONTROL, "neither", "constant", "answers_given")
        accuracies = tuple(
            f"{category}: {label}" for category in CATEGORIES for label in _LABELS
        )
        return (
            ModelTable(
                "sipen_controls", controls, ("sipen_controls_note", "scale_note")
            ),
            ModelTable("sipen_table4", accuracies, ("sipen_note",)),
        )

    def reader_answers(self, run: SipenRunResult) -> Iterator[tuple[str, ReaderAnswer]]:
        for answer in run.scored:
            score = answer.values.get(run.main.name)
            status = answer.facts.get("reply") or answer.reason or "unparseable"
            yield answer.item, ReaderAnswer(answer.text, score, status)

    def reader_item(self, run: SipenRunResult, item: str) -> ReaderItem:
        asked = run.items[item]
        text = "\n".join(
            filter(
                None,
                (
                    asked["context"],
                    f"T: {asked['premise']}",
                    f"H: {asked['hypothesis']}",
                ),
            )
        )
        return replace(super().reader_item(run, item), text=text)


def _accuracies(runs: Sequence[SipenRunResult]) -> tuple[RunColumn, ...]:
    """Table 4: the accuracy on each category by each kind of label."""
    columns = []
    for category in dict.fromkeys(
        category for run in runs for category in run.metrics["accuracy"]
    ):
        for label in _LABELS:
            heading = _heading("{category}: {label}", category=category, label=label)
            cell = partial(_accuracy, category, label)
            columns.append(RunColumn(heading, cell, shown=TERMINAL))
    return tuple(columns)


def _contrast_columns(runs: Sequence[SipenRunResult]) -> tuple[RunColumn, ...]:
    """Tables 5 and 6: of each expression and direction both places that are compared."""
    columns = []
    for key in dict.fromkeys(_row_key(row) for run in runs for row in _contrasts(run)):
        expression, direction = key
        form = (
            "{expression}, {direction}: {place}"
            if direction
            else "{expression}: {place}"
        )
        for k, place in enumerate(_PLACES[direction]):
            heading = _heading(
                form, expression=expression, direction=direction, place=place
            )
            columns.append(RunColumn(heading, partial(_place, key, k), shown=TERMINAL))
    return tuple(columns)


def _share_cell(share: Stored | None, *below: str) -> Cell:
    return (
        Cell(Estimate(**share), SHARE, below=below) if share and share["n"] else Cell()
    )


def _control(direction: str, run: SipenRunResult) -> Cell:
    return _share_cell(run.metrics["controls"].get(direction))


def _accuracy(category: str, label: str, run: SipenRunResult) -> Cell:
    return _share_cell(run.metrics["accuracy"].get(category, {}).get(label))


def _constant(run: SipenRunResult) -> str:
    """Whether one answer is nearly every one."""
    constant = run.metrics["constant"]
    return f"{constant}!" if constant else "no"


def _given(run: SipenRunResult, only: str = "") -> Cell:
    """Shares of the answers on hypotheses and controls together, or on those of one direction."""
    counts: Counter[str] = Counter()
    for direction, of_direction in run.metrics["answers"].items():
        if only in ("", direction):
            counts.update(of_direction)
    total = counts.total()
    shares = ", ".join(f"{answer} {share(n, total)}" for answer, n in counts.items())
    return Cell(shares, below=(f"n = {total:,}",), more={**counts})


def _contrasts(run: SipenRunResult) -> list[Stored]:
    return [*run.metrics["steps"], *run.metrics["directions"]]


def _row_key(row: Stored) -> tuple[str, str]:
    return row["expression"], row["direction"]


def _heading(form: str, **parts: str) -> str:
    """A column's heading of parts that are labels, but for the expressions of scales."""
    return translatable(
        form, **{name: translatable(part) for name, part in parts.items()}
    )


def _place(key: tuple[str, str], place: int, run: SipenRunResult) -> Cell:
    """The share of No in one of two places; below the second the p-value of the difference."""
    row = next((row for row in _contrasts(run) if _row_key(row) == key), None)
    if row is None:
        return Cell()
    return _share_cell(
        row["second" if place else "first"],
        *([p_value(row["p_holm"])] if place else []),
    )
