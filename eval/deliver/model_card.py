"""A model's README.md: finished runs as results in its metadata, in the Hugging Face form (`model-index`).

Only the block `model-index` is written anew; every other byte of the card stays. In it, results of the same task and
dataset are replaced, and all others stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.record import write_whole
from eval.deliver.card_results import card_results
from eval.run import TaskRun

CARD = "README.md"
_INDEX = "model-index"
_NEW = "---\nlanguage: ja\nlibrary_name: transformers\ntags:\n- sozo\n---\n\n# {name}\n\nResults: see the metadata.\n"


@dataclass(frozen=True, slots=True)
class _Card:
    """A card in pieces: the metadata, what stands around it, and what the metadata says."""

    path: Path
    before: str
    metadata: str
    after: str
    newline: str
    values: dict[str, Any]


def check_card(folder: Path) -> None:
    """Find out whether results can be put into the card of a model's folder, before there are any."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; --model-card goes with a model that is a folder")
    card = _read(folder)
    _text(card, _index(card, folder))


def write_card(folder: Path, run: TaskRun) -> Path:
    """Put a finished run's results into the card of its model's folder; without one, it is made.

    Returns:
        The card.
    """
    card = _read(folder)
    ours = card_results(run)
    replaced = {_which(result) for result in ours}
    index = [
        {**entry, "results": [result for result in entry["results"] if _which(result) not in replaced]}
        for entry in _index(card, folder)
    ]
    index[0]["results"] += ours
    content = _text(card, index).encode()
    if not card.path.is_file() or card.path.read_bytes() != content:
        write_whole(card.path, content)
    return card.path


def _read(folder: Path) -> _Card:
    import yaml
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    path = folder / CARD
    try:
        text = path.read_bytes().decode() if path.exists() else _NEW.format(name=_name(folder))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); fix its permissions") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8; convert it") from error
    newline = "\r\n" if "\r\n" in text else "\n"
    mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    match = REGEX_YAML_BLOCK.search(text)
    if match is None:
        return _Card(path, f"{mark}---{newline}", "", f"{newline}---{newline}{newline}{text}", newline, {})
    try:
        values = yaml.safe_load(match[2])
    except yaml.YAMLError as error:
        raise UserError(f"{path}: its metadata is not YAML ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(values, dict | None):
        raise UserError(f"{path}: its metadata must be lines `key: value`; fix it")
    return _Card(path, mark + match[1], match[2], text[match.end(2) :], newline, values or {})


def _index(card: _Card, folder: Path) -> list[dict[str, Any]]:
    """The card's `model-index`, of one model without results if there is none."""
    index = card.values.get(_INDEX)
    if index is None or index == []:
        return [{"name": str(card.values.get("model_name") or _name(folder)), "results": []}]
    entries = index if isinstance(index, list) else [None]
    if not all(isinstance(entry, dict) and isinstance(entry.get("results"), list) for entry in entries):
        raise UserError(f"{card.path}: its model-index is no list of models with results; fix or remove it")
    return list(entries)


def _name(folder: Path) -> str:
    """A checkpoint's name alone says nothing."""
    path = folder.resolve()
    return f"{path.parent.name}-{path.name}" if path.name.startswith("checkpoint-") else path.name


def _which(result: Any) -> tuple[Any, ...] | None:
    """Task and dataset of a result; None of what is none."""
    try:
        task, dataset = result["task"], result["dataset"]
        return task["type"], dataset["type"], dataset.get("config"), dataset.get("split")
    except (KeyError, TypeError, AttributeError):
        return None


def _text(card: _Card, index: list[dict[str, Any]]) -> str:
    """The whole card with this `model-index`."""
    import yaml
    from huggingface_hub.repocard_data import CardData

    values: dict[str, Any] = {_INDEX: index}
    metadata = _with_block(card, CardData(**values).to_yaml(line_break=card.newline))
    try:
        kept = yaml.safe_load(metadata) == card.values | values
    except yaml.YAMLError:
        kept = False
    if not kept:
        raise UserError(f"{card.path}: its metadata is not in block style; write one `key: value` on each line")
    return card.before + metadata + card.after


def _with_block(card: _Card, block: str) -> str:
    """The metadata with `block` in the place of the old `model-index`, or at the end."""
    import yaml

    old = card.metadata
    for key, value in getattr(yaml.compose(old, Loader=yaml.SafeLoader), "value", ()):
        if key.value == _INDEX:
            start, stop = key.start_mark.index, value.end_mark.index
            lines = old[start:stop].splitlines(keepends=True)
            # YAML ends a block where the next key begins, but blank lines and comments before that are not ours.
            while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
                stop -= len(lines.pop())
            stop -= len(lines[-1]) - len(lines[-1].rstrip("\r\n"))
            return old[:start] + block + old[stop:]
    return old + (card.newline if old and not old.endswith(("\r", "\n")) else "") + block
