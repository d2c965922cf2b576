"""Lists drawn word by word, and SFT towards the distributions that they were drawn from."""

from itertools import permutations

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import chisquare
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from grpo_runs import ROOT, flags
from sentences import refused
from sft_dpo_runs import losses
from sozo.data.jumandic import load_nouns
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task
from sozo.models.settings import GeneratorSettings
from sozo.scoring.parse import write_list
from sozo.tasks.dat.frontier import WordByWord
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.training.arguments import SftArguments
from sozo.training.config import parse
from sozo.training.sft_dpo import SftSettings, train_sft
from sozo.training.word_targets import WordTargets, row_key, spell, word_targets

USE = np.array([0.25, 0.2, 0.15, 0.15, 0.15, 0.1])


@pytest.fixture(scope="module")
def words():
    vectors = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    return WordByWord.fit(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), USE, 6.0, size=3
    )


def test_lists_come_as_their_targets_say(words):
    count = 20_000
    lists = words.draw(count, np.random.default_rng(1))
    every = np.array(list(permutations(range(6), 3)))
    targets = words.targets(every)
    chances = np.prod(
        [targets[np.arange(len(every)), k, every[:, k]] for k in range(3)],
        axis=0,
        dtype=np.float64,
    )
    assert chances.sum() == pytest.approx(1, abs=1e-5)  # no word twice
    number = {tuple(row): k for k, row in enumerate(every.tolist())}
    seen = np.bincount(
        [number[tuple(row)] for row in lists.tolist()], minlength=len(every)
    )
    assert chisquare(seen, count * chances / chances.sum()).pvalue > 0.001


def test_words_are_used_as_wanted_and_pushed_apart(words):
    lists = words.draw(20_000, np.random.default_rng(2))
    for k in range(3):  # in every place; the biases are fitted on 2,048 lists
        assert np.bincount(lists[:, k], minlength=6) / 20_000 == pytest.approx(
            USE, abs=0.02
        )
    cosines = words.unit @ words.unit.T
    free = WordByWord.fit(words.unit, USE, 0.0, size=3).draw(
        20_000, np.random.default_rng(2)
    )
    assert (
        cosines[lists[:, 0], lists[:, 1]].mean()
        < cosines[free[:, 0], free[:, 1]].mean() - 0.05
    )


# Against the definition, noun by noun


def naive(words, spellings, logits, labels, places):
    """The loss by its definition: at every token of a word, each noun that begins with the tokens before has its share.

    `places` gives for each row where its words begin and which noun each of them is.
    """
    logs = logits.double().log_softmax(-1)
    chosen = {
        (row, place): {} for row, place in np.argwhere(labels.numpy() >= 0).tolist()
    }
    for at in chosen:
        chosen[at] = {int(labels[at]): 1.0}
    for row, hits in enumerate(places):
        targets = words.targets(np.array([[noun for _, noun in hits]]))[0].astype(float)
        for shares, (start, noun) in zip(targets, hits, strict=True):
            end = int(labels[row, start + len(spellings[noun])])
            for depth in range(len(spellings[noun]) + 1):
                likely = {}
                for other, spelling in enumerate(spellings):
                    if spelling[:depth] == spellings[noun][:depth]:
                        token = spelling[depth] if depth < len(spelling) else end
                        likely[token] = likely.get(token, 0.0) + shares[other]
                whole = sum(likely.values())
                chosen[row, start + depth] = {
                    token: share / whole for token, share in likely.items()
                }
    return -sum(
        share * logs[*at, token]
        for at, shares in chosen.items()
        for token, share in shares.items()
    )


def byte_pairs(nouns):
    """A tokenizer that spells most of `nouns` with several tokens, the space before them in the first one."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    lines = [write_list(nouns[k : k + 10]) for k in range(0, len(nouns), 10)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def test_the_loss_and_its_gradient_are_the_definition_s():
    nouns = load_nouns()[14000:14200]
    tokenizer = byte_pairs(nouns)
    unit = np.random.default_rng(3).normal(size=(len(nouns), 4)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    words = WordByWord.fit(
        unit, np.random.default_rng(4).dirichlet(np.ones(len(nouns))), 100.0
    )
    spellings = spell(tokenizer, nouns)
    # Deep, with common beginnings, some of which are whole nouns.
    assert max(map(len, spellings)) > 4
    assert len({spelling[:1] for spelling in spellings}) < 100
    assert sum(a == b[: len(a)] for a in spellings for b in spellings if a != b) > 20
    lists = words.draw(4, np.random.default_rng(5))
    rows = [
        [
            *tokenizer.encode(
                write_list([nouns[k] for k in row]), add_special_tokens=False
            ),
            0,
        ]
        for row in lists
    ]
    labels = torch.full((4, max(map(len, rows)) + 2), -100)
    for number, row in enumerate(rows):
        labels[number, 2 : 2 + len(row)] = torch.tensor(row)
    targets = WordTargets(words, spellings, set(map(row_key, labels.tolist())))
    places = [targets.find(row) for row in labels.tolist()]
    assert [[noun for _, noun in row] for row in places] == lists.tolist()
    torch.manual_seed(6)
    ours = (3 * torch.randn(*labels.shape, len(tokenizer))).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    loss, expected = (
        targets(ours, labels),
        naive(words, spellings, theirs, labels, places),
    )
    assert loss.item() == pytest.approx(expected.item(), rel=2e-7)
    loss.backward(), expected.backward()
    assert (ours.grad - theirs.grad).abs().max() < 2e-6


def test_a_target_among_words_that_are_hardly_used_is_as_exact():
    """Beside a noun that is all but certain, sums in single precision would lose those of a rare beginning."""

    bias = np.log(np.array([[1.0, 3e-13, 1e-13, 1e-38, 1e-30]], np.float32))
    words = WordByWord(np.zeros((5, 1), np.float32), 0.0, bias)
    logits, spellings = torch.randn(1, 4, 9), [(3,), (4, 5), (4, 6), (4,), (7,)]
    targets = WordTargets(words, spellings, {row_key([4, 5, 2])})
    loss = targets(logits, torch.tensor([[4, 5, 2, -100]]))
    logs = logits.log_softmax(-1)[0]
    expected = -logs[0, 3] - 0.75 * logs[1, 5] - 0.25 * logs[1, 6] - logs[2, 2]
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)


def test_cut_lists_are_imitated_and_another_task_s_answers_with_as_many_nouns_too(
    words,
):
    spellings = [(4,), (5,), (6,), (7,), (8,), (9,)]
    torch.manual_seed(2)
    labels = torch.tensor([[4, 3, 5, -100, -100, -100], [4, 3, 5, 3, 6, 1]])
    logits = torch.randn(2, 6, 10)
    logs = logits.double().log_softmax(-1)
    token_by_token = -sum(
        logs[row, place, label]
        for row, line in enumerate(labels)
        for place, label in enumerate(line)
        if label >= 0
    )
    imitated = WordTargets(words, spellings)
    assert len(imitated.find(labels[1].tolist())) == 3  # as many as a list has
    assert imitated(logits, labels).item() == pytest.approx(token_by_token.item())
    # Of the list that is whole the targets are learned, beside one that was cut.
    learned = WordTargets(words, spellings, {row_key(labels[1].tolist())})
    assert learned(logits, labels).item() != pytest.approx(token_by_token.item())


# A model of 64 nouns


@pytest.fixture(scope="module")
def drawn(mini, tmp_path_factory):
    """Draws a table of one frontier: its name, the seed and how many lists."""
    vocabulary, folder = (
        AutoTokenizer.from_pretrained(mini).get_vocab(),
        tmp_path_factory.mktemp("lists"),
    )
    (folder / "nouns.txt").write_text(
        "\n".join(word for word, row in vocabulary.items() if 14 <= row < 78), "utf-8"
    )
    generator = GeneratorSettings(
        "frontier",
        nouns=str(folder / "nouns.txt"),
        strength=300.0,
        word_strength=1500.0,
    )
    settings = DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")

    def draw(name, seed, count):
        run_task(
            Dat(settings),
            generator,
            SamplingOptions(num_answers=count, seed=seed),
            folder / name,
        )
        return folder / name

    return draw


@pytest.fixture(scope="module")
def table(drawn):
    return drawn("table", 0, 128)


def train(mini, table, output, **settings):
    short = {
        "examples_per_step": 16,
        "per_device_train_batch_size": 16,
        "top_k": 128,
        "report_to": "none",
    }
    short |= {
        "model_name_or_path": mini,
        "answers": table,
        "output_dir": output,
        "word_targets": True,
    } | settings
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / "sft.yaml")]
    return train_sft(*parse(SftArguments, SftSettings, [*yaml, *flags(short)]))


def test_sft_towards_the_distributions(mini, table, tmp_path):
    logged = {}
    for size in (
        16,
        4,
    ):  # the same examples in a step, at once and in four micro-batches
        output = train(
            mini,
            table,
            tmp_path / str(size),
            per_device_train_batch_size=size,
            learning_rate=3e-3,
        )
        logged[size] = losses(output)
    assert logged[4] == pytest.approx(logged[16], rel=1e-3)
    assert logged[16][-1] < logged[16][0] - 0.05


def test_an_adapter_on_the_output_layer_learns(mini, table, tmp_path):
    lora = {"use_peft": True, "lora_target_modules": ["q_proj", "lm_head"], "lora_r": 4}
    output = train(
        mini, table, tmp_path / "out", max_steps=2, learning_rate=3e-3, **lora
    )
    weights = load_file(output / "adapter_model.safetensors")
    (added,) = (weight for name, weight in weights.items() if "lm_head.lora_B" in name)
    assert added.abs().amax(dim=1).gt(0).all()  # of every token


def test_what_has_no_known_distribution_is_refused(mini, table, tmp_path):
    random = tmp_path / "random"
    settings = DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")
    run_task(
        Dat(settings),
        GeneratorSettings("random"),
        SamplingOptions(num_answers=16),
        random,
    )
    with refused("word_targets: lists that no frontier drew"):
        word_targets([random], AutoTokenizer.from_pretrained(mini))
    with refused("word_targets: nouns spelt alike"):
        spell(AutoTokenizer.from_pretrained(mini), ["無い語", "無い言"])


def test_words_are_spelt_as_lists_have_them(tmp_path):
    """As byte pairs do: a space goes with the word's first characters, so that alone a word is another token."""
    tokenizer = Tokenizer(
        models.BPE(
            vocab={
                t: k for k, t in enumerate([*"▁12.主義本社\n", "▁主", "主義", "▁本"])
            },
            merges=[("▁", "主"), ("主", "義"), ("▁", "本")],
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    assert fast.convert_ids_to_tokens(fast.encode("主義")) == ["主義"]
    spelt = [
        fast.convert_ids_to_tokens(list(tokens))
        for tokens in spell(fast, ["主義", "本社", "社"])
    ]
    assert spelt == [["▁主", "義"], ["▁本", "社"], ["▁", "社"]]
