"""Share of a GRPO step that the DAT reward takes, from the record of a run.

    python benchmarks/reward_share.py runs/quickstart/grpo

The first logging step is left out: it builds the scorer's caches.
"""

import json
import statistics
import sys
from pathlib import Path


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    history = json.loads((Path(sys.argv[1]) / "trainer_state.json").read_text("utf-8"))[
        "log_history"
    ]
    steps = [
        (entry["dat/seconds"], entry["step_time"])
        for entry in history
        if "dat/seconds" in entry
    ][1:]
    shares = [reward / step for reward, step in steps]
    print(
        f"{len(steps)} logging steps: reward {1000 * statistics.median(r for r, _ in steps):.1f} ms "
        f"of {1000 * statistics.median(s for _, s in steps):.0f} ms a step (medians), "
        f"share {statistics.median(shares):.2%} (median), {max(shares):.2%} (largest)"
    )


if __name__ == "__main__":
    main()
