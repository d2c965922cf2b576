"""A finished run as W&B takes it: metrics, a table, the files that go into the artifact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewards.tasks.jcq.run import ANSWERS, LEDGER, QUESTIONS, JcqRun
from rewards.tasks.sat.run import ROWS, STORIES, SatRun

from eval.commands import DatRun

FinishedRun = DatRun | JcqRun | SatRun


@dataclass(frozen=True, slots=True)
class Described:
    """A run as W&B takes it.

    Args:
        kind: `dat`, `jcq` or `sat`.
        source: Whose results they are.
        values: Metrics by name, without the `eval/KIND/` before it.
        facts: What is no number, for the summary.
        columns: Of the table.
        rows: Of the table.
        files: What goes into the artifact beside `config.json` and `metrics.json`.
    """

    kind: str
    source: str
    values: dict[str, float | None]
    facts: dict[str, str]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    files: tuple[str, ...]

    @property
    def named(self) -> dict[str, Any]:
        """Metrics that have a value, and facts, by their whole names."""
        known = {key: value for key, value in self.values.items() if value is not None}
        return {f"eval/{self.kind}/{key}": value for key, value in (known | self.facts).items()}


def describe(run: FinishedRun) -> Described:
    """What W&B shows of a run: every mean beside what it rests on."""
    if isinstance(run, DatRun):
        row = run.summary
        low, high = row.ci95 or (None, None)
        dat = {"mean": row.mean, "std": row.std, "ci95_low": low, "ci95_high": high, "valid": row.valid}
        dat |= {"num_responses": row.num_responses, "valid_rate": row.valid_rate, "unique_words": row.unique_words}
        return Described("dat", row.source, dat, {}, ("source", *dat), ((row.source, *dat.values()),), ("responses",))
    if isinstance(run, SatRun):
        story = run.summary
        low, high = story.ci95 or (None, None)
        sat = {"mean": story.mean, "std": story.std, "ci95_low": low, "ci95_high": high}
        sat |= {"scored_stories": story.scored_stories, "num_stories": story.num_stories}
        sat |= {"compliant": story.compliant, "num_rewrites": story.num_rewrites}
        sat |= {"mean_length": story.mean_length, "mean_copied": story.mean_copied}
        cells = (story.source, *sat.values())
        return Described("sat", story.source, sat, {}, ("source", *sat), (cells,), (ROWS, STORIES))
    metrics = run.metrics
    jcq: dict[str, float | None] = {}
    for name, mean in metrics["means"].items():
        jcq |= {name: mean["mean"], f"{name}_ci95_low": mean["low"], f"{name}_ci95_high": mean["high"]}
        jcq |= {f"{name}_n": mean["n"]}
    jcq |= {"num_questions": metrics["num_questions"], "answers": sum(metrics["statuses"].values())}
    jcq |= {f"answers_{status}": count for status, count in metrics["statuses"].items()}
    table = metrics["by_task"]
    by_task = zip(table["columns"], table["cells"][0], strict=True)
    rows = tuple((task, cell["mean"], cell["scored"], cell["asked"]) for task, cell in by_task)
    facts = {"judge": metrics["judge"], "judge_prompt": metrics["prompt"]}
    columns = ("task", "mean", "scored answers", "answers")
    return Described("jcq", metrics["source"], jcq, facts, columns, rows, (LEDGER, ANSWERS, QUESTIONS))
