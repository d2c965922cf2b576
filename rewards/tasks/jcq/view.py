"""How JCQ's results are shown: means by criterion and by task, each with its n of N."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from data.jcq import CONTENT_SHA256, CRITERIA, DATASET, TASKS, Answer
from rewards.judges.judgement import Judgement
from rewards.measure import Measure
from rewards.page_parts import (
    DASH,
    Column,
    Entry,
    ModelTable,
    Radar,
    ReaderItem,
    RowTable,
    Section,
    mean_cell,
    n_of,
)
from rewards.tasks.jcq.finished import ANSWERS, LEDGER, QUESTIONS, FinishedJcq
from rewards.tasks.jcq.tables import jcq_tables
from rewards.view import CardMetric, View, WandbTable


class JcqView(View[FinishedJcq]):
    """Tables 3 and 4, and what is not scored."""

    files = ("config.json", LEDGER, "responses")
    artifacts = (LEDGER, ANSWERS, QUESTIONS)
    words = CRITERIA

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        """Every mean with its interval and its n of N, what is not scored, and what the judge cost."""
        asked = sum(metrics["statuses"].values())
        cells = {
            "Source": metrics["source"],
            "Judge": f"{metrics['judge']}, {metrics['prompt']}",
            "Questions": f"{metrics['num_questions']:,}",
        }
        cells |= {f"Answers: {s}": f"{count:,} of {asked:,}" for s, count in metrics["statuses"].items() if count}
        for name, mean in metrics["means"].items():
            interval = "" if mean["low"] is None else f" ({mean['low']:.2f} – {mean['high']:.2f})"
            value = DASH if mean["mean"] is None else f"{mean['mean']:.2f}{interval}"
            cells[name.capitalize()] = f"{value}, {mean['n']:,} of {metrics['num_questions']:,} questions"
        by_task = metrics["by_task"]
        for task, cell in zip(by_task["columns"][:-1], by_task["cells"][0], strict=False):
            if cell["asked"]:
                value = DASH if cell["mean"] is None else f"{cell['mean']:.2f}"
                cells[f"  {task}"] = f"{value}, {cell['scored']:,} of {cell['asked']:,}"
        counted = metrics["prompt_tokens"] or metrics["completion_tokens"]
        tokens = f"{metrics['prompt_tokens']:,} in, {metrics['completion_tokens']:,} out" if counted else "not counted"
        unknown = metrics["unknown_cost"]
        cost = f"cost of {unknown:,} replies unknown" if unknown else f"cost {metrics['cost']:.4f}"
        return {**cells, "Judge's tokens": f"{tokens}, {cost}"}

    def values(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, float | None]:
        """The means of the criteria and of the four, and how many answers came out how."""
        values: dict[str, float | None] = {}
        for name, mean in metrics["means"].items():
            values |= {name: mean["mean"], f"{name}_ci95_low": mean["low"], f"{name}_ci95_high": mean["high"]}
            values[f"{name}_n"] = mean["n"]
        statuses = metrics["statuses"]
        values |= {"num_questions": metrics["num_questions"], "answers": sum(statuses.values())}
        return values | {f"answers_{status}": count for status, count in statuses.items()}

    def facts(self, metrics: Mapping[str, Any]) -> dict[str, str]:
        """Who judged."""
        return {"judge": metrics["judge"], "judge_prompt": metrics["prompt"]}

    def wandb_table(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> WandbTable:
        """A row for each task."""
        table = metrics["by_task"]
        by_task = zip(table["columns"], table["cells"][0], strict=True)
        rows = tuple((task, cell["mean"], cell["scored"], cell["asked"]) for task, cell in by_task)
        return WandbTable(("task", "mean", "scored answers", "answers"), rows)

    def card(
        self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> tuple[dict[str, str], list[CardMetric]]:
        """The means, and how many answers have scores."""
        total, judge = metrics["num_questions"], {"judge": metrics["judge"], "judge_prompt": metrics["prompt"]}
        rows = []
        for name, mean in metrics["means"].items():
            ci95 = None if mean["low"] is None else (mean["low"], mean["high"])
            args = {**judge, "scored_questions": mean["n"], "questions": total, "ci95": ci95}
            title = f"JCQ {name} (1 to 5, judge {metrics['judge']}; {mean['n']} of {total} questions)"
            rows.append(CardMetric(f"jcq_{name}", title, mean["mean"], args))
        answers, scored = sum(metrics["statuses"].values()), metrics["statuses"]["ok"]
        title = f"JCQ answers with scores ({scored} of {answers}, judge {metrics['judge']})"
        rows.append(CardMetric("jcq_scored_rate", title, scored / answers, {**judge, **metrics["statuses"]}))
        where = {"task_name": "Japanese Creativity Questions"}
        if settings["questions_sha256"] == CONTENT_SHA256:
            return {**where, "dataset_name": "JCQ", "dataset_type": DATASET, "dataset_split": "test"}, rows
        other = {"dataset_name": f"{total} questions that are not JCQ's", "dataset_type": "other-questions"}
        return {**where, **other}, rows

    def section(self, measures: Sequence[Measure], runs: Sequence[FinishedJcq]) -> Section:
        """Models by criteria and by tasks, tasks by criteria over all models, and a radar of the criteria."""
        by_name = {measure.name: measure for measure in measures}
        criteria = tuple(by_name[f"jcq/{criterion}"] for criterion in CRITERIA)
        tasks = tuple(by_name[f"jcq/{task}"] for task in TASKS)
        benchmark = all(run.settings["questions_sha256"] == CONTENT_SHA256 for run in runs)
        notes = ("jcq_note", *(() if benchmark else ("trial_note",)), "scale_note")

        def table(name: str, columns: Sequence[Measure], paper: str, training: str) -> ModelTable:
            shown = tuple(Column(measure.short, measure) for measure in (*columns, measures[0]))
            return ModelTable(name, shown, notes, heat=True, paper=paper, training=training)

        tables = (
            table("table12", criteria, "jcq_by_criterion", "jcq_training_by_criterion"),
            table("table13", tasks, "jcq_by_task", "jcq_training_by_task"),
            _task_by_criterion(measures[0], runs),
        )
        return Section(tables, (Radar("radar", criteria, 1.0, 5.0),))

    def settings_shown(self, run: FinishedJcq) -> list[tuple[str, Any]]:
        """Judge, prompt and questions, and how many answers have no score."""
        judge = run.settings["judge"]
        failed = {status: n for status, n in run.metrics["statuses"].items() if status != "ok" and n}
        return [
            ("jcq_judge", judge["model"]),
            ("jcq_prompt", judge["prompt"]),
            ("jcq_questions", f"{len(run.questions):,}"),
            ("jcq_failed", ", ".join(f"{n:,} {status}" for status, n in failed.items()) or "0"),
        ]

    def scale_text(self, run: FinishedJcq) -> str:
        """Judge, prompt and questions."""
        judge, benchmark = run.settings["judge"], run.settings["questions_sha256"] == CONTENT_SHA256
        other = f"not the 700 questions of {DATASET}: these are no JCQ scores"
        asked = f"the questions of {DATASET}" if benchmark else other
        return f"judge {judge['model']} with the prompt {judge['prompt']}; {asked}"

    def reader(self, run: FinishedJcq) -> Iterator[ReaderItem]:
        """Every question with its answers, their scores and the judge's reply."""
        questions = {question.id: question for question in run.questions}
        entries: dict[str, list[Entry]] = {}
        for answer, judgement in zip(run.written, run.judgements, strict=True):
            entries.setdefault(answer.question_id, []).append(_entry(answer, judgement))
        for name, shown in entries.items():
            question = questions[name]
            yield ReaderItem((question.id, question.question), question.task, question.id, question.question, shown)


def _task_by_criterion(mean: Measure, runs: Sequence[FinishedJcq]) -> RowTable:
    scores = [replace(run.scores, model=str(number)) for number, run in enumerate(runs)]
    table = jcq_tables(scores).task_by_criterion
    rows = []
    for task, cells in zip(table.rows, table.cells, strict=True):
        shown = [replace(mean_cell(c.mean, mean, None, n_of(c.scored, c.asked)), heat=c.mean) for c in cells]
        rows.append((task, tuple(shown)))
    return RowTable("table5", ("task", *CRITERIA, "mean"), tuple(rows), "jcq_by_task_and_criterion")


def _entry(answer: Answer, judgement: Judgement | None) -> Entry:
    if judgement is None:
        return Entry(answer.answer, None, None, {"marks": None, "note": None})
    scores = judgement.scores
    mean = None if scores is None else sum(scores.values()) / len(scores)
    return Entry(answer.answer, mean, str(judgement.status), {"marks": scores, "note": judgement.reply})
