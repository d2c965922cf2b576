"""Thirteen reports: every finding, all that is printed of them, and what each answer in them is worth."""

import html
import io
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from frozen_runs import NOUNS, RUNS, SECOND, Report, report

from sozo.data.schema import iter_tables
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import Findings, findings, frame
from sozo.eval.report.contents import printed_tables
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.terminal import print_answer, print_tables
from sozo.scoring.second_encoder import SecondEncoder

KEY = ("model", "base", "task", "measure", "kind")
SAID_BEFORE = ("text", "answer", "story", "prompt", "question")  # inputs, not results


def values_of(name: str, folder: Path) -> Mapping[str, Any]:
    """Of one report three kinds of names: findings, lines of what is printed, and answers."""
    with (
        patch("sozo.scoring.second_encoder.make_encoder", lambda name, **_: SECOND),
        patch.dict("os.environ", {"COLUMNS": "120"}),
    ):
        made = report(name, folder)
        models = find_evaluated(made.places)
        second = SecondEncoder("second", NOUNS) if made.second else None
        found = findings(models, made.base, second)
        page = folder / f"{name}.html"
        write_evaluation(page, models, base=made.base, second_encoder=second)
        values = rows_of(found) | printed(found, page) | worths(made)
    return {key: without(folder, value) for key, value in values.items()}


def rows_of(found: Findings) -> dict[str, Any]:
    """Every row of the table of findings."""
    table = frame(found)
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return {" | ".join(f"{row[k] or ''}" for k in KEY): row for row in rows}


def printed(found: Findings, page: Path) -> dict[str, Any]:
    """The screen, each file beside the page, and the page's own text."""
    with redirect_stdout(io.StringIO()) as screen:
        print_answer(found)
        print_tables(printed_tables(found, first=False))
    texts = {"screen": screen.getvalue(), "page": text_of(page.read_text("utf-8"))}
    for file in sorted(page.with_name(f"{page.stem}-tables").iterdir()):
        texts[file.name] = file.read_bytes().decode("utf-8-sig")
    return {key: text.splitlines() for key, text in texts.items()}


def text_of(page: str) -> str:
    """What a reader sees, a line an element; without pictures, code, the day and what holds the answers."""
    page = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    page = re.sub(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+Z]+)?", "DAY", page)
    lines = re.sub(r"<(?!/?(?:b|i|em|small|span|wbr|br)\b)[^>]*>", "\n", page)
    text = html.unescape(re.sub(r"<[^>]*>", "", lines))
    return "\n".join(
        filter(None, (" ".join(line.split()) for line in text.splitlines()))
    )


def worths(report: Report) -> dict[str, Any]:
    """What each answer of each run is worth, by its task."""
    values = {}
    for run in report.runs:
        for table in iter_tables(run.folder / "answers"):
            for row in table.to_pylist():
                kept = {k: v for k, v in row.items() if k not in SAID_BEFORE}
                key = f"{run.folder.parent.name}/{run.folder.name}: {row['id']}"
                values[key] = list(kept.values())
    return values


def without(folder: Path, value: Any) -> Any:
    """Paths of this run are not of the next."""
    if isinstance(value, str):
        return value.replace(str(folder), "FOLDER")
    if isinstance(value, list):
        return [without(folder, item) for item in value]
    return value


PARTS = {f"report-{name}": partial(values_of, name) for name in RUNS}
