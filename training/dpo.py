"""DPO on the best and the worst responses of a table (paper, section 5.1.2), through TRL's trainer.

The second stage is the same with another model and its fresh responses.
"""

from pathlib import Path
from typing import Any

from tqdm import tqdm
from trl import ModelConfig

from training.run import stored_dataset, train
from training.selection import dpo_rows, select_pairs
from training.table_config import DpoArguments, DpoSettings


def train_dpo(script: DpoArguments, training: DpoSettings, model: ModelConfig) -> Path:
    """Prefer the best `num_pairs` responses to the worst; return the folder of the trained model (see `run.train`).

    The seed of `training` also decides the pairing.
    """
    pairs = select_pairs(script.responses or (), script.num_pairs, seed=training.seed)
    good, bad = pairs.chosen, pairs.rejected
    if training.process_index == 0:
        tqdm.write(f"DPO, chosen: {good.summary()}\nDPO, rejected: {bad.summary()}")

    def build(tokenizer: Any, common: dict[str, Any]) -> Any:
        from trl import DPOTrainer

        rows = dpo_rows(pairs, conversational=bool(tokenizer.chat_template))
        return DPOTrainer(train_dataset=stored_dataset(rows, training), **common)

    shown = list(zip(good.texts, good.scores.tolist(), bad.texts, bad.scores.tolist(), strict=True))
    columns = ("chosen", "chosen score", "rejected", "rejected score")
    examples = ("data/pairs", columns, shown[: script.examples_logged])
    facts = {"selection": {"chosen": good.facts(), "rejected": bad.facts()}}
    return train(script, training, model, build, facts=facts, examples=examples)
