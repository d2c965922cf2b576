"""Finished tables that a second encoder reads."""

from fakes import Answer, list_text, write_answer_table
from finished_runs import SCORES
from sozo.data.run_folder import RunFolder
from sozo.data.schema import Reason
from sozo.tasks.dat.summary import summarise


def finished(path, lists, scores):
    """A finished run with these lists; None is no score."""
    folder = RunFolder(path, {"task": "dat"})
    folder.start({"scorer": SCORES}, {})
    path.joinpath("answers").mkdir()
    rows = [
        Answer(
            str(k),
            path.name,
            0,
            list_text(words),
            words,
            score,
            None if score is not None else Reason.NOT_NOUN,
        )
        for k, (words, score) in enumerate(zip(lists, scores, strict=True))
    ]
    write_answer_table(path / "answers" / "part-000000.parquet", rows)
    folder.finish(summarise(path).metrics())
    return path
