"""lm-eval: what the YAML files beside this one name; `--include_path` is this folder (docs/integrations.md)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sozo.rewards.integrations.core import open_integration


def documents(
    name: str = "dat",
    copies: int = 1,
    settings: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """The items of a task as the split `test`, each `copies` times; lm-eval's own `metadata` are not read.

    >>> documents()["test"][0].keys()
    dict_keys(['prompt', 'item', 'name', 'settings'])
    """
    from datasets import Dataset

    settings = dict(settings or {})
    integration, told = open_integration(name, **settings), json.dumps(settings)
    integration.refuse_together()
    docs = [
        {"prompt": i.prompt, "item": i.id, "name": name, "settings": told}
        for i in integration.items.values()
    ]
    return {"test": Dataset.from_list(docs * copies)}


def process_results(
    doc: Mapping[str, str], results: Sequence[str]
) -> dict[str, float | str]:
    """The task's values of one answer; a measure without a value is left out of its mean. Reasons count as shares.

    >>> doc = documents(settings={"noun_checker": "jumandic"})["test"][0]
    >>> process_results(doc, ["1. 犬"])
    {'dat/usable': 0.0, 'scored': 0.0, 'reason': 'format'}
    """
    integration = open_integration(doc["name"], **json.loads(doc["settings"]))
    (row,) = integration.measure(results, [doc], [doc["prompt"]])
    return {
        **row.values,
        "scored": float(integration.name in row.values),
        "reason": row.reason or "",
    }


def count(reasons: Sequence[str]) -> str:
    """How often there was which reason.

    >>> count(["format", "", "not_noun", "format"])
    'format 2, not_noun 1'
    """
    return ", ".join(
        f"{reason} {number}"
        for reason, number in Counter(filter(None, reasons)).most_common()
    )
