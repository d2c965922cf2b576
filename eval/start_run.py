"""How every run of a model begins: the model is found once, loaded by all processes, and config.json comes first."""

from __future__ import annotations

from typing import Any

from data.processes import Processes
from data.run_folder import RunFolder
from generate.load import GeneratorSettings, load_generator
from generate.protocol import Generator


def start_run(
    settings: GeneratorSettings,
    folder: RunFolder,
    processes: Processes,
    loaded: dict[str, Any],
    facts: dict[str, Any] | None = None,
    *,
    own_prompts: bool = False,
) -> Generator:
    """Load the generator and write `config.json`; when this returns, every process may write parts.

    Args:
        settings: Settled ones.
        folder: The run's folder.
        processes: All of them call this.
        loaded: What else determines the result but is known only now.
        facts: What else is worth recording.
        own_prompts: The run brings prompts of its own (JCQ, SAT): the DAT prompt and its sampler are no facts of it.

    Raises:
        GeneratorError: The model cannot be used.
        RunFolderError: The folder was begun with another model or other rules.
    """
    pinned = settings.pinned() if processes.first else None  # what has to be made or downloaded is made once
    processes.wait()
    pinned = pinned or settings.pinned()
    generator = load_generator(pinned, keep=folder.responses)
    decoder = generator.describe()
    if own_prompts:
        decoder = {name: value for name, value in decoder.items() if name not in ("prompt", "sampler")}
    loaded = {**loaded, "decoder": decoder, "model_revision": pinned.model_revision}
    if processes.first or folder.begun:
        folder.start(loaded, {"model_folder": pinned.model, "processes": processes.world, **(facts or {})})
    processes.wait()  # no part before config.json: nobody could account for it
    return generator
