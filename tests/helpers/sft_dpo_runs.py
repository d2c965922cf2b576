"""SFT and DPO on an answer table, run as a user runs them."""

import random

import pytest
from transformers import AutoTokenizer

from fakes import list_text
from grpo_runs import ROOT, flags, logged
from sozo.data.schema import write_columns
from sozo.training.arguments import DpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.sft_dpo import DpoSettings, SftSettings, train_dpo, train_sft

METHODS = {
    "sft": (train_sft, SftArguments, SftSettings),
    "dpo": (train_dpo, DpoArguments, DpoSettings),
}


COUNT = {"sft": "top_k", "dpo": "num_pairs"}


@pytest.fixture(scope="module")
def words(mini):
    """The model's nouns: the best half and the worst half."""
    vocabulary = AutoTokenizer.from_pretrained(mini).get_vocab()
    nouns = sorted(
        word for word, row in vocabulary.items() if row >= 14 and len(word) < 20
    )
    return nouns[:32], nouns[32:]


@pytest.fixture(scope="module")
def answers(tmp_path_factory, words):
    """64 answers of the best nouns, and 64 of the worst, of which every fourth is unusable."""
    draw, folder = random.Random(0), tmp_path_factory.mktemp("table")
    for part, half in enumerate(words):
        write_columns(
            folder / f"part-{part:05d}.parquet",
            {
                "id": [f"{part}-{row:03d}" for row in range(64)],
                "text": [list_text(draw.sample(half, 10)) for _ in range(64)],
                "score": [
                    None if part and row % 4 == 0 else 0.9 - 0.2 * part + row / 1000
                    for row in range(64)
                ],
                "reason": [
                    "format" if part and row % 4 == 0 else None for row in range(64)
                ],
            },
        )
    return folder


def train(method, model, table, output, **settings):
    """Train in this process; eight examples a step, eight steps."""
    function, script, config = METHODS[method]
    short = {
        "examples_per_step": 8,
        "per_device_train_batch_size": 8,
        COUNT[method]: 64,
        "report_to": "none",
    }
    short |= {
        "model_name_or_path": model,
        "answers": table,
        "output_dir": output,
    } | settings
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / f"{method}.yaml")]
    return function(*parse(script, config, [*yaml, *flags(short)]))


def losses(output):
    return [entry["loss"] for entry in logged(output, "loss")]
