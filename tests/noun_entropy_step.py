"""Two steps paid by `noun_entropy`; all processes together write the same eight lists, whatever their number.

As a script, one of several processes: `python noun_entropy_step.py FOLDER` saves the weights in FOLDER/RANK.
"""

import os
import sys
from pathlib import Path

import torch
from datasets import Dataset

from fakes import list_text
from scripted_grpo import tiny_llama
from sozo.rewards.reward import Part, Reward
from sozo.tasks.task import Item
from sozo.training.grpo import GrpoSettings
from sozo.training.mix import EntryReward
from sozo.training.word_trainer import WordTrainer
from sozo.training.words import WordArguments
from subwords import NOUNS, tokenizer

PROMPT = "1. 2. 3. "
# 桜 is no listed noun. The lists have 3, 3, 2, 3, 3, 3, 0 and 3 words, of which one is not listed.
LISTS = [["犬", "犬小屋", "猫"], ["犬小", "猫", "山"], ["桜", "犬"], ["山猫", "犬", "猫"]]
LISTS += [["猫", "山", "犬小屋"], ["山", "山猫", "犬小"], [], ["犬小屋", "犬", "山猫"]]
TEXTS = [list_text(words) for words in LISTS]


class Words(Reward):
    """Pays nothing; says where the words stand."""

    in_parts = True

    def alone(self, items, answers):
        scored = []
        for item, answer in zip(items, answers, strict=True):
            parts, at = [], 0
            for line in answer.text.splitlines():
                parts.append(Part(at + line.index(" ") + 1, at + len(line), 0.0))
                at += len(line) + 1
            result = self.scored(item, answer.text, 0.5, None)
            scored.append(type(result)(answer.text, 0.5, None, 0.0, parts=tuple(parts)))
        return scored


def zero(completions, **kwargs):
    """Beside what is paid by the word."""
    return [0.0 for _ in completions]


def trainer_of(folder, processes=1, rank=0, **settings):
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    (folder / "nouns.txt").write_text("\n".join(NOUNS), "utf-8")
    tokens, share = tokenizer(), len(TEXTS) // processes
    mine = TEXTS[rank * share : (rank + 1) * share]
    written = [[*tokens(text, add_special_tokens=False)["input_ids"], tokens.eos_token_id] for text in mine]

    def rollout(prompts, trainer):
        asked = tokens(PROMPT, add_special_tokens=False)["input_ids"]
        return {"prompt_ids": [asked] * len(prompts), "completion_ids": written, "logprobs": None}

    fixed = {"output_dir": str(folder / "out"), "report_to": "none", "use_cpu": True, "bf16": False, "optim": "sgd"}
    fixed |= {"num_generations": 8, "per_device_train_batch_size": 2, "completions_per_step": 8, "beta": 0.0}
    fixed |= {"loss_type": "dapo", "max_steps": 2, "disable_tqdm": True, "learning_rate": 1.0, "max_grad_norm": 0.0}
    fixed |= {"save_strategy": "no", "max_completion_length": 40, "gradient_checkpointing": False, "logging_steps": 1}
    fixed |= {"lr_scheduler_type": "constant"}
    told = {"noun_entropy": settings.pop("noun_entropy", 0.5), "entropy_nouns": str(folder / "nouns.txt")}
    items = [Item("", PROMPT)]
    return WordTrainer(
        model=tiny_llama(len(tokens)),
        args=GrpoSettings(**fixed | settings),
        reward_funcs=[EntryReward(Words("w", "w"), "w", items, 0, ""), EntryReward(zero, "zero", items, 0, "")],
        train_dataset=Dataset.from_list([{"prompt": PROMPT, "asked": 0}] * 8),
        processing_class=tokens,
        rollout_func=rollout,
        words=WordArguments(**told),
    )


if __name__ == "__main__":
    folder, rank = Path(sys.argv[1]) / os.environ["RANK"], int(os.environ["RANK"])
    folder.mkdir()
    trainer = trainer_of(folder, int(os.environ["WORLD_SIZE"]), rank)
    trainer.train()
    torch.save(list(trainer.accelerator.unwrap_model(trainer.model).parameters()), folder / "weights.pt")
    torch.distributed.destroy_process_group()
