"""How JCQ's results are shown: means by criterion and by task, each with its n of N."""

from collections import Counter
from collections.abc import Iterator, Sequence

from sozo.scoring.final_text import judged_part
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE, n_of, share
from sozo.scoring.table import Cell
from sozo.tasks.jcq.questions import CRITERIA, DATASET, TASKS
from sozo.tasks.jcq.run_result import JcqRunResult
from sozo.tasks.judged import LEDGER
from sozo.tasks.run_result import MOST_CUT
from sozo.tasks.view import (
    CARD,
    FACTS,
    NUMBERS,
    RESULT,
    SCALE,
    WANDB,
    ModelTable,
    ReaderAnswer,
    RunColumn,
    View,
    cost_column,
    counted,
    listed,
    measured,
    part_of,
    stored,
)

_MOST_IN_PROSE, _FEWEST_REPLIES = 0.02, 20  # of verdicts, from so many replies on: more in prose is said
_CORRELATION = Measure("r", 2)


class JcqView(View[JcqRunResult]):
    """Tables 3 and 4, and what is not scored."""

    files = ("config.json", LEDGER, "responses")
    words = (*CRITERIA, *TASKS)

    def columns(self, measures: Sequence[Measure], runs: Sequence[JcqRunResult]) -> list[RunColumn]:
        by_name = {measure.name: measure for measure in measures}
        criteria = [measured(by_name[f"jcq/{criterion}"]) for criterion in CRITERIA]
        of_tasks = [measured(by_name[f"jcq/{task}"], shown=NUMBERS) for task in TASKS]
        return [
            stored("judge", "jcq_judge", RESULT | FACTS | SCALE),
            stored("prompt", "jcq_prompt", RESULT | FACTS | SCALE),
            RunColumn("jcq_questions", _questions, shown=NUMBERS | FACTS, key="num_items"),
            RunColumn("jcq_benchmark", _benchmark, shown=SCALE),
            *criteria,
            measured(measures[0]),
            *of_tasks,
            RunColumn("answers_whole", _whole, key="whole"),
            part_of("valid", "jcq_scored", CARD, key="scored"),
            *counted(runs, "answer_states", "Answers", shown=NUMBERS, key="answers"),
            *counted(runs, "statuses", "Judgements", shown=NUMBERS, key="judgements"),
            RunColumn("jcq_with_prose", _with_prose, shown=WANDB | FACTS, key="with_prose"),
            stored("read_otherwise", "jcq_read_otherwise", WANDB | FACTS),
            listed("answer_states", "jcq_states", "whole"),
            listed("statuses", "jcq_failed", "ok"),
            RunColumn("Score and length (Spearman's r)", _length_and_score, shown=NUMBERS, key="length_r"),
            cost_column("jcq_cost"),
            RunColumn("range", lambda run: "1 to 5", shown=CARD),
        ]

    def notes(self, run: JcqRunResult) -> list[str]:
        states, judges = run.metrics["answer_states"], Counter[str]()
        for row in run.metrics["judged_by"]:
            judges[row["model"]] += row["judgements"]
        notes = []
        if len(judges) > 1:
            counts = ", ".join(f"{n:,} by {name or 'an unnamed model'}" for name, n in judges.most_common())
            notes.append(f"MIXED: the server says that {counts} judged; take a new folder, and one judge for all.")
        cut, answers = states["truncated"], sum(states.values())
        if cut > MOST_CUT * answers:
            cut_off = f"{n_of(cut, answers)} answers ({share(cut, answers)}) reached the limit"
            notes.append(
                f"CUT OFF: {cut_off} and were judged without their end; raise --max-new-tokens if the model has room."
            )
        in_prose, read = run.metrics["statuses"]["in_prose"], run.metrics["with_prose"]["n"]
        if read >= _FEWEST_REPLIES and in_prose > _MOST_IN_PROSE * read:
            replies = f"{n_of(in_prose, read)} verdicts ({share(in_prose, read)}) stand among other text"
            notes.append(f"IN PROSE: {replies} and are in no mean; read some of them (docs/jcq.md).")
        return notes

    def dataset(self, run: JcqRunResult) -> dict[str, str]:
        total = run.metrics["num_items"]
        names = {"dataset_name": f"{total} questions that are not JCQ's", "dataset_type": "other-questions"}
        if run.benchmark:
            names = {"dataset_name": "JCQ", "dataset_type": DATASET, "dataset_split": "test"}
        return {"task_name": "Japanese Creativity Questions", **names}

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        tables = {"table12": (CRITERIA, "by_criterion"), "table13": (TASKS, "by_task")}
        return [
            ModelTable(
                name,
                (*columns, "mean", "whole"),
                ("jcq_note", "scale_note"),
                paper=f"jcq_{by}",
                training=f"jcq_training_{by}",
            )
            for name, (columns, by) in tables.items()
        ]

    def reader_answers(self, run: JcqRunResult) -> Iterator[tuple[str, ReaderAnswer]]:
        for answer in run.answers():
            states = [] if answer.whole else [answer.state]
            facts, note = {"length": len(judged_part(answer.text)), "extras": states}, answer.facts.get("reply")
            more = {"marks": run.scores_of(answer), "note": note, "facts": facts, "states": states}
            yield answer.item, ReaderAnswer(answer.text, answer.values.get(run.main.name), answer.reason or "ok", more)


def _benchmark(run: JcqRunResult) -> str:
    if run.benchmark:
        return f"those of {DATASET}"
    return f"not the 700 of {DATASET}: these are no JCQ scores"


def _questions(run: JcqRunResult) -> Cell:
    """How many were asked, and how many of them have an answer with a score: intervals are over these."""
    scored = run.metrics.get("scored_items", 0)
    return Cell(run.metrics["num_items"], below=(f"{scored:,} with a score",), more={"scored": scored})


def _whole(run: JcqRunResult) -> Cell:
    """The share of answers that have an end and no reasoning left open, and how many have what instead."""
    states = run.metrics["answer_states"]
    whole, answers = states["whole"], sum(states.values())
    others = tuple(f"{n:,} {state}" for state, n in states.items() if n and state != "whole")
    return Cell(whole / answers if answers else None, SHARE, n=whole, of=answers, below=others, more=states)


def _with_prose(run: JcqRunResult) -> Cell:
    mean, n = run.metrics["with_prose"].values()
    return Cell(mean, run.main, n=n, of=run.metrics["num_answers"])


def _length_and_score(run: JcqRunResult) -> Cell:
    length = run.metrics["length"]
    return Cell(length["r"], _CORRELATION, n=length["n"])
