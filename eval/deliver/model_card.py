"""A model's README.md: finished runs as results in its metadata, in the Hugging Face form (`model-index`).

The card's text and what else its metadata says stay, and so do results of other tasks and datasets.
"""

from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.record import write_whole
from sozo.eval.deliver.one_run import of_run, texts_of_run
from sozo.eval.report.labels import english
from sozo.eval.run import TaskRun
from sozo.tasks.view import CARD

_INDEX = "model-index"
_NEW = "---\nlanguage: {language}\nlibrary_name: transformers\ntags:\n- sozo\n---\n\n# {name}\n\n"
_NEW += "Results: see the metadata.\n"


def check_card(folder: Path) -> None:
    """Whether results can be put into the card of a model's folder: an error before there are any."""
    _read_card(folder)


def write_card(folder: Path, run: TaskRun) -> Path:
    """Put a finished run's results into the card of its model's folder, which is made if there is none."""
    card, results = _read_card(folder, run.result.language), _results(run)
    replaced = [_dataset(result) for result in results]
    entries = card.data[_INDEX]
    for entry in entries:
        entry["results"] = [
            result for result in entry["results"] if _dataset(result) not in replaced
        ]
    entries[0]["results"] += results
    path = folder / "README.md"
    write_whole(path, str(card).encode())
    return path


def _results(run: TaskRun) -> list[dict[str, Any]]:
    """The run as entries of `model-index`: one dataset with its metrics, each with what it rests on and who scored.

    Numbers among the task's columns are metrics; its texts (judge, encoder) are arguments of each of them.
    """
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    task, result = run.task, run.result
    shared: dict[str, Any] = dict(texts_of_run(type(task), result, CARD))
    shared["temperature"] = result.temperature
    shared["seed"] = result.settings.get("seed")
    shared["caveats"] = ", ".join(result.caveats) or None
    if scale := result.adapt(task.measures[0]).scale:
        shared["range"] = "{:g} to {:g}".format(*scale)
    results = []
    for row in of_run(type(task), result, CARD):
        if row.estimate.value is None:
            continue
        cell, name = row.cell, f"{task.name.upper()}: {english(row.label)}"
        args = {
            part: value
            for part, value in {**cell.exact, **shared}.items()
            if value is not None
        }
        del args["value"]
        values: dict[str, Any] = {
            "task_name": task.title or task.name,
            **task.view.dataset(result),
            "metric_type": f"{task.name}_{row.column}",
            "metric_name": f"{name} ({english(cell.counts)})" if cell.counts else name,
            "metric_value": row.estimate.value,
            "metric_args": args,
        }
        results.append(EvalResult(task_type="text-generation", **values))
    return list(eval_results_to_model_index(run.folder.name, results)[0]["results"])


def _dataset(result: Any) -> tuple[Any, ...] | None:
    """Task and dataset of a result; None of what is none."""
    try:
        task, dataset = result["task"], result["dataset"]
        return (
            task["type"],
            dataset["type"],
            dataset.get("config"),
            dataset.get("split"),
        )
    except (KeyError, TypeError, AttributeError):
        return None


def _read_card(folder: Path, language: str = "ja") -> Any:
    """The card of a model's folder (a `huggingface_hub.RepoCard`), with a `model-index` of at least one model."""
    from huggingface_hub import RepoCard

    # A checkpoint's name alone says nothing.
    place, path = folder.resolve(), folder / "README.md"
    name = (
        f"{place.parent.name}-{place.name}"
        if place.name.startswith("checkpoint-")
        else place.name
    )
    try:
        text = (
            path.read_bytes().decode("utf-8-sig")
            if path.exists()
            else _NEW.format(name=name, language=language)
        )
        card = RepoCard(
            text if text.lstrip().startswith("---") else f"---\n{{}}\n---\n\n{text}"
        )
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); fix its permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8; convert it") from error
    except (
        Exception
    ) as error:  # metadata that are no YAML raise whatever a value's type does
        raise UserError(
            f"{path}: its metadata must be lines of YAML, `key: value`; fix it ({error})"
        ) from error
    entries = card.data.get(_INDEX) or [
        {"name": str(card.data.get("model_name") or name), "results": []}
    ]
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("results"), list)
        for entry in entries
    ):
        raise UserError(
            f"{path}: its model-index is no list of models with results; fix it"
        )
    card.data[_INDEX] = entries
    return card
