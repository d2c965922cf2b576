"""README.md of a trained model's folder: TRL's asks about a time machine, and its base is None if that is a folder."""

from pathlib import Path
from typing import Any

import trl
from huggingface_hub import ModelCardData

import sozo
from sozo.data.record import write_whole
from sozo.models.tiny import tiny_seed


def write_card(trainer: Any, base: str, **_: Any) -> None:
    """Say in README.md what a model was trained from, how, and how to measure it (in place of `create_model_card`)."""
    if not trainer.is_world_process_zero():
        return
    folder = Path(trainer.args.output_dir)
    peft = getattr(trainer.accelerator.unwrap_model(trainer.model), "peft_config", None)
    under = str(peft["default"].base_model_name_or_path) if peft else base
    # The hub refuses a card whose base is none of its ids.
    local = tiny_seed(under) is not None or Path(under).is_dir()
    data = ModelCardData(
        base_model=None if local else under,
        library_name="peft" if peft else "transformers",
        pipeline_tag="text-generation",
        tags=sorted({"sozo", *trainer._tag_names}),
    )
    text = (
        f"---\n{data.to_yaml()}\n---\n\n# {folder.name}\n\nTrained from `{base}` by {trainer._name} with sozo "
        f"{sozo.__version__} and TRL {trl.__version__}{f', a LoRA adapter on `{under}`' if peft else ''}. Every setting "
        f"is in `run_config.json`. `sozo dat --model {folder} --output DIR` measures it.\n"
    )
    write_whole(folder / "README.md", text.encode())
