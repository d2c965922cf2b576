"""Samplers, SFT, DPO, GRPO and vLLM on one GPU, each beside what is expected of it: a table that you can send us.

    make gpu-check
    python tests/gpu/check.py --part samplers
    python tests/gpu/check.py --part grpo --again

Needs no hub: models have the recipes' shapes (0.3B and 8B; on a CPU the tiny model's) and random weights. Every unit is
a process of its own with at most ten minutes. What is done is not repeated unless `--again` says so. In `--output_dir`
are gpu-check.md, gpu-check.json, and the log of each unit. Exit status 1 if anything failed or is not as expected.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from sozo.data.errors import one_line_errors
from sozo.data.record import (
    provenance,
    read_json,
    refuse_foreign,
    write_json,
    write_whole,
)
from sozo.data.run_folder import LOCK, lock

sys.path.insert(1, str(Path(__file__).parents[1]))  # as a script

from gpu.unit import PARTS, ROOM, Unit, markdown, unexpected, units, why_skipped

ROOT = Path(__file__).parents[2]
SECONDS = 600  # for a unit
_PATHS = [str(ROOT / folder) for folder in ("src", "recipes", "tests")]


def device() -> tuple[str, str]:
    """`cuda` or `cpu`, and what it is called."""
    import torch

    if torch.cuda.is_available():
        return "cuda", torch.cuda.get_device_name(0)
    return "cpu", f"CPU, {torch.get_num_threads()} threads, {platform.machine()}"


def run(unit: Unit, folder: Path) -> str | None:
    """Measure one unit in a process of its own; returns why it has no result."""
    log = folder / "logs" / f"{unit}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            filter(None, [*_PATHS, os.environ.get("PYTHONPATH", "")])
        ),
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "disabled",
        # One GPU: of several the first that this process sees.
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[
            0
        ],
    }
    command = [
        sys.executable,
        "-m",
        "gpu.unit",
        unit.part,
        unit.shape,
        unit.dtype,
        str(folder),
    ]
    shutil.rmtree(
        folder / "work" / str(unit), ignore_errors=True
    )  # a training run that was cut off would continue
    try:
        with log.open("wb") as output:
            done = subprocess.run(
                command,
                env=environment,
                stdout=output,
                stderr=output,
                timeout=SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS} s ({log})"
    if done.returncode:
        lines = log.read_text("utf-8", "replace").strip().splitlines() or [
            "it printed nothing"
        ]
        return f"{lines[-1][:200]} ({log})"
    return None


def report(
    folder: Path, name: str, every: list[Unit], others: dict[Unit, str]
) -> dict[Unit, Any]:
    """Write both files from all results that there are, and return these; `others` says why a unit has none."""
    results = {
        unit: read_json(unit.file(folder))
        for unit in every
        if unit.file(folder).is_file()
    }
    facts = provenance()
    names = [
        key
        for key in ("torch", "transformers", "trl", "vllm")
        if key in facts["packages"]
    ]
    packages = ", ".join(f"{key} {facts['packages'][key]}" for key in names)
    head = {
        "device": name,
        "sozo": str(facts["git_commit"]),
        "packages": packages,
        "Python": facts["python"],
    }
    write_whole(folder / "gpu-check.md", markdown(head, results, others).encode())
    named = {str(unit): result for unit, result in results.items()}
    write_json(
        folder / "gpu-check.json",
        {**head, "results": named, "others": {str(u): t for u, t in others.items()}},
    )
    return results


def main() -> int:
    """Measure what is not measured yet, and write the table after each unit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=["all", *PARTS], default="all")
    parser.add_argument(
        "--again", action="store_true", help="measure again what is done"
    )
    parser.add_argument("--output_dir", type=Path, default=Path("runs/gpu-check"))
    args = parser.parse_args()
    folder = args.output_dir.resolve()
    kind, name = device()
    shapes = ["tiny"] if kind == "cpu" else ["0.3b", "8b"]
    every = list(units(list(PARTS), shapes))
    chosen = every if args.part == "all" else list(units([args.part], shapes))
    lock(folder)
    refuse_foreign(folder, "gpu-check.json", {LOCK})
    print(f"{name}: {len(chosen)} units in {folder}", flush=True)
    others: dict[Unit, str] = {}
    report(folder, name, every, others)
    for number, unit in enumerate(chosen, 1):
        if args.again:
            unit.file(folder).unlink(missing_ok=True)
        if reason := why_skipped(unit, kind):
            others[unit], outcome = reason, f"skipped: {reason}"
        elif unit.file(folder).is_file():
            outcome = "done before"
        elif failure := run(unit, folder):
            others[unit], outcome = failure, f"FAILED: {failure}"
        else:
            outcome = ROOM if "no_room" in read_json(unit.file(folder)) else "done"
        results = report(folder, name, every, others)
        print(f"[{number}/{len(chosen)}] {unit}: {outcome}", flush=True)
    if all(unit in results or why_skipped(unit, kind) for unit in every):
        shutil.rmtree(folder / "models", ignore_errors=True)
        shutil.rmtree(folder / "work", ignore_errors=True)
    print(f"\n{(folder / 'gpu-check.md').read_text('utf-8')}")
    print(f"To send us: {folder / 'gpu-check.md'} and gpu-check.json beside it")
    wrong = unexpected(results)
    print(*(f"NOT AS EXPECTED: {row}" for row in wrong), sep="\n")
    return 1 if wrong or any(not why_skipped(unit, kind) for unit in others) else 0


if __name__ == "__main__":
    with one_line_errors("gpu check"):
        sys.exit(main())
