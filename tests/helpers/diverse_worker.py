"""One of two processes that are paid for being unlike each other: python diverse_worker.py RANK FOLDER.

`plan.json` in FOLDER holds `steps`, each a list with both ranks' [prompt, completion] pairs. What this rank was paid
goes into `RANK.json`, by each quality: a function of one's own, and a task whose answers are judged together.
"""

import json
import sys
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

from group_task import Spread
from sozo.rewards import make_diverse_reward
from sozo.rewards.task import TaskReward


def score():
    """What makes a reward may be called like a trainer's own key."""
    return make_diverse_reward(length)


def length(completions, **columns):
    if any(text == "broken" for text in completions):
        raise OSError("the disk is gone")
    return [float(len(text)) for text in completions]


def main():
    rank, folder = int(sys.argv[1]), Path(sys.argv[2])
    plan = json.loads((folder / "plan.json").read_text())
    # A hang must end as a failure of the test, not as one of the machine.
    timeout = timedelta(seconds=60)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=2,
        timeout=timeout,
    )
    rewards = [
        make_diverse_reward(length),
        make_diverse_reward(TaskReward(Spread()), alike="ngram", how="divide"),
    ]
    paid = []
    for step in plan["steps"]:
        prompts, texts = ([pair[place] for pair in step[rank]] for place in (0, 1))
        try:
            paid.append([reward(prompts, texts) for reward in rewards])
        except Exception as error:
            paid.append(f"{type(error).__name__}: {error}")
    (folder / f"{rank}.json").write_text(json.dumps(paid))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
