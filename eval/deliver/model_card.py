"""A model's README.md: finished runs as results in its metadata, in the Hugging Face form (`model-index`).

Every other byte of the card stays, and so do results of other tasks and datasets.
"""

from pathlib import Path
from typing import Any

import yaml

from sozo.data.errors import UserError
from sozo.data.record import read_json, write_whole
from sozo.eval.run import TaskRun

_INDEX = "model-index"
_NEW = "---\nlanguage: ja\nlibrary_name: transformers\ntags:\n- sozo\n---\n\n# {name}\n\nResults: see the metadata.\n"


def check_card(folder: Path) -> None:
    """Whether results can be put into the card of a model's folder: an error before there are any."""
    card = _Card(folder)
    card.text(card.index)


def write_card(folder: Path, run: TaskRun) -> Path:
    """Put a finished run's results into the card of its model's folder, which is made if there is none."""
    card, ours = _Card(folder), _results(run)
    replaced = {_which(result) for result in ours}
    others = [[result for result in entry["results"] if _which(result) not in replaced] for entry in card.index]
    others[0] += ours
    index = [{**entry, "results": results} for entry, results in zip(card.index, others, strict=True)]
    content = card.text(index).encode()
    if not card.path.is_file() or card.path.read_bytes() != content:
        write_whole(card.path, content)
    return card.path


def _results(run: TaskRun) -> list[dict[str, Any]]:
    """The run as entries of `model-index`: one dataset with its metrics, each with what it rests on and who scored."""
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    settings = read_json(run.folder / "config.json")["settings"]
    where, metrics = run.task.view.card(run.task.measures, run.metrics, settings)
    sampling = {name: settings[name] for name in ("temperature", "seed") if settings.get(name) is not None}
    results = []
    for metric in metrics:
        if metric.value is not None:
            values: dict[str, Any] = {**where, "metric_type": metric.kind, "metric_name": metric.name}
            values["metric_value"] = _rounded(metric.value)
            values["metric_args"] = {key: _rounded(value) for key, value in metric.args.items()} | sampling
            results.append(EvalResult(task_type="text-generation", **values))
    return eval_results_to_model_index(run.folder.name, results)[0]["results"]


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value


def _which(result: Any) -> tuple[Any, ...] | None:
    """Task and dataset of a result; None of what is none."""
    try:
        task, dataset = result["task"], result["dataset"]
        return task["type"], dataset["type"], dataset.get("config"), dataset.get("split")
    except (KeyError, TypeError, AttributeError):
        return None


class _Card:
    """A card in pieces: the metadata, what stands around it, and what the metadata says."""

    def __init__(self, folder: Path) -> None:
        from huggingface_hub.repocard import REGEX_YAML_BLOCK

        # A checkpoint's name alone says nothing.
        place = folder.resolve()
        name = f"{place.parent.name}-{place.name}" if place.name.startswith("checkpoint-") else place.name
        self.path = folder / "README.md"
        try:
            text = self.path.read_bytes().decode() if self.path.exists() else _NEW.format(name=name)
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror}); fix its permissions") from error
        except UnicodeDecodeError as error:
            raise UserError(f"{self.path}: is not UTF-8; convert it") from error
        self.newline = "\r\n" if "\r\n" in text else "\n"
        mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
        if match := REGEX_YAML_BLOCK.search(text):
            self.before, self.metadata, self.after = mark + match[1], match[2], text[match.end(2) :]
        else:
            line = f"---{self.newline}"
            self.before, self.metadata, self.after = mark + line, "", f"{self.newline}{line}{self.newline}{text}"
        try:
            values = yaml.safe_load(self.metadata)
        except yaml.YAMLError as error:
            raise UserError(f"{self.path}: its metadata is not YAML ({' '.join(str(error).split())[:200]})") from error
        if not isinstance(values, dict | None):
            raise UserError(f"{self.path}: its metadata must be lines `key: value`; fix it")
        self.values: dict[str, Any] = values or {}
        self.index: Any = self.values.get(_INDEX)
        if self.index in (None, []):
            self.index = [{"name": str(self.values.get("model_name") or name), "results": []}]
        entries = self.index if isinstance(self.index, list) else [None]
        if not all(isinstance(entry, dict) and isinstance(entry.get("results"), list) for entry in entries):
            raise UserError(f"{self.path}: its model-index is no list of models with results; fix or remove it")

    def text(self, index: list[dict[str, Any]]) -> str:
        """The whole card with this `model-index` in the place of the old one, or at the metadata's end."""
        from huggingface_hub.repocard_data import CardData

        values: dict[str, Any] = {_INDEX: index}
        block, old = CardData(**values).to_yaml(line_break=self.newline), self.metadata
        metadata = old + (self.newline if old and not old.endswith(("\r", "\n")) else "") + block
        for key, value in getattr(yaml.compose(old, Loader=yaml.SafeLoader), "value", ()):
            if key.value == _INDEX:
                start, stop = key.start_mark.index, value.end_mark.index
                lines = old[start:stop].splitlines(keepends=True)
                # YAML ends a block where the next key begins, but blank lines and comments before that are not ours.
                while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
                    stop -= len(lines.pop())
                stop -= len(lines[-1]) - len(lines[-1].rstrip("\r\n"))
                metadata = old[:start] + block + old[stop:]
                break
        try:
            kept = yaml.safe_load(metadata) == self.values | values
        except yaml.YAMLError:
            kept = False
        if not kept:
            raise UserError(f"{self.path}: its metadata is not in block style; write one `key: value` on each line")
        return self.before + metadata + self.after
