"""Results in a model's README.md: its text, other metadata and other results stay."""

import json

import pytest
from huggingface_hub import ModelCard

from finished_runs import write_run
from sentences import refused
from sozo.eval.deliver.model_card import check_card, write_card
from sozo.eval.run import TaskRun
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import CONTENT_SHA256, CRITERIA
from sozo.tasks.jcq.task import Jcq
from sozo.tasks.task import Answer, Item, Row

HEADER = """\
# made by hand
license:   apache-2.0   # as the base
tags: [trl, 'grpo']

model_name: out
"""
BODY = "\n# Out\n\nA table:\n\n---\n\n| a | b |\n|---|---|\n名詞\u2028\n"
THEIRS = """\
model-index:
- name: theirs
  results:
  - task: {type: text-generation, name: Divergent}
    dataset: {type: dat-ja, name: older}
    metrics:
    - {type: dat_score, value: 0.1}
  - task: {type: text-generation}
    dataset: {type: gsm8k, name: GSM8K, config: main, split: test}
    metrics:
    - {type: acc, value: 0.5, verified: true}

# the end
datasets: []
"""


def config(folder, **settings):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"settings": settings}))
    (folder / "metrics.json").write_text("{}")


@pytest.fixture
def dat(tmp_path):
    """A run of 100 trials."""
    folder = tmp_path / "runs" / "dat"
    config(
        folder,
        embedding_model="ja-ginza",
        noun_checker="jumandic",
        olson=False,
        temperature=1.0,
        seed=0,
    )
    summary = DatSummary(
        "m", 104, 100, 0.881234, 0.016, (0.878, 0.884), 700, {"format": 4}
    )
    return TaskRun(Dat(), folder, summary.metrics(), False)


def jcq(tmp_path, sha256, scored=698):
    folder = tmp_path / "runs" / "jcq"
    config(folder, questions_sha256=sha256)
    names = [str(k) for k in range(700)]
    values = dict.fromkeys((f"jcq/{name}" for name in ("mean", *CRITERIA)), 3.5)
    rows = [Row(values) if k < scored else Row({}, "refused") for k in range(700)]
    answers = [Answer(f"{name}-0", name, "案", finish_reason="stop") for name in names]
    write_run(folder, Jcq(), [Item(name, "?") for name in names], answers, rows)
    mean = {"value": 3.5, "low": 3.4, "high": 3.6, "n": scored, "of": 700}
    mean = (
        mean
        if scored
        else {"value": None, "low": None, "high": None, "n": 0, "of": 700}
    )
    statuses = {"ok": scored, "refused": 700 - scored}
    counts = {
        "num_items": 700,
        "num_answers": 700,
        "usable": scored,
        "statuses": statuses,
        "states": {"complete": 700, "cut": 0},
    }
    measures = dict.fromkeys(values, mean)
    metrics = {
        "source": "m",
        "judge": "gpt-4o",
        "prompt": "jcq-v1",
        **counts,
        "measures": measures,
    }
    return TaskRun(Jcq(), folder, metrics, False)


def model(tmp_path, content):
    folder = tmp_path / "mine"
    folder.mkdir()
    if content is not None:
        (folder / "README.md").write_bytes(content.encode())
    return folder


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_cards_text_and_metadata_stay(tmp_path, dat, mark):
    folder = model(tmp_path, f"{mark}---\n{HEADER}---\n{BODY}")
    card = ModelCard.load(write_card(folder, dat))
    assert card.text == BODY
    assert (card.data.license, card.data.tags) == ("apache-2.0", ["trl", "grpo"])
    assert card.data.to_dict()["model-index"][0]["name"] == "out"
    results = {result.metric_type: result for result in card.data.eval_results}
    mean = results["dat_score"]
    assert (mean.task_type, mean.dataset_type, mean.metric_value) == (
        "text-generation",
        "dat-ja",
        0.881234,
    )
    shown = {
        "low": 0.878,
        "high": 0.884,
        "embedding_model": "ja-ginza",
        "range": "0 to 2",
        "seed": 0,
    }
    assert shown.items() <= mean.metric_args.items()
    assert (
        results["dat_num_usable"].metric_value,
        results["dat_usable_share"].metric_value,
    ) == (100, 100 / 104)
    assert results["dat_all_different_words"].metric_value == 700
    assert [path.name for path in folder.iterdir()] == ["README.md"]


def test_earlier_results_are_replaced_and_those_of_others_stay(tmp_path, dat):
    folder = model(tmp_path, f"---\n{HEADER}{THEIRS}---\n{BODY}")
    write_card(folder, dat)
    once = (folder / "README.md").read_text("utf-8")
    assert once.endswith(f"---\n{BODY}")
    assert (
        ModelCard.load(folder / "README.md").data.to_dict()["model-index"][0]["name"]
        == "theirs"
    )
    results = ModelCard.load(folder / "README.md").data.to_dict()["model-index"][0][
        "results"
    ]
    assert [result["dataset"]["type"] for result in results] == ["gsm8k", "dat-ja"]
    assert results[0]["metrics"] == [{"type": "acc", "value": 0.5, "verified": True}]
    write_card(folder, dat)
    assert (folder / "README.md").read_text("utf-8") == once
    write_card(folder, jcq(tmp_path, CONTENT_SHA256))
    write_card(folder, jcq(tmp_path, "other"))
    results = ModelCard.load(folder / "README.md").data.to_dict()["model-index"][0][
        "results"
    ]
    types = [result["dataset"]["type"] for result in results]
    assert types == ["gsm8k", "dat-ja", "nlp-waseda/JCQ", "other-questions"]


def test_jcq_names_its_judge_and_n_of_n_and_what_has_no_score_has_no_mean(tmp_path):
    folder = model(tmp_path, None)
    write_card(folder, jcq(tmp_path, CONTENT_SHA256))
    results = {
        one.metric_type: one
        for one in ModelCard.load(folder / "README.md").data.eval_results
    }
    assert results["jcq_fluency"].metric_name == "JCQ: Fluency (698 of 700)"
    assert results["jcq_fluency"].dataset_split == "test"
    assert results["jcq_mean"].metric_args["judge"] == "gpt-4o"
    assert results["jcq_scored"].metric_value == 698 / 700
    write_card(folder, jcq(tmp_path, CONTENT_SHA256, scored=0))
    (only,) = ModelCard.load(folder / "README.md").data.eval_results
    assert (only.metric_type, only.metric_value) == ("jcq_scored", 0.0)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "# Mine\n",
        "---\nmodel-index: []\n---\n# Mine\n",
    ],
)
def test_a_card_without_metadata_gets_them(tmp_path, dat, content):
    folder = model(tmp_path, content)
    check_card(folder)
    write_card(folder, dat)
    card = ModelCard.load(folder / "README.md")
    assert card.data.to_dict()["model-index"][0]["name"] == "mine"
    body = (
        "# mine\n\nResults: see the metadata.\n"
        if content is None
        else content.rpartition("---\n")[2]
    )
    assert card.text.endswith(body)
    if content is None:
        assert card.data.tags == ["sozo"]


@pytest.mark.parametrize(
    ("row", "header"),
    [
        ("card: broken YAML", "a: ["),
        ("card: no mapping", "- a\n- b"),
        ("card: no results", "model-index: none"),
        ("card: no results", "model-index: [{name: x}]"),
    ],
)
def test_a_card_that_cannot_be_written_is_left_alone(tmp_path, dat, row, header):
    content = f"---\n{header}\n---\n# Mine\n"
    folder = model(tmp_path, content)
    for act in (lambda: check_card(folder), lambda: write_card(folder, dat)):
        with refused(row):
            act()
    assert (folder / "README.md").read_text("utf-8") == content
