"""Entropy over listed nouns: against sums by hand and finite differences, and one process is as four."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from grpo_runs import environment
from noun_entropy_step import LISTS, PROMPT, TEXTS, trainer_of
from scripted_grpo import tiny_llama
from sozo.data.errors import UserError
from sozo.training.noun_entropy import NounEntropy
from sozo.training.shared_prompt import share_prompt
from sozo.training.words import WordArguments
from subwords import NOUNS, tokenizer


def by_hand(model):
    """The mean over listed words of the summed entropies among the nouns that are still possible."""
    tokens, sums = tokenizer(), []
    prompt = tokens(PROMPT, add_special_tokens=False)["input_ids"]
    spelled = [tokens(" " + noun, add_special_tokens=False)["input_ids"] for noun in NOUNS]
    for text, words in zip(TEXTS, LISTS, strict=True):
        ids = [*prompt, *tokens(text, add_special_tokens=False)["input_ids"], tokens.eos_token_id]
        logits = model(torch.tensor([ids])).logits[0]
        place = len(prompt)
        for word in words:
            place += 1  # its number
            own = tokens(" " + word, add_special_tokens=False)["input_ids"]
            assert ids[place : place + len(own)] == own
            end = ids[place + len(own)]
            if word in NOUNS:
                total = 0.0
                for k in range(len(own) + 1):
                    possible = {(*noun, end)[k] for noun in map(tuple, spelled) if noun[:k] == tuple(own[:k])}
                    q = logits[place + k - 1, sorted(possible)].softmax(-1)
                    total = total - (q * q.log()).sum()
                sums.append(total)
            place += len(own) + 1  # and the line break
    assert len(sums) == 19
    return torch.stack(sums).mean()


@pytest.fixture(params=[False, True], ids=["repeated", "shared"])
def trainer(request, tmp_path):
    trainer = trainer_of(tmp_path, per_device_train_batch_size=8)
    trainer.model.double()
    if request.param:
        assert share_prompt(trainer.model)
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def test_loss_and_gradient_are_those_by_hand_and_by_finite_differences(trainer):
    inputs = trainer._generate_and_score_completions([trainer.train_dataset[0]] * 8)
    loss = trainer._compute_loss(trainer.model, inputs)
    # All are paid alike, so that nothing else is in the loss.
    expected = by_hand(trainer.model)
    assert float(loss) == pytest.approx(-0.5 * float(expected), abs=1e-9)
    loss.backward()
    parameters = list(trainer.model.parameters())
    got = [parameter.grad.clone() for parameter in parameters]
    trainer.model.zero_grad()
    (-0.5 * expected).backward()
    for mine, parameter in zip(got, parameters, strict=True):
        assert torch.allclose(mine, parameter.grad, atol=1e-9)
    # Up the gradient, whose length is the slope. Norms compute in float32, so that steps cannot be small.
    length = torch.cat([gradient.flatten() for gradient in got]).norm()
    step, values = 0.003, []
    for sign in (1, -2):
        with torch.no_grad():
            for parameter, gradient in zip(parameters, got, strict=True):
                parameter += sign * step * gradient / length
            values.append(-0.5 * float(by_hand(trainer.model)))
    assert float(length) == pytest.approx((values[0] - values[1]) / (2 * step), rel=5e-4)


def test_no_mass_on_nouns_is_paid(trainer):
    # More of what is no noun, everywhere alike, is worth nothing: validity pays for nouns.
    inputs = trainer._generate_and_score_completions([trainer.train_dataset[0]] * 8)
    before = float(trainer._compute_loss(trainer.model, inputs))
    head = trainer.model.get_output_embeddings()
    head.bias = torch.nn.Parameter(torch.zeros(head.weight.shape[0], dtype=torch.double))
    with torch.no_grad():
        head.bias[tokenizer().convert_tokens_to_ids("桜")] = 5.0
    assert float(trainer._compute_loss(trainer.model, inputs)) == pytest.approx(before, abs=1e-9)


def test_what_is_logged(tmp_path):
    trainer = trainer_of(tmp_path, max_steps=1)
    trainer.train()
    entry = trainer.state.log_history[0]
    assert entry["words/not_listed"] == pytest.approx(1 / 20)
    expected = float(by_hand(tiny_llama(len(tokenizer()))))
    assert entry["words/noun_entropy"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("size", [2, 8])
def test_the_micro_batches_do_not_matter(size, tmp_path):
    weights = []
    for number, per_device in enumerate((4, size)):
        (tmp_path / str(number)).mkdir()
        trainer = trainer_of(tmp_path / str(number), per_device_train_batch_size=per_device)
        trainer.train()
        weights.append(torch.cat([p.detach().flatten() for p in trainer.model.parameters()]))
    assert torch.allclose(*weights, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4])
def test_one_process_is_as_several(processes, tmp_path):
    trainer = trainer_of(tmp_path)
    start = torch.cat([p.detach().flatten() for p in trainer.model.parameters()]).clone()
    trainer.train()
    one = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    assert (one - start).abs().max() > 1e-3
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    worker = str(Path(__file__).parent / "noun_entropy_step.py")
    command = [sys.executable, *launch, worker, str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for rank in range(processes):
        weights = torch.load(tmp_path / str(rank) / "weights.pt", weights_only=False)
        assert torch.allclose(one, torch.cat([p.detach().flatten() for p in weights]), atol=1e-6)


def test_a_word_that_begins_with_a_noun_is_no_listed_noun(tmp_path):
    (tmp_path / "nouns.txt").write_text("\n".join(NOUNS), "utf-8")
    told, entropy = tokenizer(), NounEntropy.of(str(tmp_path / "nouns.txt"), tokenizer())
    tokens = torch.tensor([told.convert_tokens_to_ids([" ", "山", "桜", "\n", " ", "山", "\n"])])
    words = torch.isin(tokens, torch.tensor(told.convert_tokens_to_ids(["山", "桜"])))
    assert [(row, start) for row, start, _ in entropy.listed(tokens, words)] == [(0, 4)]
    # Of 犬, 猫 and 山 as the first token, and of 猫 and the line break as the second, all are equally likely.
    logits = torch.zeros(1, 7, len(told), dtype=torch.double)
    assert float(entropy(logits, tokens, words)) == pytest.approx(math.log(3) + math.log(2))


def test_it_needs_nouns_that_can_be_told_apart(tmp_path):
    with pytest.raises(UserError, match="entropy_nouns belongs to noun_entropy"):
        WordArguments(entropy_nouns="jumandic").check_words([], None)
    with pytest.raises(UserError, match="noun_entropy needs a reward that says what each word earned"):
        WordArguments(noun_entropy=0.1).check_words([[]], None)
