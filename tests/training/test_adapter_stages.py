"""Training on from a LoRA adapter: the base stays, the reference is the adapter as it was, nothing of it is lost."""

import json
import shutil

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from trl.trainer import add_fused_lm_head

from fakes import list_text, merge
from grpo_runs import ROOT, flags, logged, recipe, run, same_weights
from sentences import refused
from sft_dpo_runs import losses, train
from sozo.data.prompts import messages, prompt
from sozo.models.weights import is_adapter, load_model, load_tokenizer
from sozo.training import run as training_run
from sozo.training.arguments import GrpoArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings, train_grpo

pytestmark = pytest.mark.usefixtures("forked_modules")

LORA = {
    "use_peft": True,
    "lora_target_modules": "all-linear",
    "lora_r": 8,
    "lora_dropout": 0.0,
}
STAGE = LORA | {"max_steps": 2, "save_strategy": "no"}
CLOSE = {"bfloat16": 1e-3, "float32": 1e-6}  # nats


PAID = {"task": "dat", "reward_funcs": ["fakes.characters"]}
GRPO = {"beta": 0.1, "tasks": [PAID]}


@pytest.fixture(scope="module")
def first(mini, answers, tmp_path_factory):
    """A first stage whose adapter moved a list's log-probability by nats."""
    return train(
        "dpo",
        mini,
        answers,
        tmp_path_factory.mktemp("stage") / "first",
        **STAGE | {"learning_rate": 3e-2},
    )


def train_any(method, model, table, output, **settings):
    """As `train`; GRPO too, with a reference, on 16 completions of 24 tokens a step."""
    if method != "grpo":
        return train(method, model, table, output, **settings)
    short = {
        "per_device_train_batch_size": 8,
        "completions_per_step": 16,
        "num_generations": 8,
        "num_prompts": 64,
    }
    short |= {
        "max_completion_length": 24,
        "warmup_steps": 0,
        "report_to": "none",
        "logging_steps": 1,
    } | GRPO
    short |= {"model_name_or_path": model, "output_dir": output} | settings
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml")]
    return train_grpo(*parse(GrpoArguments, GrpoSettings, [*yaml, *flags(short)]))


def built(monkeypatch, *args, **settings):
    """The trainer of a run, before its first step."""
    seen = []
    with monkeypatch.context() as patch:
        patch.setattr(training_run, "_fit", lambda trainer, *_: seen.append(trainer))
        train_any(*args, **settings)
    return seen[0]


def batches(trainer):
    return [
        trainer.data_collator([trainer.train_dataset[row] for row in rows])
        for rows in (range(4), range(4, 8))
    ]


@pytest.mark.parametrize(
    ("dtype", "beforehand"), [("bfloat16", True), ("float32", False)]
)
def test_dpo_refers_to_the_adapter_as_it_was_sampled(
    dtype, beforehand, first, answers, tmp_path, monkeypatch
):
    settings = STAGE | {
        "dtype": dtype,
        "precompute_ref_log_probs": beforehand,
        "share_prompt": False,
    }
    trainer = built(monkeypatch, "dpo", first, answers, tmp_path / "second", **settings)
    sampled = load_model(str(first), dtype=dtype)[0].eval()
    add_fused_lm_head(sampled)
    trainer.model.eval()
    for batch in batches(trainer):
        alone = {
            name: part for name, part in batch.items() if not name.startswith("ref_")
        }
        expected = trainer.compute_ref_log_probs(sampled, alone)
        for mine, right in zip(
            trainer.compute_ref_log_probs(trainer.model, alone), expected, strict=True
        ):
            torch.testing.assert_close(
                mine, right, atol=CLOSE[dtype] * 40, rtol=0
            )  # of 40 tokens
        if beforehand:
            # In batches of eight pairs, which bfloat16 rounds otherwise.
            for name, right in zip(
                ("ref_chosen_logps", "ref_rejected_logps"), expected, strict=True
            ):
                torch.testing.assert_close(
                    batch[name],
                    right,
                    atol=0.5 if dtype == "bfloat16" else 1e-4,
                    rtol=0,
                )
        # The base is far away.
        with trainer.model.disable_adapter():
            ids, mask = batch["input_ids"], batch["attention_mask"]
            base = trainer.model(input_ids=ids, attention_mask=mask).logits
        assert (
            base - sampled(input_ids=ids, attention_mask=mask).logits
        ).abs().max() > 0.5


@pytest.mark.parametrize(
    ("method", "dtype"),
    [("sft", "bfloat16"), ("dpo", "float32"), ("grpo", "bfloat16")],
)
def test_each_method_starts_where_the_adapter_was_sampled(
    method, dtype, first, answers, words, tmp_path, monkeypatch
):
    trainer = built(
        monkeypatch, method, first, answers, tmp_path / "second", **STAGE, dtype=dtype
    )
    sampled, tokenizer = load_model(str(first), dtype=dtype)
    turns = [
        *messages(prompt("dat")),
        {"role": "assistant", "content": list_text(words[0][:10])},
    ]
    ids = tokenizer.apply_chat_template(turns, return_tensors="pt", return_dict=True)[
        "input_ids"
    ]

    @torch.no_grad()
    def log_probabilities(model):
        steps = model.eval()(ids).logits.float().log_softmax(-1)[0, :-1]
        return steps.gather(1, ids[0, 1:, None])

    def of_trainer(adapter):
        trainer.model.set_adapter(adapter)
        try:
            return log_probabilities(trainer.model)
        finally:
            trainer.model.set_adapter("default")

    expected = log_probabilities(sampled)
    torch.testing.assert_close(
        of_trainer("default"), expected, atol=CLOSE[dtype], rtol=CLOSE[dtype]
    )
    trained = {
        name: weight
        for name, weight in trainer.model.named_parameters()
        if weight.requires_grad
    }
    assert trained
    assert all("lora" in name and ".default." in name for name in trained)
    for weight in trained.values():
        weight.data += 0.1
    assert (of_trainer("default") - expected).abs().max() > 0.1
    if method != "sft":
        torch.testing.assert_close(
            of_trainer("ref"), expected, atol=CLOSE[dtype], rtol=CLOSE[dtype]
        )


@pytest.mark.parametrize(
    ("method", "dtype"), [("dpo", "bfloat16"), ("grpo", "float32")]
)
def test_what_is_left_stands_on_the_same_base(
    method, dtype, first, mini, answers, tmp_path
):
    second = train_any(
        method,
        first,
        answers,
        tmp_path / "second",
        **STAGE | {"learning_rate": 1e-2},
        dtype=dtype,
    )
    third = train_any(
        method,
        second,
        answers,
        tmp_path / "third",
        **STAGE | {"learning_rate": 1e-2},
        dtype=dtype,
    )
    for folder in (second, third):
        assert is_adapter(str(folder))
        config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
        assert config["base_model_name_or_path"] == str(mini)
        assert not [
            path
            for path in folder.iterdir()
            if path.name in ("_merged", "ref", "config.json")
        ]
        model, _ = load_model(str(folder), dtype="float32")
        base = AutoModelForCausalLM.from_pretrained(mini, dtype=torch.float32)
        ids = torch.arange(3, 40)[None]
        adapted = PeftModel.from_pretrained(base, folder)(ids).logits
        assert torch.allclose(model(ids).logits, adapted, atol=1e-4)
    keys = load_file(first / "adapter_model.safetensors").keys()
    assert keys == load_file(third / "adapter_model.safetensors").keys()
    assert not same_weights(first, second)
    assert not same_weights(second, third)


def test_grpo_pays_for_no_distance_at_its_first_step(first, answers, tmp_path):
    rate = {
        "learning_rate": 1e-2,
        "lr_scheduler_type": "constant",
        "lr_scheduler_kwargs": {},
    }
    second = train_any("grpo", first, answers, tmp_path / "second", **STAGE | rate)
    kl = [entry["kl"] for entry in logged(second)]
    assert kl[0] == pytest.approx(0, abs=1e-6)
    assert kl[1] > 1e-5


def test_a_resumed_stage_has_the_reference_that_it_began_with(
    first, answers, tmp_path, monkeypatch
):
    settings = LORA | {
        "learning_rate": 1e-2,
        "max_steps": 4,
        "save_steps": 2,
        "precompute_ref_log_probs": False,
    }
    whole = train("dpo", first, answers, tmp_path / "whole", **settings)

    class CutError(Exception):
        pass

    def cut(self, args, state, *others, **kwargs):
        if state.global_step == 3:
            raise CutError

    with monkeypatch.context() as patch:
        patch.setattr("sozo.training.tracking.RunRecorder.on_step_begin", cut)
        with pytest.raises(CutError):
            train("dpo", first, answers, tmp_path / "cut", **settings)
    assert (tmp_path / "cut" / "checkpoint-2").is_dir()
    resumed = train("dpo", first, answers, tmp_path / "cut", **settings)
    assert same_weights(resumed, whole)
    assert losses(resumed) == losses(whole)


def test_lora_under_zero3_computes_activations_anew_by_what_lets_go_of_weights(
    first, answers, tmp_path, monkeypatch
):
    asked = []

    def enable(model, activation_checkpointing_kwargs=None, **_):
        asked.append(activation_checkpointing_kwargs)

    monkeypatch.setattr(PreTrainedModel, "activation_checkpointing_enable", enable)
    monkeypatch.setattr("sozo.training.run.sharding", lambda training: "ZeRO-3")
    settings = STAGE | {"num_pairs": 64, "activation_checkpointing": True}
    train("dpo", first, answers, tmp_path / "out", **settings)
    assert {"use_reentrant": True} in asked


@pytest.mark.slow
@pytest.mark.parametrize("launch", ["cpu2_ddp.yaml", "cpu2_zero3.yaml"])
@pytest.mark.parametrize("method", ["dpo", "grpo"])
def test_two_processes_train_on_as_one_does(method, launch, first, answers, tmp_path):
    settings = LORA | {
        "model_name_or_path": first,
        "report_to": "none",
        "max_steps": 2,
        "save_strategy": "no",
        "activation_checkpointing": True,
    }
    settings |= GRPO if method == "grpo" else {"answers": answers, "num_pairs": 64}
    two = recipe(
        method=method,
        launch=launch,
        output_dir="two",
        per_device_train_batch_size=4,
        **settings,
    )
    done = run(two, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    if method == "grpo":  # whose draws depend on the processes
        assert logged(tmp_path / "two")[0]["kl"] == pytest.approx(0, abs=1e-5)
    else:
        done = run(
            recipe(
                method=method,
                output_dir="one",
                per_device_train_batch_size=8,
                **settings,
            ),
            tmp_path,
        )
        assert done.returncode == 0, done.stderr
        one, two = (losses(tmp_path / name) for name in ("one", "two"))
        assert two == pytest.approx(one, abs=2e-3)
    load_model(str(tmp_path / "two"))
    before = load_file(first / "adapter_model.safetensors")
    after = load_file(tmp_path / "two" / "adapter_model.safetensors")
    assert {name: weight.shape for name, weight in before.items()} == {
        name: w.shape for name, w in after.items()
    }
    assert any(not before[name].equal(after[name]) for name in before)


# Where an adapter is merged


@pytest.fixture
def lossy(mini, tmp_path):
    """An adapter all of which bfloat16 rounds away: 2^-20 beside weights whose last digit is larger."""
    base = AutoModelForCausalLM.from_pretrained(mini)
    adapted = get_peft_model(
        base, LoraConfig(r=1, lora_alpha=1, lora_dropout=0.0, target_modules=["q_proj"])
    )
    for name, weight in adapted.named_parameters():
        if "lora_" in name:
            weight.data.fill_(2.0**-10)
    adapted.save_pretrained(tmp_path / "lossy")
    AutoTokenizer.from_pretrained(mini).save_pretrained(tmp_path / "lossy")
    return tmp_path / "lossy"


def test_what_merging_would_lose_is_refused(lossy, mini, answers, tmp_path, capfd):
    for dtype in ("bfloat16", "float16"):
        with refused("weights: merging an adapter would lose of it"):
            load_model(str(lossy), dtype=dtype, merged=True)
    merge(lossy, tmp_path / "m", "float32")
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "m")
    name = "model.layers.0.self_attn.q_proj.weight"
    base = AutoModelForCausalLM.from_pretrained(mini).state_dict()[name]
    torch.testing.assert_close(
        merged.state_dict()[name], base + 2.0**-20, rtol=0, atol=1e-8
    )
    whole = {"max_steps": 1, "save_strategy": "no"}
    with refused("train: all weights of an adapter"):
        train("sft", lossy, answers, tmp_path / "out", **whole)
    assert not (tmp_path / "out").exists()
    # With LoRA it is not merged at all, but vLLM would be handed merged weights.
    one = {"use_peft": True, "lora_r": 1, "lora_alpha": 1, "lora_dropout": 0.0}
    half = {"dtype": "bfloat16"} | one | whole
    train("sft", lossy, answers, tmp_path / "on", **half)
    vllm = {"sampler": "vllm", "use_vllm": True, "beta": 0.0}
    with refused("weights: merging an adapter would lose of it"):
        train_any("grpo", lossy, answers, tmp_path / "vllm", **half | vllm)
    assert not (tmp_path / "vllm").exists()


def test_an_adapter_of_a_merged_base_is_sampled_as_it_was_trained(
    first, answers, tmp_path
):
    merge(first, tmp_path / "base", "float32")
    second = train(
        "dpo",
        tmp_path / "base",
        answers,
        tmp_path / "second",
        **STAGE | {"learning_rate": 1e-2},
    )
    model, _ = load_model(str(second))
    ids = torch.arange(3, 40)[None]
    adapted = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(tmp_path / "base"), second
    )
    torch.testing.assert_close(
        model(ids).logits, adapted(ids).logits, atol=1e-4, rtol=0
    )


@pytest.mark.parametrize(("name", "value"), [("lora_r", 4), ("lora_alpha", 5)])
def test_an_adapter_is_trained_on_with_its_own_settings(
    name, value, first, answers, tmp_path
):
    with refused(f"train: an adapter of another {name}"):
        train("sft", first, answers, tmp_path / "out", **STAGE | {name: value})
    assert not (tmp_path / "out").exists()


def test_an_adapter_without_its_base_or_a_tokenizer(first, mini, answers, tmp_path):
    shutil.copytree(first, tmp_path / "bare")
    for path in (tmp_path / "bare").glob("*token*"):
        path.unlink()
    assert (
        load_tokenizer(str(tmp_path / "bare")).get_vocab()
        == AutoTokenizer.from_pretrained(mini).get_vocab()
    )
    train("sft", tmp_path / "bare", answers, tmp_path / "out", **STAGE)
    config = json.loads((first / "adapter_config.json").read_text("utf-8"))
    (tmp_path / "bare" / "adapter_config.json").write_text(
        json.dumps(config | {"base_model_name_or_path": "./no"})
    )
    with refused("weights: an adapter without its base"):
        train("sft", tmp_path / "bare", answers, tmp_path / "lost", **STAGE)
