"""Table 11 beside a guard: each row's gain over the base by its own encoder, and by one that nobody trained on."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rewards.guard import Guard, gain
from rewards.tasks.dat.summary import valid_lists, valid_scores
from rewards.tasks.dat.table11 import Table11


def with_guard(table: Table11, folders: Mapping[str, Path], guard: Guard) -> Table11:
    """The table with `gains` in every row but the base, which is the row `base`, or the first one."""
    base = "base" if "base" in folders else next(iter(folders))
    own, second = (read(folders[base]) for read in (valid_scores, lambda path: guard.scores(valid_lists(path))))
    rows = []
    for row in table.rows:
        path = folders[row.summary.source]
        gains = (gain(own, valid_scores(path)), gain(second, guard.scores(valid_lists(path))))
        rows.append(row if row.summary.source == base else replace(row, gains=gains))
    encoder = guard.encoder
    return replace(table, rows=tuple(rows), guard=encoder.name, guard_revision=encoder.revision)
