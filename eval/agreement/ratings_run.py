"""What `sozo agreement FILE` does, without the command line: how far the raters of a file agree."""

import hashlib
from dataclasses import asdict
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.ratings import read_any_ratings
from sozo.data.record import write_json, write_whole
from sozo.data.rubrics import load_rubric
from sozo.data.run_folder import RunFolder
from sozo.data.settings import hint
from sozo.eval.agreement.raters import LEAST, agreement_cells, habits
from sozo.eval.agreement.ratings_page import ratings_page
from sozo.eval.agreement.stages import violations
from sozo.eval.terminal import PageRun
from sozo.scoring.statistics.agreement import LEVELS

VALUES, PAGE = "agreement.json", "agreement.md"
MOST_SCORES = 50  # on a scale: pairs of scores are counted item by item
FILES = ("config.json", "metrics.json", VALUES, PAGE)


def agree_ratings(
    path: Path, output: Path, *, rubric: str | None = None, level: str = "ordinal", least: int = LEAST
) -> PageRun:
    """Agreement of the raters of a file of ratings, by the rubric of that name or file, if it is given one.

    The folder `output` gets `agreement.md` and `agreement.json`, which holds all levels and every score out of stage.
    """
    check_level(level)
    scale = load_rubric(rubric) if rubric else None
    ratings = read_any_ratings(path, scale)
    for criterion in dict.fromkeys(rating.criterion for rating in ratings):
        if (n := len({r.score for r in ratings if r.criterion == criterion})) > MOST_SCORES:
            raise UserError(f"{path}: {criterion} has {n} different scores; round them to {MOST_SCORES} or fewer")
    settings = {
        "task": "agreement of ratings",
        "ratings_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rubric": scale and {c.name: [c.lowest, c.highest, c.above, list(c.groups)] for c in scale.criteria},
        "level": level,
        "least": least,
    }
    folder = RunFolder(output, settings)
    if folder.metrics() is not None and (output / PAGE).is_file():
        return PageRun(output, (output / PAGE).read_text("utf-8"), FILES, True)
    folder.start({}, {"ratings": str(path)})
    cells = agreement_cells(ratings, scale, level, least)
    found, of_raters = violations(ratings, scale) if scale else None, habits(ratings)
    page = ratings_page(path.name, ratings, cells, found, of_raters, level, least)
    if unrated := [c.name for c in scale.criteria if c.name not in {cell.criterion for cell in cells}] if scale else []:
        page += f"\nNobody rated {', '.join(unrated)}.\n"
    values = {"level": level, "least": least, "scores": len(ratings), "cells": [cell.to_json() for cell in cells]}
    values |= {"out_of_stage": None if found is None else [asdict(one) for one in found]}
    write_json(output / VALUES, {**values, "raters": [asdict(habit) for habit in of_raters]})
    write_whole(output / PAGE, page.encode())
    summary = [
        {"criterion": cell.criterion, "domain": cell.domain, "without": cell.without, **asdict(cell.alphas[level])}
        for cell in cells
    ]
    folder.finish({"level": level, "alpha": summary, "out_of_stage": None if found is None else len(found)})
    return PageRun(output, page, FILES, False)


def check_level(level: str) -> None:
    """Raise UserError if there is no such level of measurement."""
    if level not in LEVELS:
        raise UserError(f"--level must be one of {', '.join(LEVELS)}, not {level}{hint(level, LEVELS)}")
