"""How JCQ's results are shown: means by criterion and by task, each with its n of N."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from sozo.scoring.final_text import judged_part
from sozo.scoring.measure import Measure, t_interval
from sozo.scoring.numbers import SHARE, n_of, share
from sozo.scoring.table import Cell, Row, Table
from sozo.tasks.finished import MOST_CUT
from sozo.tasks.jcq.finished import MEAN, FinishedJcq, measure_of
from sozo.tasks.jcq.questions import CRITERIA, DATASET, TASKS
from sozo.tasks.judged import LEDGER
from sozo.tasks.view import (
    CARD,
    FACTS,
    NUMBERS,
    RESULT,
    SCALE,
    WANDB,
    ModelTable,
    ReaderAnswer,
    RowTable,
    RunColumn,
    Section,
    View,
    cost_column,
    counted,
    listed,
    measured,
    part_of,
    pick,
    stored,
)

_FEWEST_QUESTIONS = 10  # whole scores of fewer have no interval
_MOST_IN_PROSE, _FEWEST_REPLIES = 0.02, 20  # likewise of verdicts in prose, from so many replies on
_CORRELATION = Measure("r", 2)


class JcqView(View[FinishedJcq]):
    """Tables 3 and 4, and what is not scored."""

    files = ("config.json", LEDGER, "responses")
    words = (*CRITERIA, *TASKS)

    def columns(self, measures: Sequence[Measure], runs: Sequence[FinishedJcq]) -> list[RunColumn]:
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
            RunColumn("answers_whole", _whole, heat=False, key="whole"),
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

    def notes(self, run: FinishedJcq) -> list[str]:
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

    def dataset(self, run: FinishedJcq) -> dict[str, str]:
        total = run.metrics["num_items"]
        names = {"dataset_name": f"{total} questions that are not JCQ's", "dataset_type": "other-questions"}
        if run.benchmark:
            names = {"dataset_name": "JCQ", "dataset_type": DATASET, "dataset_split": "test"}
        return {"task_name": "Japanese Creativity Questions", **names}

    def section(self, measures: Sequence[Measure], runs: Sequence[FinishedJcq]) -> Section:
        columns = self.columns(measures, runs)
        notes = ("jcq_note", *(() if all(run.benchmark for run in runs) else ("trial_note",)), "scale_note")

        def table(name: str, shown: Sequence[str], paper: str, training: str) -> ModelTable:
            picked = pick(columns, (*shown, "mean", "whole"))
            return ModelTable(name, picked, notes, heat=True, paper=paper, training=training)

        rows = []  # tasks by criteria, over all models (ACL, table 5)
        for task in TASKS:
            cells = (_over_models(runs, measure_of(task, name), measures[0]) for name in (*CRITERIA, MEAN))
            rows.append(Row(task, tuple(cells)))
        over_all = Table("table5", ("task", *CRITERIA, "mean"), tuple(rows), translate=True)
        tables = (
            table("table12", CRITERIA, "jcq_by_criterion", "jcq_training_by_criterion"),
            table("table13", TASKS, "jcq_by_task", "jcq_training_by_task"),
            RowTable(over_all, "jcq_by_task_and_criterion"),
        )
        return tables, ()

    def reader_answers(self, run: FinishedJcq) -> Iterator[tuple[str, ReaderAnswer]]:
        for answer in run.answers():
            states = [] if answer.whole else [answer.state]
            facts, note = {"length": len(judged_part(answer.text)), "extras": states}, answer.facts.get("reply")
            more = {"marks": run.scores_of(answer), "note": note, "facts": facts, "states": states}
            yield answer.item, ReaderAnswer(answer.text, answer.values.get(run.main.name), answer.reason or "ok", more)


def _over_models(runs: Sequence[FinishedJcq], measure: Measure, shown: Measure) -> Cell:
    """A measure's mean over all models with its interval over questions, which are shared by the models."""
    by_question: dict[str, list[float]] = {}
    for run in runs:
        for question, value in run.by_item(measure).items():
            if value is not None:
                by_question.setdefault(question, []).append(value)
    values = [value for of_models in by_question.values() for value in of_models]
    mean = fmean(values) if values else None
    low = high = None
    if len(by_question) >= _FEWEST_QUESTIONS:
        low, high = t_interval(mean, stdev(map(fmean, by_question.values())), len(by_question)) or (None, None)
    scored, asked = (sum(counts) for counts in zip(*(run.counts(measure) for run in runs), strict=True))
    return Cell(mean, shown, low, high, scored, asked, heat=True)


def _benchmark(run: FinishedJcq) -> str:
    if run.benchmark:
        return f"those of {DATASET}"
    return f"not the 700 of {DATASET}: these are no JCQ scores"


def _questions(run: FinishedJcq) -> Cell:
    """How many were asked, and how many of them have an answer with a score: intervals are over these."""
    scored = run.metrics.get("scored_items", 0)
    return Cell(run.metrics["num_items"], below=(f"{scored:,} with a score",), more={"scored": scored})


def _whole(run: FinishedJcq) -> Cell:
    """The share of answers that have an end and no reasoning left open, and how many have what instead."""
    states = run.metrics["answer_states"]
    whole, answers = states["whole"], sum(states.values())
    others = tuple(f"{n:,} {state}" for state, n in states.items() if n and state != "whole")
    return Cell(whole / answers if answers else None, SHARE, n=whole, of=answers, below=others, more=states)


def _with_prose(run: FinishedJcq) -> Cell:
    mean, n = run.metrics["with_prose"].values()
    return Cell(mean, run.main, n=n, of=run.metrics["num_answers"])


def _length_and_score(run: FinishedJcq) -> Cell:
    length = run.metrics["length"]
    return Cell(length["r"], _CORRELATION, n=length["n"])
