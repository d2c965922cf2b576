"""One of the two processes of `test_two_processes`: python reward_worker.py RANK FOLDER.

`plan.json` in FOLDER holds `steps`, each a list with both ranks' texts, and `fail`, the rank whose scorer breaks at the
last step. What this rank was paid, what it logged and its error go into `RANK.json`, its history into `RANK.seen`.
"""

import json
import sys
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

from fakes import AXES, FakeNouns, axis_encoder
from sozo.rewards.dat import DatReward
from sozo.tasks.dat.scorer import DatScorer


def broken(words):
    raise OSError("the dictionary is gone")


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
    reward = DatReward(lambda: DatScorer(FakeNouns(AXES), axis_encoder()))
    result = {"rewards": [], "metrics": [], "last": [], "error": None, "duplicates": []}
    for number, step in enumerate(plan["steps"]):
        if number == len(plan["steps"]) - 1 and plan["fail"] == rank:
            reward.scorer.checker.check = broken
        metrics, extra = {}, {}
        try:
            paid = reward(
                completions=step[rank],
                log_metric=metrics.__setitem__,
                log_extra=extra.__setitem__,
            )
        except Exception as error:
            result["error"] = f"{type(error).__name__}: {error}"
            break
        metrics.pop("dat/seconds", None)
        result["rewards"].append(paid)
        result["metrics"].append(metrics)
        result["duplicates"].append(extra["duplicate"])
        result["last"].append([item.text for item in reward.last])
    result["seen"] = reward.seen.state()
    (folder / f"{rank}.json").write_text(json.dumps(result))
    dist.destroy_process_group()


main()
