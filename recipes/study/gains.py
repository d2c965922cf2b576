"""Each row's gain over the base of its seed, by its own encoder and by the guard."""

from dataclasses import replace
from functools import cache

import numpy as np

from rewards.guard import Guard, gain
from rewards.tasks.dat.summary import valid_lists, valid_scores
from rewards.tasks.dat.table11 import Table11
from study.config import Study
from study.steps import study_rows


def with_gains(table: Table11, study: Study) -> Table11:
    """The table with `gains` in every row of an arm but the base's; as it is in a study without an arm `base`."""
    base = next((arm for arm in study.rows if arm.name == "base"), None)
    if base is None:
        return table
    folders = {name: row.responses for name, row in study_rows(study).items()}
    guard = Guard(study.guard) if study.guard else None

    @cache
    def own(name: str) -> np.ndarray:
        return valid_scores(folders[name])

    @cache
    def guarded(name: str) -> np.ndarray:
        return guard.scores(valid_lists(folders[name])) if guard else np.zeros(0)

    gains = {}
    for arm, seed in ((other, seed) for other in study.rows for seed in other.seeds if other != base):
        before, name = study.at("base", base.seed(seed)), study.at(arm.name, seed)
        gains[name] = gain(own(before), own(name)), gain(guarded(before), guarded(name))
    rows = [replace(row, gains=gains.get(row.summary.source, row.gains)) for row in table.rows]
    return replace(table, rows=tuple(rows), guard=study.guard)
