"""What the numbers of a page rest on: when, which code, which models, how they were asked, who judged for how much."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sozo.data.record import provenance, read_json
from sozo.eval.evaluated import Evaluated
from sozo.tasks.finished import Finished
from sozo.tasks.task import Task
from sozo.tasks.view import FACTS

_MOST_NAMES = 4  # more models than these are counted


def facts(models: Sequence[Evaluated], tasks: Sequence[type[Task]]) -> list[tuple[str, list[str]]]:
    """Values by label; one that all models share is said once, others beside the names of their models."""
    ours = provenance()
    written = (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {_commit(ours['git_commit'])}, sozo {ours['packages'].get('sozo')}"
    )
    by_label: dict[str, dict[str, dict[str, None]]] = {"written": {written: {}}}
    for model in models:
        for task in tasks:
            for run in model.of_task(task.name):
                shown = task.view.shown(FACTS, task.measures, run)
                own = [(column.label, cell.text) for column, cell in shown if cell.value is not None]
                for label, value in (*_of_run(run), *own):
                    if value is not None:
                        by_label.setdefault(label, {}).setdefault(str(value), {})[model.name] = None
    return [(label, _lines(label, values)) for label, values in by_label.items()]


def _lines(label: str, values: dict[str, dict[str, None]]) -> list[str]:
    if len(values) == 1 and label != "models":
        return list(values)
    counted = {
        value: ", ".join(names) if len(names) <= _MOST_NAMES else f"× {len(names)}" for value, names in values.items()
    }
    return [f"{value} ({names})" for value, names in counted.items()]


def _of_run(run: Finished) -> Iterator[tuple[str, str | None]]:
    """What `config.json` says of any run."""
    config = read_json(run.folder / "config.json")
    environment, settings = config.get("environment", {}), run.settings
    yield "run_date", environment.get("started", "")[:10] or None
    yield "run_commit", _commit(environment.get("git_commit"))
    yield "models", _model(run)
    if settings.get("temperature") is not None:
        asked = {"temperature": settings["temperature"], "max_new_tokens": settings.get("max_new_tokens")}
        yield "sampling", f"{run.task}: {_pairs(asked | {'seed': settings.get('seed')})}"
    yield "judge_asked", _pairs(config["judge"]) if config.get("judge") else None


def _model(run: Finished) -> str | None:
    """Its name and revision, or the digest of its folder; of answers from a file nothing is known."""
    if (name := run.settings.get("model")) is None:
        return None
    revision, digest = (run.loaded.get(key) for key in ("model_revision", "model_sha256"))
    shown = Path(name).name if Path(name).is_absolute() else name
    return shown + (f"@{revision}" if revision else f", sha256 {digest[:12]}" if digest else "")


def _commit(commit: str | None) -> str:
    return f"git {commit[:12]}{'-dirty' * commit.endswith('-dirty')}" if commit else "git –"


def _pairs(values: dict[str, Any]) -> str:
    """Names and values.

    >>> _pairs({"temperature": 0.0, "price": {"per_million_in": 2.5}, "seed": None})
    'temperature 0.0, price per_million_in 2.5'
    """
    known = {name: value for name, value in values.items() if value is not None}
    return ", ".join(f"{name} {_pairs(v) if isinstance(v, dict) else v}" for name, v in known.items())
