"""Credit per word: tokens aligned with words, and gradients against those written by hand on lists of three words."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from fakes import AXES, list_text
from scripted_grpo import generated, scripted
from sentences import refused
from sozo.models.tiny import build_tokenizer
from sozo.rewards.reward import Part
from sozo.scoring.distance import distance_to_others
from sozo.training.shared_prompt import share_prompt
from sozo.training.word_trainer import WordTokens, WordTrainer
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


# What is learned


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


def test_what_cannot_be():
    class Trl:
        loss_type, off_policy_mask_threshold = "dapo", None

    words = WordArguments(credit="word")
    assert words.decide_words([Three("a", "a"), usable], Trl)
    with refused("words: no reward of words"):
        words.decide_words([usable], Trl)
