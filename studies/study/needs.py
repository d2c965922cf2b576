"""What a study needs and this machine has not: all of it before the first step."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from sozo.data.settings import read_yaml
from sozo.models.needs import not_here, values_of
from sozo.models.settings import OF_NOUNS
from sozo.studies.study.config import Study
from sozo.studies.study.plan import study_disk
from sozo.studies.study.steps import Step
from sozo.training.estimates import GIB, free_gib
from sozo.training.hub import HUB

_TRAINS = ("torch", "transformers", "trl", "accelerate", "datasets")
_PAGE = ("jinja2", "matplotlib", "pandas")


def missing(study: Study, steps: Sequence[Step]) -> Iterator[str]:
    """A line for each thing that a step would fail for, hours later perhaps, with what to do; none without steps."""
    if not steps:
        return
    settings = [read_yaml(step.config) for step in steps if step.trains and step.config]
    settings += [step.flags for step in steps]
    packages = {*_TRAINS, *_PAGE}
    hardware = [read_yaml(step.launcher) for step in steps if step.launcher]
    if any(own["distributed_type"] == "DEEPSPEED" for own in hardware):
        packages.add("deepspeed")
    if "vllm" in values_of(settings, "backend") | values_of(settings, "sampler"):
        packages.add("vllm")
    named = [*settings, study.sampling, {"second_encoder": study.second_encoder}]
    yield from not_here(
        named, {study.model_at(seed) for seed in study.seeds} - set(OF_NOUNS), packages
    )
    drawn = {study.step_folder(step.name) for step in steps}
    for source in sorted({name for step in steps for name in step.beside} - drawn):
        if not Path(source).exists() and not source.startswith(HUB):
            yield f"{source}: is not there, which is to stand beside an arm's answers; draw or write it first"
    gpus = max(
        (own["num_processes"] for own in hardware if not own.get("use_cpu")), default=0
    )
    if (
        (have := len(list(Path("/dev").glob("nvidia[0-9]*")))) < gpus > 1
    ):  # one process does without
        yield f"GPUs: {gpus} are needed, {have} are here; another recipes/accelerate file, or another machine"
    if find_spec("trl") is None:
        return  # it is named above; without it no training's YAML is read, on which its disk depends
    most = study_disk(study, steps)
    home = Path(study.output_dir)
    # What these steps have left there is part of what they need.
    held = [file for step in steps for file in (home / step.name).rglob("*")]
    free = free_gib(home) + sum(file.stat().st_size for file in held) / GIB
    if most is not None and most > free:
        yield f"disk: {most:,.0f} GiB are needed, {free:,.0f} are free in {study.output_dir}; another --output"
