"""How JCQ's results are shown: means by criterion and by task, each with its n of N."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sozo.scoring.final_text import judged_part
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import n_of, share
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable
from sozo.tasks.jcq.questions import CRITERIA, DATASET, TASKS
from sozo.tasks.jcq.run_result import JcqRunResult
from sozo.tasks.judged import LEDGER
from sozo.tasks.run_result import MOST_CUT
from sozo.tasks.view import (
    CARD,
    NUMBERS,
    PAGE,
    RESULT,
    WANDB,
    ModelTable,
    ReaderAnswer,
    RunColumn,
    View,
    counted,
    measured,
    stored,
)

_MOST_IN_PROSE, _FEWEST_REPLIES = (
    0.02,
    20,
)  # of verdicts, from so many replies on: more in prose is said
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
            stored("judge", "jcq_judge", RESULT),
            stored("prompt", "jcq_prompt", RESULT),
            RunColumn("jcq_questions", _questions, key="num_items"),
            *criteria,
            measured(measures[0]),
            *of_tasks,
            RunColumn("answers_complete", _complete, key="complete", change=_COMPLETE),
            measured(_SCORED, "jcq_scored", CARD, key="scored"),
            *counted(runs, "reasons", "Unusable", shown=NUMBERS),
            *counted(runs, "answer_states", "Answers", shown=NUMBERS, key="answers"),
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

    def notes(self, run: JcqRunResult) -> list[str]:
        states, judges = run.metrics["answer_states"], Counter[str]()
        for row in run.metrics["judged_by"]:
            judges[row["model"]] += row["judgements"]
        notes = []
        if len(judges) > 1:
            counts = ", ".join(
                f"{n:,} by {name or 'an unnamed model'}"
                for name, n in judges.most_common()
            )
            notes.append(
                f"MIXED: the server says that {counts} judged; take a new folder, and one judge for all."
            )
        if states["truncated"] > MOST_CUT * sum(
            states.values()
        ):  # the caveat says how many
            notes.append(
                "CUT OFF: what text came is judged without its end; raise --max-new-tokens if the model has room."
            )
        in_prose, read = (
            run.metrics["statuses"]["in_prose"],
            run.metrics["with_prose"]["n"],
        )
        if read >= _FEWEST_REPLIES and in_prose > _MOST_IN_PROSE * read:
            replies = f"{n_of(in_prose, read)} verdicts ({share(in_prose, read)}) stand among other text"
            notes.append(
                f"IN PROSE: {replies} and are in no mean; read some of them (docs/jcq.md)."
            )
        return notes

    def dataset(self, run: JcqRunResult) -> dict[str, str]:
        if run.benchmark:
            return {
                "dataset_name": "JCQ",
                "dataset_type": DATASET,
                "dataset_split": "test",
            }
        other = f"{run.metrics['num_items']} questions that are not JCQ's"
        return {"dataset_name": other, "dataset_type": "other-questions"}

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        tables = {"table12": (CRITERIA, "by_criterion"), "table13": (TASKS, "by_task")}
        return [
            ModelTable(
                name,
                (*columns, "mean", "complete"),
                ("jcq_note", "scale_note"),
                paper=f"jcq_{by}",
                training=f"jcq_training_{by}",
            )
            for name, (columns, by) in tables.items()
        ]

    def reader_answers(self, run: JcqRunResult) -> Iterator[tuple[str, ReaderAnswer]]:
        for answer in run.answers():
            states = [] if answer.complete else [answer.state]
            facts, note = (
                {"length": len(judged_part(answer.text)), "extras": states},
                answer.facts.get("reply"),
            )
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


def _complete(run: JcqRunResult) -> Cell:
    """The share of answers that have an end and no reasoning left open, and how many have what instead."""
    states = run.metrics["answer_states"]
    faults = {
        translatable(state): n
        for state, n in states.items()
        if n and state != "complete"
    }
    others = tuple(
        translatable("{n:,} {status}", n=n, status=fault) for fault, n in faults.items()
    )
    return replace(run.cell(_COMPLETE), below=others, more=states)


def _with_prose(run: JcqRunResult) -> Cell:
    mean, n = run.metrics["with_prose"].values()
    return Cell(Estimate(mean, n=n), run.main, of=run.metrics["num_answers"])


def _length_and_score(run: JcqRunResult) -> Cell:
    length = run.metrics["length"]
    return Cell(Estimate(length["r"], n=length["n"]), _CORRELATION)
