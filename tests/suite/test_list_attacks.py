"""A list of a frontier is known by its task, never by counting nouns: others' texts that hold exactly ten of them."""

import json

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from fakes import list_text
from grpo_runs import ROOT, flags, history
from scripted_grpo import tiny_llama
from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task, score_answers
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.training.arguments import DpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.selection import select_top
from sozo.training.sft_dpo import DpoSettings, SftSettings, train_dpo, train_sft
from test_selection import table
from toy_task import Lipogram

pytestmark = pytest.mark.usefixtures("lipogram")

METHODS = {
    "sft": (train_sft, SftArguments, SftSettings),
    "dpo": (train_dpo, DpoArguments, DpoSettings),
}
COUNT = {"sft": "top_k", "dpo": "num_pairs"}


def train(method, model, tables, output, count, **settings):
    """One step on `count` examples."""
    function, script, config = METHODS[method]
    short = {
        "examples_per_step": count,
        "per_device_train_batch_size": count,
        COUNT[method]: count,
        "max_steps": 1,
    }
    short |= {
        "model_name_or_path": model,
        "answers": tables,
        "output_dir": output,
        "report_to": "none",
    }
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / f"{method}.yaml")]
    return function(*parse(script, config, [*yaml, *flags(short | settings)]))


def dat():
    return Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))


def answered(task, folder, *texts):
    """A finished run whose answers are `texts`, to its items in turn."""
    items = [item.id for item in task.items()]
    file = folder.with_suffix(".jsonl")
    lines = (
        {"id": f"a{k}", "item": items[k % len(items)], "text": text}
        for k, text in enumerate(texts)
    )
    file.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8"
    )
    return score_answers(task, file, folder).folder


# A list of the frontier is known by its task

NOUNS = [
    *"犬猫山海空石木花鳥魚馬牛虫雨雪風火土星月川森米茶酒",
    *["時計", "電車", "法律", "音楽", "病気", "天気", "祝日"],
]
TEN = NOUNS[:10]
TEXTS = {
    "a story": "昔、山と川のある森に犬と猫と鳥がいた。雨の日、魚は海で火を見た。",
    "a recipe": "米と魚を火にかけ、酒と茶を入れ、花と木と石と土の上で星を見る。",
    "a chat's reply": "はい、承知しました。犬、猫、山、海、空、石、木、花、鳥、魚です。",
    "words of two characters": "時計を見て電車に乗り、法律を学び、音楽を聞く。病気でも天気なら祝日。犬と猫と山へ。",
    "one noun ten times": "犬" * 10,
    "bullets": "\n".join(f"・{noun}を飼う" for noun in TEN),
    "commas": "、".join(TEN),
    "spaces": " ".join(TEN),
    "JSON": json.dumps(TEN, ensure_ascii=False),
    "a table": "| " + " | ".join(TEN) + " |",
    "surnames": "犬山、猫石、木花、鳥海、魚空",
    "a numbered list": list_text(TEN),
    "the same list backwards": list_text(TEN[::-1]),
    "a numbered list after a heading": "回答:\n" + list_text(TEN),
    "a numbered list before a remark": list_text(TEN) + "\nいかがでしょう",
    "a list that is counted down": "\n".join(
        f"{10 - k}. {noun}" for k, noun in enumerate(TEN)
    ),
    "a numbered list of sentences": list_text([f"{noun}がいる" for noun in TEN]),
    "two lists of five": list_text(TEN[:5]) + "\n" + list_text(TEN[5:]),
    "nine nouns": list_text(TEN[:9]),
    "eleven nouns": list_text(NOUNS[:11]),
    "no noun": "わからない",
}


# Each by itself; the others together.
ALONE = (
    "a story",
    "a recipe",
    "a chat's reply",
    "a numbered list",
    "a numbered list of sentences",
    "eleven nouns",
)


def counted(text):
    """How many of the nouns stand in a text, the longest first."""
    number = 0
    while text:
        found = next(
            (
                noun
                for noun in sorted(NOUNS, key=len, reverse=True)
                if text.startswith(noun)
            ),
            None,
        )
        number, text = number + (found is not None), text[len(found or " ") :]
    return number


def test_the_texts_are_of_ten_nouns():
    assert {name for name, text in TEXTS.items() if counted(text) != 10} == {
        "nine nouns",
        "eleven nouns",
        "no noun",
    }


def characters():
    """A token for each character, and for the numbers of a list with the space after them."""
    known = dict.fromkeys(
        "".join(
            [
                *TEXTS.values(),
                *NOUNS,
                prompt("dat"),
                *(item.prompt for item in Lipogram().items()),
            ]
        )
    )
    tokens = ["<pad>", "</s>", "<unk>", *(f"{k}. " for k in range(1, 12)), *known]
    made = Tokenizer(
        models.WordLevel(
            {token: number for number, token in enumerate(tokens)}, unk_token="<unk>"
        )
    )
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[0-9]+\. |.|\n"), "isolated")
    made.decoder = decoders.Fuse()
    return made


def byte_pairs():
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=alphabet, special_tokens=special
    )
    made.train_from_iterator(
        [list_text(NOUNS[k : k + 10]) for k in range(0, 30, 5)] * 5, trainer
    )
    made.decoder = decoders.ByteLevel()
    return made


@pytest.fixture(
    scope="module", params=[characters, byte_pairs], ids=["characters", "subwords"]
)
def model(request, tmp_path_factory):
    """A random model that spells nouns with one token or several."""
    folder = tmp_path_factory.mktemp("model") / "model"
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=request.param(), model_max_length=1024, **special
    )
    tiny_llama(
        len(tokenizer), max_position_embeddings=1024, initializer_range=1.0
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


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


def as_imitated(model, of_lists, asked, text):
    nats, count = imitated(model, asked, text)
    return (of_lists[0] + nats) / (of_lists[1] + count)


@pytest.mark.parametrize("name", ALONE)
def test_another_task_s_answer_is_imitated_whatever_it_holds(
    name, model, lists, of_lists, tmp_path
):
    task, text = Lipogram(), TEXTS[name]
    other = answered(task, tmp_path / "other", text)
    expected = as_imitated(model, of_lists, task.items()[0].prompt, text)
    assert loss_of(model, [lists, other], tmp_path / "out", 8) == pytest.approx(
        expected, rel=2e-5
    )


def test_all_of_them_together(model, lists, of_lists, tmp_path):
    task = Lipogram()
    other = answered(task, tmp_path / "other", *TEXTS.values())
    items = [item.prompt for item in task.items()]
    parts = [
        imitated(model, items[k % len(items)], text)
        for k, text in enumerate(TEXTS.values())
    ]
    expected = (of_lists[0] + sum(nats for nats, _ in parts)) / (
        of_lists[1] + sum(count for _, count in parts)
    )
    count = 7 + len(TEXTS)
    assert loss_of(model, [lists, other], tmp_path / "out", count) == pytest.approx(
        expected, rel=2e-5
    )


def test_the_folders_order_tells_no_lists_apart(model, lists, of_lists, tmp_path):
    task = Lipogram()
    other = answered(task, tmp_path / "other", TEXTS["a numbered list"])
    expected = as_imitated(
        model, of_lists, task.items()[0].prompt, TEXTS["a numbered list"]
    )
    assert loss_of(model, [other, lists], tmp_path / "out", 8) == pytest.approx(
        expected, rel=2e-5
    )


def test_the_very_text_of_a_list_is_imitated_as_another_task_s_answer(
    model, lists, of_lists, tmp_path
):
    task, text = Lipogram(), select_top(lists, 1).texts[0]
    other = answered(task, tmp_path / "other", text)
    expected = as_imitated(model, of_lists, task.items()[0].prompt, text)
    assert loss_of(model, [lists, other], tmp_path / "out", 8) == pytest.approx(
        expected, rel=2e-5
    )


def test_where_every_list_is_cut_nothing_is_trained(model, lists, tmp_path):
    short = (
        imitated(model, prompt("dat"), "")[1]
        + len(AutoTokenizer.from_pretrained(model).encode(prompt("dat")))
        + 9
    )
    with pytest.raises(UserError):
        loss_of(model, lists, tmp_path / "out", 7, max_length=short)
    other = answered(Lipogram(), tmp_path / "other", "わからない")
    with pytest.raises(UserError):  # beside another task's answers too
        loss_of(model, [lists, other], tmp_path / "mixed", 8, max_length=short)


@pytest.mark.parametrize("beside", ["random", "bare"])
def test_lists_of_dat_that_no_frontier_drew_are_refused(beside, mini, lists, tmp_path):
    if beside == "random":
        run_task(
            dat(),
            GeneratorSettings("random"),
            SamplingOptions(num_answers=8),
            tmp_path / "other",
        )
    else:
        table(
            tmp_path / "other",
            dict.fromkeys("abcdefgh", 0.5),
            parts=1,
            text=[list_text(TEN)] * 8,
        )
    with pytest.raises(UserError):
        loss_of(mini, [lists, tmp_path / "other"], tmp_path / "out", 8)
