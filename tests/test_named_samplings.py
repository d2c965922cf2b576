"""Ways to sample: their names, what they truncate, rows of their own, the best of several, several in one reply."""

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from sozo.data.errors import UserError
from sozo.models.sampling import Sampling
from sozo.models.shared_prefix import draw

TRUNCATIONS = [
    {"min_p": 0.1},
    {"top_p": 0.9},
    {"top_k": 20},
    {"top_k": 50, "top_p": 0.7},
    {"top_k": 60, "top_p": 0.95, "min_p": 0.02},
]


def transformers_distribution(
    logits: torch.Tensor, temperature: float, truncation: dict[str, float]
) -> torch.Tensor:
    """What `model.generate` draws from: its processors, in its order."""
    processors = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k := truncation.get("top_k"):
        processors.append(TopKLogitsWarper(int(top_k)))
    if top_p := truncation.get("top_p"):
        processors.append(TopPLogitsWarper(top_p))
    if min_p := truncation.get("min_p"):
        processors.append(MinPLogitsWarper(min_p))
    scores = processors(torch.zeros((len(logits), 1), dtype=torch.long), logits.clone())
    return scores.double().softmax(dim=1)


def test_names_have_one_way_to_be_written():
    assert (
        Sampling.parse("min_p=.1,temperature=1.30").text == "temperature=1.3,min_p=0.1"
    )
    assert Sampling.parse(" top_k=20, top_p=0.9").truncation == {
        "top_k": 20,
        "top_p": 0.9,
    }
    assert Sampling.parse("verbalized=5,best-of=4") == Sampling(best_of=4, verbalized=5)
    assert Sampling.parse(None) == Sampling.parse("") == Sampling()
    assert Sampling().named("base") == "base"
    assert Sampling.parse("temperature=2").named("base") == "base temperature=2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("temperature=0", "sampling temperature must be above 0, 100 at most, not '0'"),
        ("temperature=nan", "must be above 0"),
        ("temperature", "must be above 0, 100 at most, not ''"),
        ("top_p=1.5", "a number above 0, 1 at most"),
        ("top_k=2.5", "a whole number from 1 on"),
        ("best-of=1", "a whole number from 2 to 100"),
        ("best_of=4", r"unknown sampling best_of \(did you mean best-of\?\)"),
        ("temprature=1", "did you mean temperature"),
        ("hot", "there are temperature, top_k, top_p, min_p, best-of, verbalized"),
        ("top_k=5,top_k=6", "has top_k twice"),
    ],
)
def test_a_mistake_in_a_name_is_one_line(text, message):
    with pytest.raises(UserError, match=message):
        Sampling.parse(text)


@pytest.mark.parametrize("truncation", TRUNCATIONS, ids=str)
@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.6])
def test_each_token_is_drawn_as_often_as_transformers_draws_it(truncation, temperature):
    """The whole unit interval in equal steps: shares of tokens are the distribution, to one step."""
    torch.manual_seed(3)
    logits = torch.randn(2, 1300) * 3
    expected = transformers_distribution(logits, temperature, truncation)
    n = 100_000
    uniforms = torch.arange(n, dtype=torch.float64) / n
    for row in range(2):
        which = torch.full((n,), row)
        tokens = draw(logits, uniforms, temperature, which, **truncation)
        counts = torch.bincount(tokens, minlength=1300)
        assert (counts[expected[row] == 0] == 0).all()
