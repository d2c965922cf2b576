"""How JCQ's results are shown: means by criterion and by task, each with its n of N."""

from collections.abc import Iterator, Sequence

from sozo.scoring.final_text import judged_part
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable
from sozo.tasks.jcq.questions import CRITERIA, TASKS
from sozo.tasks.jcq.run_result import JcqRunResult
from sozo.tasks.judged import LEDGER
from sozo.tasks.view import (
    NUMBERS,
    PAGE,
    WANDB,
    ModelTable,
    Place,
    ReaderAnswer,
    RunColumn,
    View,
    counted,
    measured,
    stored,
)

_CORRELATION = Measure("r", 2)
_SCORED, _COMPLETE = (
    Measure(f"jcq/{name}", share=True) for name in ("scored", "complete")
)


class JcqView(View[JcqRunResult]):
    """Tables 3 and 4, and what is not scored."""

    files = ("config.json", LEDGER, "answers")
    words = (*CRITERIA, *TASKS)

    def columns(
        self, measures: Sequence[Measure], runs: Sequence[JcqRunResult]
    ) -> list[RunColumn]:
        by_name = {measure.name: measure for measure in measures}
        criteria = [measured(by_name[f"jcq/{criterion}"]) for criterion in CRITERIA]
        of_tasks = [measured(by_name[f"jcq/{task}"], shown=NUMBERS) for task in TASKS]
        return [
            stored("judge", "jcq_judge", NUMBERS),
            stored("prompt", "jcq_prompt", NUMBERS),
            RunColumn("jcq_questions", _questions, key="num_items"),
            *criteria,
            measured(measures[0]),
            *of_tasks,
            measured(_COMPLETE, "answers_complete", NUMBERS, key="complete"),
            measured(_SCORED, "jcq_scored", Place(0), key="scored"),
            *counted(runs, "reasons", "Unusable", shown=NUMBERS),
            *counted(runs, "statuses", "Judgements", shown=NUMBERS, key="judgements"),
            RunColumn(
                "jcq_with_prose", _with_prose, shown=WANDB | PAGE, key="with_prose"
            ),
            RunColumn(
                "Score and length (Spearman's r)",
                _length_and_score,
                shown=NUMBERS,
                key="length_r",
            ),
        ]

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        tables = {"table12": (CRITERIA, "by_criterion"), "table13": (TASKS, "by_task")}
        return [
            ModelTable(
                name,
                (*columns, "mean", "complete"),
                ("jcq_note", "scale_note"),
                training=f"jcq_training_{by}",
            )
            for name, (columns, by) in tables.items()
        ]

    def reader_answers(self, run: JcqRunResult) -> Iterator[tuple[str, ReaderAnswer]]:
        for answer in run.answers():
            states = [] if answer.complete else [answer.state]
            facts = {"length": len(judged_part(answer.text)), "extras": states}
            note = answer.facts.get("reply")
            more = {
                "marks": run.scores_of(answer),
                "note": note,
                "facts": facts,
                "states": states,
            }
            yield (
                answer.item,
                ReaderAnswer(
                    answer.text,
                    answer.values.get(run.main.name),
                    answer.reason or "ok",
                    more,
                ),
            )


def _questions(run: JcqRunResult) -> Cell:
    """How many were asked, and how many of them have an answer with a score: intervals are over these."""
    scored = run.metrics.get("scored_items", 0)
    below = translatable("{n:,} with a score", n=scored)
    return Cell(run.metrics["num_items"], below=(below,), more={"scored": scored})


def _with_prose(run: JcqRunResult) -> Cell:
    mean, n = run.metrics["with_prose"].values()
    return Cell(Estimate(mean, n=n), run.main, of=run.metrics["num_answers"])


def _length_and_score(run: JcqRunResult) -> Cell:
    length = run.metrics["length"]
    return Cell(Estimate(length["r"], n=length["n"]), _CORRELATION)
