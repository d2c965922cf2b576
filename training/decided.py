"""A training run, decided: what was asked is read, checked and completed here, and nowhere behind it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accelerate.utils import parse_flag_from_env
from trl import ModelConfig

from sozo.data.errors import UserError
from sozo.data.processes import world_size
from sozo.data.prompts.form import read_form, settled_form
from sozo.data.settings import deciding
from sozo.models.trained_on import Training
from sozo.training.arguments import FREE, CommonArguments
from sozo.training.evaluation import read_evaluate
from sozo.training.tracking import RunRecorder, callback_at

# How a step is cut into micro-batches.
_HOW = {
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "steps_per_generation",
}


class TrainingRun:
    """One training as it is decided, from what was asked: nothing of the command line is read after it.

    A method's own says how its trainer is built (`build`) and what must fit into the model's window (`fit`);
    `sozo.training.run.train` does all around them. `what` it learns and `how` it is computed are compared with the
    record of a run that goes on, and of a finished one `what` alone; what is `free` may change.
    """

    def __init__(
        self,
        asked: CommonArguments,  # the method's own settings
        training: Any,  # TRL's
        model: ModelConfig,
        *,
        facts: dict[str, Any],
        sources: Sequence[Training],
        free_arguments: Sequence[Mapping[str, Sequence[str]]] = (),
        recorder: RunRecorder | None = None,
    ) -> None:
        """Decide; `facts` are what else decides the run, JSON-able: rewards as built, the data's identity.

        `sources` are what answers were drawn and chosen by, or what pays for them. `free_arguments` are of each entry
        of `asked.tasks`, by reward, those that decide nothing.
        """
        if model.model_name_or_path is None:
            raise UserError(
                "model_name_or_path is missing: a folder, a hub id, or tiny for the embedded model"
            )
        # What it does is done here, and by a checkpoint that is marked.
        training.enable_jit_checkpoint = False
        asked.system_prompt, training.chat_template_kwargs = settled_form(
            asked.system_prompt,
            training.chat_template_kwargs,
            model.model_name_or_path,
        )
        self.asked = asked
        self.form = read_form(asked.system_prompt, training.chat_template_kwargs)
        self.evaluate = read_evaluate(asked.evaluate)
        self.callbacks = [callback_at(path) for path in asked.callbacks or ()]
        self.sources = sources
        self.recorder = recorder or RunRecorder()
        self.what, self.how, self.free = split(
            asked, training, model, facts, free_arguments
        )

    def fit(self, tokenizer: Any, training: Any, window: int | None) -> None:
        """Fit limits into the model's window (None: no limit); refuse what cannot be, such as a form without template."""
        raise NotImplementedError

    def build(self, tokenizer: Any, common: dict[str, Any]) -> Any:
        """The trainer; `common` is what all of TRL's trainers take."""
        raise NotImplementedError


def sharding(training: Any) -> str | None:
    """What deals the model's states out to the processes; None if nothing does."""
    if training.fsdp or parse_flag_from_env("ACCELERATE_USE_FSDP"):
        return "FSDP"
    plugin = training.deepspeed_plugin
    return f"ZeRO-{plugin.zero_stage}" if plugin else None


def split(
    asked: Any,
    training: Any,
    model: Any,
    facts: dict[str, Any],
    free_arguments: Sequence[Mapping[str, Sequence[str]]] = (),
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What a run learns, with `facts`, how it is computed, and what may change in its continuation: JSON-able, without keys.

    A model's folder is no setting: its digest is compared, and so are rows and not where they are.
    """
    changes = set(FREE)
    for part in (asked, training, model):
        changes |= vars(part).keys() - deciding(part)
    if Path(str(model.model_name_or_path)).is_dir():
        changes |= {"model_name_or_path"}
    sections = {
        "script": asdict(asked),
        "training": training.to_dict(),
        "model": asdict(model),
    }
    text = json.dumps(sections | facts, default=str)
    what = json.loads(text, parse_constant=str)  # JSON has no infinity
    for block, of_rewards in zip(
        what["script"].get("tasks") or (), free_arguments, strict=False
    ):
        block.pop("prompts", None)
        for path, names in of_rewards.items():
            _drop(block.get("reward_args", {}).get(path), names)
    how = {"processes": world_size(), "sharding": sharding(training)}
    free = {}
    for name in sections:
        section = what[name]
        how |= {key: section.pop(key) for key in [*section] if key in _HOW}
        free[name] = {key: section.pop(key) for key in [*section] if key in changes}
    return what, how, free


def _drop(arguments: Any, names: Sequence[str]) -> None:
    """Take `names` out of a reward's arguments, and out of those of the reward that it is around.

    >>> given = {"ledger": "a", "quality_args": {"ledger": "b", "scale": 1}}
    >>> _drop(given, ["ledger"])
    >>> given
    {'quality_args': {'scale': 1}}
    """
    while arguments:
        for name in names:
            arguments.pop(name, None)
        arguments = arguments.get("quality_args")
