"""How DAT's results are shown: the row of Table 11, in the terminal, W&B, the model card and the report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from sozo.data.schema import iter_tables
from sozo.scoring.final_text import answer_state
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import COUNT, n_of, share
from sozo.scoring.statistics.comparison import Comparison
from sozo.scoring.statistics.means import Interval
from sozo.scoring.table import Cell
from sozo.tasks.dat.instrument_cells import cell, measured
from sozo.tasks.dat.summary import DatSummary, FinishedDat
from sozo.tasks.dat.table11 import PAPER_RESPONSES, changes_in_the_paper, table11
from sozo.tasks.view import (
    CARD,
    FACTS,
    NUMBERS,
    RESULT,
    SCALE,
    WANDB,
    ModelTable,
    Point,
    ReaderAnswer,
    ReaderItem,
    Ridge,
    RunColumn,
    Scatter,
    Section,
    View,
    counted,
    pick,
    setting_of,
    stored,
)

_ENDS = ("_se", "_low", "_high")  # of names of how far an instrument may be off
_APART = 0.05  # shares as asked and of ten words found that are further apart are shown beside each other


class DatView(View[FinishedDat]):
    """A row of Table 11, and what is wrong with the invalid responses."""

    sample = 20

    def columns(self, measures: Sequence[Measure], runs: Sequence[FinishedDat]) -> list[RunColumn]:
        score, valid = measures

        def mean(run: FinishedDat) -> Cell:
            row = run.summary
            low, high = row.ci95 or (None, None)
            return Cell(row.mean, run.shown(score), low, high)

        def std(run: FinishedDat) -> Cell:
            return Cell(run.summary.std, run.shown(score))

        def unique(run: FinishedDat) -> Cell:
            low, high = (run.summary.instruments.get(f"unique_words_{end}") for end in ("low", "high"))
            return Cell(run.summary.unique_words, COUNT, low, high)

        def valid_share(run: FinishedDat) -> Cell:
            return Cell(run.summary.valid, of=run.summary.num_responses, below=(_valid_share(run.summary),))

        instruments = [
            RunColumn(name, _instrument(name), shown=NUMBERS) for name in measured([run.summary for run in runs])
        ]
        errors = dict.fromkeys(name for run in runs for name in run.summary.instruments if name.endswith(_ENDS))
        return [
            stored("num_answers", "trials", NUMBERS),
            RunColumn("valid", valid_share, shown=RESULT, change=valid, paper="valid", figure=_valid_in_the_paper),
            RunColumn("valid_rate", lambda run: run.summary.valid_rate, valid, WANDB | CARD),
            RunColumn("mean", mean, shown=RESULT, change=score, paper="mean"),
            RunColumn("std", std, shown=RESULT, paper="std"),
            RunColumn("unique_words", unique, shown=RESULT, paper="unique_words", figure=lambda n: f"{int(n):,}"),
            stored("ten_words", shown=NUMBERS | FACTS),
            *instruments,
            *(RunColumn(name, _error(name), shown=WANDB) for name in errors),
            *_named(runs),
            setting_of("embedding_model", "dat_encoder", FACTS | SCALE),
            setting_of("noun_checker", "dat_checker", FACTS | SCALE),
            RunColumn("range", _range, shown=CARD),
            *counted(runs, "reasons", "Invalid"),
        ]

    def notes(self, run: FinishedDat) -> list[str]:
        """Refused words; where ten are found in clearly more responses than are valid, or none is, texts too."""
        row, found = run.summary, run.metrics.get("ten_words")
        refused = ", ".join(f"{word!r} ({count})" for word, count in run.metrics.get("refused", {}).items())
        named = [f"Words refused most often: {refused}."] * bool(refused)
        if found is None or (row.valid and found - row.valid <= _APART * row.came):
            return named
        asked = f"As asked: {n_of(row.valid, row.came)} ({share(row.valid, row.came)})."
        return [
            f"{asked} Ten words found: {n_of(found, row.came)} ({share(found, row.came)}), read leniently, never paid.",
            *(f"{reason}: {text[:160]!r}" for reason in row.reasons for text in run.texts(reason)[:2]),
            *named,
            "What helps: docs/training.md, My model writes no valid list.",
        ]

    def explained(self, run: FinishedDat) -> list[str]:
        labels = self.labels()
        return [labels[f"{name}_says"][0] for name in measured([run.summary])]

    def dataset(self, run: FinishedDat) -> dict[str, str]:
        language = LANGUAGES[run.language].name
        names = {"dataset_name": f"DAT ({language})", "dataset_type": f"dat-{run.language}"}
        return {"task_name": "Divergent Association Task", **names}

    def section(self, measures: Sequence[Measure], runs: Sequence[FinishedDat]) -> Section:
        # Unique words are compared within a study only: a small one must not take the words of another's rows.
        words, sizes, planes = dict[Path, Interval | None](), dict[Path, int](), list[Scatter]()
        for study in dict.fromkeys(run.study for run in runs):
            own = [run for run in runs if run.study == study]
            trials = {str(run.folder): run.settings["trials"] for run in own if run.settings.get("trials")}
            table = table11({str(run.folder): run.folder for run in own}, trials=trials)
            words |= {run.folder: row.equal_words for run, row in zip(own, table.rows, strict=True)}
            sizes |= {run.folder: table.equal_size for run in own}
            planes.append(_plane(study, own, words, table.equal_size, len(planes)))

        def equal_words(run: FinishedDat) -> Cell:
            found = words[run.folder]
            if found is None:
                return Cell(n=sizes[run.folder])
            return Cell(found.mean, COUNT, found.low, found.high, sizes[run.folder])

        def attempts(run: FinishedDat) -> Cell:
            return Cell(run.summary.num_responses, below=(_valid_share(run.summary),))

        columns = self.columns(measures, runs)
        names = measured([run.summary for run in runs])
        responses = pick(columns, ("num_answers", "valid", "mean", "std", "unique_words"))
        responses += (RunColumn("equal_words", equal_words), *_named(runs))
        trials_shown = (
            RunColumn("valid_trials", lambda run: run.summary.valid),
            RunColumn("attempts", attempts),
            *pick(columns, ("mean", "std")),
            *_named(runs),
        )
        tables = [
            ModelTable("table11", responses, ("dat_note", "scale_note"), paper="dat", training="dat_training"),
            ModelTable("table6", trials_shown, kind="trials"),
        ]
        if names:
            says = tuple(f"{name}_says" for name in names)
            tables.insert(1, ModelTable("instruments", pick(columns, names), says))
        return tables, (Ridge("dat_chart", "ridges", "score_axis", measures[0]), *planes)

    def published_changes(self, base: Mapping[str, str], model: Mapping[str, str]) -> Mapping[str, Comparison]:
        trained = all(row.get("std") and row.get("valid") for row in (base, model))
        return changes_in_the_paper(base, model) if trained else {}

    def reader_answers(self, run: FinishedDat) -> Iterator[tuple[str, ReaderAnswer]]:
        for table in iter_tables(run.folder, ("text", "score", "reason", "finish_reason")):
            for row in table.to_pylist():
                state = answer_state(row["text"], row["finish_reason"])
                states = {"states": [] if state == "whole" else [state]}
                yield "", ReaderAnswer(row["text"], row["score"], row["reason"], states)

    def reader(self, run: FinishedDat) -> Iterator[tuple[ReaderItem, Sequence[ReaderAnswer]]]:
        answers = islice(self.reader_answers(run), self.sample)
        yield ReaderItem("", "", "DAT"), [answer for _, answer in answers]


def _plane(
    study: Path | None, runs: Sequence[FinishedDat], words: Mapping[Path, Interval | None], size: int, number: int
) -> Scatter:
    """Mean against unique words in as many valid responses as the study's smallest row has."""
    points = {}
    for run in runs:
        row, found = run.summary, words[run.folder]
        if row.mean is not None and found and found.mean is not None:
            points[run.folder] = Point(found.mean, row.mean, *(row.ci95 or (None, None)))
    about = f"{study.name}, n = {size:,}" if study else f"n = {size:,}"
    encoder = runs[0].scale.get("embedding_model")
    return Scatter("words_chart", f"words{number}", "words_axis", "score_axis", points, about, size, encoder)


def _instrument(name: str) -> Callable[[FinishedDat], Cell]:
    return lambda run: cell(run.summary.instruments, name)


def _error(name: str) -> Callable[[FinishedDat], float | None]:
    return lambda run: run.summary.instruments.get(name)


def _name(run: FinishedDat) -> str | None:
    """What an English score may be called."""
    return run.scale.get("score_name")


def _named(runs: Sequence[FinishedDat]) -> list[RunColumn]:
    """The column of the scores' names, if any has one."""
    return [RunColumn("dat_name", _name, shown=RESULT | FACTS | SCALE)] if any(map(_name, runs)) else []


def _range(run: FinishedDat) -> str:
    return "0 to 200, Olson's protocol" if run.settings.get("olson") else "0 to 2"


def _valid_in_the_paper(valid: str) -> str:
    """The paper's count of valid responses, as `valid` is shown."""
    return f"{int(valid):,} ({share(int(valid), PAPER_RESPONSES)})"


def _valid_share(summary: DatSummary) -> str:
    return share(summary.valid, summary.num_responses)


def summary_cells(summary: DatSummary) -> dict[str, Cell]:
    """The columns of a row of Table 11 by their headings, of the pages of training runs.

    >>> summary_cells(DatSummary("random", 4, 3, 0.8, 0.1, (0.7, 0.9), 25, {}))["Mean"].line
    '0.8000 [0.7000, 0.9000]'
    """
    score = Measure("dat", summary.digits)
    low, high = summary.ci95 or (None, None)
    return {
        "Valid": Cell.share(summary.valid, summary.num_responses),
        "Mean": Cell(summary.mean, score, low, high),
        "Std": Cell(summary.std, score),
        "Unique words": Cell(summary.unique_words),
    }
