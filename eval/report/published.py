"""The paper's figures on the page: below tables, or as rows of these."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sozo.data.published import load_text
from sozo.eval.compare import Change
from sozo.eval.outcome import Outcome, judged
from sozo.scoring.measure import Measure
from sozo.scoring.statistics.comparison import Comparison
from sozo.scoring.table import Cell, Row, Table
from sozo.tasks.task import Task
from sozo.tasks.view import ModelTable, RowTable, RunColumn

_UNSAID = "the paper does not say"


@dataclass(frozen=True, slots=True)
class Published:
    """A model of the paper, with its own encoder, judge and stories."""

    name: str
    base: str | None  # the name of the model that it was trained from
    figures: Mapping[str, str]  # by the paper's columns, digit for digit


def published(table: ModelTable) -> list[Published]:
    """The paper's models that a table has figures of: of its benchmark, then of its training."""
    models = []
    for row in (row for name in (table.paper, table.training) if name for row in load_text(name)):
        model, method = row["model"], row.get("method")
        base = f"{model}, base (paper)" if model and method not in (None, "base") else None
        # One table calls the mean a score.
        figures = {"mean": row.get("score", ""), **row}
        models.append(Published(f"{', '.join(filter(None, (model, method)))} (paper)", base, figures))
    return models


def published_rows(table: ModelTable) -> Iterator[Row]:
    """Rows of a table; without those of which it has no column."""
    for model in published(table):
        texts = [figure(column, model.figures) for column in table.columns]
        if any(texts):
            yield Row(model.name, tuple(printed(text, heat=table.heat) for text in texts), published=True)


def published_values(declared: Sequence[ModelTable | RowTable], measure: Measure) -> list[tuple[Published, float]]:
    """What the first table with a column of this measure has of the paper's models: of those that have a value."""
    for table in (table for table in declared if isinstance(table, ModelTable)):
        of_measure = {column.change: column for column in table.columns}
        if measure in of_measure and (table.paper or table.training):
            rows = [(model, figure(of_measure[measure], model.figures)) for model in published(table)]
            return [(model, float(text)) for model, text in rows if text]
    return []


def paper_table(name: str | None, models: Collection[str] = ()) -> Table | None:
    """A table of the paper, digit for digit: all of it, or the rows of `models`; None where there is none."""
    if name is None:
        return None
    lines = [line for line in load_text(name) if not models or line["model"] in ("", *models)]
    rows = []
    for line in lines:
        model, *texts = line.values()
        rows.append(Row(model, tuple(map(printed, texts))))
    return Table("papers_models", tuple(column.replace("_", " ") for column in lines[0]), tuple(rows))


def in_the_paper(measure: Measure) -> Measure:
    """The measure with the paper's decimals."""
    return replace(measure, digits=min(measure.digits, 3))


def printed(text: str, heat: bool = False) -> Cell:
    """What a paper prints, digit for digit."""
    try:
        value = float(text)
    except ValueError:
        return Cell(text or None)
    return Cell(value, printed=text, heat=heat)


def figure(column: RunColumn, row: Mapping[str, str]) -> str:
    """The paper's figure in a column; empty where there is none."""
    text = row.get(column.paper)
    return column.figure(text) if text else ""


def published_outcomes(task: type[Task], models: Sequence[tuple[Published, float]]) -> Iterator[Outcome]:
    """What the paper's trainings came out as in a task by what is printed of them; `models` have their means."""
    by_name = {model.name: (model, mean) for model, mean in models}
    measure = task.measures[0]
    for model, mean in by_name.values():
        if model.base not in by_name:
            continue
        base, before = by_name[model.base]
        changes = task.view.published_changes(base.figures, model.figures)
        known = changes.get(measure.name, Comparison(reason="printed without an interval"))
        named = Change(model=model.name, base=base.name, column=measure.name)
        change = replace(named, **asdict(known) | {"difference": mean - before})
        guards = [
            judged(bound, changes.get(bound.measure.name, Comparison(reason=_UNSAID)))
            for bound in (*task.bounds(), *([task.second] if task.second else ()))
        ]
        yield Outcome(task.name, model.name, base.name, measure, change, p=change.p, guards=tuple(guards))
