"""The folder of a study (`sozo study`): which model and which table of answers is which row of the paper's.

`study.json` says so. `sozo run` copies it, with where the study is, beside the results of its models.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sozo.data.contents import contents
from sozo.data.errors import UserError
from sozo.data.foreign import parse_json
from sozo.data.record import write_whole

STUDY = "study.json"
_FORMAT = 2


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A row of the paper's Tables 11 to 14, or of a study of other arms."""

    model: str | None  # folder or hub id; None for random nouns, which are no model
    answers: Path  # folder of its table of DAT answers (Table 11)


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """A study."""

    name: str
    # The paper's name of the model it starts from (`Swallow-8B`); None if the paper has none
    paper_model: str | None
    # By the paper's names of the methods (`sozo.data.published.METHODS`), or the arms'; in order
    rows: dict[str, StudyRow]


def write_study(folder: Path, study: StudyFolder) -> None:
    """Write `study.json`; paths inside the folder are stored relative to it, so that it can be moved."""

    def stored(path: str | Path) -> str:
        absolute, base = Path(path).resolve(), folder.resolve()
        return (
            f"./{absolute.relative_to(base)}"
            if absolute.is_relative_to(base)
            else str(path)
        )

    rows = {
        name: {
            "model": None if row.model is None else stored(row.model),
            "answers": stored(row.answers),
        }
        for name, row in study.rows.items()
    }
    values = {
        "format": _FORMAT,
        "name": study.name,
        "paper_model": study.paper_model,
        "rows": rows,
    }
    content = (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()
    path = folder / STUDY
    # A finished study is not touched
    if not path.is_file() or path.read_bytes() != content:
        write_whole(path, content)


def read_study(folder: Path) -> StudyFolder | None:
    """The study of a folder; None if it is no study's."""
    path = folder / STUDY
    if not path.is_file():
        return None

    def place(stored: Any) -> str:
        return str(folder / stored) if stored.startswith("./") else stored

    try:
        values = parse_json(contents(path))
        if values["format"] != _FORMAT:
            raise ValueError("it is of another version of sozo")
        rows = {
            name: StudyRow(
                None if row["model"] is None else place(row["model"]),
                Path(place(row["answers"])),
            )
            for name, row in values["rows"].items()
        }
        return StudyFolder(str(values["name"]), values["paper_model"], rows)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: cannot be used ({error}); run sozo study again, which writes it"
        ) from error


def without_seed(name: str) -> tuple[str, str]:
    """A row's name without the seed of its training, and this with its sign; empty where there is none.

    >>> without_seed("DPO@1"), without_seed("org/model@main")
    (('DPO', '@1'), ('org/model@main', ''))
    """
    row, sign, seed = name.rpartition("@")
    return (row, sign + seed) if row and seed.isdecimal() else (name, "")
