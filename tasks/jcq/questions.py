"""Japanese Creativity Questions (JCQ, section 3.1): the 700 questions of nlp-waseda/JCQ, and 35 of our own for trials.

The benchmark's questions are not part of this package (CC-BY-4.0, on the hub); they never enter training data.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal

from sozo.data.errors import UserError
from sozo.data.jsonl import SafeFilledText, SafeId, read_objects, record_of

DATASET = "nlp-waseda/JCQ"
# In the order of the paper's Tables 1 and 4.
TASKS = (
    "unusual uses",
    "consequences",
    "just suppose",
    "situation",
    "common problem",
    "improvement",
    "imaginative stories",
)
CRITERIA = ("fluency", "flexibility", "originality", "elaboration")
# Of the test split as `content_hash` writes it: a hub revision does not say what came from a mirror or a file. The same
# 700 rows stand in the benchmark authors' nlp-waseda/JCQ-judge at 450bd55.
CONTENT_SHA256 = "8d193def24c9ad7601d4f816ae545e45c3afc944ff560154e7e545341ffbbb26"


@dataclass(frozen=True, slots=True)
class Question:
    """One question."""

    id: SafeId  # unique among the questions; the benchmark's are `1` to `700`, the trial's `trial-01` to `trial-35`
    task: Literal[TASKS]  # type: ignore[valid-type]
    question: SafeFilledText  # what a model is asked, word for word


def load_questions(
    source: str | Path | None = None,
    revision: str | None = None,
    *,
    complete: bool = True,
) -> tuple[Question, ...]:
    """The benchmark's questions, in the order of the source.

    Args:
        source: A JSONL file, or a dataset on the hub; None takes `nlp-waseda/JCQ`, split test.
        revision: Of the hub: a commit, tag or branch.
        complete: Refuse whatever is not the 700 questions word for word. With False, any questions of known tasks with
            unique ids will do; what comes of them is no JCQ score.
    """
    where, rows = _rows(source, revision)
    questions = tuple(record_of(Question, place, row) for place, row in rows)
    if not questions:
        raise UserError(
            f'{where}: holds no questions; write one per line: {{"id": 1, "task": ..., "question": ...}}'
        )
    for question, number in Counter(question.id for question in questions).items():
        if number > 1:
            raise UserError(
                f"{where}: the id {question!r} comes {number} times; make ids unique"
            )
    if not complete:
        return questions
    # An error, not a warning: one changed word makes numbers that look comparable with the paper's and are not.
    if content_hash(questions) != CONTENT_SHA256:
        other = f"these {len(questions)} questions are not word for word the 7 x 100 of {DATASET} that the paper used"
        raise UserError(
            f"{where}: {other}; take its test split, or say so if this is meant to be another set"
        )
    return questions


def trial_questions() -> tuple[Question, ...]:
    """35 original questions, five for each task, to try things offline: not the benchmark's, nor taken from them."""
    with as_file(files("sozo.data").joinpath("jcq_trial.jsonl")) as packaged:
        return load_questions(packaged, complete=False)


def content_hash(questions: Iterable[Question]) -> str:
    """SHA-256 of what is asked, whatever the order and form of the file: sorted lines [id, task, question] in JSON."""
    lines = [
        json.dumps([q.id, q.task, q.question], ensure_ascii=False) for q in questions
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _rows(
    source: str | Path | None, revision: str | None
) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    if source is not None and Path(source).is_file():
        path = Path(source)
        if revision is not None:
            raise UserError(f"{path}: a file has no revision; leave it out")
        return str(path), list(read_objects(path))
    name = DATASET if source is None else str(source)
    # A hub id is `owner/name`; what looks like a file that is not there must not become a search on the network.
    if (
        isinstance(source, Path)
        or name.count("/") != 1
        or name.startswith((".", "/", "~"))
        or name.endswith(".jsonl")
    ):
        raise UserError(
            f"{name}: no such file; give a JSONL file of questions, or a dataset's name on the hub"
        )
    remedy = "give its test split as --questions FILE, or ask 35 questions of ours by --trial"
    try:
        from datasets import load_dataset

        rows = load_dataset(name, split="test", revision=revision)
    # The hub's clients raise errors of half a dozen packages
    except Exception as error:
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UserError(
            f"{name}: cannot be had from the hub ({cause}); {remedy}"
        ) from error
    return name, [(f"{name}, row {k}", row) for k, row in enumerate(rows, 1)]
