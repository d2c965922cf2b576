"""The folder of a study (`recipes/reproduce.py`): which model and which table of responses is which row of the paper's.

`study.json` says so. `python -m eval run` copies it, with where the study is, beside the results of its models.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from data.record import write_json

STUDY = "study.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A row of the paper's Tables 11 to 14.

    Args:
        model: Folder or hub id; None for random nouns, which are no model.
        responses: Folder of its table of DAT responses (Table 11).
    """

    model: str | None
    responses: Path


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """A study.

    Args:
        name: What it is called.
        paper_model: The paper's name of the model it starts from (`Swallow-8B`); None if the paper has none.
        rows: By the paper's names of the methods (`rewards.tasks.dat.table11.METHODS`), in their order.
    """

    name: str
    paper_model: str | None
    rows: dict[str, StudyRow]


def write_study(folder: Path, study: StudyFolder) -> None:
    """Write `study.json`; paths inside the folder are stored relative to it, so that it can be moved."""

    def stored(path: str | Path) -> str:
        whole, inside = Path(path).resolve(), folder.resolve()
        return f"./{whole.relative_to(inside)}" if whole.is_relative_to(inside) else str(path)

    rows = {
        name: {"model": None if row.model is None else stored(row.model), "responses": stored(row.responses)}
        for name, row in study.rows.items()
    }
    values = {"format": _FORMAT, "name": study.name, "paper_model": study.paper_model, "rows": rows}
    try:
        there = json.loads((folder / STUDY).read_bytes())
    except (OSError, ValueError):
        there = None
    if there != values:  # a study that is finished stays as it is
        write_json(folder / STUDY, values)


def read_study(folder: Path) -> StudyFolder | None:
    """The study of a folder; None if it is no study's.

    Raises:
        ValueError: `study.json` cannot be used.
    """
    path = folder / STUDY
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_bytes())
        if values["format"] != _FORMAT:
            raise ValueError("it is of another version of sozo")
        rows = {
            name: StudyRow(
                None if row["model"] is None else _found(folder, row["model"]), Path(_found(folder, row["responses"]))
            )
            for name, row in values["rows"].items()
        }
        return StudyFolder(str(values["name"]), values["paper_model"], rows)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: cannot be used ({error}); run recipes/reproduce.py again, which writes it"
        ) from error


def _found(folder: Path, path: str) -> str:
    return str(folder / path) if path.startswith("./") else path
