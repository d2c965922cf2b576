"""The GPU check on a CPU: the tiny shape through the same command, and verdicts on hand-made numbers."""

import sys

import pytest

from gpu import check as gpu_check
from gpu import samplers, shapes
from gpu import unit as table
from gpu.unit import DTYPES, PARTS, Unit, units, why_skipped
from sozo.data.record import read_json

ROWS, ANSWER, PROMPT = 16, 8, [5, 9, 3, 7]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes") / "tiny"
    shapes.build(shapes.shape("tiny"), folder, "cpu")
    return folder


def test_the_shapes_are_the_recipes():
    millions = {
        name: round(shapes.shape(name).architecture.parameters / 1e6, 1)
        for name in ("tiny", "0.3b", "8b")
    }
    assert millions == {"tiny": 1.3, "0.3b": 268.1, "8b": 8030.3}


def test_a_built_model_has_the_shapes_parameters_and_a_word_for_each_token(tiny):
    from sozo.models.weights import load_model

    shape = shapes.shape("tiny")
    model, tokenizer = load_model(str(tiny))
    assert (
        sum(weights.numel() for weights in model.parameters())
        == shape.architecture.parameters
    )
    ids = tokenizer("w3;w14;単")["input_ids"]
    assert len(ids) == 3
    assert tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids) == "w3;w14;単"


def test_the_deviation_tells_a_sampler_that_truncates(tiny):
    import torch

    from sozo.models.weights import load_model

    model, _ = load_model(str(tiny), dtype="float32")
    torch.manual_seed(0)
    whole = samplers.generate(model, PROMPT, ROWS, ANSWER)
    assert (
        abs(samplers.calibration(model, [PROMPT] * ROWS, whole)) < table.MOST_DEVIATION
    )
    likeliest = model.generate(
        torch.tensor([PROMPT]),
        max_new_tokens=ANSWER,
        do_sample=False,
        eos_token_id=None,
    )
    repeated = [likeliest[0, len(PROMPT) :].tolist()] * ROWS
    assert samplers.calibration(model, [PROMPT] * ROWS, repeated) > table.MOST_DEVIATION


def test_units():
    assert list(map(str, units(["samplers"], ["tiny"]))) == [
        "roofline-float32",
        "roofline-bfloat16",
        "samplers-tiny-float32",
        "samplers-tiny-bfloat16",
    ]
    assert why_skipped(Unit("vllm-start", "tiny", "bfloat16"), "cpu") == "needs a GPU"
    assert why_skipped(Unit("sft", "tiny", "bfloat16"), "cpu") is None


def step(loss, norm, **more):
    steps = [{"loss": loss, "grad_norm": norm}, {"loss": 9.0, "grad_norm": 9.0}]
    return {
        "steps": steps,
        "peak": 2.0,
        "estimate": {"weights": 1.5, "reference": 0.0},
        "not_shared": None,
    } | more


def test_verdicts():
    float32, half = (Unit("sft", "8b", dtype) for dtype in DTYPES)
    assert table.unexpected({float32: step(2.0, 1.0), half: step(2.01, 1.05)}) == []
    for wrong in (
        step(2.03, 1.0),
        step(2.0, 1.2),
        step(float("nan"), 1.0),
        step(2.0, 1.0, not_shared="a reason"),
    ):
        assert len(table.unexpected({float32: step(2.0, 1.0), half: wrong})) == 1
    sampled = {
        "best": 100.0,
        "refused": None,
        "samplers": {"shared_prefix": {"speed": 50.0, "deviation": -5.0}},
    }
    found = {
        Unit("samplers", "8b", "bfloat16"): sampled,
        Unit("vllm-sync", "8b", "bfloat16"): {"differences": [0.01, 0.9]},
    }
    assert len(table.unexpected(found)) == 2


def test_a_unit_that_fails_says_why_and_is_not_done(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no driver >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    unit = Unit("sft", "tiny", "float32")
    assert gpu_check.run(unit, tmp_path).startswith("no driver (")
    assert not unit.file(tmp_path).exists()


@pytest.mark.slow
def test_the_whole_check(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["check.py", "--output_dir", str(tmp_path)])
    assert gpu_check.main() == 0
    assert "NO |" not in (tmp_path / "gpu-check.md").read_text("utf-8")
    assert not (tmp_path / "models").exists()


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(units(list(PARTS), ["0.3b", "8b"])), ids=str)
def test_a_unit_on_a_gpu(unit, tmp_path_factory):
    """What `make gpu-check` measures; in this order, since samplers are held against the roofline."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU is here: this has never run")
    if reason := why_skipped(unit, "cuda"):
        pytest.skip(reason)
    folder = tmp_path_factory.getbasetemp() / "gpu-check"
    assert gpu_check.run(unit, folder) is None
    results = {
        each: read_json(each.file(folder))
        for each in units(list(PARTS), ["0.3b", "8b"])
        if each.file(folder).is_file()
    }
    assert not [
        row for row in table.unexpected(results) if f" {unit.shape} " in f" {row} "
    ]
