"""A LoRA adapter's folder as a whole model: base weights and adapter in one, so that any method can start from it.

    python -m models.merge runs/swallow-8b/dpo1 merged bfloat16

It runs in a process of its own, since under ZeRO-3 every model that the trainer's process loads is cut into shards.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def main(adapter: str, folder: Path, dtype: str) -> None:
    """Merge `adapter` into its base model and save that, with the tokenizer, in `folder`, whole or not at all.

    Args:
        adapter: The adapter's folder; its adapter_config.json names the base model.
        folder: Where to.
        dtype: In which the weights are merged and saved.
    """
    from peft import PeftConfig, PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    config = PeftConfig.from_pretrained(adapter)
    base = config.base_model_name_or_path
    model = AutoModelForCausalLM.from_pretrained(base, revision=config.revision, dtype=dtype)
    has_tokenizer = (Path(adapter) / "tokenizer_config.json").is_file()
    tokenizer = AutoTokenizer.from_pretrained(adapter if has_tokenizer else base)
    work = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(work, ignore_errors=True)  # what a kill left
    PeftModel.from_pretrained(model, adapter).merge_and_unload().save_pretrained(work)
    tokenizer.save_pretrained(work)
    work.rename(folder)


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
    except Exception as error:  # the caller's user needs the one line, whatever was wrong with the folder
        sys.exit(f"{sys.argv[1]}: this LoRA adapter cannot be merged: {' '.join(str(error).split())[:300]}")
