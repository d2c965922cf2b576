"""What a study's steps will do and need, and what of it is missing here: by their own commands, in this process."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import typer

from sozo.data.errors import UserError
from sozo.data.settings import read_yaml
from sozo.models.needs import not_here, values_of
from sozo.studies.study.config import Study
from sozo.studies.study.steps import Step
from sozo.training.arguments import read_beside
from sozo.training.hub import HUB

# Of trainings, and of the page.
_PACKAGES = [
    "torch",
    "transformers",
    "trl",
    "accelerate",
    "datasets",
    "jinja2",
    "matplotlib",
    "pandas",
]
_USAGE: Any = typer.BadParameter.__mro__[1]  # click's, wherever typer has it


@cache
def _commands() -> Any:
    from sozo.eval.cli import make_app

    return typer.main.get_command(make_app())


def plan_lines(study: Study, step: Step) -> list[str]:
    """Lines about one step; a UserError for what its command would refuse."""
    words = replace(step, launcher=None).words([])[1:]
    try:
        if step.trains:
            return _training(study, step, words[2:])
        from sozo.eval.flags import expand_flags

        words = expand_flags(words, _commands())
        _commands().commands[words[0]].make_context(words[0], words[1:])
    except (_USAGE, UserError) as error:
        raise UserError(f"step {step.name}: {error}") from error
    return [f"on {step.processes} process(es)"]


def _training(study: Study, step: Step, words: list[str]) -> list[str]:
    from sozo.training import plan  # TRL takes seconds to import

    assert step.launcher
    hardware = plan.Hardware.of_file(step.launcher)
    hardware = replace(hardware, processes=step.processes)
    told = plan.make_plan(step.command[1], words, hardware)
    end = "kept" if study.keep_checkpoints else "dropped when it is done"
    return list(plan.plan_lines(told, study.shape, f", {end}"))


def missing(study: Study, steps: Sequence[Step]) -> Iterator[str]:
    """A line for each thing that a step would fail for, hours later perhaps, with what to do; none without steps."""
    if not steps:
        return
    settings: list[dict] = [{"second_encoder": study.second_encoder}]
    settings += [step.settings for step in steps]
    hardware = [read_yaml(step.launcher) for step in steps if step.launcher]
    packages = set(_PACKAGES)
    if any(own["distributed_type"] == "DEEPSPEED" for own in hardware):
        packages.add("deepspeed")
    if "vllm" in values_of(settings, "backend") | values_of(settings, "sampler"):
        packages.add("vllm")
    models = {study.model_at(seed) for seed in study.seeds}
    yield from not_here(settings, models, packages)
    drawn = {study.step_folder(step.name) for step in steps}
    asked = {
        name for step in steps for name in read_beside(step.settings.get("beside"))
    }
    for source in sorted(asked - drawn):
        if not Path(source).exists() and not source.startswith(HUB):
            yield f"{source}: is not there, which is to stand beside an arm's answers; draw or write it first"
