"""One of the two processes of `test_judge_reward`: python judge_reward_worker.py RANK FOLDER.

`plan.json` in FOLDER holds `steps`, each a list with both ranks' [prompt, completion] pairs, and the judge's `url`.
What this rank was paid, what it logged and its error go into `RANK.json`.
"""

import json
import sys
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

from sozo.rewards import make_judge_reward


def main():
    rank, folder = int(sys.argv[1]), Path(sys.argv[2])
    plan = json.loads((folder / "plan.json").read_text())
    store = folder / f"store-{len(plan)}"
    # A hang must end as a failure of the test, not as one of the machine.
    timeout = timedelta(seconds=60)
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=timeout
    )
    judge_price_in, judge_price_out = plan.get("prices", (None, None))
    reward = make_judge_reward(
        ledger=folder / "j.jsonl",
        judge_model="fake judge",
        judge_base_url=plan["url"],
        judge_max_tokens=50,
        judge_price_in=judge_price_in,
        judge_price_out=judge_price_out,
        max_cost=plan.get("max_cost"),
    )
    result = {"rewards": [], "metrics": [], "statuses": [], "error": None}
    for step in plan["steps"]:
        prompts, completions = (
            [pair[0] for pair in step[rank]],
            [pair[1] for pair in step[rank]],
        )
        metrics, extra = {}, {}
        try:
            paid = reward(
                prompts=prompts,
                completions=completions,
                log_metric=metrics.__setitem__,
                log_extra=extra.__setitem__,
            )
        except Exception as error:
            result["error"] = f"{type(error).__name__}: {error}"
            break
        metrics.pop("judge/seconds")
        result["rewards"].append(paid)
        result["metrics"].append(metrics)
        result["statuses"].append(extra["judge_status"])
    (folder / f"{rank}.json").write_text(json.dumps(result))
    dist.destroy_process_group()


main()
