"""How JCQ's results are shown: means by criterion and by task, each with its n of N."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sozo.scoring.final_text import answer_state
from sozo.scoring.measure import (
    DASH,
    Cell,
    Estimate,
    Measure,
    ends_text,
    estimate_text,
    known,
    mean_cell,
    percent,
    share_cell,
    t_interval,
)
from sozo.tasks.jcq.finished import ANSWERS, LEDGER, QUESTIONS, FinishedJcq
from sozo.tasks.jcq.questions import CONTENT_SHA256, CRITERIA, DATASET, TASKS
from sozo.tasks.jcq.tables import Cell as Mean
from sozo.tasks.jcq.tables import means, question_means
from sozo.tasks.page_parts import Column, Entry, ModelTable, Radar, ReaderItem, RowTable, Section
from sozo.tasks.view import Card, CardMetric, Rows, Values, View, estimate_values, stored_ci95

_FEWEST_QUESTIONS = 10  # whole scores of fewer have no interval
_MOST_CUT = 0.02  # more answers cut off than this, and a line says so


class JcqView(View[FinishedJcq]):
    """Tables 3 and 4, and what is not scored."""

    files = ("config.json", LEDGER, "responses")
    artifacts = (LEDGER, ANSWERS, QUESTIONS)
    words = (*CRITERIA, *TASKS)

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        answers, questions = sum(metrics["statuses"].values()), metrics["num_questions"]
        judge = f"{metrics['judge']}, {metrics['prompt']}"
        cells = {"Source": metrics["source"], "Judge": judge, "Questions": f"{questions:,}"}
        cells |= {f"Answers: {s}": _n_of_all(n, answers) for s, n in metrics["answer_states"].items() if n}
        cells |= {f"Judgements: {s}": f"{n:,} of {answers:,}" for s, n in metrics["statuses"].items() if n}
        for name, mean in metrics["means"].items():
            estimate = Estimate(mean["mean"], mean["low"], mean["high"], mean["n"], questions)
            cells[name.capitalize()] = f"{estimate_text(measures[0], estimate)} questions"
        by_task = metrics["by_task"]
        for task, cell in zip(by_task["columns"][:-1], by_task["cells"][0], strict=False):  # the last is the mean
            if cell["asked"]:
                estimate = Estimate(cell["mean"], None, None, cell["scored"], cell["asked"])
                cells[f"  {task}"] = estimate_text(measures[0], estimate)
        counted = metrics["prompt_tokens"] or metrics["completion_tokens"]
        tokens = f"{metrics['prompt_tokens']:,} in, {metrics['completion_tokens']:,} out" if counted else "not counted"
        unknown = metrics["unknown_cost"]
        cost = f"cost of {unknown:,} replies unknown" if unknown else f"cost {metrics['cost']:.4f}"
        length = metrics["length"]
        if length["r"] is not None:
            cells["Score and length"] = f"r = {length['r']:.2f} (Spearman), {length['n']:,} answers"
        return {**cells, "Judge's tokens": f"{tokens}, {cost}"}

    def notes(self, metrics: Mapping[str, Any]) -> list[str]:
        states, judges = metrics["answer_states"], Counter[str]()
        for row in metrics["judged_by"]:
            judges[row["model"]] += row["judgements"]
        notes = []
        if len(judges) > 1:
            counts = ", ".join(f"{n:,} by {name or 'an unnamed model'}" for name, n in judges.most_common())
            notes.append(f"MIXED: the server says that {counts} judged; take a new folder, and one judge for all.")
        cut, answers = states["truncated"], sum(states.values())
        if cut <= _MOST_CUT * answers:
            return notes
        share = f"{cut:,} of {answers:,} answers ({percent(cut, answers)})"
        notes.append(f"CUT OFF: {share} reached the limit and were judged without their end; raise --max-new-tokens.")
        return notes

    def values(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> Values:
        values: Values = {}
        for name, mean in metrics["means"].items():
            values |= estimate_values(name, mean)
        statuses = metrics["statuses"]
        values |= {"num_questions": metrics["num_questions"], "answers": sum(statuses.values())}
        values |= {f"answers_{state}": count for state, count in metrics["answer_states"].items()}
        return values | {f"judgements_{status}": count for status, count in statuses.items()}

    def facts(self, metrics: Mapping[str, Any]) -> dict[str, str]:
        return {"judge": metrics["judge"], "judge_prompt": metrics["prompt"]}

    def wandb_table(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> tuple[tuple[str, ...], Rows]:
        by_task = zip(metrics["by_task"]["columns"], metrics["by_task"]["cells"][0], strict=True)
        rows = tuple((task, cell["mean"], cell["scored"], cell["asked"]) for task, cell in by_task)
        return ("task", "mean", "scored answers", "answers"), rows

    def card(self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]) -> Card:
        total, judge = metrics["num_questions"], self.facts(metrics)
        rows = []
        for name, mean in metrics["means"].items():
            args = {**judge, "scored_questions": mean["n"], "questions": total, "ci95": stored_ci95(mean)}
            title = f"JCQ {name} (1 to 5, judge {metrics['judge']}; {mean['n']} of {total} questions)"
            rows.append(CardMetric(f"jcq_{name}", title, mean["mean"], args))
        answers, scored = sum(metrics["statuses"].values()), metrics["statuses"]["ok"]
        title = f"JCQ answers with scores ({scored} of {answers}, judge {metrics['judge']})"
        rows.append(CardMetric("jcq_scored_rate", title, scored / answers, {**judge, **metrics["statuses"]}))
        where = {"dataset_name": f"{total} questions that are not JCQ's", "dataset_type": "other-questions"}
        if settings["questions_sha256"] == CONTENT_SHA256:
            where = {"dataset_name": "JCQ", "dataset_type": DATASET, "dataset_split": "test"}
        return {"task_name": "Japanese Creativity Questions", **where}, rows

    def section(self, measures: Sequence[Measure], runs: Mapping[Path | None, Sequence[FinishedJcq]]) -> Section:
        every = [run for own in runs.values() for run in own]
        by_name = {measure.name: measure for measure in measures}
        criteria = tuple(by_name[f"jcq/{criterion}"] for criterion in CRITERIA)
        tasks = tuple(by_name[f"jcq/{task}"] for task in TASKS)
        benchmark = all(run.settings["questions_sha256"] == CONTENT_SHA256 for run in every)
        notes = ("jcq_note", *(() if benchmark else ("trial_note",)), "scale_note")

        def table(name: str, columns: Sequence[Measure], paper: str, training: str) -> ModelTable:
            shown = tuple(Column(measure.short, measure) for measure in (*columns, measures[0]))
            return ModelTable(
                name, (*shown, Column("answers_whole", cell=_whole)), notes, heat=True, paper=paper, training=training
            )

        rows = []  # tasks by criteria, over all models (ACL, table 5)
        for task in TASKS:
            cells = means([run.scores for run in every], task)
            by_question = question_means([run.scores for run in every], task)
            shown = [_over_questions(*pair, measures[0]) for pair in zip(cells, by_question.T, strict=True)]
            rows.append((task, tuple(shown)))
        tables = (
            table("table12", criteria, "jcq_by_criterion", "jcq_training_by_criterion"),
            table("table13", tasks, "jcq_by_task", "jcq_training_by_task"),
            RowTable("table5", ("task", *CRITERIA, "mean"), tuple(rows), "jcq_by_task_and_criterion"),
        )
        return tables, (Radar("radar", criteria, 1.0, 5.0),)

    def settings_shown(self, run: FinishedJcq) -> list[tuple[str, Any]]:
        judge = run.settings["judge"]
        failed = [f"{n:,} {status}" for status, n in run.metrics["statuses"].items() if status != "ok" and n]
        states = [f"{n:,} {state}" for state, n in run.metrics["answer_states"].items() if state != "whole" and n]
        asked = [
            ("jcq_judge", judge["model"]),
            ("jcq_prompt", judge["prompt"]),
            ("jcq_states", ", ".join(states) or "0"),
            ("jcq_cost", _cost(run.metrics)),
        ]
        return [*asked, ("jcq_questions", f"{len(run.questions):,}"), ("jcq_failed", ", ".join(failed) or "0")]

    def scale_text(self, run: FinishedJcq) -> str:
        judge, questions = run.settings["judge"], f"the questions of {DATASET}"
        if run.settings["questions_sha256"] != CONTENT_SHA256:
            questions = f"not the 700 questions of {DATASET}: these are no JCQ scores"
        return f"judge {judge['model']} with the prompt {judge['prompt']}; {questions}"

    def entries(self, run: FinishedJcq) -> Iterator[tuple[str, Entry]]:
        for answer, judgement in zip(run.written, run.judgements, strict=True):
            scores = judgement.scores if judgement else None
            mean = sum(scores.values()) / len(scores) if scores else None
            state, status = (
                answer_state(answer.text, answer.finish_reason),
                str(judgement.status) if judgement else None,
            )
            states = [] if state == "whole" else [state]
            facts = {"length": len(answer.text), "extras": states}
            more = {"marks": scores, "note": judgement.reply if judgement else None, "facts": facts, "states": states}
            yield answer.item, Entry(answer.text, mean, status, more)

    def reader_item(self, run: FinishedJcq, item: str, entries: Sequence[Entry]) -> ReaderItem:
        question = run.questions[item]
        return ReaderItem((item, question.question), question.task, item, question.question, entries)


def _over_questions(cell: Mean, values: np.ndarray, measure: Measure) -> Cell:
    """A mean over all models; who points at it sees its interval over questions, which are shared by the models."""
    few = len(values) < _FEWEST_QUESTIONS
    ends = None if few else t_interval(cell.mean, float(values.std(ddof=1)), len(values))
    shown = mean_cell(cell.mean, measure, None, (cell.scored, cell.asked))
    low, high = ends or (None, None)
    exact = {**shown.exact, **known(low=low, high=high)}
    return replace(shown, heat=cell.mean, hover=f"95%: {ends_text(ends, measure)}" if ends else "", exact=exact)


def _cost(metrics: Mapping[str, Any]) -> str:
    """In the prices' currency, of all replies; a dash where some price or number of tokens is not known."""
    tokens = f"{metrics['prompt_tokens']:,} + {metrics['completion_tokens']:,} tokens"
    return f"{DASH if metrics['unknown_cost'] else format(metrics['cost'], '.4f')}, {tokens}"


def _n_of_all(n: int, answers: int) -> str:
    """A count of answers with its share."""
    return f"{n:,} of {answers:,} ({percent(n, answers)})"


def _whole(run: FinishedJcq) -> Cell:
    states = run.metrics["answer_states"]
    answers = sum(states.values())
    others = (f"{n:,} {state}" for state, n in states.items() if n and state != "whole")
    cell = share_cell(states["whole"], answers)
    return replace(cell, small=(*cell.small, *others), exact={**cell.exact, **states})
