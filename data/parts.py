"""A table's parts: which belong there, which exist, and writing the missing ones, alone or with other processes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sozo.data.errors import UndecidedError, UserError
from sozo.data.processes import Processes
from sozo.data.progress import answers_bar
from sozo.data.schema import count_rows, write_columns

Columns = dict[str, Any]


class TablePart(NamedTuple):
    """One file of a table: where it goes and how many rows belong in it."""

    path: Path
    rows: int


def parts_of(folder: Path, n: int, rows: int) -> list[TablePart]:
    """The parts of a table of `n` rows, `rows` in each but the last.

    >>> [(part.path.name, part.rows) for part in parts_of(Path("x"), 5, 3)]
    [('part-00000.parquet', 3), ('part-00001.parquet', 2)]
    """
    if n < 1 or rows < 1:
        raise ValueError(f"cannot make {n} answers in batches of {rows}")
    starts = enumerate(range(0, n, rows))
    return [
        TablePart(folder / f"part-{number:05d}.parquet", min(rows, n - start))
        for number, start in starts
    ]


def write_missing(
    parts: Sequence[TablePart],
    columns: Callable[[int], Columns],
    what: str,
    processes: Processes,
) -> None:
    """Write those of this process's parts that are missing."""
    # Every process looks at all parts, so that one that cannot be used ends them all before any work is done.
    written = [is_there(part) for part in parts]
    mine = [number for number in range(len(parts)) if processes.mine(number)]
    done = sum(parts[number].rows for number in mine if written[number])
    with answers_bar(
        what, sum(parts[n].rows for n in mine), done, quiet=not processes.first
    ) as advance:
        waiting, tried = [n for n in mine if not written[n]], set[int]()
        for number in waiting:
            try:
                part = columns(number)
            except UndecidedError:
                if number in tried:
                    raise
                tried.add(number)
                # Once another one could be written, this one can
                waiting.append(number)
                continue
            write_columns(parts[number].path, part)
            advance(parts[number].rows, _usable(part))


def _usable(columns: Columns) -> int | None:
    """How many rows have no reason against them; None of a part that is not scored as it is drawn."""
    reasons = columns.get("reason")
    if columns.get("score") is None or reasons is None:
        return None
    if hasattr(reasons, "null_count"):
        return int(reasons.null_count)
    return sum(reason is None for reason in reasons)


def is_there(part: TablePart) -> bool:
    """Whether the part was written."""
    if not part.path.exists():
        return False
    rows = count_rows(part.path)
    if rows != part.rows:
        raise UserError(
            f"{part.path}: has {rows} rows where {part.rows} belong; give another --output"
        )
    return True
