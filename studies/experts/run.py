"""What `sozo agreement --experts` does, without the command line."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import write_objects
from sozo.models.judges import make_judge
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.endpoint.profile import read_profile
from sozo.scoring.judges.protocol import Judge, JudgeSettings
from sozo.studies.agreement.run import check_level
from sozo.studies.experts.analysis import analyse
from sozo.studies.experts.asks import Predictions, ask_for_all, predict
from sozo.studies.experts.histories import HISTORIES, Plan, conditions_of
from sozo.studies.experts.page import alpha_figure, experts_page, reasons_figure
from sozo.studies.experts.rated import read_rated
from sozo.studies.experts.reasons import reasons_of
from sozo.studies.experts.settings import ExpertSettings
from sozo.studies.pages import PageFolder, PageRun
from sozo.studies.rubric import load_rubric
from sozo.suite.pbig.ideas import trial_file
from sozo.suite.rubrics.criterion import criterion_rubric

VALUES, CURVES, REASONS = "experts.json", "alpha-by-shots.svg", "reasons.svg"
SHOTS = (1, 2, 5, 10)
PREDICTIONS, LEDGER = "predictions.jsonl", "judgements.jsonl"


def plan_of(
    files: tuple[Sequence[Path], Path | None, Path | None],
    trial: bool,
    rubric: str | None,
    history: Sequence[str] | None,
    shots: Sequence[int] | None,
    settings: ExpertSettings,
) -> Plan:
    """What is predicted of files of ratings, of the ideas and of their patents, or of the trial's."""
    check_level(settings.level)
    if trial == any(files) or not (trial or all(files)):
        raise UserError(
            "--experts needs files of ratings, --ideas and --patents, or --trial alone"
        )
    names = ("ratings.csv", "ideas.jsonl", "technologies.jsonl")
    ratings, ideas, patents = files
    if trial:
        first, ideas, patents = (Path(trial_file(name)) for name in names)
        ratings = [first]
    assert ideas
    assert patents
    scale = load_rubric(rubric or "pbig")
    conditions = conditions_of(history or HISTORIES, shots or SHOTS)
    rated = read_rated(ratings, ideas, patents, scale)
    return Plan(rated, scale, conditions, settings.max_ratings)


def seeded_judges(
    settings: JudgeSettings, seeds: int, temperature: float
) -> list[Judge]:
    """A judge for each seed; what an endpoint's profile says of temperature and body holds before this."""
    if seeds < 1:
        raise UserError(f"--judge-seeds must be 1 or more, not {seeds}")
    if settings.judge_backend != "openai":
        if seeds > 1:
            raise UserError(
                f"a judge by {settings.judge_backend} decodes greedily, all votes alike; --judge-seeds 1"
            )
        return [make_judge(settings)]
    profile = read_profile(settings.judge_endpoint)
    judges = []
    for seed in range(seeds):
        values = {
            name: value for name, value in asdict(profile).items() if value is not None
        }
        if (
            profile.temperature != "none"
        ):  # a model that knows none knows no seed either
            body = {"top_p": 0.8, "seed": seed, **(profile.extra_body or {})}
            values |= {
                "temperature": values.get("temperature", temperature),
                "extra_body": body,
            }
        elif seeds > 1:
            raise UserError(
                "an endpoint with `temperature: none` gives all votes alike; --judge-seeds 1"
            )
        judges.append(make_judge(replace(settings, judge_endpoint=json.dumps(values))))
    return judges


def judge_experts(
    plan: Plan,
    judges: Sequence[Judge],
    output: Path,
    judging: JudgeSettings,
    settings: ExpertSettings,
) -> PageRun:
    """Have every rating of a plan predicted under every condition, one vote of each of `judges`, and say how well.

    The folder `output` gets the page, `experts.json`, `predictions.jsonl`, the figure, and the ledger with every
    verdict the moment it arrives: the same command asks only what is missing, and counts again for nothing.
    """
    content = json.dumps([asdict(rating) for rating in plan.ratings]).encode()
    config = {
        "task": "experts",
        "ratings_sha256": hashlib.sha256(content).hexdigest(),
        "predicted": len(plan.targets),
        "conditions": [condition.name for condition in plan.conditions],
        "prompts": [criterion_rubric(criterion).name for criterion, _ in plan.parts],
        "judge": {
            "model": judges[0].name,
            "parameters": [judge.parameters for judge in judges],
        },
    }
    folder = PageFolder(output, config, "experts", [LEDGER])
    folder.reopen()
    folder.start({}, {"judge": judges[0].describe()})
    votes = ask_for_all(plan, judges, output / LEDGER, judging)
    predictions = {}
    for ask_id in (
        condition.ask_id(rating)
        for condition in plan.conditions
        for rating in plan.targets
    ):
        predictions[ask_id] = predict(votes.by_ask[ask_id], settings.min_confidence)
    result = analyse(plan, predictions, len(judges), settings)
    if settings.reasons_embedding_model is not None:
        vectors = WordVectors(
            make_encoder(settings.reasons_embedding_model, texts=True)
        )
        # Of each history the condition with the most examples.
        most = {
            condition.history: condition
            for condition in sorted(plan.conditions, key=lambda each: each.shots)
        }
        result.reasons.extend(
            reasons_of(plan, predictions, each, vectors, settings)
            for each in most.values()
        )
    folder.add(VALUES, asdict(result))
    write_objects(output / PREDICTIONS, _prediction_lines(plan, predictions))
    folder.files.append(PREDICTIONS)
    folder.add(CURVES, alpha_figure(result, plan.shots))
    if result.reasons:
        folder.add(REASONS, reasons_figure(result.reasons))
    sizes = f"{len(plan.targets):,} of {len(plan.ratings):,} ratings, {len(plan.conditions)} conditions"
    asked = (
        f"Asked now: {votes.bill.requests:,}; the rest was in the ledger or is equal."
    )
    notes = [f"{sizes}, {len(judges)} votes each", f"Judge: {judges[0].name}. {asked}"]
    metrics = {**votes.to_json(), "min_confidence": settings.min_confidence}
    return folder.publish(
        experts_page(result, votes, notes), metrics, votes.bill.stopped
    )


def _prediction_lines(plan: Plan, predictions: Predictions) -> Iterator[dict[str, Any]]:
    """One line for each condition and rating."""
    for condition in plan.conditions:
        for rating in plan.targets:
            line = {
                name: getattr(rating, name)
                for name in ("rater", "item", "domain", "criterion", "score")
            }
            prediction = predictions[condition.ask_id(rating)]
            line |= {"prediction": prediction.score, "reason": prediction.reason}
            yield {
                "condition": condition.name,
                **line,
                "votes": [vote and asdict(vote) for vote in prediction.votes],
            }
