"""A list of a frontier is known by its task, never by counting nouns: others' texts that hold exactly ten of them."""

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from grpo_runs import history
from once import NOUNS, TEXTS, answered, dat, train
from sentences import refused
from sozo.data.prompts import prompt
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task
from sozo.models.settings import GeneratorSettings
from sozo.training.selection import select_top
from toy_task import Lipogram

pytestmark = pytest.mark.usefixtures("lipogram")


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Seven lists of a frontier."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "nouns.txt").write_text("\n".join(NOUNS), "utf-8")
    generator = GeneratorSettings(
        "frontier",
        nouns=str(folder / "nouns.txt"),
        strength=300.0,
        word_strength=1500.0,
    )
    run_task(dat(), generator, SamplingOptions(num_answers=7, seed=1), folder / "table")
    return folder / "table"


def loss_of(model, tables, output, count, **settings):
    """The loss at the first step, before a weight moves: a mean over the tokens of all answers."""
    settings = {"max_length": 1024, "word_targets": True} | settings
    return history(train("sft", model, tables, output, count, **settings))[0]["loss"]


def imitated(model, asked, text):
    """The cross-entropy of a text and its end, token by token, in nats; of how many tokens."""
    tokenizer, weights = (
        AutoTokenizer.from_pretrained(model),
        AutoModelForCausalLM.from_pretrained(model),
    )
    before = tokenizer.encode(asked + "\n", add_special_tokens=False)
    whole = tokenizer.encode(asked + "\n" + text, add_special_tokens=False)
    own = [*whole[len(before) :], tokenizer.eos_token_id]
    with torch.no_grad():
        logs = weights(torch.tensor([[*before, *own]])).logits[0].log_softmax(-1)
    rows = torch.arange(len(before) - 1, len(before) + len(own) - 1)
    return -float(logs[rows, own].sum()), len(own)


@pytest.fixture(scope="module")
def of_lists(model, lists, tmp_path_factory):
    """The loss of the lists alone, in nats, and their tokens."""
    texts = select_top(lists, 7).texts
    parts = [imitated(model, prompt("dat"), text) for text in texts]
    count = sum(number for _, number in parts)
    loss = loss_of(model, lists, tmp_path_factory.mktemp("alone") / "out", 7)
    plain = loss_of(
        model, lists, tmp_path_factory.mktemp("plain") / "out", 7, word_targets=False
    )
    assert plain * count == pytest.approx(sum(nats for nats, _ in parts), rel=2e-5)
    assert abs(loss - plain) > 5e-4 * plain  # a true list gets the targets of its words
    return loss * count, count


def test_other_tasks_answers_are_imitated_whatever_they_hold(
    model, lists, of_lists, tmp_path
):
    """In the folders' other order."""
    task, texts = Lipogram(), list(TEXTS.values())
    other = answered(task, tmp_path / "other", *texts)
    items = [item.prompt for item in task.items()]
    parts = [
        imitated(model, items[k % len(items)], text) for k, text in enumerate(texts)
    ]
    nats, tokens = of_lists
    nats += sum(own for own, _ in parts)
    expected = nats / (tokens + sum(count for _, count in parts))
    count = 7 + len(texts)
    assert loss_of(model, [other, lists], tmp_path / "out", count) == pytest.approx(
        expected, rel=2e-5
    )


def test_where_every_list_is_cut_nothing_is_trained(model, lists, tmp_path):
    encode = AutoTokenizer.from_pretrained(model).encode
    short = imitated(model, prompt("dat"), "")[1] + len(encode(prompt("dat"))) + 9
    # Beside another task's answers, too.
    other = answered(Lipogram(), tmp_path / "other", "わからない")
    with refused("word_targets: every list is cut"):
        loss_of(model, [lists, other], tmp_path / "mixed", 8, max_length=short)
