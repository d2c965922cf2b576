"""Rows of Table 11 beside their base: each one's gain by its own encoder, and by one that nobody trained on."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from sozo.scoring.guard import Guard, gain
from sozo.tasks.dat.summary import valid_lists, valid_scores
from sozo.tasks.dat.table11 import Table11, Table11Row


def with_gains(
    table: Table11, folders: Mapping[str, Path], guard: Guard | None, bases: Mapping[str, str] | None = None
) -> Table11:
    """The table with `gains` in every row that has a base in `bases`, both by their names as in `folders`.

    Without `bases` each row's is the row `base`, or else the first one.
    """
    if bases is None:
        base = "base" if "base" in folders else next(iter(folders))
        bases = {name: base for name in folders if name != base}

    @cache  # a base has many rows
    def scores(name: str) -> tuple[np.ndarray, np.ndarray]:
        path = folders[name]
        return valid_scores(path), guard.scores(valid_lists(path)) if guard else np.zeros(0)

    def gained(row: Table11Row) -> Table11Row:
        name = row.summary.source
        if name not in bases:
            return row
        own, second = (gain(before, after) for before, after in zip(scores(bases[name]), scores(name), strict=True))
        return replace(row, gains=(own, second))

    encoder = guard.encoder if guard else None
    return replace(
        table,
        rows=tuple(gained(row) for row in table.rows),
        guard=encoder.name if encoder else None,
        guard_revision=encoder.revision if encoder else None,
    )
