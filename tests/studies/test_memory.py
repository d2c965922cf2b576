"""The memory estimate against sums done by hand, and the shipped shapes against the models themselves."""

from pathlib import Path

import pytest
import yaml

from sozo.training.estimates import GIB, Architecture, states

RECIPES = Path(__file__).parents[2] / "recipes"
# 1,000 parameters so that 16 bytes each are 16,000; h = 4, f = 8, q = 4, k = 2, two layers, ten words.
SMALL = Architecture(1000, 4, 2, 2, 1, 8, 10)


def in_bytes(**changes):
    found = states(SMALL, **{"processes": 4, "zero_stage": 0} | changes)
    return [round(gib * GIB) for gib in found.memory.values()]


def test_sixteen_bytes_a_parameter():
    assert sum(in_bytes(zero_stage=1, processes=1)) == 16_000
    assert in_bytes(bf16=False) == [4000, 4000, 8000, 0]
    # bf16 without DeepSpeed keeps no float32 master: 2 + 2 + 4.
    assert in_bytes() == [2000, 2000, 4000, 0]


def test_the_zero_papers_example():
    # Rajbhandari et al., figure 1: 7.5B parameters on 64 GPUs need 120, 31.4, 16.6 and 1.9 GB of states (K = 12).
    model = Architecture(7_500_000_000, 4, 2, 2, 1, 8, 10)
    for stage, gigabytes in ((1, 31.4), (2, 16.6), (3, 1.9)):
        found = states(model, processes=64, zero_stage=stage)
        together = sum(found.memory.values()) * GIB / 1e9
        assert together == pytest.approx(gigabytes, abs=0.05)


def test_lora_trains_the_adapter_only():
    # Rank 1: (4+4) + 2 (4+2) + (4+4) + 3 (4+8) = 64 for each of two layers.
    assert SMALL.lora_parameters(1) == 128
    own = [2000 + 4 * 128, 4 * 128, 8 * 128, 0]
    assert in_bytes(lora_rank=1, reference=True) == own
    assert in_bytes(reference=True)[3] == 2000
    assert in_bytes(reference=True, zero_stage=3)[3] == 500


@pytest.mark.parametrize(
    ("settings", "checkpoint", "model"),
    [
        # Weights, a float32 master and two moments; unsharded, DeepSpeed saves the weights again.
        ({"zero_stage": 3}, 14_000, 2000),
        ({"zero_stage": 2}, 16_000, 2000),
        ({"bf16": False}, 12_000, 4000),
        ({"lora_rank": 1}, 12 * 128, 4 * 128),
    ],
)
def test_what_is_written(settings, checkpoint, model):
    _, *written = states(SMALL, **settings)
    assert [round(gib * GIB) for gib in written] == [checkpoint, model]


@pytest.mark.parametrize(
    "path", sorted(RECIPES.glob("*/reproduce.yaml")), ids=lambda path: path.parent.name
)
def test_shipped_parameter_counts_follow_from_the_shapes(path):
    shape = Architecture(**yaml.safe_load(path.read_text("utf-8"))["architecture"])
    h, q, k, f = shape.widths
    layers = shape.layers * (2 * h * q + 2 * h * k + 3 * h * f + 2 * h) + h
    embeddings = shape.vocabulary * h
    extra = {
        "qwen2.5-7b": shape.layers * (q + 2 * k),  # biases of queries, keys, values
        "gemma-3-270m": shape.layers
        * (2 * h + 2 * 256),  # four norms a layer, and norms of queries and keys
    }.get(path.parent.name, 0)
    assert shape.parameters - layers - extra in (embeddings, 2 * embeddings)
