"""Which answers are lists of a frontier, which are one answer twice, and what a model was trained on: others' cases.

A list is known by its task and never by counting nouns. What stands in two folders is trained once. What the answers
of SFT and DPO were drawn and chosen by is on record.
"""

import json
import os
import shutil

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from fakes import AXES, axis_encoder, list_text
from finished_runs import dat_run, jcq_run
from grpo_runs import ROOT, flags, history
from scripted_grpo import tiny_llama
from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.data.schema import write_columns
from sozo.eval.draw import SamplingOptions
from sozo.eval.evaluated import find_evaluated
from sozo.eval.run import run_task, score_answers
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.words.cue_dat import CueDat
from sozo.tasks.words.kanji import Kanji
from sozo.training.config import parse
from sozo.training.grpo import GrpoArguments, GrpoSettings, train_grpo
from sozo.training.selection import select_pairs, select_top
from sozo.training.sft_dpo import DpoArguments, DpoSettings, SftArguments, SftSettings, train_dpo, train_sft
from test_selection import SCORES, refusal, table

METHODS = {"sft": (train_sft, SftArguments, SftSettings), "dpo": (train_dpo, DpoArguments, DpoSettings)}
COUNT = {"sft": "top_k", "dpo": "num_pairs"}


def train(method, model, tables, output, count, **settings):
    """One step on `count` examples."""
    function, script, config = METHODS[method]
    short = {"examples_per_step": count, "per_device_train_batch_size": count, COUNT[method]: count, "max_steps": 1}
    short |= {"model_name_or_path": model, "responses": tables, "output_dir": output, "report_to": "none"}
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / f"{method}.yaml")]
    return function(*parse(script, config, [*yaml, *flags(short | settings)]))


def dat():
    return Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))


def kanji():
    return Kanji(Kanji.Settings(split="train", num_items=3))


def answered(task, folder, *texts):
    """A finished run whose answers are `texts`, to its items in turn."""
    items = [item.id for item in task.items()]
    file = folder.with_suffix(".jsonl")
    lines = ({"id": f"a{k}", "item": items[k % len(items)], "text": text} for k, text in enumerate(texts))
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return score_answers(task, file, folder).folder


# A list of the frontier is known by its task

NOUNS = [*"犬猫山海空石木花鳥魚馬牛虫雨雪風火土星月川森米茶酒", *"時計 電車 法律 音楽 病気 天気 祝日".split()]
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
    "a list that is counted down": "\n".join(f"{10 - k}. {noun}" for k, noun in enumerate(TEN)),
    "a numbered list of sentences": list_text([f"{noun}がいる" for noun in TEN]),
    "two lists of five": list_text(TEN[:5]) + "\n" + list_text(TEN[5:]),
    "nine nouns": list_text(TEN[:9]),
    "eleven nouns": list_text(NOUNS[:11]),
    "no noun": "わからない",
}


OF_SUBWORDS = ("spaces", "a table", "a numbered list", "a numbered list after a heading")


def counted(text):
    """How many of the nouns stand in a text, the longest first."""
    number = 0
    while text:
        found = next((noun for noun in sorted(NOUNS, key=len, reverse=True) if text.startswith(noun)), None)
        number, text = number + (found is not None), text[len(found or " ") :]
    return number


def test_the_texts_are_of_ten_nouns():
    assert {name for name, text in TEXTS.items() if counted(text) != 10} == {"nine nouns", "eleven nouns", "no noun"}


def characters():
    known = dict.fromkeys("".join([*TEXTS.values(), *NOUNS, prompt("dat"), *(item.prompt for item in kanji().items())]))
    tokens = ["<pad>", "</s>", "<unk>", *(f"{k}." for k in range(1, 12)), *known]
    made = Tokenizer(models.WordLevel({token: number for number, token in enumerate(tokens)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[0-9]+\.|.|\n"), "isolated")
    made.decoder = decoders.Fuse()
    return made


def byte_pairs():
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, special_tokens=special)
    made.train_from_iterator([list_text(NOUNS[k : k + 10]) for k in range(0, 30, 5)] * 5, trainer)
    made.decoder = decoders.ByteLevel()
    return made


@pytest.fixture(scope="module", params=[characters, byte_pairs], ids=["characters", "subwords"])
def model(request, tmp_path_factory):
    """A random model that spells nouns with one token or several."""
    folder = tmp_path_factory.mktemp("model") / "model"
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=request.param(), model_max_length=1024, **special)
    tiny_llama(len(tokenizer), max_position_embeddings=1024, initializer_range=1.0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Seven lists of a frontier."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "nouns.txt").write_text("\n".join(NOUNS), "utf-8")
    generator = GeneratorSettings("frontier", nouns=str(folder / "nouns.txt"), strength=300.0, word_strength=1500.0)
    run_task(dat(), generator, SamplingOptions(num_responses=7), folder / "table")
    return folder / "table"


def loss_of(model, tables, output, count, **settings):
    """The loss at the first step, before a weight moves: a mean over the tokens of all answers."""
    settings = {"max_length": 1024, "word_targets": True} | settings
    return history(train("sft", model, tables, output, count, **settings))[0]["loss"]


def imitated(model, asked, text):
    """The cross-entropy of a text and its end, token by token, in nats; of how many tokens."""
    tokenizer, weights = AutoTokenizer.from_pretrained(model), AutoModelForCausalLM.from_pretrained(model)
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
    plain = loss_of(model, lists, tmp_path_factory.mktemp("plain") / "out", 7, word_targets=False)
    assert plain * count == pytest.approx(sum(nats for nats, _ in parts), rel=2e-4)
    assert abs(loss - plain) > 2e-3 * plain  # a true list gets the targets of its words
    return loss * count, count


def as_imitated(model, of_lists, asked, text):
    nats, count = imitated(model, asked, text)
    return (of_lists[0] + nats) / (of_lists[1] + count)


@pytest.mark.parametrize("name", TEXTS)
def test_another_task_s_answer_is_imitated_whatever_it_holds(name, model, lists, of_lists, tmp_path, request):
    if "subwords" in request.node.callspec.id and name not in OF_SUBWORDS:
        pytest.skip("together, below")
    task, text = kanji(), TEXTS[name]
    other = answered(task, tmp_path / "other", text)
    expected = as_imitated(model, of_lists, task.items()[0].prompt, text)
    assert loss_of(model, [lists, other], tmp_path / "out", 8) == pytest.approx(expected, rel=2e-4)


def test_all_of_them_together(model, lists, of_lists, tmp_path):
    task = kanji()
    other = answered(task, tmp_path / "other", *TEXTS.values())
    items = [item.prompt for item in task.items()]
    parts = [imitated(model, items[k % len(items)], text) for k, text in enumerate(TEXTS.values())]
    expected = (of_lists[0] + sum(nats for nats, _ in parts)) / (of_lists[1] + sum(count for _, count in parts))
    count = 7 + len(TEXTS)
    assert loss_of(model, [lists, other], tmp_path / "out", count) == pytest.approx(expected, rel=2e-4)


def test_the_folders_order_tells_no_lists_apart(model, lists, of_lists, tmp_path):
    task = kanji()
    other = answered(task, tmp_path / "other", TEXTS["a numbered list"])
    expected = as_imitated(model, of_lists, task.items()[0].prompt, TEXTS["a numbered list"])
    assert loss_of(model, [other, lists], tmp_path / "out", 8) == pytest.approx(expected, rel=2e-4)


def test_the_very_text_of_a_list_is_imitated_as_another_task_s_answer(model, lists, of_lists, tmp_path):
    task, text = kanji(), select_top(lists, 1).texts[0]
    other = answered(task, tmp_path / "other", text)
    expected = as_imitated(model, of_lists, task.items()[0].prompt, text)
    assert loss_of(model, [lists, other], tmp_path / "out", 8) == pytest.approx(expected, rel=2e-4)


def test_cue_dat_s_lists_of_ten_are_imitated(model, lists, of_lists, tmp_path):
    task = CueDat(CueDat.Settings(split="train", num_items=4, cue_nouns="tiny", noun_checker="jumandic"))
    other = answered(task, tmp_path / "other", list_text(TEN))
    expected = as_imitated(model, of_lists, task.items()[0].prompt, list_text(TEN))
    assert loss_of(model, [lists, other], tmp_path / "out", 8) == pytest.approx(expected, rel=2e-4)


def test_where_every_list_is_cut_nothing_is_trained(model, lists, tmp_path):
    short = imitated(model, prompt("dat"), "")[1] + len(AutoTokenizer.from_pretrained(model).encode(prompt("dat"))) + 9
    with pytest.raises(UserError):
        loss_of(model, lists, tmp_path / "out", 7, max_length=short)
    other = answered(kanji(), tmp_path / "other", "わからない")
    with pytest.raises(UserError):  # beside another task's answers too
        loss_of(model, [lists, other], tmp_path / "mixed", 8, max_length=short)


@pytest.mark.parametrize("beside", ["random", "bare"])
def test_lists_of_dat_that_no_frontier_drew_are_refused(beside, mini, lists, tmp_path):
    if beside == "random":
        run_task(dat(), GeneratorSettings("random"), SamplingOptions(num_responses=8), tmp_path / "other")
    else:
        table(tmp_path / "other", dict.fromkeys("abcdefgh", 0.5), parts=1, text=[list_text(TEN)] * 8)
    with pytest.raises(UserError):
        loss_of(mini, [lists, tmp_path / "other"], tmp_path / "out", 8)


# An answer that stands in two folders is trained once


def copies(folder):
    """Ways to name one table twice or thrice; its parts lie in FOLDER/responses."""
    parts, (link, copy) = folder / "responses", (folder.with_name("link"), folder.with_name("copy"))
    link.symlink_to(folder)
    shutil.copytree(folder, copy)
    files = sorted(parts.glob("*.parquet"))
    return {
        "twice": [folder, folder],
        "thrice": [folder, folder, folder],
        "with a slash": [folder, f"{folder}/"],
        "with a dot": [folder, f"{folder.parent}/./{folder.name}"],
        "over the parent": [folder, f"{folder}/../{folder.name}"],
        "relative": [folder, os.path.relpath(folder)],
        "a link": [folder, link],
        "a link and its copy": [link, copy],
        "the folder inside": [folder, parts],
        "a copy": [folder, copy],
        "a part": [folder, files[0]],
        "all parts": [folder, *files],
        "parts twice": [*files, *files],
        "inside, and a part": [parts, files[1]],
    }


WAYS = (
    *("twice", "thrice", "with a slash", "with a dot", "over the parent", "relative", "a link", "a link and its copy"),
    *("the folder inside", "a copy", "a part", "all parts", "parts twice", "inside, and a part"),
)


@pytest.fixture
def once(tmp_path):
    table(tmp_path / "run" / "responses")
    return tmp_path / "run"


def told(caplog, capsys):
    return caplog.text + "".join(capsys.readouterr())


@pytest.mark.parametrize("way", WAYS)
def test_sft_s_answers_are_there_once_and_it_is_said(way, once, caplog, capsys):
    alone = select_top(once, 4)
    assert not told(caplog, capsys)
    folders = copies(once)[way]
    for order in (folders, folders[::-1]):
        top = select_top(order, 4)
        assert (top.ids, top.texts) == (alone.ids, alone.texts)
        assert top.facts() == alone.facts()
        said = told(caplog, capsys)
        assert any(str(number) in said for number in (4, 8, 16))  # how many
        caplog.clear()
    assert refusal(select_top, folders, 9)  # there are eight


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", ["paper", "valid", "divpo"])
def test_dpo_s_pairs_are_those_of_one_folder(rule, way, once, caplog, capsys):
    alone = select_pairs(once, 2, seed=0, rule=rule)
    told(caplog, capsys)
    caplog.clear()
    folders = copies(once)[way]
    pairs = select_pairs(folders, 2, seed=0, rule=rule)
    assert [side.facts() for side in pairs] == [side.facts() for side in alone]
    assert told(caplog, capsys)
    assert refusal(select_pairs, folders, 5, seed=0, rule=rule)


@pytest.mark.parametrize("way", ["twice", "a copy", "the folder inside", "a part"])
def test_matched_lists_too(way, tmp_path, monkeypatch):
    monkeypatch.setattr("sozo.tasks.dat.shuffle.make_encoder", lambda name, **_: axis_encoder())
    texts = [list_text([*AXES[k:], *AXES[:k]][:10]) for k in range(4)]
    scores = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}
    for part, names in enumerate(("ab", "cd")):
        columns = {"id": list(names), "text": texts[2 * part :][:2], "score": [scores[name] for name in names]}
        write_columns(tmp_path / "run" / "responses" / f"part-{part:05d}.parquet", columns)
    pairs = select_pairs(copies(tmp_path / "run")[way], 4, seed=0, rule="matched")
    assert pairs.chosen.ids == ["a", "b", "c", "d"]
    assert refusal(select_pairs, [tmp_path / "run"] * 2, 5, seed=0, rule="matched")


def test_a_finished_run_and_its_parts(tmp_path):
    finished = dat_run(tmp_path / "run", "m", 0.8)
    table(finished / "responses")
    assert select_top([finished, finished / "responses"], 4).facts() == select_top(finished, 4).facts()


def test_a_table_and_its_longer_self(tmp_path):
    """Drawn on in a copy: the copy's first answers are the same ones."""
    first = table(tmp_path / "first", {f"{k:04d}": 0.5 + k / 100 for k in range(8)}, parts=1)
    longer = table(tmp_path / "longer", {f"{k:04d}": 0.5 + k / 100 for k in range(16)}, parts=2)
    assert select_top([first, longer], 16).facts() == select_top(longer, 16).facts()
    assert refusal(select_top, [first, longer], 17)
    pairs, alone = (select_pairs(folders, 8, seed=1) for folders in ([longer, first], longer))
    assert [side.facts() for side in pairs] == [side.facts() for side in alone]


def test_an_answer_that_was_scored_again_is_one_in_every_order(tmp_path):
    one = table(tmp_path / "one", {"a": 0.8, "b": 0.5}, parts=1)
    two = table(tmp_path / "two", {"a": 0.9, "b": 0.5}, parts=1)
    tops = [select_top(folders, 2).facts() for folders in ([one, two], [two, one])]
    assert tops[0] == tops[1]
    assert tops[0]["of"] == 2


def test_a_prompt_does_not_count_double_in_the_shares(tmp_path):
    task = kanji()
    first, second, third = (item.id for item in task.items())
    rows = [(first, 4), (second, 4), (third, 4)]
    file = tmp_path / "a.jsonl"
    lines = [{"item": item, "text": f"{item}の{k}"} for item, number in rows for k in range(number)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    whole = score_answers(task, file, tmp_path / "whole").folder
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[:4]), "utf-8")
    of_first = score_answers(task, file, tmp_path / "first").folder
    alone = select_top(whole, 6)
    assert select_top([whole, of_first], 6).facts() == alone.facts()
    assert select_top([whole, whole], 6).facts() == alone.facts()
    assert [alone.prompts.count(item.prompt) for item in task.items()] == [2, 2, 2]


def test_what_was_drawn_twice_stays_twice(tmp_path, caplog, capsys):
    """One text under two ids: the model wrote it twice, and that it did is what is learned."""
    same = table(tmp_path / "same", {"a": 0.9, "b": 0.9, "c": 0.1}, parts=1, text=["1. 犬", "1. 犬", "2"])
    assert select_top(same, 2).texts == ["1. 犬", "1. 犬"]
    other = table(tmp_path / "other", {"d": 0.9, "e": 0.2}, parts=1, text=["1. 犬", "3"])
    top = select_top([same, other], 3)
    assert (top.ids, top.texts, top.of) == (["a", "b", "d"], ["1. 犬"] * 3, 5)
    assert not told(caplog, capsys)


def test_two_seeds_answers_of_one_id_both_stay(tmp_path, caplog, capsys):
    ids = ["0-0", "0-1", "0-2", "0-3"]
    one = table(tmp_path / "one", dict.fromkeys(ids, 0.5), parts=1, text=[f"一{k}" for k in range(4)])
    two = table(tmp_path / "two", dict.fromkeys(ids, 0.4), parts=1, text=[f"二{k}" for k in range(4)])
    assert select_top([one, two], 8).of == 8
    pairs = select_pairs([one, two], 4, seed=0)
    assert sorted(pairs.chosen.texts) == ["一0", "一1", "一2", "一3"]
    assert sorted(pairs.rejected.texts) == ["二0", "二1", "二2", "二3"]
    assert not told(caplog, capsys)


def test_of_two_seeds_only_the_equal_answer_is_one(tmp_path):
    one = table(tmp_path / "one", {"0-0": 0.5, "0-1": 0.4}, parts=1, text=["同じ", "一"])
    two = table(tmp_path / "two", {"0-0": 0.5, "0-1": 0.3}, parts=1, text=["同じ", "二"])
    top = select_top([one, two], 3)
    assert (top.texts, top.of) == (["同じ", "一", "二"], 3)


def test_one_text_and_id_to_two_prompts_are_two_answers(tmp_path):
    task = kanji()
    items, folders = [item.id for item in task.items()], []
    for k, item in enumerate(items[:2]):
        file = tmp_path / f"{k}.jsonl"
        file.write_text(json.dumps({"id": "0-0", "item": item, "text": "犬"}) + "\n", "utf-8")
        folders.append(score_answers(task, file, tmp_path / str(k)).folder)
    top = select_top(folders, 2)
    assert (top.of, top.num_prompts, top.ids) == (2, 2, ["0-0", "0-0"])


def test_invalid_and_empty_answers_are_one_too(tmp_path):
    folder = table(tmp_path / "a", {"x": None, "y": None, "z": 0.9}, parts=1, text=["", "", "犬"])
    pairs = select_pairs([folder, shutil.copytree(folder, tmp_path / "b")], 1, seed=0)
    assert (pairs.chosen.ids, pairs.chosen.of) == (["z"], 3)


def test_an_answer_twice_in_one_table_is_still_refused(tmp_path):
    folder = table(tmp_path, parts=1)
    shutil.copy(folder / "part-00000.parquet", folder / "part-00001.parquet")
    assert "8" in refusal(select_top, folder, 1)


def test_the_facts_of_folders_that_share_nothing_are_as_before(tmp_path):
    """By which a run that an earlier sozo began is continued."""
    one, two = table(tmp_path / "one"), table(tmp_path / "two", {"p": 0.95, "q": None})
    digests = [select_top(folders, 3).facts()["sha256"] for folders in (one, [one, two])]
    digests += [side.facts()["sha256"] for side in select_pairs([one, two], 3, seed=0)]
    assert [digest[:16] for digest in digests] == [
        "5495776764fc1a2a",
        "260c75b0dddf08ca",
        "260c75b0dddf08ca",
        "25c4f8b75fff6e74",
    ]
    assert set(select_top(one, 3).facts()) == {
        *("responses", "of", "prompts", "invalid", "lowest_score", "highest_score", "sha256")
    }
    assert len(SCORES) == 8


# What was trained on is on record


@pytest.fixture(scope="module")
def tables(tmp_path_factory, mini):
    """Tables of several kinds, by name."""
    folder = tmp_path_factory.mktemp("tables")
    sampling = SamplingOptions(num_responses=16)
    run_task(dat(), GeneratorSettings("random"), sampling, folder / "random")
    run_task(dat(), GeneratorSettings(str(mini), max_new_tokens=24), sampling, folder / "drawn")
    answered(kanji(), folder / "kanji", *(f"{k}" for k in range(15)))
    scores = {question.id: [(4, 3, 4, 5), (2, 2, 2, 2)] for question in trial_questions()[:4]}
    jcq_run(folder / "jcq", "m", scores, questions=trial_questions(), judge=JUDGE)
    bare = {f"{k:02d}": 0.5 + k / 100 for k in range(16)}
    table(folder / "bare", bare, parts=1, text=[list_text([*AXES[k % 12 :], *AXES[: k % 12]][:10]) for k in range(16)])
    return folder


JUDGE = {"model": "judge-of-jcq", "prompt": "jcq-v1", "temperature": 0.0, "max_tokens": 1024}
# What a record must name: task, measure, and encoder or judge.
NAMED = {
    "random": {"dat", "ja-ginza"},
    "drawn": {"dat", "ja-ginza"},
    "kanji": {"kanji"},
    "jcq": {"jcq", "judge-of-jcq"},
}


def leaves(value, key=""):
    """All keys and values in JSON, as texts."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    yield key
    if not isinstance(value, dict | list):
        yield str(value)


def record(model):
    """What a trained model's folder records beside its settings, as they are compared when a run goes on."""
    config = json.loads((model / "run_config.json").read_text("utf-8"))
    return set(leaves({name: part for name, part in config.items() if name not in ("settings", "free", "environment")}))


def measured(model, folder):
    """What a measured run of a model says of its training: `loaded`, and the tasks by which the report calls it one."""
    sampling = SamplingOptions(num_responses=3)
    run_task(kanji(), GeneratorSettings(str(model), max_new_tokens=4), sampling, folder)
    loaded = json.loads((folder / "config.json").read_text("utf-8"))["loaded"]
    (evaluated,) = find_evaluated([str(folder)])
    return set(leaves(loaded["trained_on"])), evaluated.targets


def unknown(said):
    return any("not recorded" in text or "not_recorded" in text for text in said)


@pytest.mark.parametrize(
    ("method", "kinds"),
    [
        ("sft", ("random",)),
        ("sft", ("drawn",)),
        ("sft", ("jcq",)),
        ("sft", ("random", "kanji")),
        ("dpo", ("drawn",)),
        ("dpo", ("drawn", "jcq")),
    ],
)
def test_a_table_s_task_encoder_and_judge_are_recorded(kinds, method, tables, mini, tmp_path):
    output = train(method, mini, [tables / kind for kind in kinds], tmp_path / "out", 4)
    wanted = set().union(*(NAMED[kind] for kind in kinds))
    assert wanted <= record(output)
    said, targets = measured(output, tmp_path / "run")
    assert targets == {kind if kind in ("kanji", "jcq") else "dat" for kind in kinds}
    assert not unknown(said)


@pytest.mark.parametrize("method", METHODS)
def test_of_bare_parts_nothing_is_known(method, tables, mini, tmp_path):
    output = train(method, mini, [tables / "bare"], tmp_path / "out", 4)
    said, _ = measured(output, tmp_path / "run")
    assert unknown(said)


def test_of_a_mix_the_known_part_is_named_and_the_other_is_not_known(tables, mini, tmp_path):
    output = train("sft", mini, [tables / "jcq", tables / "bare"], tmp_path / "out", 8)
    said, targets = measured(output, tmp_path / "run")
    assert "jcq" in targets
    assert unknown(said)


def test_a_model_that_was_not_trained_here_claims_nothing(mini, tmp_path):
    said, targets = measured(mini, tmp_path / "run")
    assert (targets, unknown(said)) == (set(), False)


def test_sft_of_sft_carries_the_first_record_on(tables, mini, tmp_path):
    first = train("sft", mini, [tables / "jcq"], tmp_path / "first", 4)
    second = train("dpo", first, [tables / "random"], tmp_path / "second", 4)
    assert NAMED["jcq"] | NAMED["random"] <= record(second)
    third = train("sft", second, [tables / "kanji"], tmp_path / "third", 4)
    _, targets = measured(third, tmp_path / "run")
    assert targets == {"jcq", "dat", "kanji"}
    # Whoever begins from a checkpoint begins from the same training.
    shutil.copytree(first, tmp_path / "moved")
    fourth = train("sft", tmp_path / "moved", [tables / "random"], tmp_path / "fourth", 4)
    assert measured(fourth, tmp_path / "run4")[1] == {"jcq", "dat"}


def test_a_lora_adapter_and_what_it_stands_on(tables, mini, tmp_path):
    lora = {"use_peft": True, "lora_target_modules": "all-linear"}
    first = train("sft", mini, [tables / "jcq"], tmp_path / "first", 4)
    second = train("sft", first, [tables / "random"], tmp_path / "second", 4, **lora)
    assert measured(second, tmp_path / "run")[1] == {"jcq", "dat"}


def test_grpo_of_an_sft_has_both(tables, mini, tmp_path):
    first = train("sft", mini, [tables / "jcq"], tmp_path / "first", 4)
    settings = {"model_name_or_path": first, "output_dir": tmp_path / "grpo", "max_steps": 1, "report_to": "none"}
    sizes = {"per_device_train_batch_size": 8, "completions_per_step": 8, "num_generations": 8, "num_prompts": 8}
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml")]
    train_grpo(*parse(GrpoArguments, GrpoSettings, [*yaml, *flags(settings | sizes)]))
    assert measured(tmp_path / "grpo", tmp_path / "run")[1] == {"dat", "jcq"}
    rewards = json.loads((tmp_path / "grpo" / "run_config.json").read_text("utf-8"))["settings"]["rewards"]
    assert [reward["task"] for reward in rewards] == ["dat"]  # as before


def older(folder):
    """What an earlier sozo would have left."""
    path = folder / "run_config.json"
    config = json.loads(path.read_text("utf-8"))
    known = {name: config[name] for name in ("format", "settings", "loaded", "free", "environment")}
    known["loaded"] = {name: known["loaded"].get(name) for name in ("model_sha256", "model_commit")}
    path.write_text(json.dumps(known), "utf-8")
    return folder


@pytest.mark.parametrize("method", METHODS)
def test_a_folder_of_before_says_so(method, tables, mini, tmp_path):
    first = older(train(method, mini, [tables / "random"], tmp_path / "first", 4))
    said, targets = measured(first, tmp_path / "run")
    assert (targets, unknown(said)) == (set(), True)
    # And so does what starts from it, beside what is known.
    second = train("sft", first, [tables / "kanji"], tmp_path / "second", 4)
    said, targets = measured(second, tmp_path / "run2")
    assert (targets, unknown(said)) == ({"kanji"}, True)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_of_before_is_continued(method, tables, mini, tmp_path):
    settings = {"examples_per_step": 2, "per_device_train_batch_size": 2, "max_steps": 2, "save_steps": 1}
    output = older(train(method, mini, [tables / "random"], tmp_path / "out", 4, **settings))
    weights = (output / "model.safetensors").read_bytes()
    for path in (output / "metrics.json", output / "model.safetensors"):
        path.unlink()
    shutil.rmtree(output / "checkpoint-2")
    train(method, mini, [tables / "random"], output, 4, **settings)
    assert (output / "model.safetensors").read_bytes() == weights


@pytest.mark.parametrize("method", METHODS)
def test_the_settings_that_decide_are_as_before(method, tables, mini, tmp_path):
    output = train(method, mini, [tables / "random"], tmp_path / "out", 4)
    settings = json.loads((output / "run_config.json").read_text("utf-8"))["settings"]
    assert settings.keys() == {"script", "training", "model", "selection", "world_size"}
