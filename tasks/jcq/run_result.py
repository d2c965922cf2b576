"""Finished JCQ runs: answers with their judgements."""

from collections import Counter, defaultdict
from functools import cached_property
from statistics import fmean
from typing import Any

from sozo.scoring.final_text import judged_part
from sozo.scoring.judges.protocol import Scores, Status
from sozo.scoring.measure import Measure
from sozo.scoring.translatable import translatable
from sozo.tasks.jcq.questions import (
    CONTENT_SHA256,
    CRITERIA,
    content_hash,
    trial_questions,
)
from sozo.tasks.jcq.verdict import read_in_prose
from sozo.tasks.run_result import MOST_CUT, RunResult, ScoredAnswer

ALL, MEAN = "All", "mean"
_FEWEST_REPLIES = 20  # from so many on verdicts in prose are said


class JcqRunResult(RunResult):
    """Answers to JCQ with their judgements."""

    same = ("questions_sha256", "verdicts")
    strata = True
    papers = ("gpt-4o-2024-08-06",)

    @property
    def benchmark(self) -> bool:
        """Whether the questions are the 700."""
        return bool(self.settings["questions_sha256"] == CONTENT_SHA256)

    def other_items(self) -> tuple[str, ...]:
        if self.benchmark:
            return ()
        trial = self.settings["questions_sha256"] == content_hash(trial_questions())
        form = (
            "{n} trial questions by sozo and not of JCQ"
            if trial
            else "{n} questions that are not JCQ's"
        )
        return (translatable(form, n=self.metrics["num_items"]),)

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        caveats = [*super().caveats]
        judges = self.metrics.get("judged_by", ())
        if len({row["model"] for row in judges}) > 1:
            said = ", ".join(f"{row['judgements']:,} {row['model']}" for row in judges)
            caveats.append(translatable("judged by several: {judges}", judges=said))
        n = self.metrics.get("statuses", {}).get(Status.IN_PROSE, 0)
        of = self.metrics.get("with_prose", {}).get("n", 0)
        if of >= _FEWEST_REPLIES and n > MOST_CUT * of:
            form = "{n} of {of} verdicts in prose and left out"
            caveats.append(translatable(form, n=n, of=of))
        return tuple(caveats)

    @property
    def servers(self) -> dict[str, Any]:
        """Where the judge is, and what replied. Judgements that were brought in do not say."""
        replied = sorted(
            {row["model"] for row in self.metrics.get("judged_by", ()) if row["model"]}
        )
        return super().servers | (
            {"what judged": ", ".join(replied)} if replied else {}
        )

    def scores_of(self, answer: ScoredAnswer) -> Scores | None:
        """Its judgement by criterion; None if it has no scores."""
        names = {criterion: f"jcq/{criterion}" for criterion in CRITERIA}
        return (
            None
            if answer.reason
            else {name: int(answer.values[key]) for name, key in names.items()}
        )

    def judged_by(self) -> list[dict[str, Any]]:
        """How many judgements came from which model, in the server's own words and in which set-up; most first."""
        facts = (answer.facts for answer in self.scored if answer.facts.get("reply"))
        count = Counter((each["reply_model"], each["fingerprint"]) for each in facts)
        return [
            {"model": m, "fingerprint": f, "judgements": n}
            for (m, f), n in count.most_common()
        ]

    def with_prose(self) -> dict[str, Any]:
        """The mean of all n judgements that say scores, those in prose too; by question first, as all means here."""
        by_question = defaultdict[str, list[float]](list)
        for answer in self.scored:
            in_prose = answer.reason == Status.IN_PROSE
            scores = (
                read_in_prose(answer.facts["reply"])
                if in_prose
                else self.scores_of(answer)
            )
            if scores:
                by_question[answer.item].append(fmean(scores.values()))
        means = [fmean(values) for values in by_question.values()]
        return {
            "mean": fmean(means) if means else None,
            "n": sum(map(len, by_question.values())),
        }

    def length_and_score(self) -> dict[str, Any]:
        """Spearman's correlation of the length of what is judged of an answer, in characters, and its mean score.

        `n` answers have one. `r` is None with fewer than three, or where all are alike.
        """
        from scipy.stats import spearmanr

        main = self.main.name
        pairs = [
            (len(judged_part(answer.text)), answer.values[main])
            for answer in self.scored
            if answer.values
        ]
        lengths, scores = ({pair[k] for pair in pairs} for k in (0, 1))
        differ = len(pairs) > 2 and len(lengths) > 1 and len(scores) > 1
        return {
            "r": float(spearmanr(pairs).statistic) if differ else None,
            "n": len(pairs),
        }


def measure_of(task: str, criterion: str) -> Measure:
    """The measure of a cell of the grid.

    >>> measure_of("situation", "fluency").name, measure_of("situation", MEAN).name, measure_of(ALL, MEAN).name
    ('jcq/situation/fluency', 'jcq/situation', 'jcq/mean')
    """
    if task == ALL:
        return Measure(f"jcq/{criterion}", 2, scale=(1, 5))
    name = f"jcq/{task}" if criterion == MEAN else f"jcq/{task}/{criterion}"
    return Measure(name, 2, compared=criterion == MEAN, scale=(1, 5), kinds=(task,))
