"""The memory estimate against sums done by hand, and the shipped shapes against the models themselves."""

from pathlib import Path

import pytest
import yaml

from sozo.training.estimates import GIB, Architecture, training_memory

RECIPES = Path(__file__).parents[2] / "recipes"
# 1,000 parameters so that 16 bytes each are 16,000; h = 4, f = 8, q = 4, k = 2, two layers, ten words.
SMALL = Architecture(1000, 4, 2, 2, 1, 8, 10)


def in_bytes(**changes):
    settings = {"tokens": 1, "processes": 4, "zero_stage": 0} | changes
    return {
        name: round(gib * GIB)
        for name, gib in training_memory(SMALL, **settings).items()
    }


def test_sixteen_bytes_a_parameter():
    zero = in_bytes(zero_stage=1, processes=1)
    assert zero["weights"] + zero["gradients"] + zero["optimizer"] == 16_000
    float32 = in_bytes(bf16=False)
    assert (float32["weights"], float32["gradients"], float32["optimizer"]) == (
        4000,
        4000,
        8000,
    )
    # bf16 without DeepSpeed keeps no float32 master: 2 + 2 + 4.
    plain = in_bytes()
    assert (plain["weights"], plain["gradients"], plain["optimizer"]) == (
        2000,
        2000,
        4000,
    )


def test_the_zero_papers_example():
    # Rajbhandari et al., figure 1: 7.5B parameters on 64 GPUs need 120, 31.4, 16.6 and 1.9 GB of states (K = 12).
    model = Architecture(7_500_000_000, 4, 2, 2, 1, 8, 10)
    for stage, gigabytes in ((1, 31.4), (2, 16.6), (3, 1.9)):
        m = training_memory(model, tokens=1, processes=64, zero_stage=stage)
        assert (
            m["weights"] + m["gradients"] + m["optimizer"]
        ) * GIB / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_activations_and_the_output_layer():
    # A layer: 2 (4*4 + 2*4 + 2*2 + 4*8) = 120 bytes a token; two layers 240; checkpointed 2 layers x 8 + 120 = 136.
    assert in_bytes(checkpointing=False)["activations"] == 240
    assert in_bytes(checkpointing=True)["activations"] == 136
    assert in_bytes(tokens=15)["activations"] == 15 * 136
    # A tile of 15 x 10, the gradient of its inputs, and that of its weights where they are trained.
    assert in_bytes(tokens=15)["head"] == 2 * 150 + 4 * 4 * 15 + 4 * 10 * 4
    assert in_bytes(tokens=15, lora_rank=1)["head"] == 2 * 150 + 4 * 4 * 15
    large = Architecture(1000, 4, 2, 2, 1, 8, 100_000)
    tile = (
        training_memory(large, tokens=10_000, lora_rank=1)["head"] * GIB
        - 4 * 4 * 10_000
    )
    assert round(tile) == 2 * 4096 * 32_768


def test_lora_trains_the_adapter_only():
    # Rank 1: (4+4) + 2 (4+2) + (4+4) + 3 (4+8) = 64 for each of two layers.
    assert SMALL.lora_parameters(1) == 128
    found = in_bytes(lora_rank=1, reference_model=True)
    assert (found["weights"], found["gradients"], found["optimizer"]) == (
        2000 + 4 * 128,
        4 * 128,
        8 * 128,
    )
    assert found["reference"] == 0
    assert in_bytes(reference_model=True)["reference"] == 2000
    assert in_bytes(reference_model=True, zero_stage=3)["reference"] == 500


def test_the_cache_of_a_token():
    assert SMALL.kv_cache_bytes(3) == 2 * 2 * 2 * 3 * 2


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
