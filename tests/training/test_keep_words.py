"""Keeping words: entropy where words are written, rarity by running counts, a multiplier that follows a target."""

import json
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fakes import AXES, FakeNouns, axis_encoder, list_text
from scripted_grpo import generated, scripted
from sozo.rewards.dat import DatRarity
from sozo.tasks.dat.scorer import DatScorer
from sozo.training.shared_prompt import share_prompt
from sozo.training.tracking import RunRecorder
from sozo.training.word_trainer import WordTrainer
from sozo.training.words import KeepWords
from word_lists import LISTS, TEXTS, WORDS, Three, usable


def build():
    return DatScorer(FakeNouns(AXES), axis_encoder())


# Entropy


def entropy_trainer(folder, weight, **settings):
    told = {"word_entropy": weight}
    trainer = scripted(
        folder,
        TEXTS,
        [usable, Three("three", "three")],
        WordTrainer,
        WORDS,
        told=told,
        **settings,
    )
    trainer.model.double()
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def loss_gradient(trainer, *batches):
    trainer.model.zero_grad()
    for batch in batches:
        trainer._compute_loss(trainer.model, batch).backward()
    return torch.cat([p.grad.flatten() for p in trainer.model.parameters()])


@pytest.mark.parametrize("shared", [False, True])
def test_entropy_of_words_against_finite_differences(shared, tmp_path):
    trainer = entropy_trainer(tmp_path, 0.3)
    if shared:
        assert share_prompt(trainer.model)
    inputs = generated(trainer)
    gained = loss_gradient(trainer, inputs)
    trainer._words = replace(trainer._words, entropy=0.0)
    gained = (loss_gradient(trainer, inputs) - gained) / 0.3
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    # Words stand at places 1, 3 and 5 of the answers of 18 usable lists: those that do not begin with 山.
    rows = [k for k, words in enumerate(LISTS) if words[0] != 3]

    def entropy():
        with torch.no_grad():
            logps = (
                trainer.model(input_ids=ids)
                .logits[rows, -8:-1]
                .log_softmax(-1)[:, 1:6:2]
            )
        return float(-(logps.exp() * logps).sum(-1).mean())

    assert trainer._metrics["train"]["words/entropy"][-1] == pytest.approx(
        entropy(), rel=1e-5
    )
    parameters, draw = (
        list(trainer.model.parameters()),
        torch.Generator().manual_seed(2),
    )
    for _ in range(3):
        step = [
            torch.randn(p.shape, generator=draw, dtype=p.dtype) * 1e-4
            for p in parameters
        ]
        sides = []
        for sign in (1, -2):
            with torch.no_grad():
                for parameter, change in zip(parameters, step, strict=True):
                    parameter += sign * change
            sides.append(entropy())
        with torch.no_grad():
            for parameter, change in zip(parameters, step, strict=True):
                parameter += change
        slope = float((gained * torch.cat([change.flatten() for change in step])).sum())
        assert slope == pytest.approx((sides[0] - sides[1]) / 2, rel=1e-3)


def test_the_mean_entropy_does_not_depend_on_the_micro_batches(tmp_path):
    trainer = entropy_trainer(tmp_path, 0.3)
    inputs = generated(trainer) | {"advantages": torch.zeros(24)}
    whole = loss_gradient(trainer, inputs)
    trainer.args.steps_per_generation = trainer.current_gradient_accumulation_steps = 2
    # 14 rows with few unusable ones, 10 with many.
    cut = [
        {n: v[rows] if v is not None and v.ndim else v for n, v in inputs.items()}
        for rows in (slice(14), slice(14, 24))
    ]
    assert torch.allclose(loss_gradient(trainer, *cut), whole, atol=1e-9)
    values = trainer._metrics["train"]["words/entropy"]
    assert np.mean(values[-2:]) == pytest.approx(values[0])


def test_what_is_logged_is_what_trls_own_micro_batches_give(tmp_path, monkeypatch):
    pairs = [list_text(words) for words in permutations(WORDS, 2)]
    settings = {
        "num_generations": 12,
        "per_device_train_batch_size": 4,
        "completions_per_step": 24,
        "max_steps": 4,
    }
    settings |= {
        "loss_type": "dapo",
        "num_iterations": 2,
        "epsilon": 1e-3,
        "shuffle_dataset": False,
    }
    settings |= {
        "prompts": ["1. 犬", "1. 猫"],
        "told": {"credit": "word", "word_entropy": 0.3},
    }
    logs = []
    for _ in ("ours", "TRL's"):
        rewards = [usable, Three("three", "three")]
        trainer = scripted(
            tmp_path, TEXTS[:12] + pairs, rewards, WordTrainer, WORDS, **settings
        )
        trainer.train()
        history = trainer.state.log_history[:-1]
        logs.append(
            [
                {
                    k: v
                    for k, v in entry.items()
                    if k not in ("step_time", "three/seconds")
                }
                for entry in history
            ]
        )
        monkeypatch.setattr(
            WordTrainer, "_loss_sees_micro_batch", True
        )  # which leaves TRL's as they are
    ours, theirs = logs
    assert len(theirs) == 4
    assert min(entry["words/entropy"] for entry in theirs) > 0.1
    assert max(entry["clip_ratio/region_mean"] for entry in theirs) > 0
    for entry, of_trl in zip(ours, theirs, strict=True):
        assert entry == pytest.approx(of_trl, rel=1e-4, abs=1e-6)


# Rarity


def test_rare_words_are_worth_more():
    reward = DatRarity(build, decay=0.5)
    texts = [list_text(AXES[:10]), "x", list_text(AXES[2:])]
    assert reward(completions=texts) == [0.0, None, 0.0]  # nothing has been counted yet
    # Twenty words, 犬 and 猫 once, eight twice, 木 and 花 once.
    paid = reward(completions=[list_text(AXES[:10])])
    worths = [np.log(21 / 2)] * 2 + [np.log(21 / 3)] * 8
    assert paid == [pytest.approx(np.mean(worths))]
    assert [part.worth for part in reward.last[0].parts] == pytest.approx(worths)
    # Halved and ten more.
    state = reward.state()
    assert dict(zip(state["words"], state["counts"], strict=True)) == {
        **dict.fromkeys(AXES[:2], 1.5),
        **dict.fromkeys(AXES[2:10], 2.0),
        **dict.fromkeys(AXES[10:], 0.5),
    }


# The target


def test_the_multiplier_follows_the_count():
    keep = KeepWords(unique=8, window=10)
    assert keep.update("犬犬犬犬犬") == (None, 1.0)
    assert keep.update("犬猫水山川") == (5, pytest.approx(1 + 3 / 8))
    assert keep.update("本車空海石") == (10, pytest.approx((1 + 3 / 8) * (1 - 2 / 8)))
    for _ in range(50):
        keep.update("犬" * 10)
    assert keep.multiplier == 100.0


def test_it_turns_rarity_and_entropy(tmp_path):
    rarity = DatRarity(build)
    texts = [list_text(AXES[k:][:10]) for k in range(3)] + ["x"]
    told = {
        "credit": "word",
        "word_entropy": 0.1,
        "different_words": 12,
        "different_words_of": 30,
    }
    keep = KeepWords(12, 30)
    settings = {
        "multi_objective_aggregation": "normalize_then_sum",
        "reward_weights": [1.0, 0.2],
    }
    rewards = [lambda completions, **_: [1.0, 1.0, 1.0, 0.0], rarity]
    trainer = scripted(
        tmp_path, texts, rewards, WordTrainer, told=told, keep=keep, **settings
    )
    generated(trainer)
    assert (keep.multiplier, trainer._multiplier) == (1.0, 1.0)
    keep._unique = 24
    inputs = generated(trainer)
    assert (keep.multiplier, trainer._multiplier) == (1.5, 1.5)
    assert trainer._weights.tolist() == pytest.approx([1.0, 0.3])
    words = inputs["advantages"][inputs["word_mask"]].reshape(3, 10)
    answer = inputs["advantages"][:3, :1]
    # Rarity's advantages have the deviation 1 over all words.
    assert float(((words - answer) ** 2).sum() / 29) == pytest.approx(0.3**2, rel=1e-2)


def test_a_checkpoint_keeps_counts_and_multiplier(tmp_path):
    texts = [
        [list_text(np.random.default_rng(k).choice(AXES, 10, replace=False))] * 2
        for k in range(6)
    ]

    def run(steps, rarity, keep):
        paid = []
        for step in steps:
            paid.append(rarity(completions=step))
            paid.append(
                keep.update(
                    word
                    for completion in rarity.last
                    for word in completion.facts["words"]
                )
            )
        return paid

    unbroken = DatRarity(build), KeepWords(11, 40)
    expected = run(texts, *unbroken)
    first = DatRarity(build), KeepWords(11, 40)
    assert run(texts[:3], *first) == expected[:6]
    folder = tmp_path / "checkpoint-3"
    folder.mkdir()
    place = SimpleNamespace(is_world_process_zero=True, global_step=3)
    RunRecorder([first[0]], keeps=first[1]).on_save(
        SimpleNamespace(output_dir=tmp_path), place, None
    )
    second = DatRarity(build), KeepWords(11, 40)
    RunRecorder([second[0]], keeps=second[1]).restore(folder)
    assert run(texts[3:], *second) == expected[6:]
    assert [holder.state() for holder in second] == [
        holder.state() for holder in unbroken
    ]
    assert (
        json.loads((folder / "state_1.json").read_text("utf-8"))["multiplier"]
        == first[1].multiplier
    )
