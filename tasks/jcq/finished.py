"""Finished JCQ runs: answers with their judgements."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from statistics import fmean
from typing import Any

from sozo.data.schema import FAILED, never_came
from sozo.scoring.final_text import STATES, answer_state, judged_part
from sozo.scoring.judges.ledger import Judgement, judgement_key, latest, read_judgements
from sozo.scoring.judges.protocol import Status
from sozo.scoring.judges.run import NOT_ASKED
from sozo.scoring.measure import Measure
from sozo.scoring.said import said
from sozo.tasks.finished import Finished, ScoredAnswer
from sozo.tasks.jcq.files import read_answers
from sozo.tasks.jcq.questions import (
    CONTENT_SHA256,
    CRITERIA,
    TASKS,
    Question,
    content_hash,
    load_questions,
    trial_questions,
)
from sozo.tasks.jcq.rubric import JCQ_RUBRICS
from sozo.tasks.jcq.verdict import read_as_jcq_judge, read_in_prose, read_strictly
from sozo.tasks.judged import LEDGER
from sozo.tasks.task import Answer

# What was asked and answered, so that a run's folder can be read without the hub: in the form of nlp-waseda/JCQ-judge.
QUESTIONS, ANSWERS = "questions.jsonl", "answers.jsonl"
ALL, MEAN = "All", "mean"
_READ = (Status.OK, Status.IN_PROSE, Status.UNPARSEABLE)  # judgements whose reply came to an end


class FinishedJcq(Finished):
    """Answers to JCQ with their judgements. The grid is that of the paper's Tables 8 to 10, row by row."""

    grid = tuple((task, criterion) for task in (*TASKS, ALL) for criterion in (*CRITERIA, MEAN))
    same = ("questions_sha256", "verdicts")
    papers = ("gpt-4o-2024-08-06",)

    @property
    def benchmark(self) -> bool:
        """Whether the questions are the 700."""
        return bool(self.settings["questions_sha256"] == CONTENT_SHA256)

    def other_items(self) -> tuple[str, ...]:
        if self.benchmark:
            return ()
        trial = self.settings["questions_sha256"] == content_hash(trial_questions())
        form = "{n} trial questions" if trial else "{n} questions that are not JCQ's"
        return (said(form, n=self.metrics["num_items"]),)

    def cut_off(self) -> tuple[int, int]:
        states = self.metrics["answer_states"]
        return states["truncated"], sum(states.values())

    @property
    def servers(self) -> dict[str, Any]:
        """Where the judge is, and what replied. Judgements that were brought in do not say."""
        return super().servers | ({"what judged": self.reply_models} if self.reply_models else {})

    @cached_property
    def reply_models(self) -> str:
        """What the judge's server called itself, by name."""
        return ", ".join(sorted({line.reply_model for line in self.judgements if line and line.reply_model}))

    @cached_property
    def questions(self) -> dict[str, Question]:
        """What was asked, by id."""
        return {question.id: question for question in load_questions(self.folder / QUESTIONS, complete=False)}

    @cached_property
    def prompts(self) -> dict[str, str]:
        return {name: question.question for name, question in self.questions.items()}

    @cached_property
    def written(self) -> tuple[Answer, ...]:
        """What the model wrote."""
        return read_answers(self.folder / ANSWERS)

    @cached_property
    def judgements(self) -> tuple[Judgement | None, ...]:
        """What holds of each answer now; None where the judge was not asked."""
        judge = dict(self.settings["judge"])
        name, rubric = judge.pop("model"), judge.pop("prompt")
        by_key = latest(read_judgements(self.folder / LEDGER, tuple(JCQ_RUBRICS.values())))
        keys = [judgement_key(self.prompts[a.item], a.text, name, rubric, judge) for a in self.written]
        return tuple(None if never_came(a) else by_key.get(key) for a, key in zip(self.written, keys, strict=True))

    @cached_property
    def scored(self) -> tuple[ScoredAnswer, ...]:
        """Every answer with its scores and their means, by criterion and by task."""
        rows = []
        for answer, judgement in zip(self.written, self.judgements, strict=True):
            task, values = self.questions[answer.item].task, dict[str, float]()
            if judgement and judgement.scores:
                scores = {criterion: float(judgement.scores[criterion]) for criterion in CRITERIA}
                mean = sum(scores.values()) / len(CRITERIA)
                values = {f"jcq/{name}": value for name, value in (scores | {MEAN: mean}).items()}
                values |= {f"jcq/{task}": mean} | {f"jcq/{task}/{name}": value for name, value in scores.items()}
            why_not = FAILED if never_came(answer) else NOT_ASKED
            reason = None if values else str(judgement.status) if judgement else why_not
            whole = answer_state(answer.text, answer.finish_reason) == "whole"
            rows.append(ScoredAnswer(answer.id, answer.item, answer.text, values, reason, task, whole))
        return tuple(rows)

    def answers(self) -> Iterator[ScoredAnswer]:
        return iter(self.scored)

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        """Question that has answers -> mean over those with scores; of a measure of one task, that task's questions.

        A question's answers are averaged first: every question weighs the same, however many of them have scores.
        """
        means, answered = super().by_item(measure), {answer.item for answer in self.written}
        own = (name for name, question in self.questions.items() if _is_about(measure, question.task))
        return {name: means[name] for name in own if name in answered}

    def strata(self) -> Mapping[str, str]:
        return {name: question.task for name, question in self.questions.items()}

    def counts(self, measure: Measure) -> tuple[int, int]:
        asked = sum(_is_about(measure, answer.group) for answer in self.scored)
        return len(self.by_answer(measure)), asked

    def grid_means(self) -> Mapping[tuple[str, str], float | None]:
        return {cell: self.estimate(measure_of(*cell)).mean for cell in self.grid}

    def answer_states(self) -> dict[str, int]:
        """How many answers are whole, how many were cut off, and so on: a judge gives scores to all of them alike."""
        count = Counter(answer_state(answer.text, answer.finish_reason) for answer in self.written)
        return {state: count[state] for state in STATES}

    def judged_by(self) -> list[dict[str, Any]]:
        """How many judgements came from which model, in the server's own words and in which set-up; most first."""
        count = Counter((line.reply_model, line.fingerprint) for line in self.judgements if line and line.reply)
        return [{"model": m, "fingerprint": f, "judgements": n} for (m, f), n in count.most_common()]

    def with_prose(self) -> dict[str, Any]:
        """The mean of all n judgements that say scores, those in prose too; by question first, as all means here."""
        by_question = defaultdict[str, list[float]](list)
        for answer, line in zip(self.written, self.judgements, strict=True):
            in_prose = line is not None and line.status is Status.IN_PROSE
            scores = read_in_prose(line.reply or "") if line and in_prose else line and line.scores
            if scores:
                by_question[answer.item].append(fmean(scores.values()))
        means = [fmean(values) for values in by_question.values()]
        return {"mean": fmean(means) if means else None, "n": sum(map(len, by_question.values()))}

    def read_otherwise(self) -> int:
        """How many replies nlp-waseda/JCQ-judge would read otherwise than `--verdicts strict` does."""
        replies = [line.reply or "" for line in self.judgements if line and line.status in _READ]
        return sum(read_strictly(reply) != read_as_jcq_judge(reply) for reply in replies)

    def length_and_score(self) -> dict[str, Any]:
        """Spearman's correlation of the length of what is judged of an answer, in characters, and its mean score.

        `n` answers have one. `r` is None with fewer than three, or where all are alike.
        """
        from scipy.stats import spearmanr

        main = measure_of(ALL, MEAN).name
        pairs = [(len(judged_part(answer.text)), answer.values[main]) for answer in self.scored if answer.values]
        lengths, scores = ({pair[k] for pair in pairs} for k in (0, 1))
        differ = len(pairs) > 2 and len(lengths) > 1 and len(scores) > 1
        return {"r": float(spearmanr(pairs).statistic) if differ else None, "n": len(pairs)}


def measure_of(task: str, criterion: str) -> Measure:
    """The measure of a cell of the grid.

    >>> measure_of("situation", "fluency").name, measure_of("situation", MEAN).name, measure_of(ALL, MEAN).name
    ('jcq/situation/fluency', 'jcq/situation', 'jcq/mean')
    """
    if task == ALL:
        return Measure(f"jcq/{criterion}")
    return Measure(f"jcq/{task}" if criterion == MEAN else f"jcq/{task}/{criterion}")


def _is_about(measure: Measure, task: str) -> bool:
    """Whether questions of a task are among those that a measure is about: it is about one task's, or about all."""
    own = measure.short.partition("/")[0]
    return own == task or own not in TASKS
