"""Run a training recipe as a user does, in a subprocess, and read what it left."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import struct
import sys
from pathlib import Path
from unittest.mock import patch

import torch
from accelerate.state import AcceleratorState
from safetensors.torch import load_file
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformers import AutoModelForCausalLM, AutoTokenizer
from wandb.proto import wandb_internal_pb2

import warm
from sozo.data.prompts import messages, prompt

HELPERS = Path(__file__).parent
ROOT = HELPERS.parents[1]
RECIPE = ROOT / "recipes" / "grpo_dat.py"
# What differs between two runs of the same settings.
_TIMES = {
    "step_time",
    "dat/seconds",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
}


@contextlib.contextmanager
def eight_processes():
    """The first process of eight, as far as TRL can see: a process group that talks to nobody."""
    variables = {
        "WORLD_SIZE": "8",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "1",
    }
    with patch.dict(os.environ, variables):
        torch.distributed.init_process_group(
            "fake", store=FakeStore(), rank=0, world_size=8
        )
        try:
            yield
        finally:
            torch.distributed.destroy_process_group()
            AcceleratorState._reset_state(reset_partial_state=True)


def environment(**variables):
    """One thread per process, no hub, and the tests' own reward modules within reach."""
    paths = os.pathsep.join([str(HELPERS), str(ROOT / "src")])
    fixed = {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
    }
    return os.environ | fixed | {"PYTHONPATH": paths} | variables


def flags(settings):
    """`--key value` for each setting; lists become several values and mappings JSON."""
    words = []
    for key, value in settings.items():
        values = value if isinstance(value, list) else [value]
        words += [
            f"--{key}",
            *(json.dumps(v) if isinstance(v, dict) else str(v) for v in values),
        ]
    return words


def recipe(*words, method="grpo", launch=None, **settings):
    """The command of a run on eight items a step; `launch` is an accelerate YAML's name, or accelerate's flags."""
    short = {
        "per_device_train_batch_size": 8,
        "logging_steps": 1,
        "learning_rate": 5e-4,
        "warmup_steps": 0,
    }
    if method == "grpo":
        short |= {
            "completions_per_step": 8,
            "num_generations": 8,
            "num_prompts": 64,
            "max_completion_length": 24,
        }
    else:
        short |= {"examples_per_step": 8}
    start = [sys.executable]
    if launch:
        chosen = (
            ["--config_file", str(ROOT / "recipes/accelerate" / launch)]
            if isinstance(launch, str)
            else launch
        )
        start += [
            "-m",
            "accelerate.commands.launch",
            *chosen,
            "--main_process_port",
            str(_free_port()),
        ]
    script, tiny = (
        ROOT / "recipes" / f"{method}_dat.py",
        ROOT / "recipes" / "tiny" / f"{method}.yaml",
    )
    return [
        *start,
        str(script),
        "--config",
        str(tiny),
        *flags(short | settings),
        *words,
    ]


def run(command, cwd, **variables):
    """Run a command to its end, as a fork where one process of Python is enough."""
    return warm.run(command, cwd=cwd, env=environment(**variables))


def kill_at_random(command, output, *, times, span, seed=0, by=signal.SIGKILL):
    """Start the command again and again, end each by a signal at a random moment within `span` seconds of a file.

    Returns how many of the signals met a run that was training. A run that was quicker (the span comes from a busier
    machine) counts for nothing and is thrown away, and the next signal comes earlier. The file is the settings', which
    is there before a model loads.
    """
    draw, met = random.Random(seed), 0
    settings = output / "run_config.json"
    for _ in range(3 * times):
        if met == times:
            break
        if (output / "metrics.json").is_file():
            shutil.rmtree(output)
        kill = settings, draw.uniform(0, span), by
        (done,) = warm.run_all(
            [command], cwd=output.parent, env=environment(), kill=kill
        )
        if done.returncode == (os.EX_TEMPFAIL if by == signal.SIGTERM else -by):
            met += 1
        else:
            span /= 2
    return met


def history(output):
    """The log of a run without what depends on the machine's speed."""
    entries = json.loads((output / "trainer_state.json").read_text("utf-8"))[
        "log_history"
    ]
    return [
        {k: v for k, v in entry.items() if k not in _TIMES and "seconds" not in k}
        for entry in entries
    ]


def logged(output, name="reward"):
    """The entries of a run's log that have this."""
    return [entry for entry in history(output) if name in entry]


def same_weights(one, other):
    """Whether two folders hold the same model, or the same adapter, to the bit."""
    (first,), (second,) = (list(at.glob("*.safetensors")) for at in (one, other))
    mine, others = load_file(first), load_file(second)
    return mine.keys() == others.keys() and all(
        torch.equal(weight, others[name]) for name, weight in mine.items()
    )


def recorded(output):
    """What a run has written of itself."""
    return json.loads((output / "run_config.json").read_text("utf-8"))


def generated(folder, n=8):
    """Texts of a saved model."""
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder),
        AutoTokenizer.from_pretrained(folder),
    )
    torch.manual_seed(0)
    asked = tokenizer.apply_chat_template(
        [messages(prompt("dat"))] * n, return_tensors="pt", return_dict=True
    )
    out = model.generate(**asked, do_sample=True, top_k=0, max_new_tokens=24)
    return tokenizer.batch_decode(
        out[:, asked["input_ids"].shape[1] :], skip_special_tokens=True
    )


def wandb_records(output):
    """All records of the run's offline W&B files (LevelDB's log format after a header of seven bytes)."""
    for path in sorted(output.glob("wandb/offline-run-*/run-*.wandb")):
        data, position, whole = path.read_bytes(), 7, b""
        while position + 7 <= len(data):
            if 32768 - position % 32768 < 7:  # a block's end is padded
                position += 32768 - position % 32768
                continue
            _, size, kind = struct.unpack_from("<IHB", data, position)
            whole += data[position + 7 : position + 7 + size]
            position += 7 + size
            if kind in (1, 4):  # whole, or the last part
                yield wandb_internal_pb2.Record.FromString(whole)
                whole = b""


def _free_port():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return free.getsockname()[1]
