"""Lists drawn word by word, and SFT towards the distributions that they were drawn from."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tokenizers import Tokenizer, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from grpo_runs import ROOT, flags, history
from sozo.data.errors import UserError
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.frontier import WordByWord
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.training.config import parse
from sozo.training.sft_dpo import SftArguments, SftSettings, train_sft
from sozo.training.word_targets import WordTargets, spell, word_targets

USE = np.array([0.25, 0.2, 0.15, 0.15, 0.15, 0.1])


@pytest.fixture(scope="module")
def words():
    vectors = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    return WordByWord.fit(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), USE, 6.0, size=3)


def test_lists_come_as_their_targets_say(words):
    count = 20_000
    lists = words.draw(count, np.random.default_rng(1))
    every = np.array(list(permutations(range(6), 3)))
    targets = words.targets(every)
    chances = np.prod([targets[np.arange(len(every)), k, every[:, k]] for k in range(3)], axis=0, dtype=np.float64)
    assert chances.sum() == pytest.approx(1, abs=1e-5)  # no word twice
    number = {tuple(row): k for k, row in enumerate(every.tolist())}
    seen = np.bincount([number[tuple(row)] for row in lists.tolist()], minlength=len(every))
    assert chisquare(seen, count * chances / chances.sum()).pvalue > 0.001


def test_words_are_used_as_wanted_and_pushed_apart(words):
    lists = words.draw(20_000, np.random.default_rng(2))
    for k in range(3):  # in every place; the biases are fitted on 2,048 lists
        assert np.bincount(lists[:, k], minlength=6) / 20_000 == pytest.approx(USE, abs=0.02)
    cosines = words.unit @ words.unit.T
    free = WordByWord.fit(words.unit, USE, 0.0, size=3).draw(20_000, np.random.default_rng(2))
    assert cosines[lists[:, 0], lists[:, 1]].mean() < cosines[free[:, 0], free[:, 1]].mean() - 0.05


def test_the_loss_by_hand(words):
    torch.manual_seed(0)
    tokens = [9, 4, 5, 6, 7, 8]  # of the nouns; 1 ends a list, 2 and 3 are its form
    logits = torch.randn(2, 8, 10, requires_grad=True)
    labels = torch.tensor([[-100, 2, 4, 3, 9, 2, 7, 1], [-100, 2, 4, 3, 9, 1, -100, -100]])  # the second one was cut
    spellings = [(token,) for token in tokens]
    loss = WordTargets(words, spellings)(logits[:, :-1], labels[:, 1:])
    targets = words.targets(np.array([[1, 0, 4]]))[0]
    logs, expected = logits.detach().log_softmax(-1), 0.0
    for row in range(2):
        for place in range(1, 8):
            label = int(labels[row, place])
            if label == -100:
                continue
            if row == 0 and label in tokens:
                share = targets[[2, 4, 6].index(place)]
                expected -= sum(share[noun] * float(logs[row, place - 1, tokens[noun]]) for noun in range(6))
            else:
                expected -= float(logs[row, place - 1, label])
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    # A model that has the distributions already has nothing to learn about them.
    perfect = torch.full((1, 8, 10), -30.0)
    for place, share in zip([2, 4, 6], targets, strict=True):
        perfect[0, place - 1, tokens] = torch.tensor(share).clamp(min=1e-13).log()
    perfect.requires_grad_()
    WordTargets(words, spellings)(perfect[:, :-1], labels[:1, 1:]).backward()
    assert perfect.grad[0, [1, 3, 5]].abs().max() < 1e-5


def test_a_word_of_several_tokens_has_a_target_for_each(words):
    torch.manual_seed(1)
    spellings = [(4,), (4, 5), (4, 5, 6), (4, 7), (8, 6), (9,)]  # 3 follows a word, 1 the last one
    labels = torch.tensor([[-100, 4, 5, 3, 8, 6, 3, 4, 1, -100]])  # nouns 1, 4 and 0
    logits = torch.randn(1, 10, 10)
    targets, logs = words.targets(np.array([[1, 4, 0]]))[0], logits.log_softmax(-1)[0]
    expected = 0.0
    for shares, start, noun, end in zip(targets, (1, 4, 7), (1, 4, 0), (3, 3, 1), strict=True):
        spelling = spellings[noun]
        for depth in range(len(spelling) + 1):
            likely = {k: shares[k] for k in range(6) if spellings[k][:depth] == spelling[:depth]}
            for k, share in likely.items():
                token = spellings[k][depth] if depth < len(spellings[k]) else end
                expected -= share / sum(likely.values()) * float(logs[start + depth - 1, token])
    loss = WordTargets(words, spellings)(logits[:, :-1], labels[:, 1:])
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_only_cut_lists_are_refused(words):
    with pytest.raises(UserError, match="no response of a batch holds its whole list; give a larger max_length"):
        WordTargets(words, [(4,), (5,), (6,), (7,), (8,), (9,)])(torch.zeros(1, 3, 10), torch.tensor([[4, 3, 5]]))


# A model of 64 nouns


@pytest.fixture(scope="module")
def table(mini, tmp_path_factory):
    vocabulary, folder = AutoTokenizer.from_pretrained(mini).get_vocab(), tmp_path_factory.mktemp("lists")
    (folder / "nouns.txt").write_text("\n".join(word for word, row in vocabulary.items() if 14 <= row < 78), "utf-8")
    generator = GeneratorSettings("frontier", nouns=str(folder / "nouns.txt"), strength=300.0, word_strength=1500.0)
    settings = DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")
    run_task(Dat(settings), generator, SamplingOptions(num_responses=128), folder / "table")
    return folder / "table"


def train(mini, table, output, **settings):
    short = {"examples_per_step": 16, "per_device_train_batch_size": 16, "top_k": 128, "report_to": "none"}
    short |= {"model_name_or_path": mini, "responses": table, "output_dir": output, "word_targets": True} | settings
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / "sft.yaml")]
    return train_sft(*parse(SftArguments, SftSettings, [*yaml, *flags(short)]))


def test_sft_towards_the_distributions(mini, table, tmp_path):
    logged = {}
    for size in (16, 4):  # the same examples in a step, at once and in four micro-batches
        output = train(mini, table, tmp_path / str(size), per_device_train_batch_size=size, learning_rate=3e-3)
        logged[size] = [entry["loss"] for entry in history(output) if "loss" in entry]
    assert logged[4] == pytest.approx(logged[16], rel=1e-3)
    assert logged[16][-1] < logged[16][0] - 0.05


def test_what_has_no_known_distribution_is_refused(mini, table, tmp_path):
    random = tmp_path / "random"
    settings = DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")
    run_task(Dat(settings), GeneratorSettings("random"), SamplingOptions(num_responses=16), random)
    with pytest.raises(UserError, match="word_targets needs responses whose words' distribution is known"):
        word_targets([random], AutoTokenizer.from_pretrained(mini))
    with pytest.raises(UserError, match="spells several of the nouns alike"):
        spell(AutoTokenizer.from_pretrained(mini), ["無い語", "無い言"])


def test_words_are_spelt_as_lists_have_them(tmp_path):
    """As byte pairs do: a space goes with the word's first characters, so that alone a word is another token."""
    tokenizer = Tokenizer(
        models.BPE(
            vocab={t: k for k, t in enumerate([*"▁12.主義本社\n", "▁主", "主義", "▁本"])},
            merges=[("▁", "主"), ("主", "義"), ("▁", "本")],
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    assert fast.convert_ids_to_tokens(fast.encode("主義")) == ["主義"]
    spelt = [fast.convert_ids_to_tokens(list(tokens)) for tokens in spell(fast, ["主義", "本社", "社"])]
    assert spelt == [["▁主", "義"], ["▁本", "社"], ["▁", "社"]]
