"""vLLM on one GPU: does it start, does it sample the model's distribution, do new weights reach it?"""

import json
import math
from pathlib import Path
from typing import Any

import yaml

from gpu.samplers import Roofline, best_sampling, calibration, seconds
from gpu.shapes import Shape
from gpu.step import settings_of_step
from sozo.data.prompts import prompt
from sozo.models.model_support import encode_text
from sozo.training.estimates import GIB
from sozo.training.methods import recipe


def check_start(
    shape: Shape, folder: Path, dtype: str, roofline: Roofline
) -> dict[str, Any]:
    """The engine as `--backend vllm` has it: seconds to start, tokens a second, distance from the distribution."""
    from sozo.models.settings import GeneratorSettings, resolve
    from sozo.models.weights import load_model

    rows, answer = 4 * shape.rows, 2 * shape.answer
    settings = GeneratorSettings(
        str(folder), "vllm", dtype=dtype, max_new_tokens=answer
    )
    started, generator = seconds(lambda: resolve(settings).load(), "cuda")
    generator.answer([prompt("dat")] * 2, 0, 0)
    took, answers = seconds(
        lambda: generator.answer([prompt("dat")] * rows, 1, 0), "cuda"
    )
    # The engine keeps nine tenths of the memory; a model of 0.3B has room beside it.
    model, tokenizer = load_model(str(folder), dtype=dtype)
    tokens = [tokenizer(answer.text)["input_ids"] for answer in answers]
    ids = encode_text(tokenizer, prompt("dat"))
    best = best_sampling(
        shape.architecture,
        roofline,
        rows=rows,
        prompt=len(ids),
        answer=answer,
        element=2,
    )
    speed = sum(map(len, tokens)) / took
    written = [row for row in tokens if row]
    deviation = calibration(model.to("cuda").eval(), [ids] * len(written), written)
    return {
        "start": started,
        "best": best,
        "samplers": {"vllm": {"speed": speed, "deviation": deviation}},
    }


def check_sync(shape: Shape, folder: Path, dtype: str, work: Path) -> dict[str, Any]:
    """Two steps of GRPO with the engine beside the trainer: log-probabilities of both, before and after new weights.

    With a learning rate that moves every weight, an engine that kept the old ones is far off at the second step.
    """
    import torch

    from sozo.training.config import parse

    train, own, settings = recipe("grpo")
    values = settings_of_step("grpo", shape, folder, dtype, "cuda", work)
    values |= {
        "sampler": "vllm",
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": 0.3,
    }
    config = work / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(yaml.safe_dump(values), "utf-8")
    train(*parse(own, settings, ["--config", str(config)]))
    history = json.loads((work / "run" / "trainer_state.json").read_text("utf-8"))[
        "log_history"
    ]
    key = "sampling/sampling_logp_difference/mean"
    differences = [
        entry[key] for entry in history if math.isfinite(entry.get(key, math.nan))
    ]
    return {"differences": differences, "peak": torch.cuda.max_memory_allocated() / GIB}
