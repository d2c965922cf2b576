"""How DAT's results are shown: the row of Table 11, in the terminal, W&B and the report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sozo.scoring.final_text import COMPLETE, Ending
from sozo.scoring.measure import MEAN, Estimate, Measure, normal_interval
from sozo.scoring.nouns import SPEAKERS
from sozo.scoring.numbers import n_of, share
from sozo.scoring.statistics.hill import hill_interval
from sozo.scoring.table import Cell
from sozo.tasks.dat.instruments import DIVERSITY, FLEXIBILITY, LOOPHOLES, PARTS
from sozo.tasks.dat.summary import DIFFERENT_WORDS, DatRunResult, DatSummary
from sozo.tasks.view import (
    NUMBERS,
    PAGE,
    WANDB,
    ModelTable,
    ReaderItem,
    Ridge,
    RunColumn,
    Scatter,
    View,
    counted,
    measured,
    setting_of,
    stored,
)

WORDS = Measure("all_different_words", 0, unit="words")
# How the instruments are shown, and the mean that they are part of: decimals, or percent.
INSTRUMENTS = {
    "score": Measure("score"),
    **{name: Measure(name) for name in PARTS},
    **{name: Measure(name, 2) for name in FLEXIBILITY},
    **{name: Measure(name, 0) for name in DIVERSITY},
    **{name: Measure(name, share=True) for name in LOOPHOLES},
}
_ENDS = ("_se", "_low", "_high")  # of names of how far an instrument may be off
_APART = 0.05  # shares as asked and of ten words found that are further apart are shown beside each other


class DatView(View[DatRunResult]):
    """A row of Table 11, and what is wrong with the unusable answers."""

    sample = 20
    pictures = (
        Scatter(
            "words_chart",
            "different_words",
            "score",
            "words_axis",
            "score_axis",
            by_n=True,
        ),
        Ridge("dat_chart", "score_axis"),
    )

    def columns(
        self, measures: Sequence[Measure], runs: Sequence[DatRunResult]
    ) -> list[RunColumn]:
        score, usable = measures

        def std(run: DatRunResult) -> Cell:
            return Cell(run.summary.std, run.adapt(score))

        def different(run: DatRunResult) -> Cell:
            low, high = (
                run.summary.instruments.get(f"all_different_words_{end}")
                for end in ("low", "high")
            )
            return Cell(Estimate(run.summary.all_different_words, low, high), WORDS)

        instruments = [
            RunColumn(name, _instrument(name), shown=NUMBERS)
            for name in instruments_of([run.summary for run in runs])
        ]
        errors = dict.fromkeys(
            name
            for run in runs
            for name in run.summary.instruments
            if name.endswith(_ENDS)
        )
        return [
            stored("num_answers", "dat_answers", NUMBERS),
            RunColumn(
                "usable",
                lambda run: run.summary.usable,
                shown=WANDB,
                key="num_usable",
            ),
            measured(usable, "usable", key="usable_share"),
            measured(score, "score"),
            RunColumn("std", std, shown=NUMBERS),
            RunColumn("all_different_words", different, shown=NUMBERS),
            RunColumn(
                "different_words",
                _different_words(runs),
                shown=PAGE,
                change=DIFFERENT_WORDS,
            ),
            stored("ten_words"),
            *instruments,
            *(RunColumn(name, _error(name), shown=WANDB) for name in errors),
            *(
                [RunColumn("dat_name", _name, shown=NUMBERS)]
                if any(map(_name, runs))
                else []
            ),
            setting_of("embedding_model", "dat_encoder"),
            setting_of("noun_checker", "dat_checker"),
            *counted(runs, "reasons", "Unusable"),
        ]

    def notes(self, run: DatRunResult) -> list[str]:
        """Refused words; where ten are found in clearly more answers than are usable, or none is, texts too."""
        row, found = run.summary, run.metrics.get("ten_words")
        refused = ", ".join(
            f"{word!r} ({count})"
            for word, count in run.metrics.get("refused", {}).items()
        )
        named = [f"Words refused most often: {refused}."] * bool(refused)
        checker = run.settings.get("noun_checker", "")
        if refused and row.reasons["not_noun"] and not checker.endswith(SPEAKERS):
            named.append(
                f"not_noun: no noun by {checker}, the benchmark's rule; people's rule takes more words, "
                f"in Japanese 自由 and お茶: --noun-checker {checker}{SPEAKERS}."
            )
        said = run.states[COMPLETE] + run.states[Ending.FORM]
        few = found and row.usable and found - row.usable <= _APART * row.came
        if found is None or not (found or said) or few:
            return named
        asked = (
            f"As asked: {n_of(row.usable, row.came)} ({share(row.usable, row.came)})."
        )
        any_form = (
            f"Ten words found: {n_of(found, row.came)} ({share(found, row.came)}), in any form; "
            "scores and rewards count lists as asked."
        )
        return [
            f"{asked} {any_form}",
            *(
                f"{reason}: {text[:160]!r}"
                for reason in row.reasons
                for text in run.texts(reason)[:2]
            ),
            *named,
            "What helps: docs/train.md.",
        ]

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        row = (
            "num_answers",
            "usable_share",
            "score",
            "std",
            "all_different_words",
            "different_words",
        )
        return (
            ModelTable(
                "table11",
                row,
                ("dat_note", "scale_note"),
                training="dat_training",
            ),
        )

    def reader_item(self, run: DatRunResult, item: str) -> ReaderItem:
        return ReaderItem("", "", "DAT")


def _different_words(runs: Sequence[DatRunResult]) -> Callable[[DatRunResult], Cell]:
    """Different words in as many usable answers as the smallest row of the run's study has: no other study's count."""
    cells: dict[Path, Cell] = {}

    def different_words(run: DatRunResult) -> Cell:
        if run.folder not in cells:  # they take a while, and few printers ask for them
            own = [other for other in runs if other.study == run.study]
            size = min(filter(None, (len(other.lists) for other in own)), default=0)
            for other in own:
                cells[other.folder] = Cell(
                    replace(hill_interval(other.lists, size), n=size), DIFFERENT_WORDS
                )
        return cells[run.folder]

    return different_words


def instruments_of(rows: Sequence[DatSummary]) -> list[str]:
    """Names of the instruments that any of some rows has."""
    return [
        name for name in INSTRUMENTS if any(name in row.instruments for row in rows)
    ]


def instrument_cell(values: Mapping[str, float], name: str) -> Cell:
    """An instrument with its 95% interval, if it has one; a dash where it was not measured.

    >>> instrument_cell({"pairing": 0.0074, "pairing_se": 0.0002}, "pairing").line
    '0.0074 [0.0070, 0.0078]'
    """
    value = values.get(name)
    known = (values.get(f"{name}_low"), values.get(f"{name}_high"))
    low, high = normal_interval(value, values.get(f"{name}_se"), 1) or known
    return Cell(
        INSTRUMENTS[name].inside(Estimate(value, low, high), MEAN), INSTRUMENTS[name]
    )


def _instrument(name: str) -> Callable[[DatRunResult], Cell]:
    return lambda run: instrument_cell(run.summary.instruments, name)


def _error(name: str) -> Callable[[DatRunResult], float | None]:
    return lambda run: run.summary.instruments.get(name)


def _name(run: DatRunResult) -> str | None:
    """What an English score may be called."""
    return run.scale.get("score_name")
