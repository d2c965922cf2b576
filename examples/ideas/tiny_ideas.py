"""The model `tiny-ideas`: a Llama of the embedded tiny model's size that writes ideas of the slot grammar.

One token for each word, for each piece of JSON and for each prompt: an idea is ten tokens. Trained on random fillings,
so that at first every idea is as likely as any other; deterministic for a seed.
"""

import random
from pathlib import Path
from typing import Any

from ideas.grammar import AROUND, SLOTS, TECHNOLOGIES, idea
from sozo.tasks.pbig.settings import PbigSettings
from sozo.tasks.pbig.task import Pbig

_TEMPLATE = "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
_BATCH, _STEPS = 64, 300


def tokenizer(prompts: list[str]) -> Any:
    """Every prompt, piece of JSON and word is a token."""
    from tokenizers import AddedToken, Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    tokens = [*AROUND, *(word for words in SLOTS for word in words)]
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    built = Tokenizer(models.WordLevel({token: k for k, token in enumerate(special.values())}, unk_token="<unk>"))  # noqa: S106 - no password
    built.decoder = decoders.Fuse()
    built.add_tokens([AddedToken(token, normalized=False) for token in (*prompts, *tokens)])
    fast = PreTrainedTokenizerFast(tokenizer_object=built, padding_side="left", **special)
    fast.chat_template, fast.model_max_length = _TEMPLATE, 64
    return fast


def build(folder: Path, seed: int = 0) -> None:
    """Train the model on random fillings and save it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    draw = random.Random(seed)
    prompts = [item.prompt for item in Pbig(PbigSettings(pbig_patents=str(TECHNOLOGIES))).items()]
    fast = tokenizer(prompts)
    sizes = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4}
    tokens = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None, "vocab_size": len(fast)}
    model = LlamaForCausalLM(LlamaConfig(**sizes, **tokens, max_position_embeddings=64, tie_word_embeddings=True))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=_STEPS)
    for _ in range(_STEPS):
        texts = [draw.choice(prompts) + idea([draw.choice(words) for words in SLOTS]) for _ in range(_BATCH)]
        ids = torch.tensor([fast(text)["input_ids"] + [fast.eos_token_id] for text in texts])
        labels = ids.clone()
        labels[:, 0] = -100  # the prompt
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
