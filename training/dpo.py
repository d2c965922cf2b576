"""DPO on the best and the worst responses of a table (paper, section 5.1.2), through TRL's trainer.

The second stage is the same with another model and its fresh responses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trl import ModelConfig

from training.run import stored_dataset, train
from training.selection import dpo_rows, select_pairs
from training.table_config import DpoArguments, DpoSettings
from training.tracking import Examples, RunRecorder, say


def train_dpo(script: DpoArguments, training: DpoSettings, model: ModelConfig) -> Path:
    """Prefer the best `num_pairs` responses to the worst; return the folder of the trained model (see `run.train`).

    The seed of `training` also decides the pairing.

    Raises:
        UserError: Settings or a table that cannot work, an `output_dir` that holds another run.
    """
    pairs = select_pairs([Path(path) for path in script.responses or ()], script.num_pairs, seed=training.seed)
    if training.process_index == 0:
        say(f"DPO, chosen: {pairs.chosen.summary()}")
        say(f"DPO, rejected: {pairs.rejected.summary()}")

    def build(tokenizer: Any, common: dict[str, Any]) -> Any:
        from trl import DPOTrainer

        rows = dpo_rows(pairs, conversational=bool(tokenizer.chat_template))
        return DPOTrainer(train_dataset=stored_dataset(rows, training), **common)

    columns = [(side.texts, side.scores.tolist()) for side in (pairs.chosen, pairs.rejected)]
    shown = list(zip(*columns[0], *columns[1], strict=True))[: script.examples_logged]
    return train(
        script,
        training,
        model,
        build,
        facts={"selection": {"chosen": pairs.chosen.facts(), "rejected": pairs.rejected.facts()}},
        recorder=RunRecorder(),
        examples=Examples("data/pairs", ("chosen", "chosen score", "rejected", "rejected score"), shown),
    )
