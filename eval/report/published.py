"""The paper's figures on the page: below tables, or as rows of these."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from sozo.data.published import load_text
from sozo.scoring.table import Cell, Table, TableRow
from sozo.tasks.view import ModelTable, RunColumn


def published(table: ModelTable) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The paper's models that a table has figures of, with these by the paper's columns, digit for digit."""
    for row in (row for name in (table.paper, table.training) if name for row in load_text(name)):
        name = ", ".join(filter(None, (row["model"], row.get("method"))))
        yield f"{name} (paper)", {"mean": row.get("score", ""), **row}  # one table calls the mean a score


def published_rows(table: ModelTable, columns: Sequence[RunColumn]) -> Iterator[TableRow]:
    """Rows of a table with these columns; without those of which it has no column."""
    for name, figures in published(table):
        texts = [_figure(column, figures) for column in columns]
        if any(texts):
            yield TableRow(name, tuple(printed(text, heat=table.heat) for text in texts), published=True)


def paper_table(name: str | None, models: Collection[str] = ()) -> Table | None:
    """A table of the paper, digit for digit: all of it, or the rows of `models`; None where there is none."""
    if name is None:
        return None
    lines = [line for line in load_text(name) if not models or line["model"] in ("", *models)]
    rows = []
    for line in lines:
        model, *texts = line.values()
        rows.append(TableRow(model, tuple(map(printed, texts))))
    return Table("papers_models", tuple(column.replace("_", " ") for column in lines[0]), tuple(rows))


def printed(text: str, heat: bool = False) -> Cell:
    """What a paper prints, digit for digit."""
    try:
        value = float(text)
    except ValueError:
        return Cell(text or None)
    return Cell(value, printed=text, heat=heat)


def _figure(column: RunColumn, row: Mapping[str, str]) -> str:
    """The paper's figure in a column; empty where there is none."""
    text = row.get(column.paper)
    return column.figure(text) if text else ""
