"""SFT on the best responses of a table (paper, section 5.1.1): loss on the response only, through TRL's trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trl import ModelConfig

from training.run import stored_dataset, train
from training.selection import select_top, sft_rows
from training.table_config import SftArguments, SftSettings
from training.tracking import Examples, RunRecorder, say


def train_sft(script: SftArguments, training: SftSettings, model: ModelConfig) -> Path:
    """Imitate the `top_k` best responses of a table; return the folder of the trained model (see `run.train`).

    Raises:
        UserError: Settings or a table that cannot work, an `output_dir` that holds another run.
    """
    top = select_top([Path(path) for path in script.responses or ()], script.top_k)
    if training.process_index == 0:
        say(f"SFT on {top.summary()}")

    def build(tokenizer: Any, common: dict[str, Any]) -> Any:
        from trl import SFTTrainer

        rows = sft_rows(top, conversational=bool(tokenizer.chat_template))
        return SFTTrainer(train_dataset=stored_dataset(rows, training), **common)

    shown = list(zip(top.texts, top.scores.tolist(), strict=True))[: script.examples_logged]
    return train(
        script,
        training,
        model,
        build,
        facts={"selection": top.facts()},
        recorder=RunRecorder(),
        examples=Examples("data/responses", ("text", "score"), shown),
    )
