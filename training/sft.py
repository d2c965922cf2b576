"""Supervised fine-tuning on DAT responses: loss on the response only, through TRL's SFTTrainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from data.prompts import dat_messages, plain, prompt


def sft_rows(texts: Sequence[str], *, conversational: bool) -> list[dict[str, Any]]:
    """Prompt-completion rows: the DAT prompt and one response each.

    Args:
        texts: The responses to imitate.
        conversational: The tokenizer has a chat template; else the plain prompt comes before the response.
    """
    if conversational:
        return [{"prompt": dat_messages(), "completion": [{"role": "assistant", "content": t}]} for t in texts]
    return [{"prompt": plain(prompt("dat")), "completion": t} for t in texts]


def train_sft(model: Any, tokenizer: Any, texts: Sequence[str], **settings: Any) -> Any:
    """Fine-tune `model` on `texts` and return the trainer.

    Args:
        model: A causal language model.
        tokenizer: Its tokenizer.
        texts: The responses to imitate.
        settings: Fields of TRL's `SFTConfig`.
    """
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    rows = Dataset.from_list(sft_rows(texts, conversational=bool(tokenizer.chat_template)))
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(completion_only_loss=True, **settings),
        train_dataset=rows,
        processing_class=tokenizer,
    )
    trainer.train()
    return trainer
