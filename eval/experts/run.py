"""What `sozo experts` does, without the command line."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import write_objects
from sozo.data.rubrics import RatingRubric
from sozo.eval.experts.analysis import Predictions, analyse
from sozo.eval.experts.asks import Votes, ask_for_all, predict
from sozo.eval.experts.command import ExpertSettings
from sozo.eval.experts.histories import Condition, sample_ratings
from sozo.eval.experts.page import alpha_figure, experts_page, reasons_figure
from sozo.eval.experts.reasons import Reasons, reasons_of
from sozo.eval.pages import PageFolder
from sozo.eval.terminal import PageRun
from sozo.models.judges import make_judge
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.endpoint.profile import read_profile
from sozo.scoring.judges.criterion import criterion_rubric
from sozo.scoring.judges.protocol import Judge, JudgeSettings
from sozo.tasks.pbig.experts import Rated

VALUES, CURVES, REASONS = "experts.json", "alpha-by-shots.svg", "reasons.svg"
PREDICTIONS, LEDGER = "predictions.jsonl", "judgements.jsonl"


def seeded_judges(settings: JudgeSettings, seeds: int, temperature: float) -> list[Judge]:
    """A judge for each seed; what an endpoint's profile says of temperature and body holds before this."""
    if seeds < 1:
        raise UserError(f"--judge-seeds must be 1 or more, not {seeds}")
    if settings.judge_backend != "openai":
        if seeds > 1:
            raise UserError(f"a judge by {settings.judge_backend} decodes greedily, all votes alike; --judge-seeds 1")
        return [make_judge(settings)]
    profile = read_profile(settings.judge_endpoint)
    judges = []
    for seed in range(seeds):
        values = {name: value for name, value in asdict(profile).items() if value is not None}
        if profile.temperature != "none":  # a model that knows none knows no seed either
            body = {"top_p": 0.8, "seed": seed, **(profile.extra_body or {})}
            values |= {"temperature": values.get("temperature", temperature), "extra_body": body}
        elif seeds > 1:
            raise UserError("an endpoint with `temperature: none` gives all votes alike; --judge-seeds 1")
        judges.append(make_judge(replace(settings, judge_endpoint=json.dumps(values))))
    return judges


def judge_experts(
    ratings: Sequence[Rated],
    rubric: RatingRubric,
    conditions: Sequence[Condition],
    judges: Sequence[Judge],
    output: Path,
    judging: JudgeSettings,
    settings: ExpertSettings,
) -> PageRun:
    """Have every rating predicted under every condition, one vote of each of `judges`, and say how well.

    The folder `output` gets the page, `experts.json`, `predictions.jsonl`, the figure, and the ledger with every
    verdict the moment it arrives: the same command asks only what is missing, and counts again for nothing.
    """
    of = list(ratings) if settings.max_ratings is None else sample_ratings(ratings, settings.max_ratings)
    criteria = [c for c in rubric.criteria if any(rating.criterion == c.name for rating in of)]
    content = json.dumps([asdict(rating) for rating in ratings]).encode()
    config = {
        "task": "experts",
        "ratings_sha256": hashlib.sha256(content).hexdigest(),
        "predicted": len(of),
        "conditions": [condition.name for condition in conditions],
        "prompts": [criterion_rubric(criterion).name for criterion in criteria],
        "judge": {"model": judges[0].name, "parameters": [judge.parameters for judge in judges]},
    }
    folder = PageFolder(output, config, "experts", [LEDGER])
    folder.reopen()
    folder.start({}, {"judge": judges[0].describe()})
    votes = ask_for_all(ratings, of, conditions, criteria, judges, output / LEDGER, judging)
    predictions = {}
    for key in ((condition.name, rating.id) for condition in conditions for rating in of):
        predictions[key] = predict(votes.by_rating.get(key, ()), settings.min_confidence)
    how = {name: getattr(settings, name) for name in ("level", "least", "min_confidence")}
    result = analyse(ratings, of, conditions, criteria, predictions, seeds=len(judges), **how)
    alike = _reasons(of, conditions, votes, settings)
    folder.add(VALUES, {**result.to_json(), "reasons": [asdict(condition) for condition in alike]})
    write_objects(output / PREDICTIONS, _prediction_lines(of, conditions, votes, predictions))
    folder.files.append(PREDICTIONS)
    folder.add(CURVES, alpha_figure(result, sorted({c.shots for c in conditions if c.shots})))
    if alike:
        folder.add(REASONS, reasons_figure(alike))
    notes = [f"{len(of):,} of {len(ratings):,} ratings, {len(conditions)} conditions, {len(judges)} votes each"]
    notes.append(f"Judge: {judges[0].name}. Asked now: {votes.requests:,}; the rest was in the ledger or is equal.")
    metrics = {**votes.to_json(), "min_confidence": settings.min_confidence}
    return folder.publish(experts_page(result, votes, notes, alike), metrics, votes.stopped)


def _reasons(
    of: Sequence[Rated], conditions: Sequence[Condition], votes: Votes, settings: ExpertSettings
) -> list[Reasons]:
    """Figure 3 of each history with the most examples that it was given."""
    if settings.reasons_embedding_model is None:
        return []
    vectors = WordVectors(make_encoder(settings.reasons_embedding_model, texts=True))
    most = {condition.history: condition for condition in sorted(conditions, key=lambda condition: condition.shots)}
    return [reasons_of(of, votes, each, vectors, settings.level, settings.least) for each in most.values()]


def _prediction_lines(
    of: Sequence[Rated], conditions: Sequence[Condition], votes: Votes, predictions: Predictions
) -> Iterator[dict[str, Any]]:
    """One line for each condition and rating."""
    for condition in conditions:
        for rating in of:
            key = (condition.name, rating.id)
            line = {name: getattr(rating, name) for name in ("rater", "item", "domain", "criterion", "score")}
            prediction = {"prediction": predictions[key].score, "reason": predictions[key].reason}
            votes_of_rating = [vote and asdict(vote) for vote in votes.by_rating.get(key, ())]
            yield {"condition": condition.name, **line, **prediction, "votes": votes_of_rating}
