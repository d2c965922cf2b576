"""A run is its settings: what it learns, how it is computed, and what one that goes on cannot know."""

import json
import re
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer, Qwen3MoeConfig, Qwen3MoeForCausalLM, set_seed

from grpo_runs import ROOT, flags, history, recipe, recorded, run, same_weights
from sentences import refused, says
from sozo.data.run_folder import RunFolder
from sozo.data.settings import setting
from sozo.training.arguments import DpoArguments, GrpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.decided import sharding, split
from sozo.training.grpo import GrpoSettings
from sozo.training.sft_dpo import DpoSettings, SftSettings

# Saved at 3 and 6, so that a log of five steps began before the checkpoint and two steps are behind the last log.
STEPS = {"max_steps": 7, "save_steps": 3, "save_total_limit": 9, "logging_steps": 5}
STEPS |= {"report_to": "none", "output_dir": "out"}
OWN = {"sft": {"top_k": 64}, "dpo": {"num_pairs": 64}, "grpo": {"loss_type": "dapo"}}
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

    def both(method, before, after, status=0, finished=False):
        if (key := repr((method, before))) not in made:
            made[key] = tmp_path_factory.mktemp(method) / "out"
            done = run(command(method, before), made[key].parent)
            assert done.returncode == 0, done.stderr[-3000:]
        output = tmp_path_factory.mktemp(method) / "out"
        shutil.copytree(made[key] / "checkpoint-3", output / "checkpoint-3")
        for name in ["run_config.json", *["metrics.json"] * finished]:
            shutil.copy(made[key] / name, output)
        done = run(command(method, after), output.parent)
        assert done.returncode == status, done.stderr[-3000:]
        return made[key], output, done.stderr

    return both


def metrics(output):
    return json.loads((output / "metrics.json").read_text("utf-8"))


def test_a_run_that_stands_at_its_last_step_trains_no_other(runs):
    settings = {
        "lr_scheduler_type": "constant",
        "max_steps": 3,
    }  # of a linear one the last rate is 0
    unbroken, output, _ = runs("sft", settings, settings)
    assert same_weights(output, unbroken)
    assert not (output / "checkpoint-4").exists()


@pytest.mark.parametrize("method", OWN)
def test_what_it_cannot_know_is_not_in_its_metrics(method, runs):
    whole, output, _ = runs(method, {}, {})
    assert same_weights(output, whole)
    of_all = {"train_loss", "train_runtime"}
    assert of_all < set(metrics(whole))
    assert not any(re.match("train_", name) for name in metrics(output))
    assert metrics(output)["total_flos"] == metrics(whole)["total_flos"]
    last, right = history(output)[0], history(whole)[0]
    assert last["step"] == 5
    assert last["learning_rate"] == right["learning_rate"]
    # GRPO's is in the checkpoint.
    counts = {"sft": None, "dpo": None, "grpo": right["num_tokens"]}
    assert last.get("num_tokens") == counts[method]


@pytest.mark.parametrize(
    ("row", "changes"),
    [
        ("another micro-batch", {"per_device_train_batch_size": 4}),
        pytest.param(
            "two processes",
            {"launch": "cpu2_ddp.yaml", "per_device_train_batch_size": 4},
            marks=pytest.mark.launches,
        ),
        ("more steps", {"max_steps": 8}),
    ],
)
def test_one_that_goes_on_is_computed_as_before(row, changes, runs):
    _, output, said = runs(
        "grpo", {}, changes, status=2 if "launch" not in changes else 1
    )
    assert says(f"how: {row}", said)
    assert {path.name for path in output.iterdir()} == {
        "checkpoint-3",
        "run_config.json",
    }


def test_a_finished_one_is_compared_by_what_it_learned(runs):
    smaller = {"per_device_train_batch_size": 4, "save_steps": 2, "logging_steps": 1}
    _, output, said = runs("grpo", {}, smaller, finished=True)
    assert "is finished; give another --output_dir" in said
    assert recorded(output)["how"] == {
        "processes": 1,
        "sharding": None,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 1,
        "steps_per_generation": 1,
    }
    assert says(
        "what: another rate", runs("grpo", {}, {"learning_rate": 1e-4}, 2, True)[2]
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
    assert same_weights(output, whole)


def parts_of(method, **changes):
    short = {"output_dir": "out", "per_device_train_batch_size": 8} | OWN[method]
    if method != "grpo":
        short["answers"] = "table"
    words = flags(short | {"model_name_or_path": "tiny"} | changes)
    yaml = str(ROOT / "recipes" / "tiny" / f"{method}.yaml")
    settings = parse(*KINDS[method], ["--config", yaml, *words])
    return split(*settings, {"rewards": []}, [{}])


@pytest.mark.parametrize("method", OWN)
def test_of_what_is_learned_no_path_and_no_launch_is_compared(method, mini):
    what, how, _ = parts_of(method, save_steps=5)
    other = parts_of(method, output_dir="elsewhere", per_device_train_batch_size=4)
    assert other[0] == what
    assert (
        other[1]["gradient_accumulation_steps"]
        == 2 * how["gradient_accumulation_steps"]
    )
    assert parts_of(method, learning_rate=1)[0] != what
    # A folder's content is compared, and not its name.
    of_folder, _, free = parts_of(method, model_name_or_path=mini)
    assert "model_name_or_path" not in of_folder["model"]
    assert free["model"] == {"model_name_or_path": str(mini)}
    assert str(mini) not in json.dumps([of_folder, how])


def test_a_step_of_no_given_size_has_one_in_the_record():
    words = {"examples_per_step": "null", "per_device_train_batch_size": 4, "top_k": 8}
    assert parts_of("sft", **words)[0]["training"]["examples_per_step"] == 4


@dataclass
class Bounded(GrpoSettings):
    """A setting besides TRL's that decides nothing, and none of which is negative."""

    every: int = setting(1, "Steps between two words.", affects_result=False, least=0)


def test_a_setting_besides_trls_says_itself_what_it_decides_and_may_be():
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml"), "--every"]
    settings = parse(GrpoArguments, Bounded, [*yaml, "3"])
    what, _, free = split(*settings, {})
    assert "every" not in what["training"]
    assert free["training"]["every"] == 3
    with refused("settings: below the least"):
        parse(GrpoArguments, Bounded, [*yaml, "-3"])


@pytest.mark.parametrize(
    ("stage", "fsdp", "name"),
    [(None, False, None), (2, False, "ZeRO-2"), (3, True, "FSDP")],
)
def test_what_shards_a_model_is_how_it_is_trained(stage, fsdp, name, tmp_path):
    plugin = stage and SimpleNamespace(zero_stage=stage)
    now = sharding(SimpleNamespace(fsdp=fsdp, deepspeed_plugin=plugin))
    assert now == name
    before = RunFolder(tmp_path, {}, how={"sharding": "ZeRO-2"})
    before.start({}, {"how": {"sharding": "ZeRO-2"}})
    with nullcontext() if name == "ZeRO-2" else refused(f"how: ZeRO-2, then {name}"):
        RunFolder(tmp_path, {}, how={"sharding": now})
