"""SFT and DPO on an answer table, with a model of 64 nouns: what they learn and leave, going on after a kill."""

import json
import random
import shutil
import signal
import time
from types import SimpleNamespace

import pytest
import torch
import trl
from huggingface_hub import ModelCard
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from fakes import list_text
from grpo_runs import (
    generated,
    kill_at_random,
    logged,
    recipe,
    recorded,
    run,
    same_weights,
    wandb_records,
)
from sentences import refused
from sft_dpo_runs import losses, train
from sozo.data.prompts import messages, prompt
from sozo.data.prompts.form import PromptForm
from sozo.data.wandb_run import last_checkpoint
from sozo.models.settings import GeneratorSettings, resolve
from sozo.training.card import write_card

pytestmark = pytest.mark.usefixtures("forked_modules")


def log_probability(folder, text):
    """Of the answer, given the prompt."""
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder),
        AutoTokenizer.from_pretrained(folder),
    )
    turns = [*messages(prompt("dat")), {"role": "assistant", "content": text}]
    ids = tokenizer.apply_chat_template(turns, return_tensors="pt", return_dict=True)[
        "input_ids"
    ]
    with torch.no_grad():
        steps = model(ids).logits.log_softmax(-1)[0, :-1]
    return steps.gather(1, ids[0, 1:, None]).sum().item()


def selected(output):
    return recorded(output)["settings"]["selection"]


# What they learn


def test_sft_imitates_the_best_answers(mini, words, answers, tmp_path, monkeypatch):
    seen = []
    original = trl.SFTTrainer.train

    def spy(self, **kwargs):
        seen.append(self.train_dataset)
        return original(self, **kwargs)

    monkeypatch.setattr(trl.SFTTrainer, "train", spy)
    output = train("sft", mini, answers, tmp_path / "out", learning_rate=1e-2)
    assert len(losses(output)) == 8
    # From 64 nouns to 32 the loss of each falls by ln 2 at best.
    assert losses(output)[-1] < losses(output)[0] - 0.1
    drawn = "".join(generated(output, 32))
    assert sum(drawn.count(word) for word in words[0]) > 1.5 * sum(
        drawn.count(word) for word in words[1]
    )

    # The loss is on the answer and its end, not on the prompt.
    tokenizer = AutoTokenizer.from_pretrained(mini)
    row = seen[0][0]
    asked = tokenizer.apply_chat_template(messages(prompt("dat")), return_dict=False)
    assert row["labels"][: len(asked)] == [-100] * len(asked)
    assert row["labels"][len(asked) :] == row["input_ids"][len(asked) :]
    assert row["labels"][-1] == tokenizer.eos_token_id
    assert tokenizer.decode(
        row["labels"][len(asked) :], skip_special_tokens=True
    ).startswith("1. ")
    assert len(row["labels"]) == len(asked) + 21


def test_embeddings_learn_at_a_rate_of_their_own_or_not_at_all(mini, answers, tmp_path):
    name, same, moved = "model.embed_tokens.weight", {}, {}
    before = load_file(mini / "model.safetensors")
    for rate in (0, 0.1, 1):
        # Of one step Adam's first moves each weight by the learning rate.
        settings = {
            "learning_rate": 1e-2,
            "embedding_rate": rate,
            "max_steps": 1,
            "warmup_steps": 0,
        }
        after = load_file(
            train("sft", mini, answers, tmp_path / str(rate), **settings)
            / "model.safetensors"
        )
        same[rate] = {
            known for known in before if torch.equal(before[known], after[known])
        }
        moved[rate] = float((after[name] - before[name]).abs().max())
    assert same == {0: {name}, 0.1: set(), 1: set()}
    assert (moved[0.1], moved[1]) == (
        pytest.approx(1e-3, rel=1e-2),
        pytest.approx(1e-2, rel=1e-2),
    )


def test_dpo_prefers_the_chosen_answers(mini, words, answers, tmp_path):
    output = train("dpo", mini, answers, tmp_path / "out", learning_rate=3e-3)
    first, *_, last = losses(output)
    assert first == pytest.approx(0.6931, abs=1e-4)  # ln 2: the policy is the reference
    assert last < first - 0.1
    assert logged(output, "loss")[-1]["rewards/accuracies"] == 1.0
    draw = random.Random(1)
    good, bad = (list_text(draw.sample(half, 10)) for half in words)
    assert log_probability(output, good) - log_probability(output, bad) > (
        log_probability(mini, good) - log_probability(mini, bad) + 1
    )
    facts = selected(output)
    assert (facts["chosen"]["unusable"], facts["rejected"]["unusable"]) == (0, 16)
    assert (facts["rejected"]["lowest_score"], facts["chosen"]["lowest_score"]) == (
        0.0,
        0.9,
    )


def test_a_card_names_a_base_of_the_hub(tmp_path):
    trainer = SimpleNamespace(
        args=SimpleNamespace(output_dir=tmp_path),
        model=None,
        accelerator=SimpleNamespace(unwrap_model=lambda model: model),
        is_world_process_zero=lambda: True,
        _name="SFT",
        _tag_names=["trl", "sft"],
    )
    write_card(trainer, "org/model", model_name="as push_to_hub calls it")
    data = ModelCard.load(tmp_path / "README.md").data
    assert (data.base_model, data.library_name, data.tags) == (
        "org/model",
        "transformers",
        ["sft", "sozo", "trl"],
    )


# Models


def test_dpo_without_a_reference_model_is_the_same(mini, answers, tmp_path):
    with_model = train(
        "dpo",
        mini,
        answers,
        tmp_path / "with",
        precompute_ref_log_probs=False,
        max_steps=4,
    )
    without = train("dpo", mini, answers, tmp_path / "without", max_steps=4)
    # Those computed beforehand had the prompt in every row.
    assert losses(with_model) == pytest.approx(losses(without), abs=1e-5)


def test_the_next_stage_and_sampling_ask_as_the_first_stage_did(
    mini, answers, words, tmp_path
):
    form = {"system_prompt": words[0][0], "chat_template_kwargs": {"tone": "x"}}
    short = {"max_steps": 1, "save_strategy": "no"}
    first = train("sft", mini, answers, tmp_path / "first", **form, **short)
    second = train("dpo", first, answers, tmp_path / "second", **short)
    plain = train("sft", mini, answers, tmp_path / "plain", **short)
    assert resolve(GeneratorSettings(str(second))).form == PromptForm(
        words[0][0], {"tone": "x"}
    )
    assert losses(first) != losses(plain)


def test_a_model_without_chat_template_and_pad_token(mini, answers, tmp_path):
    shutil.copytree(mini, tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(mini)
    tokenizer.chat_template = tokenizer.pad_token = None
    (tmp_path / "base" / "chat_template.jinja").unlink()
    tokenizer.save_pretrained(tmp_path / "base")
    output = train("dpo", tmp_path / "base", answers, tmp_path / "out", max_steps=2)
    assert len(losses(output)) == 2


# What is refused


def test_data_of_another_kind_is_another_run(mini, answers, tmp_path):
    output = train("sft", mini, answers, tmp_path / "out", max_steps=1)
    shutil.copytree(answers, tmp_path / "moved")
    settings = {"max_steps": 1}
    train(
        "sft", mini, tmp_path / "moved", output, **settings
    )  # a table that has only moved
    (tmp_path / "moved" / "part-00000.parquet").unlink()
    with refused("train: a run of other answers"):
        train("sft", mini, tmp_path / "moved", output, **settings)
    with refused("train: a run of fewer answers"):
        train("sft", mini, answers, output, top_k=32, **settings)


# The user's own command, whole and killed


@pytest.fixture(scope="module")
def unbroken(mini, answers, tmp_path_factory):
    """A DPO run of eight steps, its command, how many seconds it took, and what it said."""
    folder = tmp_path_factory.mktemp("unbroken")
    settings = {
        "model_name_or_path": mini,
        "answers": answers,
        "output_dir": "out",
        "num_pairs": 64,
    }
    command = recipe(method="dpo", save_steps=1, save_total_limit=2, **settings)
    started = time.monotonic()
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    return folder / "out", command, time.monotonic() - started, done.stdout


def test_a_run_says_what_it_trains_on(unbroken):
    output, _, _, said = unbroken
    of = "64 of 128 answers (64 dat) to 1 prompts, scores"
    assert f"chosen: {of} 0.9000 to 0.9630, 0 unusable\n" in said
    assert f"rejected: {of} 0.0000 to 0.7630, 16 unusable\n" in said
    assert said.endswith("The trained model is in out\n")
    assert not (output / "_dataset").exists()
    assert last_checkpoint(output) == output / "checkpoint-8"
    assert {"run_config.json", "metrics.json", "README.md"} <= {
        path.name for path in output.iterdir()
    }
    (config,) = [
        json.loads(item.value_json)
        for record in wandb_records(output)
        if record.HasField("run")
        for item in record.run.config.update
        if item.key == "sozo"
    ]
    assert config["what"]["selection"]["rejected"]["unusable"] == 16


@pytest.mark.parametrize(
    ("times", "by"),
    [
        (2, signal.SIGKILL),
        pytest.param(20, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_run_ended_at_random_moments_ends_like_an_unbroken_one(
    times, by, unbroken, tmp_path
):
    whole, command, span, _ = unbroken
    output = tmp_path / "out"
    command = [*command, "--report_to", "none"]
    assert (
        kill_at_random(command, output, times=times, span=span, by=by) >= times * 3 // 4
    )
    resumed = run(command, tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert same_weights(output, whole)
    assert losses(output) == losses(whole)
    assert not list(output.rglob("*.tmp"))
