"""Steps of GRPO on two prompts whose answers have 2 and 20 tokens, by TRL's trainer and by ours.

As a script, one of several processes: `python mix_steps.py FOLDER SETTINGS` writes what `differences` returns into
`RANK.json` in FOLDER. `SETTINGS` are JSON.
"""

import json
import os
import random
import sys
from pathlib import Path

import torch
from datasets import Dataset
from transformers import MixtralConfig, MixtralForCausalLM
from trl import GRPOTrainer

from scripted_grpo import tiny_llama
from sozo.data.processes import world_size
from sozo.models.tiny import build_tokenizer
from sozo.training.grpo import GrpoSettings
from sozo.training.grpo_trainer import MixTrainer
from sozo.training.shared_prompt import share_prompt

PROMPTS = {"1. 犬 2. 猫 3. 犬": 2, "1. 猫 2. 水": 20}  # an answer's tokens
WORDS = ["犬", "猫", "水", "山", "海", "空", "石", "木"]


def mixtral(vocabulary):
    """A mixture of experts whose loss has a term for the router's balance."""
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    sizes |= {
        "num_key_value_heads": 2,
        "num_local_experts": 4,
        "num_experts_per_tok": 1,
        "router_aux_loss_coef": 5.0,
    }
    tokens = {
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": None,
        "max_position_embeddings": 64,
    }
    return MixtralForCausalLM(
        MixtralConfig(vocab_size=vocabulary, **sizes | tokens, initializer_range=0.3)
    )


def trained(kind, folder, model=tiny_llama, **settings):
    """All weights of a model after three SGD steps of 32 completions, which a process draws anew in the same way.

    And what was logged at each step, but for its time.
    """
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    process = int(os.environ.get("RANK", "0"))
    tokenizer, draw = build_tokenizer(WORDS), random.Random(process)
    lengths = {
        tuple(tokenizer(text, add_special_tokens=False)["input_ids"]): n
        for text, n in PROMPTS.items()
    }

    def rollout(prompts, trainer):
        asked = [
            tokenizer(prompt, add_special_tokens=False)["input_ids"]
            for prompt in prompts
        ]
        written = [
            [
                *(
                    draw.randrange(2, len(tokenizer))
                    for _ in range(lengths[tuple(ids)] - 1)
                ),
                1,
            ]
            for ids in asked
        ]
        return {"prompt_ids": asked, "completion_ids": written, "logprobs": None}

    fixed = {
        "output_dir": str(folder),
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
    }
    fixed |= {
        "completions_per_step": 32,
        "num_generations": 16,
        "max_completion_length": 20,
        "beta": 0.0,
    }
    fixed |= {"model_init_kwargs": {"dtype": "float32"}}
    fixed |= {
        "max_steps": 3,
        "optim": "sgd",
        "learning_rate": 0.1,
        "lr_scheduler_type": "constant",
    }
    fixed |= {
        "max_grad_norm": 0.0,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "logging_steps": 1,
    }
    told = fixed | settings
    at_once = told.get("per_device_train_batch_size", 8) * world_size()
    told.setdefault(
        "gradient_accumulation_steps", (told["completions_per_step"] or 0) // at_once
    )
    start = folder / f"model-{process}"
    if (
        not start.is_dir()
    ):  # later, with processes that know of each other, only the first would write
        model(len(tokenizer)).save_pretrained(start)
    trainer = kind(
        model=str(start),
        args=GrpoSettings(**told),
        reward_funcs=lambda completion_ids, **_: [
            float(sum(ids) % 7) for ids in completion_ids
        ],
        train_dataset=Dataset.from_list([{"prompt": text} for text in PROMPTS] * 4),
        processing_class=tokenizer,
        rollout_func=rollout,
    )
    if kind is MixTrainer:
        assert share_prompt(trainer.accelerator.unwrap_model(trainer.model))
    trainer.train()
    weights = trainer.accelerator.unwrap_model(trainer.model).parameters()
    logged = [
        {k: v for k, v in entry.items() if k != "step_time"}
        for entry in trainer.state.log_history[:-1]
    ]
    return torch.cat([weight.detach().flatten() for weight in weights]), logged


def differences(folder, model=tiny_llama, **settings):
    """Largest difference between the weights that the two trainers leave, and the largest step of TRL's; both logs."""
    (theirs, log), (ours, own_log) = (
        trained(kind, folder, model, **settings) for kind in (GRPOTrainer, MixTrainer)
    )
    start = torch.cat(
        [
            weight.detach().flatten()
            for weight in model(len(build_tokenizer(WORDS))).parameters()
        ]
    )
    return (
        float((ours - theirs).abs().max()),
        float((theirs - start).abs().max()),
        own_log,
        log,
    )


if __name__ == "__main__":
    result = differences(Path(sys.argv[1]), **json.loads(sys.argv[2]))
    Path(sys.argv[1], f"{torch.distributed.get_rank()}.json").write_text(
        json.dumps(result)
    )
    torch.distributed.destroy_process_group()
