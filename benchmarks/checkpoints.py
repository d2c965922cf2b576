"""What the digests of checkpoints cost a training: GRPO of the tiny model, with a checkpoint every few steps.

    python benchmarks/checkpoints.py [--save_steps 5] [--max_steps 40]

Each digest's processor time is taken in its own thread. It is compared with the processor time of the whole process
from one checkpoint to the next, and with the time on the clock. The last line says what a gigabyte costs, read from
memory.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

from sozo.data import checkpoints

RECIPE = Path(__file__).parents[1] / "recipes" / "tiny" / "grpo.yaml"
SIZE = 2**28  # bytes of the file that a gigabyte's cost is taken from


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save_steps", type=int, default=5)
    parser.add_argument("--max_steps", type=int, default=40)
    arguments = parser.parse_args()
    taken: list[float] = []  # seconds of a digest's thread
    ends: list[tuple[float, float]] = []  # processor time and clock when it ended
    write = checkpoints._write_digests

    def timed(checkpoint: Path, names: Sequence[str], stop: Event) -> None:
        start = time.thread_time()
        write(checkpoint, names, stop)
        taken.append(time.thread_time() - start)
        ends.append((time.process_time(), time.perf_counter()))

    checkpoints._write_digests = timed
    with tempfile.TemporaryDirectory() as folder:
        train(f"{folder}/out", vars(arguments))
        file = Path(folder) / "file"
        file.write_bytes(bytes(SIZE))
        start = time.process_time()
        checkpoints._digest(file)
        gigabyte = (time.process_time() - start) * 1e9 / SIZE
    between = [
        [later[k] - earlier[k] for earlier, later in pairwise(ends)] for k in (0, 1)
    ]
    processor, clock = (
        statistics.median(taken) / statistics.median(seconds) for seconds in between
    )
    print(
        f"{len(taken)} checkpoints, every {arguments.save_steps} steps: digests of {statistics.median(taken):.4f} s"
    )
    print(
        f"share of the processor time between checkpoints: {processor:.2%}; of the time on the clock: {clock:.2%}"
    )
    print(f"a gigabyte: {gigabyte:.2f} s of one core")


def train(output: str, settings: dict[str, Any]) -> None:
    """GRPO by the recipe, in this process."""
    from sozo.training.command import launch

    flags = {
        "output_dir": output,
        "report_to": "none",
        "save_total_limit": 2,
    } | settings
    words = [
        word for name, value in flags.items() for word in (f"--{name}", str(value))
    ]
    launch("grpo", ["--config", str(RECIPE), *words])


if __name__ == "__main__":
    main()
