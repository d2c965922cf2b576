"""Many prompts in one step of the sampler: each row reads its own prompt, whatever stands beside it."""

import numpy as np
import pytest
import torch

from sentences import refused
from small_models import gemma, llama, peaked, qwen, uniforms
from sozo.models import shared_prefix
from sozo.models.model_support import encode_text
from sozo.models.shared_prefix import draw, sample_each, sample_tokens
from sozo.models.tiny import build_tokenizer
from sozo.models.transformers_model import TransformersGenerator

PROMPTS = [[5, 9, 3, 7, 7, 2], [8, 4], [11], [6, 3, 3, 9, 12, 40, 41, 5, 2], [5, 9, 3]]
ASKED = [3, 5, 1, 4, 8]  # of each prompt so many
TIE = 1e-5  # of probability: a uniform so near to the border of two tokens may fall to either side of it


def asked(counts):
    """The prompts in mixed order, each as often as is asked."""
    rows = []
    for prompt, count in zip(PROMPTS, counts, strict=False):
        rows += [prompt] * count
    return [rows[k] for k in np.random.default_rng(7).permutation(len(rows))]


def passes(model):
    """A list that grows by the number of rows with each forward pass of the model."""
    rows = []
    model.register_forward_pre_hook(
        lambda _, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    return rows


def parted(model, prompt, ours, theirs, numbers):
    """Whether two answers drawn with the same uniforms part; where they do, it must be at a near tie."""
    if ours == theirs:
        return False
    at = next(k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + ours[:at]])).logits[0, -1]
    borders = logits.double().softmax(0).cumsum(0)
    low, high = sorted((ours[at], theirs[at]))
    assert (
        abs(float(borders[low:high] - numbers[at]).min() if high - low == 1 else 1)
        < TIE
    ), "no near tie"
    return True


@pytest.mark.parametrize(
    ("make", "slots", "check_every", "alike", "counts"),
    [
        (llama, 64, 1, True, [60]),  # one prompt
        (llama, 6, 1, False, ASKED),
        (qwen, 64, 4, True, ASKED),
        (gemma, 6, 4, False, ASKED),
    ],
)
def test_each_row_has_the_logits_of_its_own_prompt(
    make, slots, check_every, alike, counts, monkeypatch
):
    model, seen = peaked(make) if alike else make(), {}

    def recording(logits, random, temperature, which=None):
        rows = logits if which is None else logits[which]
        seen.update(zip(random.tolist(), rows.clone(), strict=True))
        return draw(logits, random, temperature, which)

    monkeypatch.setattr(shared_prefix, "draw", recording)
    prompts = asked(counts)
    random = uniforms(len(prompts), 12)
    rows = sample_each(
        model, prompts, random, ends=range(60), slots=slots, check_every=check_every
    )
    assert len({len(row) for row in rows}) > 2
    for prompt, row, numbers in zip(prompts, rows, random.tolist(), strict=True):
        with torch.no_grad():
            full = model(input_ids=torch.tensor([prompt + row])).logits[
                0, len(prompt) - 1 : -1
            ]
        ours = torch.stack([seen[u] for u in numbers[: len(row)]])
        assert torch.allclose(ours, full, atol=1e-3)
        again = draw(
            full, torch.tensor(numbers[: len(row)], dtype=torch.float64)
        ).tolist()
        parted(model, prompt, row, again, numbers)


def test_a_rows_tokens_do_not_depend_on_its_neighbours():
    model, random = llama(), uniforms(40, 16, seed=5)
    mine, others = PROMPTS[0], [PROMPTS[3], PROMPTS[2], [2] * 30, PROMPTS[1]]
    alone = sample_tokens(model, mine, random[:1], ends=range(20))[0]
    for neighbours in (others[:1] * 3, [mine, *others] * 4):
        for slots in (3, 64):
            row = sample_each(
                model,
                [mine, *neighbours],
                random[: 1 + len(neighbours)],
                ends=range(20),
                slots=slots,
            )[0]
            parted(model, mine, row, alone, random[0])


def test_memory_is_reckoned_before_anything_is_computed():
    model, prompts = llama(), [[3] * 100, [4] * 100, [5] * 3]
    random = uniforms(3, 20)
    expected = sample_each(model, prompts, random, ends=[])
    rows = passes(model)
    token, logits = (
        4 * 2 * 2 * 2 * 8,
        4 * 700,
    )  # bytes: two layers' keys and values of two heads of eight numbers
    beside = {count: count * (20 * token + logits) for count in (1, 2, 3)}

    def waves(free):
        rows.clear()
        again = sample_each(
            model, prompts, random, ends=[], free=2 * free
        )  # half is for what else a step needs
        assert all(
            not parted(model, *row)
            for row in zip(prompts, again, expected, random, strict=True)
        )
        return len(rows)

    assert (
        waves(300 * token + beside[3]) == 3 + 19
    )  # three prompts, each padded to the longest one
    assert waves(300 * token + beside[3] - 1) == 3 + 2 * 19
    assert waves(100 * token + beside[1]) == 3 + 3 * 19
    rows.clear()
    with refused("shared_prefix: no memory for one prompt"):
        sample_each(
            model, prompts, random, ends=[], free=2 * (100 * token + beside[1]) - 2
        )
    assert not rows
    # Of one prompt asked several times as many rows are decoded at once as there is room for.
    sample_each(
        model,
        [[3] * 100] * 5,
        uniforms(5, 20),
        ends=[],
        free=2 * (100 * token + beside[2]),
    )
    assert max(rows) == 2


def test_a_prompt_of_nothing_is_refused():
    with refused("shared_prefix: a prompt without a token"):
        sample_each(llama(), [[3], []], uniforms(2, 4), ends=[])
    assert sample_each(llama(), [], uniforms(0, 4), ends=[]) == []


def test_items_that_are_asked_once_are_decoded_together():
    tokenizer = build_tokenizer(["犬", "猫", "水"])
    model = llama(vocab_size=len(tokenizer), eos_token_id=1)
    generator = TransformersGenerator(model, tokenizer, max_new_tokens=8)
    prompts = [
        "1. 犬" + "".join(f"\n{j}. 猫" for j in range(2, k)) for k in range(2, 8)
    ]
    generator.answer(prompts[:1], seed=0, batch=0)
    rows = passes(model)
    answers = generator.answer(prompts, seed=0, batch=1)
    assert rows[:6] == [1] * 6
    assert len(rows) <= 6 + 7
    random = np.random.default_rng([0, 1]).random((6, 8))
    ids = [encode_text(tokenizer, text) for text in prompts]
    expected = sample_each(model, ids, random, ends=[1])
    assert [answer.text for answer in answers] == tokenizer.batch_decode(
        expected, skip_special_tokens=True
    )
    assert generator.describe()["sampler"] == "shared_prefix"
