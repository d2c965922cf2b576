"""SFT on the best responses of a table (paper, section 5.1.1): loss on the response only, through TRL's trainer."""

from pathlib import Path
from typing import Any

from tqdm import tqdm
from trl import ModelConfig

from training.run import stored_dataset, train
from training.selection import select_top, sft_rows
from training.table_config import SftArguments, SftSettings


def train_sft(script: SftArguments, training: SftSettings, model: ModelConfig) -> Path:
    """Imitate the `top_k` best responses of a table; return the folder of the trained model (see `run.train`)."""
    top = select_top(script.responses or (), script.top_k)
    if training.process_index == 0:
        tqdm.write(f"SFT on {top.summary()}")

    def build(tokenizer: Any, common: dict[str, Any]) -> Any:
        from trl import SFTTrainer

        rows = sft_rows(top, conversational=bool(tokenizer.chat_template))
        return SFTTrainer(train_dataset=stored_dataset(rows, training), **common)

    shown = list(zip(top.texts, top.scores.tolist(), strict=True))[: script.examples_logged]
    examples = ("data/responses", ("text", "score"), shown)
    return train(script, training, model, build, facts={"selection": top.facts()}, examples=examples)
