"""Rows that SFT and DPO select, ten plans, and a small model's weights after three steps of each method.

python tests/frozen/frozen_training.py FOLDER   # the weights alone: SHA-256 of each method's, to compare commits
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    for _place in ("helpers", "frozen", "../recipes", "../src"):
        sys.path.insert(0, str(Path(__file__).parents[1] / _place))

from frozen_runs import NOUNS

from fakes import list_text
from grpo_runs import ROOT, flags
from sozo.data.schema import write_columns
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.training.arguments import DpoArguments, GrpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.estimates import Architecture
from sozo.training.grpo import GrpoSettings, train_grpo
from sozo.training.plan import Hardware, make_plan, plan_lines
from sozo.training.selection import select_pairs, select_top
from sozo.training.sft_dpo import DpoSettings, SftSettings, train_dpo, train_sft

LARGE = Architecture(8_030_000_000, 4096, 32, 32, 8, 14_336, 128_256)
PLANS = (
    ("sft", "tiny/sft", Hardware(1)),
    ("dpo", "tiny/dpo", Hardware(2)),
    ("grpo", "tiny/grpo", Hardware(1)),
    ("grpo", "tiny/grpo-beyond", Hardware(2, 2, "zero2")),
    ("sft", "swallow-8b/sft", Hardware(8, 3, "zero3")),
    ("dpo", "swallow-8b/dpo", Hardware(8, 3, "zero3")),
    ("grpo", "swallow-8b/grpo", Hardware(8, 2, "zero2")),
    ("grpo", "qwen2.5-7b/grpo", Hardware(4, 3, "zero3")),
    ("grpo", "gemma-3-270m/mix", Hardware(1)),
)


def table(folder: Path, seed: int) -> Path:
    """128 lists, of which a fifth is unusable, many of equal scores, some said twice."""
    random = Random(f"table {seed}")
    scores = [None if k % 5 == 3 else round(random.random(), 1) for k in range(128)]
    texts = [list_text(random.sample(NOUNS[:14], 10)) for _ in scores]
    columns = {
        "id": [f"{k:03d}" for k in range(128)],
        "text": [texts[k - k % 7 % 2] for k in range(128)],
        "score": scores,
        "reason": ["format" if score is None else None for score in scores],
    }
    write_columns(folder / "part-00000.parquet", columns)
    return folder


def selections(folder: Path) -> Mapping[str, Any]:
    """What is chosen for SFT, and what is paired by each rule and seed, of one table and of two."""
    one, two = table(folder / "one", 1), table(folder / "two", 2)
    values = {}
    for k in (8, 64, 128):
        top = select_top([one, two], k)
        values[f"top {k}"] = [list(top.ids), top.facts()]
    beside = select_top([one], 16, {str(two): 8})
    values["beside"] = [list(beside.ids), beside.facts()]
    for rule in ("paper", "usable"):
        for seed in (0, 1):
            pairs = select_pairs([one, two], 32, seed=seed, rule=rule)
            ids = [list(pairs.chosen.ids), list(pairs.rejected.ids)]
            values[f"{rule} {seed}"] = [
                ids,
                pairs.chosen.facts(),
                pairs.rejected.facts(),
            ]
    return values


def plans(folder: Path) -> Mapping[str, Any]:
    """What ten recipes take, said for a model of eight billion weights."""
    values = {}
    for method, name, hardware in PLANS:
        words = ["--config", str(ROOT / "recipes" / f"{name}.yaml")]
        words += [] if method == "grpo" else ["--answers", "x"]
        plan = make_plan(method, words, hardware)
        lines = plan_lines(plan, LARGE)
        values[f"{name} {hardware.name}"] = [
            asdict(hardware),
            plan.steps,
            *lines,
        ]
    return values


def characters(completions, **kwargs):
    """A reward that differs between nearly any two answers: how many different characters each has."""
    return [float(len(set(text))) for text in completions]


def model(folder: Path) -> Path:
    """A Llama of two layers with random weights that knows 64 nouns: the same on each machine, to the bit."""
    from transformers import LlamaConfig, LlamaForCausalLM, set_seed

    from sozo.models.tiny import build_tokenizer

    tokenizer = build_tokenizer(NOUNS[:64])
    tokenizer.chat_template = None
    set_seed(0)
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 64}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    config = LlamaConfig(**sizes, **ends, max_position_embeddings=128)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def frontier(folder: Path) -> Path:
    """Lists whose words' distribution is known, for word targets."""
    folder.mkdir()
    (folder / "nouns.txt").write_text("\n".join(NOUNS[:64]), "utf-8")
    writer = GeneratorSettings(
        "frontier",
        nouns=str(folder / "nouns.txt"),
        strength=300.0,
        word_strength=1500.0,
    )
    scorer = DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")
    run_task(
        Dat(scorer), writer, SamplingOptions(num_answers=32, seed=0), folder / "lists"
    )
    return folder / "lists"


REWARD = "frozen_training.characters"
LORA = {"use_peft": True, "lora_target_modules": "all-linear", "lora_r": 4}
ASKED = {"task": "dat", "reward_funcs": [REWARD], "num_prompts": 32}
OTHER = {"task": "sentences", "sentences_split": "train", "sentences_items": 8}
MIX = [ASKED, OTHER | {"reward_funcs": [REWARD], "num_prompts": 16}]
OF_TABLE = {"examples_per_step": 8, "per_device_train_batch_size": 4}
OF_GRPO = {
    "completions_per_step": 16,
    "num_generations": 8,
    "per_device_train_batch_size": 8,
    "max_completion_length": 12,
    "warmup_steps": 0,
    "beta": 0.05,
}
METHODS: dict[str, tuple[Callable[..., Path], Any, Any, str, dict[str, Any]]] = {
    "sft": (train_sft, SftArguments, SftSettings, "sft", {"top_k": 64}),
    "dpo": (train_dpo, DpoArguments, DpoSettings, "dpo", {"num_pairs": 32}),
    "dpo 2 by LoRA": (
        train_dpo,
        DpoArguments,
        DpoSettings,
        "dpo",
        {"num_pairs": 32} | LORA,
    ),
    "grpo": (train_grpo, GrpoArguments, GrpoSettings, "grpo", {"tasks": [ASKED]}),
    "mix": (train_grpo, GrpoArguments, GrpoSettings, "grpo", {"tasks": MIX}),
    "word targets": (
        train_sft,
        SftArguments,
        SftSettings,
        "sft",
        {"top_k": 32, "word_targets": True},
    ),
}


def words_of(method: str, folder: Path) -> list[str]:
    """The words of the command line that trains a model of `folder` by this method for three steps."""
    *_, yaml, own = METHODS[method]
    start = folder / ("dpo" if method.startswith("dpo 2") else "model")
    settings = {
        "model_name_or_path": start,
        "output_dir": folder / method,
        "max_steps": 3,
    }
    settings |= {"learning_rate": 2e-4, "report_to": "none", "save_steps": 1}
    settings |= OF_GRPO if yaml == "grpo" else OF_TABLE
    if yaml != "grpo":
        settings["answers"] = folder / (
            "lists/lists" if method == "word targets" else "table"
        )
    return ["--config", str(ROOT / f"recipes/tiny/{yaml}.yaml"), *flags(settings | own)]


def prepare(folder: Path) -> None:
    """What the trainings begin from."""
    model(folder / "model")
    table(folder / "table", 3)
    frontier(folder / "lists")


def trained(method: str, folder: Path) -> Path:
    """The folder of the trained model."""
    function, own, settings, *_ = METHODS[method]
    return function(*parse(own, settings, words_of(method, folder)))


def weights(folder: Path) -> Mapping[str, Any]:
    """Of each tensor its sum, the sum of its squares, and five of its numbers."""
    from safetensors.torch import load_file

    prepare(folder)
    values = {}
    for method in METHODS:
        (file,) = trained(method, folder).glob("*model.safetensors")
        for name, tensor in sorted(load_file(file).items()):
            flat = tensor.double().flatten()
            some = flat[:: max(1, len(flat) // 5)][:5]
            values[f"{method}: {name}"] = [
                float(flat.sum()),
                float((flat**2).sum()),
                *some.tolist(),
            ]
    return values


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each method's weights."""
    prepare(folder)
    return {method: digest(trained(method, folder)) for method in METHODS}


def digest(output: Path) -> str:
    """SHA-256 of a trained model's weights."""
    (file,) = output.glob("*model.safetensors")
    return hashlib.sha256(file.read_bytes()).hexdigest()


PARTS = {"selections": selections, "plans": plans, "weights": weights}

if __name__ == "__main__":
    (Path(sys.argv[1]) / "digests.json").write_text(
        json.dumps(digests(Path(sys.argv[1])))
    )
