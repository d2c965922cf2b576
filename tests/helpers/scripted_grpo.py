"""A GRPO trainer whose model writes what a test tells it, so that advantages and losses can be worked out by hand."""

import os
from types import SimpleNamespace

import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM

from fakes import AXES
from sozo.data.prompts import messages, prompt
from sozo.models.tiny import build_tokenizer
from sozo.tasks.task import Item
from sozo.training.grpo import GrpoSettings
from sozo.training.mix import reward_functions


def tiny_llama(vocabulary, **changes):
    """A Llama of one layer with seeded weights."""
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    tokens = {
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": None,
        "max_position_embeddings": 64,
    }
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            **sizes | tokens | {"initializer_range": 0.3} | changes,
        )
    )


def scripted(folder, texts, rewards, kind, words=AXES, **settings):
    """A trainer of class `kind` that is given `texts` (lists of `words`) in every step, one group of them.

    Of several `prompts` each has a group of its own: give `num_generations`.
    """
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    tokenizer = build_tokenizer(list(words))
    written = [
        [
            *tokenizer(text, add_special_tokens=False)["input_ids"],
            tokenizer.eos_token_id,
        ]
        for text in texts
    ]

    def rollout(prompts, trainer):
        asked = [
            tokenizer.apply_chat_template(p, return_dict=True)["input_ids"]
            for p in prompts
        ]
        return {"prompt_ids": asked, "completion_ids": written, "logprobs": None}

    prompts = settings.pop("prompts", [prompt("dat")])
    fixed = {
        "output_dir": str(folder),
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
    }
    fixed |= {
        "num_generations": len(texts),
        "per_device_train_batch_size": len(texts),
        "max_completion_length": 32,
    }
    fixed |= {
        "beta": 0.0,
        "loss_type": "bnpo",
        "max_steps": 1,
        "disable_tqdm": True,
        "learning_rate": 1e-2,
    }
    fixed |= {"gradient_checkpointing": False, "logging_steps": 1}
    entry = SimpleNamespace(items=[Item("", text) for text in prompts], rewards=rewards)
    rows = [
        {"prompt": messages(text), "asked": number}
        for number, text in enumerate(prompts)
    ]
    return kind(
        model=tiny_llama(len(tokenizer)),
        args=GrpoSettings(**fixed | settings),
        reward_funcs=reward_functions([entry]),
        train_dataset=Dataset.from_list(rows * 8),
        processing_class=tokenizer,
        rollout_func=rollout,
    )


def generated(trainer):
    """One generation of the trainer: what its loss is given."""
    rows = [trainer.train_dataset[0]] * trainer.args.num_generations
    return trainer._generate_and_score_completions(rows)
