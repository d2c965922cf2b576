"""Ways to sample: their names, what they truncate, rows of their own, the best of several."""

import itertools
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from command_line import sozo
from model_server import KEY, completion, server
from sentences import refused, says
from sozo.data.errors import UserError
from sozo.data.processes import Processes
from sozo.data.schema import Completion, iter_tables
from sozo.eval.draw import Evaluation, SamplingOptions, draw_parts
from sozo.eval.plan import plan
from sozo.eval.run import run_task, score_answers
from sozo.models import tiny
from sozo.models.model_support import encode_text
from sozo.models.sampling import Sampling
from sozo.models.settings import GeneratorSettings, resolve
from sozo.models.shared_prefix import draw
from sozo.models.trained_on import (
    NOT_RECORDED,
    recorded,
)
from sozo.models.transformers_model import TransformersGenerator
from sozo.scoring.endpoint.client import OFFICIAL
from sozo.scoring.measure import Measure
from sozo.tasks import finished_run
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Item, Row, Task

TRUNCATIONS = [
    {"min_p": 0.1},
    {"top_p": 0.9},
    {"top_k": 20},
    {"top_k": 50, "top_p": 0.7},
    {"top_k": 60, "top_p": 0.95, "min_p": 0.02},
]


def transformers_distribution(logits, temperature, truncation):
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
    assert Sampling.parse("best-of=4") == Sampling(best_of=4)
    assert Sampling.parse(None) == Sampling.parse("") == Sampling()
    assert Sampling().named("base") == "base"
    assert Sampling.parse("temperature=2").named("base") == "base temperature=2"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("temperature=0", "sampling: a temperature of 0"),
        ("temperature", "sampling: a temperature without a value"),
        ("top_p=1.5", "sampling: top_p above 1"),
        ("temperature=0.5, temperature=0.7", "sampling: a name twice"),
        ("best-of=101", "sampling: the best of 101"),
        ("temprature=1", "sampling: a misspelled name"),
        ("hot", "sampling: an unknown name"),
    ],
)
def test_a_mistake_in_a_name_is_one_line(text, row):
    with refused(row):
        Sampling.parse(text)


def sampled_distribution(logits, temperature, truncation):
    """What `draw` draws from, out of its tokens alone.

    Without top_p it inverts the distribution function: where a token's numbers begin and end is found by bisection.
    With top_p a number in the middle of them is drawn anew exactly where the token is cut off.
    """
    size = logits.shape[1]
    which = torch.zeros(size, dtype=torch.long)
    plain = {name: value for name, value in truncation.items() if name != "top_p"}
    low, high = torch.zeros(size).double(), torch.ones(size).double()
    for _ in range(40):
        middle = (low + high) / 2
        over = draw(logits, middle, temperature, which, **plain) > torch.arange(size)
        low, high = torch.where(over, low, middle), torch.where(over, middle, high)
    begins = torch.cat([torch.zeros(1).double(), high[:-1]])
    middle = (begins + high) / 2
    kept = draw(logits, middle, temperature, which, **truncation) == torch.arange(size)
    shares = (high - begins) * kept
    return shares / shares.sum()


@pytest.mark.parametrize("truncation", TRUNCATIONS, ids=str)
def test_the_distribution_is_that_of_transformers(truncation):
    torch.manual_seed(3)
    for scale, temperature in ((1.0, 0.7), (3.0, 1.6)):
        logits = torch.randn(1, 700) * scale
        expected = transformers_distribution(logits, temperature, truncation)[0]
        found = sampled_distribution(logits, temperature, truncation)
        assert (expected > 0).sum() < 700
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_5000_tokens_come_as_often_as_they_should():
    """The numbers of tokens that were rejected are drawn anew: chi-square, with one number for each token."""
    truncation = TRUNCATIONS[4]
    torch.manual_seed(4)
    logits = torch.randn(1, 300) * 2
    expected = transformers_distribution(logits, 1.0, truncation)[0].numpy() * 5000
    uniforms = torch.from_numpy(np.random.default_rng(5).random(5000))
    which = torch.zeros(5000, dtype=torch.long)
    tokens = draw(logits, uniforms, which=which, **truncation)
    counts = torch.bincount(tokens, minlength=300).numpy()
    assert counts[expected == 0].sum() == 0
    common = expected >= 5
    seen = [*counts[common], counts[~common].sum()]
    hoped = [*expected[common], expected[~common].sum()]
    if not hoped[-1]:
        seen, hoped = seen[:-1], hoped[:-1]
    assert chisquare(seen, hoped).pvalue > 0.001


def test_the_sampler_and_generate_truncate_alike():
    """With one token left both say the same, whatever the seed."""
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        initializer_range=1.0,
    )
    torch.manual_seed(0)
    model, tokenizer = LlamaForCausalLM(config).eval(), tiny.build_tokenizer(["犬"])
    with torch.no_grad():
        model.resize_token_embeddings(len(tokenizer))
    for truncation in ({"top_k": 1}, {"min_p": 1.0}, {"top_p": 1e-6}):
        writer = TransformersGenerator(
            model, tokenizer, max_new_tokens=6, truncation=truncation
        )
        assert writer.describe()["sampler"] == "shared_prefix"
        assert truncation.items() <= writer.describe().items()
        ids = encode_text(tokenizer, "犬")
        shared = writer._shared([ids] * 2, np.random.default_rng(1).random((2, 6)))
        assert shared == writer._plain([ids] * 2, 7, 8)


class Asks(Task):
    """Two things; an answer is worth its length, and one of a question mark nothing."""

    name = "asks"
    measures = (Measure("asks"),)

    def items(self):
        return [Item("a", "一つ"), Item("b", "two")]

    def score(self, items, answers):
        return [
            Row(reason="asks back")
            if answer.text == "?"
            else Row({"asks": float(len(answer.text))})
            for answer in answers
        ]


class Script:
    """Replies in turn, a batch's at once; counts the batches."""

    name, temperature = "script", 1.0

    def __init__(self, *replies, fails_at=None):
        self.replies, self.asked, self.fails_at = replies, [], fails_at

    def answer(self, prompts, seed, batch):
        if batch == self.fails_at:
            raise UserError("the server is gone")
        self.asked.append((batch, list(prompts)))
        replies = itertools.cycle(self.replies)
        return [Completion(next(replies), "stop") for _ in prompts]


def draw_so(writer, how, folder, batch_size=2, task=None):
    sampling = SamplingOptions(answers_per_item=1, batch_size=batch_size)
    best_of = Sampling.parse(how).best_of
    task = task or Asks()
    parts = folder / "answers"
    parts.mkdir(parents=True, exist_ok=True)
    draw_parts(task, task.items(), writer, sampling, parts, Processes(), best_of)
    return read(parts), read(folder / "drawn")


def read(folder):
    names = ["id", "item", "text", "score", "reason"]
    tables = list(iter_tables(folder, names)) if folder.is_dir() else []
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def test_the_best_of_several_answers_is_kept_and_all_of_them_are(tmp_path):
    writer = Script("x", "?", "xyz", "xyz", "?", "?")
    answers, drawn = draw_so(writer, "best-of=3", tmp_path)
    assert answers == [
        ("a-0", "a", "xyz", 3.0, None),
        ("b-0", "b", "xyz", 3.0, None),
    ]
    names = ["a-0-0", "a-0-1", "a-0-2", "b-0-0", "b-0-1", "b-0-2"]
    assert [row[0] for row in drawn] == names
    assert [row[3] for row in drawn] == [1, None, 3, 3, None, None]
    assert writer.asked == [(0, ["一つ"] * 3 + ["two"] * 3)]


class Kept(RunResult):
    headline = Measure("asks/kept")


class AsksQuietly(Asks):
    """Known by what capitals earn nothing of."""

    measures = (*Asks.measures, Kept.headline)
    result_type = Kept

    def score(self, items, answers):
        rows = super().score(items, answers)
        for answer, row in zip(answers, rows, strict=True):
            if row.values:
                kept = 0.0 if answer.text.isupper() else row.values["asks"]
                row.values["asks/kept"] = kept
        return rows


def test_the_best_of_several_is_by_what_the_task_is_known_by(tmp_path):
    writer = Script("LONGEST", "xy", "?")
    answers, _ = draw_so(writer, "best-of=3", tmp_path, task=AsksQuietly())
    assert [row[2] for row in answers] == ["xy", "xy"]


def test_what_was_drawn_before_a_kill_is_not_asked_again(tmp_path):
    """Nor are replies whose answers were not chosen yet; the end is as without the kill."""
    replies = "x", "xy", "xyz"
    whole = draw_so(Script(*replies), "best-of=3", tmp_path / "whole", batch_size=1)
    with pytest.raises(UserError):
        draw_so(Script(*replies, fails_at=1), "best-of=3", tmp_path / "cut", 1)
    (tmp_path / "cut" / "answers" / "part-00000.parquet").unlink()
    writer = Script(*replies)
    assert draw_so(writer, "best-of=3", tmp_path / "cut", 1) == whole
    assert [batch for batch, _ in writer.asked] == [1]


class Reads(Script):
    """Reads texts, too: a text is worth its length; counts the texts."""

    def bits_per_character(self, texts):
        self.asked.append(("read", list(texts)))
        return [len(text) for text in texts]


class AsksAndReads(Asks):
    def items(self):
        texts = [Item(name, name * 9, read=True) for name in "tuv"]
        one, two = super().items()
        return [texts[0], one, texts[1], texts[2], two]


def test_a_text_is_read_once_as_it_is_though_the_best_of_several_is_kept(tmp_path):
    """Also in a part that asks nothing besides."""
    writer = Reads("犬")
    answers, drawn = draw_so(writer, "best-of=3", tmp_path, 5, AsksAndReads())
    assert [(row[1], row[2]) for row in answers] == [
        ("t", "9.0"),
        ("a", "犬"),
        ("u", "9.0"),
        ("v", "9.0"),
        ("b", "犬"),
    ]
    read_of = [text for kind, texts in writer.asked if kind == "read" for text in texts]
    assert read_of == [name * 9 for name in "tuv"]
    assert Counter(row[1] for row in drawn) == {"t": 1, "a": 3, "u": 1, "v": 1, "b": 3}


def test_each_sampling_is_a_row_that_says_how_many_were_drawn(tmp_path):
    """From the command to the comparison; the same command is finished before, another sampling refused."""
    drawing = ["--noun-checker", "jumandic", "--num-answers", 16, "--output"]
    asked = ["run", "--model", "base=tiny", "--tasks", "dat", *drawing, tmp_path / "o"]
    ways = ["--sampling", "temperature=1.3,min_p=0.1", "best-of=3"]
    done = sozo(tmp_path, *asked, *ways)
    assert done.returncode == 0, done.stderr
    hot = tmp_path / "o/base-temperature-1.3-min_p-0.1/dat"
    best = tmp_path / "o/base-best-of-3/dat"
    config = json.loads((hot / "config.json").read_text("utf-8"))
    assert config["settings"]["sampling"] == "temperature=1.3,min_p=0.1"
    assert config["settings"]["model"] == "tiny"
    decoder = config["loaded"]["decoder"]
    assert (decoder["temperature"], decoder["min_p"]) == (1.3, 0.1)
    chosen = finished_run(best)
    assert chosen.metrics["source"] == "base best-of=3"
    assert chosen.loaded["decoder"]["best_by"] == "dat"
    assert "the best of 3 answers by dat" in chosen.caveats
    assert len(read(best / "drawn")) == 48
    assert "the best of" not in str(finished_run(hot).caveats)
    by = {"encoder": chosen.scorer, "judge": None, "by": "best-of"}
    assert recorded(chosen) == [{"task": "dat", "measure": "dat"} | by]
    assert recorded(finished_run(hot)) == []
    again = sozo(tmp_path, *asked, *ways)
    assert again.stdout.count("finished before") == 2
    other = ["--model", "tiny", "--source", "base best-of=3"]
    other = sozo(tmp_path, "dat", *other, *drawing, best)
    assert other.returncode == 2
    assert says("run_folder: another sampling", other.stderr)


def test_answers_that_were_chosen_say_so_when_they_are_scored_again(
    tmp_path, monkeypatch
):
    """Whatever the row is called, from the folder, its table or one part, and scored twice; not of all replies."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    run, options = tmp_path / "run", SamplingOptions(answers_per_item=1)
    how, said = "best-of=3", "the best of 3 answers by asks"
    with server(lambda body: completion("xyz")) as (url, _):
        asked = GeneratorSettings("m", base_url=url, sampling=how)
        assert said in run_task(Asks(), asked, options, run).result.caveats
        quiet = run_task(AsksQuietly(), asked, options, tmp_path / "quiet")
    assert quiet.result.loaded["decoder"]["best_by"] == "asks/kept"
    table = run / "answers"
    for k, path in enumerate(
        [run, table, table / "part-00000.parquet", tmp_path / "0"]
    ):
        again = score_answers(Asks(), path, tmp_path / str(k), source="better")
        assert said in again.result.caveats
        assert again.result.settings["sampling"] == how
        choices = [(one["by"], one["encoder"]) for one in recorded(again.result)]
        assert choices == [("best-of", NOT_RECORDED)]
    replies = score_answers(Asks(), run / "drawn", tmp_path / "all")
    assert "sampling" not in replies.result.settings


def test_a_server_is_asked_so_from_the_first_request_on(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = GeneratorSettings(
        "m", backend="openai", sampling="temperature=1.3,top_k=20,top_p=0.9,min_p=0.1"
    )
    with server(lambda body: completion("x")) as (url, requests):
        writer = resolve(replace(asked, base_url=url)).load()
        writer.answer(["一つ"], seed=0, batch=0)
    expected = {"temperature": 1.3, "top_k": 20, "top_p": 0.9, "min_p": 0.1}
    assert len(requests) == 2
    assert all(expected.items() <= request.items() for request in requests)
    assert writer.describe()["top_p"] == 0.9
    assert (
        expected.items() <= (writer.describe() | writer.describe()["request"]).items()
    )


def test_what_a_server_does_not_take_is_refused_before_it_is_paid(monkeypatch):
    """As OpenAI, which has no top_k: no form without it is tried, and nothing but the greeting is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def strict(body):
        if {"top_k", "generation_config"} & body.keys():
            return 400, {"error": {"message": "Unrecognized request argument: top_k"}}
        return completion("x")

    with server(strict) as (url, requests):
        asked = GeneratorSettings("m", backend="openai", base_url=url)
        with refused("endpoint: a server that knows no top_k"):
            resolve(replace(asked, sampling="min_p=0.1")).load()
        assert {request["messages"][-1]["content"] for request in requests} == {
            "こんにちは"
        }
        assert resolve(replace(asked, sampling="top_p=0.9")).load().answer(["一"], 0, 0)
        assert (requests[-1]["top_p"], requests[-1].get("min_p")) == (0.9, None)
    with refused("sampling: OpenAI knows no top_k"):
        resolve(replace(asked, base_url=OFFICIAL, sampling="top_k=5")).load()


def test_a_plan_counts_every_request(tmp_path):
    asked = GeneratorSettings("m", backend="openai", base_url="http://127.0.0.1:9/v1")
    writer = resolve(replace(asked, sampling="best-of=4", max_new_tokens=10), Asks())
    run = Evaluation(Asks(), writer, SamplingOptions(answers_per_item=1), tmp_path)
    line, *_ = plan([run], None)
    assert "at most 8 requests, " in line
    assert " and 80 out" in line
