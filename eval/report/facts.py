"""What the numbers of a page rest on: when, which code, which models, how they were asked, who judged for how much."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sozo.data.record import provenance, read_json
from sozo.eval.report.tables import TaskOnPage
from sozo.models.trained_on import NOT_RECORDED, recorded
from sozo.scoring.table import Table
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.view import FACTS, RunColumn, setting_of


def fact_table(page: TaskOnPage) -> Table:
    """A row a model; of what no run says there is no column."""
    configs = {run.folder: read_json(run.folder / "config.json") for run in page.runs}

    def column(
        label: str, read: Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]
    ) -> RunColumn:
        return RunColumn(
            label,
            lambda run: read(
                config := configs[run.folder], config.get("environment", {})
            ),
        )

    columns = [
        column(
            "run_date",
            lambda _, environment: environment.get("started", "")[:10] or None,
        ),
        column(
            "run_commit", lambda _, environment: _commit(environment.get("git_commit"))
        ),
        RunColumn("models", _model),
        RunColumn("trained_on", _trained_on),
        *map(setting_of, ("temperature", "max_new_tokens", "seed")),
        column(
            "judge_asked", lambda config, _: _pairs(config.get("judge") or {}) or None
        ),
        *(column for column in page.columns.values() if column.shown & FACTS),
    ]
    ours = provenance()
    written = translatable(
        "sozo {version}, {commit}",
        version=ours["packages"].get("sozo"),
        commit=_commit(ours["git_commit"]),
    )
    return replace(
        page.of_columns(page.titled("{task}: what was run"), columns, (written,)),
        csv_only=True,
    )


def _model(run: RunResult) -> str | None:
    """Its name and revision, or the digest of its folder; of answers from a file nothing is known."""
    if (name := run.settings.get("model")) is None:
        return None
    revision, digest = (
        run.loaded.get(key) for key in ("model_revision", "model_sha256")
    )
    shown = Path(name).name if Path(name).is_absolute() else name
    return shown + (
        f"@{revision}" if revision else f", sha256 {digest[:12]}" if digest else ""
    )


def _trained_on(run: RunResult) -> str | None:
    """Each training of the model: what answers were paid for, drawn or chosen by, and the method; None without one."""
    told = []
    for one in recorded(run):
        known = [
            name
            for name in (one["encoder"], one["judge"], one["by"])
            if name not in (None, NOT_RECORDED)
        ]
        what = one["task"] if one["measure"] in (None, NOT_RECORDED) else one["measure"]
        told.append(
            translatable("{what} ({known})", what=translatable(what), known=known)
            if known
            else translatable(what)
        )
    return translatable("{trainings}", trainings=told) if told else None


def _commit(commit: str | None) -> str:
    return (
        f"git {commit[:12]}{'-dirty' * commit.endswith('-dirty')}"
        if commit
        else "git –"
    )


def _pairs(values: Mapping[str, Any]) -> str:
    """Names and values.

    >>> _pairs({"temperature": 0.0, "price": {"per_million_in": 2.5}, "seed": None})
    'temperature 0.0, price per_million_in 2.5'
    """
    known = {name: value for name, value in values.items() if value is not None}
    return ", ".join(
        f"{name} {_pairs(v) if isinstance(v, dict) else v}" for name, v in known.items()
    )
