"""Two steps of SFT, DPO or GRPO, as the recipes take them: what they logged, and the memory beside that of the states."""

import json
import logging
import re
import resource
from pathlib import Path
from typing import Any

import yaml

from gpu.shapes import Shape, write_table
from sozo.data.record import write_json
from sozo.training.estimates import GIB, states
from sozo.training.methods import recipe

_STEPS = 2  # the second shows what the first has changed


def check_step(
    method: str, shape: Shape, model: Path, dtype: str, device: str, work: Path
) -> dict[str, Any]:
    """Losses and gradient norms of the steps, peak memory and that of the states in GiB, and whether prompts were shared."""
    import torch

    from sozo.training.config import parse

    train, own, settings = recipe(method)
    config = work / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    values = settings_of_step(method, shape, model, dtype, device, work)
    config.write_text(yaml.safe_dump(values), "utf-8")
    parsed: Any = parse(own, settings, ["--config", str(config)])
    if method == "grpo":
        _same_completions(work.parent / f"grpo-{shape.name}.json")
    heard = _Heard()
    logging.getLogger("sozo.training.shared_prompt").addHandler(heard)
    before = _peak(device)
    train(*parsed)
    peak = _peak(device) - before
    history = json.loads((work / "run" / "trainer_state.json").read_text("utf-8"))[
        "log_history"
    ]
    steps = [
        {key: entry[key] for key in ("loss", "grad_norm")}
        for entry in history
        if "loss" in entry
    ]
    estimate = _estimate(method, shape, dtype)
    found = {
        "steps": steps,
        "peak": peak,
        "estimate": estimate,
        "not_shared": heard.said,
    }
    return found | (
        {"reserved": torch.cuda.max_memory_reserved() / GIB} if device != "cpu" else {}
    )


def settings_of_step(
    method: str, shape: Shape, model: Path, dtype: str, device: str, work: Path
) -> dict[str, Any]:
    """What the recipe is told."""
    half, rows = dtype == "bfloat16", shape.rows
    values: dict[str, Any] = {
        "model_name_or_path": str(model),
        "dtype": dtype,
        "bf16": half,
        "use_cpu": device == "cpu",
    }
    values |= {
        "output_dir": str(work / "run"),
        "max_steps": _STEPS,
        "logging_steps": 1,
        "save_strategy": "no",
    }
    values |= {
        "report_to": "none",
        "seed": 0,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
    }
    values |= {"attn_implementation": "sdpa", "per_device_train_batch_size": rows}
    values |= {"activation_checkpointing": shape.checkpointing}
    if shape.adapter:
        values |= {
            "use_peft": True,
            "lora_target_modules": "all-linear",
            "lora_r": 16,
            "lora_dropout": 0.0,
        }
    if method == "grpo":
        paid = {
            "task": "dat",
            "num_prompts": _STEPS,
            "reward_funcs": ["gpu.shapes.even_words"],
        }
        values |= {
            "tasks": [paid],
            "completions_per_step": rows,
            "num_generations": rows,
            "beta": 0.04,
        }
        values |= {
            "max_completion_length": shape.answer,
            "temperature": 1.0,
            "top_k": 0,
            "top_p": 1.0,
        }
        return values | {"loss_type": "bnpo"}
    write_table(shape, work / "table")
    values |= {
        "answers": [str(work / "table")],
        "examples_per_step": rows,
        "max_length": 1024,
    }
    count = {
        "sft": {"top_k": _STEPS * rows},
        "dpo": {"num_pairs": _STEPS * rows, "precompute_ref_log_probs": True},
    }
    return values | count[method]


def _estimate(method: str, shape: Shape, dtype: str) -> dict[str, float]:
    return states(
        shape.architecture,
        bf16=dtype == "bfloat16",
        lora_rank=16 if shape.adapter else None,
        reference=method == "grpo",
    ).memory


def _same_completions(file: Path) -> None:
    """Let GRPO's generation write what it drew to `file`, or take it from there: steps in two precisions are then one.

    Nobody can ask the recipe for that, and rounding alone would draw others.
    """
    import sozo.models.transformers_model as module

    drawn = json.loads(file.read_text("utf-8")) if file.is_file() else {}

    class Same(module.SharedPrefixRollout):
        def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
            step = str(trainer.state.global_step)
            if step not in drawn:
                drawn[step] = super().__call__(prompts, trainer)
                write_json(file, drawn)
            return dict(drawn[step])

    module.SharedPrefixRollout = Same  # type: ignore[misc]


def _peak(device: str) -> float:
    """GiB at the peak so far: of the device's memory, or of this process."""
    import torch

    if device != "cpu":
        return torch.cuda.max_memory_allocated() / GIB
    status = Path("/proc/self/status")
    if (
        status.is_file()
    ):  # what getrusage says on Linux may be the peak of whoever started this process
        return (
            int(re.findall(r"VmHWM:\s*(\d+) kB", status.read_text("utf-8"))[0])
            * 1024
            / GIB
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIB  # macOS: bytes


class _Heard(logging.Handler):
    """The last thing that was logged."""

    said: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.said = record.getMessage()
