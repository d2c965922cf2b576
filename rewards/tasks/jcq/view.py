"""How JCQ's results are shown: means by criterion and by task, each with its n of N."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from data.jcq import CONTENT_SHA256, DATASET
from rewards.measure import Measure
from rewards.tasks.jcq.finished import ANSWERS, LEDGER, QUESTIONS
from rewards.view import DASH, CardMetric, View, WandbTable


class JcqView(View):
    """Tables 3 and 4, and what is not scored."""

    files = ("config.json", LEDGER, "responses")
    artifacts = (LEDGER, ANSWERS, QUESTIONS)

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
