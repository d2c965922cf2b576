"""What a finished run says in a model card: metrics with what each rests on, by task and dataset."""

from __future__ import annotations

from typing import Any

from data.record import read_json
from eval.run import TaskRun


def card_results(run: TaskRun) -> list[dict[str, Any]]:
    """The run as entries of `model-index`: one dataset with its metrics. What has no value is left out.

    Every metric's name says of how many it is the mean; its `args` say the same in numbers, and who scored.
    """
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    settings = read_json(run.folder / "config.json")["settings"]
    described, metrics = run.task.view.card(run.task.measures, run.metrics, settings)
    where: dict[str, Any] = {**described, "task_type": "text-generation"}
    sampling = {name: settings[name] for name in ("temperature", "seed") if settings.get(name) is not None}
    results = [
        EvalResult(
            metric_type=metric.kind,
            metric_name=metric.name,
            metric_value=_rounded(metric.value),
            metric_args={key: _rounded(value) for key, value in metric.args.items()} | sampling,
            **where,
        )
        for metric in metrics
        if metric.value is not None
    ]
    return eval_results_to_model_index(run.folder.name, results)[0]["results"]


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value
