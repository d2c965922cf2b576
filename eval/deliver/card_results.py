"""What a finished run says in a model card: metrics with what each rests on, by task and dataset."""

from __future__ import annotations

import json
from typing import Any

from rewards.tasks.jcq.run import JcqRun
from rewards.tasks.sat.run import SatRun, digest_of

from data.jcq import CONTENT_SHA256, DATASET
from data.stories import load_stories
from eval.commands import DatRun
from eval.deliver.wandb_rows import FinishedRun

_DIGITS = 4


def card_results(run: FinishedRun) -> list[dict[str, Any]]:
    """The run as entries of `model-index`: one dataset with its metrics. What has no value is left out.

    Every metric's name says of how many it is the mean; its `args` say the same in numbers, and who scored.

    Raises:
        OSError: The run's `config.json` cannot be read.
    """
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    config = json.loads((run.folder / "config.json").read_bytes())
    settings = config["settings"]
    if isinstance(run, DatRun):
        where, metrics = _dat(run, settings)
    elif isinstance(run, JcqRun):
        where, metrics = _jcq(run, settings)
    else:
        where, metrics = _sat(run, settings)
    drawn = {name: settings[name] for name in ("temperature", "seed") if settings.get(name) is not None}
    results = [
        EvalResult(
            task_type="text-generation",
            metric_type=kind,
            metric_name=name,
            metric_value=round(value, _DIGITS),
            metric_args={**args, **drawn},
            **where,
        )
        for kind, name, value, args in metrics
        if value is not None
    ]
    return eval_results_to_model_index(run.folder.name, results)[0]["results"]


_Metrics = list[tuple[str, str, float | None, dict[str, Any]]]


def _dat(run: DatRun, settings: dict[str, Any]) -> tuple[dict[str, Any], _Metrics]:
    row = run.summary
    of = f"{row.valid} of {row.num_responses} responses valid"
    args = {"valid": row.valid, "responses": row.num_responses}
    args |= {name: settings[name] for name in ("embedding_model", "noun_checker")}
    top = "0 to 200, Olson's protocol" if settings["rules"]["olson"] else "0 to 2"
    mean = {**args, "std": _rounded(row.std), "ci95": _rounded(row.ci95)}
    where = {"task_name": "Divergent Association Task", "dataset_name": "DAT (Japanese)", "dataset_type": "dat-ja"}
    return where, [
        ("dat_score", f"DAT score ({top}; {of})", row.mean, mean),
        ("dat_valid_rate", f"Valid responses ({of})", row.valid_rate, args),
        ("dat_unique_words", f"Unique words in valid responses ({of})", row.unique_words, args),
    ]


def _jcq(run: JcqRun, settings: dict[str, Any]) -> tuple[dict[str, Any], _Metrics]:
    metrics = run.metrics
    total = metrics["num_questions"]
    judge = {"judge": metrics["judge"], "judge_prompt": metrics["prompt"]}
    rows: _Metrics = []
    for name, mean in metrics["means"].items():
        of = f"{mean['n']} of {total} questions"
        args = {**judge, "scored_questions": mean["n"], "questions": total}
        args["ci95"] = _rounded((mean["low"], mean["high"]) if mean["low"] is not None else None)
        title = f"JCQ {name} (1 to 5, judge {metrics['judge']}; {of})"
        rows.append((f"jcq_{name}", title, mean["mean"], args))
    answers = sum(metrics["statuses"].values())
    scored = metrics["statuses"]["ok"]
    title = f"JCQ answers with scores ({scored} of {answers}, judge {metrics['judge']})"
    rows.append(("jcq_scored_rate", title, scored / answers, {**judge, **metrics["statuses"]}))
    where = {"task_name": "Japanese Creativity Questions"}
    if settings["questions_sha256"] == CONTENT_SHA256:
        where |= {"dataset_name": "JCQ", "dataset_type": DATASET, "dataset_split": "test"}
    else:
        where |= {"dataset_name": f"{total} questions that are not JCQ's", "dataset_type": "other-questions"}
    return where, rows


def _sat(run: SatRun, settings: dict[str, Any]) -> tuple[dict[str, Any], _Metrics]:
    row = run.summary
    of = f"{row.scored_stories} of {row.num_stories} stories"
    args: dict[str, Any] = {"embedding_model": settings["embedding_model"]}
    args |= {"scored_stories": row.scored_stories, "stories": row.num_stories}
    mean = {**args, "std": _rounded(row.std), "ci95": _rounded(row.ci95)}
    kept = f"{row.compliant} of {row.num_rewrites} rewrites"
    rate = row.compliant / row.num_rewrites if row.num_rewrites else None
    packaged = settings["stories_sha256"] == digest_of(load_stories())
    where = {
        "task_name": "Story Alteration Task",
        "dataset_name": "113 tales retold for sozo" if packaged else f"{row.num_stories} stories of one's own",
        "dataset_type": "sozo-stories" if packaged else "other-stories",
    }
    return where, [
        ("sat_distance", f"SAT mean distance (0 to 2; {of})", row.mean, mean),
        (
            "sat_compliance",
            f"SAT rewrites that keep every condition ({kept})",
            rate,
            {"compliant": row.compliant, "rewrites": row.num_rewrites},
        ),
    ]


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [round(one, _DIGITS) for one in value]
    return None if value is None else round(value, _DIGITS)
