"""Credit per word: tokens aligned with words, and gradients against those written by hand on lists of three words."""

from itertools import product

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from fakes import AXES, FakeEncoder, FakeNouns, list_text
from scripted_grpo import generated, scripted
from sentences import refused
from sozo.models.tiny import build_tokenizer
from sozo.rewards.dat import DatDistance
from sozo.rewards.reward import Part
from sozo.scoring.distance import distance_to_others, mean_pairwise_distance
from sozo.tasks.dat.scorer import DatScorer
from sozo.training.shared_prompt import share_prompt
from sozo.training.word_trainer import WordTokens, WordTrainer, part_advantages
from sozo.training.words import WordArguments
from word_lists import LISTS, TEXTS, UNIT, WORDS, Three, spans, usable

# Words and tokens


def byte_level(texts):
    """A tokenizer that knows few of the characters, so that most are the bytes of several tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=290, initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")


def check_alignment(tokenizer, words):
    text = list_text(words)
    ids = [
        *tokenizer(text, add_special_tokens=False)["input_ids"],
        tokenizer.eos_token_id,
    ]
    numbers = WordTokens(tokenizer).parts(ids, text, spans(text, words))
    for number, word in enumerate(words):
        (places,) = np.nonzero(numbers == number)
        assert places.tolist() == list(range(places[0], places[-1] + 1))
        # All of the word, and of its line no more than what a token joins to it.
        written = tokenizer.decode([ids[place] for place in places])
        assert word in written
        assert written.strip() in f"{number + 1}. {word}"
    assert (numbers[[0, -1]] == -1).all()


def test_words_of_one_token():
    check_alignment(build_tokenizer(list(AXES)), AXES[:10])


def test_words_of_many_tokens_that_share_characters():
    words = [
        "林檎飴",
        "犬",
        "自動販売機",
        "猫",
        "水車小屋",
        "空",
        "海",
        "石",
        "木",
        "花",
    ]
    tokenizer = byte_level([list_text(AXES[:10])] * 9)
    text = list_text(words)
    assert len(tokenizer(text)["input_ids"]) > len(text)
    check_alignment(tokenizer, words)


def test_what_stands_before_the_text_and_texts_that_tokens_do_not_spell():
    tokenizer = build_tokenizer(list(AXES))
    ids = tokenizer("犬1. 猫", add_special_tokens=False)["input_ids"]
    assert WordTokens(tokenizer).parts(ids, "1. 猫", [Part(3, 4, 0.0)]).tolist() == [
        -1,
        -1,
        0,
    ]
    with refused("words: tokens of another text"):
        WordTokens(tokenizer).parts(ids, "花", [])


def test_the_parts_of_a_list_are_its_words():
    reward = DatDistance(
        lambda: DatScorer(
            FakeNouns(AXES), FakeEncoder(dict(zip(AXES, np.eye(12), strict=True)))
        )
    )
    texts = [
        " <think>1. 犬</think>\n" + list_text(AXES[:10]) + "\n ",
        "x",
        list_text(AXES[:10]),
    ]
    assert reward(completions=texts) == [1.0, None, 0.0]
    first, second, third = reward.last
    assert [first.text[part.start : part.end] for part in first.parts] == list(
        AXES[:10]
    )
    assert [part.worth for part in first.parts] == [1.0] * 10
    assert second.parts == ()
    # Seen before: its words are worth as little as it is.
    assert [part.worth for part in third.parts] == [0.0] * 10


# What is learned


TOLD = {"credit": "word"}


@pytest.fixture(params=[False, True], ids=["repeated", "shared"])
def trainer(request, tmp_path):
    settings = {
        "multi_objective_aggregation": "normalize_then_sum",
        "reward_weights": [1.0, 0.5],
    }
    trainer = scripted(
        tmp_path,
        TEXTS,
        [usable, Three("three", "three")],
        WordTrainer,
        WORDS,
        told=TOLD,
        **settings,
    )
    trainer.model.double()
    if request.param:
        assert share_prompt(trainer.model)
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def by_hand():
    """Advantages of all tokens: number, word, number, word, number, word, end."""
    good = np.array([words[0] != 3 for words in LISTS])
    answer = (good - good.mean()) / (good.std(ddof=1) + 1e-4)
    answer = answer / (answer.std(ddof=1) + 1e-4)
    shares = distance_to_others(UNIT, np.array(LISTS))
    centred = np.where(good[:, None], shares - shares[good].mean(axis=0), 0)
    deviation = np.sqrt((centred**2).sum() / (3 * good.sum() - 1))
    advantages = np.repeat(answer[:, None], 7, axis=1)
    advantages[:, 1:6:2] += 0.5 * centred / (deviation + 1e-4)
    return advantages


def test_advantages_and_gradient_are_those_written_by_hand(trainer):
    inputs = generated(trainer)
    expected = by_hand()
    assert inputs["advantages"].numpy() == pytest.approx(expected, abs=1e-4)
    assert inputs["word_mask"].sum() == inputs["num_word_tokens"] == 18 * 3
    trainer._compute_loss(trainer.model, inputs).backward()
    got = [p.grad.clone() for p in trainer.model.parameters()]
    trainer.model.zero_grad()
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    logps = (
        trainer.model(input_ids=ids)
        .logits[:, :-1]
        .log_softmax(-1)
        .gather(-1, ids[:, 1:, None])[..., 0]
    )
    (-(torch.tensor(expected) * logps[:, -7:]).sum() / (24 * 7)).backward()
    for mine, parameter in zip(got, trainer.model.parameters(), strict=True):
        assert torch.allclose(mine, parameter.grad, atol=1e-6)


def test_a_step_is_trained(trainer):
    trainer.model.float()
    trainer.train()
    entry = trainer.state.log_history[0]
    assert entry["rewards/three/mean"] == pytest.approx(
        float(distance_to_others(UNIT, np.array(LISTS)).mean()), abs=0.05
    )
    # The whole answer is paid what is not paid by the word.
    assert entry["reward"] == pytest.approx(0.75)


@pytest.mark.parametrize("places", [2, 3, 4])
def test_of_independent_words_it_is_half_as_many_times_the_true_gradient_as_there_are(
    places,
):
    """Every list of a small vocabulary: five times for lists of ten words."""
    draw = np.random.default_rng(places)
    logits = torch.tensor(draw.normal(size=(places, 4)), requires_grad=True)
    lists = np.array(list(product(range(4), repeat=places)))
    logs = logits.log_softmax(-1)[torch.arange(places), torch.tensor(lists)]
    likely = logs.sum(1).exp()
    scores, shares = (
        mean_pairwise_distance(UNIT, lists),
        distance_to_others(UNIT, lists),
    )
    (true,) = torch.autograd.grad(
        (likely * torch.tensor(scores)).sum(), logits, retain_graph=True
    )
    (credited,) = torch.autograd.grad(
        (likely.detach()[:, None] * torch.tensor(shares) * logs).sum(), logits
    )
    torch.testing.assert_close(credited, places / 2 * true, rtol=1e-5, atol=1e-7)


def test_groups_and_places_are_apart():
    worths = np.array([[1.0, 9.0], [3.0, 5.0], [7.0, np.nan], [np.nan, np.nan]])
    first = np.array([[-1, 2], [1, -2]]) / np.sqrt(10 / 3)
    assert part_advantages(worths, 2) == pytest.approx(
        np.vstack([first, np.zeros((2, 2))]), abs=1e-3
    )
    assert part_advantages(np.zeros((4, 0)), 2).shape == (4, 0)


WORTHS = Three("a", "a")


@pytest.mark.parametrize(
    ("row", "told", "rewards"),
    [
        ("no such credit", {"credit": "token"}, []),
        ("no reward of words", {"credit": "word"}, [usable]),
        ("no reward of the answer", {"credit": "word"}, [WORTHS, WORTHS]),
        ("entropy without words", {"word_entropy": 0.1}, [usable]),
        ("no window", {"different_words": 5}, []),
        (
            "more than there are",
            {"different_words": 5, "different_words_of": 4},
            [WORTHS],
        ),
        (
            "nothing to turn",
            {"different_words": 4, "different_words_of": 5},
            [WORTHS],
        ),
    ],
)
def test_what_cannot_be(row, told, rewards):
    class Trl:
        loss_type, off_policy_mask_threshold = "bnpo", None

    with refused(f"words: {row}"):
        WordArguments(**told).decide_words([rewards], Trl)


def test_each_entry_of_a_mix_needs_a_reward_of_the_answer():
    class Trl:
        loss_type, off_policy_mask_threshold = "dapo", None

    words = WordArguments(credit="word")
    words.decide_words([[Three("a", "a"), usable], [usable]], Trl)
    with refused("words: no reward of the answer"):
        words.decide_words([[Three("a", "a")], [usable]], Trl)
