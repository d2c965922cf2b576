"""A run that goes on logs and sums what an unbroken one does; on other processes its steps hold the same."""

import json
import re
import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoTokenizer, Qwen3MoeConfig, Qwen3MoeForCausalLM, set_seed

from grpo_runs import ROOT, flags, history, recipe, run, same_weights
from sentences import refused, says
from sozo.data.record import write_json
from sozo.training.arguments import DpoArguments, GrpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings
from sozo.training.resumed import Sums
from sozo.training.run_settings import bound, refuse_other_batches
from sozo.training.sft_dpo import DpoSettings, SftSettings

# Saved at 3 and 6, so that a log of five steps began before the checkpoint and two steps are behind the last log.
STEPS = {"max_steps": 7, "save_steps": 3, "save_total_limit": 9, "logging_steps": 5}
STEPS |= {"report_to": "none", "output_dir": "out"}
OWN = {"sft": {"top_k": 64}, "dpo": {"num_pairs": 64}, "grpo": {"loss_type": "dapo"}}
TWO = {"launch": "cpu2_ddp.yaml", "per_device_train_batch_size": 4}
KINDS = {
    "sft": (SftArguments, SftSettings),
    "dpo": (DpoArguments, DpoSettings),
    "grpo": (GrpoArguments, GrpoSettings),
}


@pytest.fixture(scope="module")
def runs(mini, answers, tmp_path_factory):
    """An unbroken run of a method, and one that goes on from its step 3 with other settings."""
    made = {}

    def command(method, settings):
        data = {"model_name_or_path": mini} | (
            {"answers": answers} if method != "grpo" else {}
        )
        return recipe(method=method, **STEPS | data | OWN[method] | settings)

    def both(method, before, after, status=0):
        if (key := repr((method, before))) not in made:
            made[key] = tmp_path_factory.mktemp(method) / "out"
            done = run(command(method, before), made[key].parent)
            assert done.returncode == 0, done.stderr[-3000:]
        output = tmp_path_factory.mktemp(method) / "out"
        shutil.copytree(made[key] / "checkpoint-3", output / "checkpoint-3")
        shutil.copy(made[key] / "run_config.json", output)
        done = run(command(method, after), output.parent)
        assert done.returncode == status, done.stderr[-3000:]
        return made[key], output, done.stderr

    return both


def metrics(output):
    """What a run found, without what depends on the machine's speed."""
    values = json.loads((output / "metrics.json").read_text("utf-8"))
    return {
        name: value
        for name, value in values.items()
        if not re.search("runtime|per_second|seconds|step_time", name)
    }


def test_a_run_that_stands_at_its_last_step_trains_no_other(runs):
    settings = {
        "lr_scheduler_type": "constant",
        "max_steps": 3,
    }  # of a linear one the last rate is 0
    unbroken, output, _ = runs("sft", settings, settings)
    assert same_weights(output, unbroken)
    assert not (output / "checkpoint-4").exists()
    assert metrics(output)["train_loss"] == metrics(unbroken)["train_loss"]


@pytest.mark.parametrize("method", OWN)
def test_what_is_logged_and_summed_is_the_whole_runs(method, runs):
    whole, output, said = runs(method, {}, {})
    assert same_weights(output, whole)
    assert history(output) == history(whole)
    assert metrics(output) == metrics(whole)
    assert "goes on with" not in said
    values = json.loads((output / "metrics.json").read_text("utf-8"))
    sums = json.loads((output / "checkpoint-6" / "sums.json").read_text("utf-8"))
    earlier = json.loads((output / "checkpoint-3" / "sums.json").read_text("utf-8"))
    assert values["train_runtime"] > sums["seconds"] > earlier["seconds"] > 0
    assert values["train_steps_per_second"] == pytest.approx(
        7 / values["train_runtime"], rel=0.02
    )


@pytest.mark.parametrize(
    ("method", "before", "after"),
    [
        pytest.param("dpo", TWO, {}, marks=pytest.mark.launches),
        pytest.param("grpo", {}, TWO, marks=pytest.mark.launches),
        ("grpo", {}, {"per_device_train_batch_size": 2}),
    ],
)
def test_on_other_processes_a_step_holds_the_same(method, before, after, runs):
    whole, output, said = runs(method, before, after)
    (line,) = [line for line in said.splitlines() if "goes on with" in line]
    assert ("process(es) after" in line) == ("launch" in before | after)
    assert "per_device_train_batch_size" in line
    for found, right in zip(history(output), history(whole), strict=True):
        same = [
            name
            for name in right
            if re.search("loss|reward|learning_rate|num_tokens|completions/", name)
        ]
        assert {name: found[name] for name in same} == pytest.approx(
            {name: right[name] for name in same}, abs=1e-5
        )
    # Behind the last log each process has a sum of its own.
    assert metrics(output)["train_loss"] == pytest.approx(
        metrics(whole)["train_loss"], abs=1e-5
    )


@pytest.fixture(scope="module")
def experts(mini, tmp_path_factory):
    """A model of four experts, whose weights have other names in a file than in memory."""
    folder, tokenizer = (
        tmp_path_factory.mktemp("experts"),
        AutoTokenizer.from_pretrained(mini),
    )
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "moe_intermediate_size": 16,
        "num_hidden_layers": 1,
    }
    sizes |= {
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "num_experts": 4,
    }
    ends = {
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    set_seed(0)
    config = Qwen3MoeConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=512,
        num_experts_per_tok=2,
        **sizes,
        **ends,
    )
    for part in (Qwen3MoeForCausalLM(config), tokenizer):
        part.save_pretrained(folder)
    return folder


def test_a_model_of_experts_goes_on_with_its_experts(experts, runs):
    settings = {"model_name_or_path": experts}
    whole, output, _ = runs("sft", settings, settings)
    assert history(output) == history(whole)
    assert same_weights(output, whole)


def settings_of(method, **changes):
    short = (
        {"output_dir": "out", "per_device_train_batch_size": 8, "answers": "table"}
        | OWN[method]
        | changes
    )
    if method == "grpo":
        del short["answers"]
    return parse(
        *KINDS[method],
        ["--config", str(ROOT / "recipes" / "tiny" / f"{method}.yaml"), *flags(short)],
    )


@pytest.mark.parametrize(
    ("method", "changes", "cause"),
    [
        ("sft", {}, None),
        ("sft", {"loss_type": "dft"}, None),
        ("sft", {"examples_per_step": "null"}, "examples_per_step is not given"),
        (
            "sft",
            {"average_tokens_across_devices": False},
            "average_tokens_across_devices",
        ),
        (
            "sft",
            {"train_sampling_strategy": "group_by_length"},
            "train_sampling_strategy group_by_length",
        ),
        ("sft", {"packing": True, "eval_packing": False}, "not full"),
        ("sft", {"top_k": 100, "max_steps": 1}, None),  # within the first epoch
        ("sft", {"top_k": 100, "max_steps": 2}, "not full"),
        ("dpo", {}, None),
        ("dpo", {"loss_type": ["sigmoid", "sft"]}, "loss_type sft"),
        ("dpo", {"loss_type": "aot"}, "loss_type aot"),
        ("grpo", {}, None),
        ("grpo", {"loss_type": "bnpo"}, "loss_type bnpo"),
        ("grpo", {"entropy_coef": 0.1}, "entropy_coef 0.1"),
        ("grpo", {"top_entropy_quantile": 0.5}, "top_entropy_quantile 0.5"),
        (
            "grpo",
            {"completions_per_step": "null", "num_generations": 8},
            "completions_per_step is not given",
        ),
    ],
)
def test_what_binds_a_run_to_its_processes(method, changes, cause):
    script, training, _ = settings_of(method, **changes)
    found = bound(script, training)
    assert found is None if cause is None else cause in found


BEGUN = {
    "per_device_train_batch_size": 4,
    "generation_batch_size": 16,
    "steps_per_generation": 4,
}


@pytest.mark.parametrize(
    ("world", "changes", "why", "row"),
    [
        (1, {}, "because", None),
        (2, {"per_device_train_batch_size": 2}, None, None),
        (2, {}, "because", "other processes"),
        (1, {"per_device_train_batch_size": 2}, "because", "other micro-batches"),
        (2, {"generation_batch_size": 32}, None, "other generations"),
    ],
)
@pytest.mark.parametrize("free", [False, True])
def test_the_cause_is_named_and_not_what_follows_from_it(
    free, world, changes, why, row, tmp_path
):
    """Whether the begun run had them among what decides, or among what is free."""
    parts = [{"training": {}}, {"training": BEGUN, "world_size": 1}]
    settings, others = parts if free else parts[::-1]
    write_json(tmp_path / "run_config.json", {"settings": settings, "free": others})
    now = {"training": BEGUN | changes, "world_size": world}
    with refused(f"run_settings: {row}") if row else nullcontext():
        refuse_other_batches(tmp_path, now, why)


def test_a_loss_that_is_a_mean_over_a_micro_batch_binds_a_run_to_it(runs):
    settings = {"loss_type": "bnpo", "max_steps": 3}
    smaller = settings | {"per_device_train_batch_size": 4}
    _, output, said = runs("grpo", settings, smaller, status=2)
    assert says("run_settings: a loss of micro-batches", said)
    assert {path.name for path in output.iterdir()} == {
        "checkpoint-3",
        "run_config.json",
    }


def sums(folder, processes, **training):
    """Of a checkpoint that so many processes wrote, as a run of one process reads it."""
    of_process = {"loss": 1.0, "metrics": {}}
    values = {"seconds": 1.0, "loss": 2.0, "logged": 3, "tokens": 0, "micro_batch": 8}
    write_json(folder / "sums.json", values | {"processes": [of_process] * processes})
    plain = {"per_device_train_batch_size": 8, "deepspeed_plugin": None, "fsdp": False}
    return Sums(folder, None, SimpleNamespace(**plain | training))


OF_ZERO = "global_step4/mp_rank_00_model_states.pt"
OF_ZERO_3 = "global_step4/zero_pp_rank_0_mp_rank_00_model_states.pt"


@pytest.mark.parametrize(
    ("file", "stage", "fsdp", "processes", "row"),
    [
        ("optimizer.pt", None, False, 2, None),
        (OF_ZERO, 2, False, 1, None),
        (OF_ZERO, 2, False, 2, "ZeRO-2 of two processes"),
        (OF_ZERO_3, 3, False, 2, "ZeRO-3 of two processes"),
        (OF_ZERO_3, 2, False, 1, "ZeRO-3 under ZeRO-2"),
        (OF_ZERO_3, None, False, 2, "ZeRO-3 without DeepSpeed"),
        ("optimizer.pt", 2, False, 2, "a whole one under DeepSpeed"),
        ("optimizer.bin", None, True, 1, None),
        ("optimizer.bin", None, True, 2, "FSDP of two processes"),
        ("optimizer_0/part", 3, False, 2, "FSDP under ZeRO-3"),
    ],
)
def test_an_optimizer_in_parts_is_bound_to_its_processes(
    file, stage, fsdp, processes, row, tmp_path
):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    plugin = stage and SimpleNamespace(zero_stage=stage)
    with refused(f"resumed: {row}") if row else nullcontext():
        sums(tmp_path, processes, deepspeed_plugin=plugin, fsdp=fsdp)


@pytest.mark.parametrize(("processes", "same"), [(1, True), (2, False)])
def test_a_process_without_a_saved_random_state_does_not_draw_as_at_the_start(
    processes, same, tmp_path
):
    args = SimpleNamespace(seed=0, process_index=0, world_size=1, output_dir="out")
    trainer = SimpleNamespace(
        log=None,
        _tr_loss=torch.tensor(0.0),
        _metrics={"train": {}},
        aux_loss_enabled=False,
    )
    resumed = sums(tmp_path, processes)
    resumed.trainer = trainer
    drawn = []
    for step in (2, 4):
        set_seed(0)
        resumed.on_train_begin(
            args,
            SimpleNamespace(global_step=step, max_steps=9, is_world_process_zero=True),
            None,
        )
        drawn.append(torch.rand(1).item())
    set_seed(0)
    assert [draw == torch.rand(1).item() for draw in drawn[:1]] == [same]
    assert (drawn[0] == drawn[1]) == same


def test_a_model_of_experts_is_bound_to_its_micro_batches(tmp_path):
    resumed = sums(tmp_path, 1, per_device_train_batch_size=4)
    resumed.trainer = SimpleNamespace(log=None, aux_loss_enabled=True)
    with refused("resumed: experts in other micro-batches"):
        resumed.on_train_begin(None, None, None)
