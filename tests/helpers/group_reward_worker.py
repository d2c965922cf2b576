"""One of two processes that are paid by `group_task`: python group_reward_worker.py RANK FOLDER.

`plan.json` in FOLDER holds `steps`, each a list with both ranks' [prompt, completion] pairs; what this rank was paid
goes into `RANK.json`.
"""

import json
import sys
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

from group_task import Spread
from sozo.rewards.task import TaskReward


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
    reward, paid = TaskReward(Spread(), penalise_duplicates=True), []
    for step in plan["steps"]:
        paid.append(
            reward([pair[0] for pair in step[rank]], [pair[1] for pair in step[rank]])
        )
    (folder / f"{rank}.json").write_text(json.dumps(paid))
    dist.destroy_process_group()


main()
