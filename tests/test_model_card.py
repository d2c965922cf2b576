"""Results in a model's README.md: the block of ours changes, every other byte stays."""

import json

import pytest
from huggingface_hub import ModelCard

from sozo.data.errors import UserError
from sozo.eval.deliver.model_card import check_card, write_card
from sozo.eval.run import TaskRun
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import CONTENT_SHA256, CRITERIA
from sozo.tasks.jcq.task import Jcq

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
    config(folder, embedding_model="ja-ginza", noun_checker="jumandic", olson=False, temperature=1.0, seed=0)
    summary = DatSummary("m", 104, 100, 0.881234, 0.016, (0.878, 0.884), 700, {"format": 4})
    return TaskRun(Dat(), folder, summary.to_json(), False)


def jcq(tmp_path, sha256, scored=698):
    folder = tmp_path / "runs" / "jcq"
    config(folder, questions_sha256=sha256)
    mean = {"mean": 3.5, "low": 3.4, "high": 3.6, "n": scored}
    mean = mean if scored else {"mean": None, "low": None, "high": None, "n": 0}
    statuses = {"ok": scored, "refused": 700 - scored}
    metrics = {"judge": "gpt-4o", "prompt": "jcq-v1", "num_questions": 700, "statuses": statuses}
    return TaskRun(Jcq(), folder, metrics | {"means": dict.fromkeys((*CRITERIA, "mean"), mean)}, False)


def model(tmp_path, content):
    folder = tmp_path / "mine"
    folder.mkdir()
    if content is not None:
        (folder / "README.md").write_bytes(content.encode())
    return folder


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_card_keeps_every_other_byte(tmp_path, dat, newline, mark):
    before = (f"{mark}---\n{HEADER}---\n{BODY}").replace("\n", newline)
    folder = model(tmp_path, before)
    path = write_card(folder, dat)
    after = path.read_bytes().decode()
    start = after.index("model-index:")
    end = after.index(f"{newline}---{newline}", start) + len(newline)
    assert after[:start] + after[end:] == before
    assert ("\r" in after) == (newline == "\r\n")
    card = ModelCard.load(path)
    assert card.data.license == "apache-2.0"
    assert card.data.to_dict()["model-index"][0]["name"] == "out"
    first, rate, words = card.data.eval_results
    assert (first.task_type, first.dataset_type, first.metric_type) == ("text-generation", "dat-ja", "dat_score")
    assert first.metric_value == 0.8812
    assert first.metric_name == "DAT score (0 to 2; 100 of 104 responses valid)"
    assert first.metric_args["valid"] == 100
    assert first.metric_args["responses"] == 104
    assert first.metric_args["embedding_model"] == "ja-ginza"
    assert first.metric_args["ci95"] == [0.878, 0.884]
    assert rate.metric_value == round(100 / 104, 4)
    assert words.metric_value == 700
    assert [path.name for path in folder.iterdir()] == ["README.md"]


def test_earlier_results_are_replaced_and_those_of_others_stay(tmp_path, dat):
    folder = model(tmp_path, f"---\n{HEADER}{THEIRS}---\n{BODY}")
    write_card(folder, dat)
    once = (folder / "README.md").read_text("utf-8")
    assert once.startswith(f"---\n{HEADER}model-index:\n- name: theirs\n")
    assert once.endswith(f"\n\n# the end\ndatasets: []\n---\n{BODY}")
    results = ModelCard.load(folder / "README.md").data.to_dict()["model-index"][0]["results"]
    assert [result["dataset"]["type"] for result in results] == ["gsm8k", "dat-ja"]
    assert results[0]["metrics"] == [{"type": "acc", "value": 0.5, "verified": True}]
    write_card(folder, dat)
    assert (folder / "README.md").read_text("utf-8") == once
    write_card(folder, jcq(tmp_path, CONTENT_SHA256))
    write_card(folder, jcq(tmp_path, CONTENT_SHA256))
    write_card(folder, jcq(tmp_path, "other"))
    results = ModelCard.load(folder / "README.md").data.to_dict()["model-index"][0]["results"]
    types = [result["dataset"]["type"] for result in results]
    assert types == ["gsm8k", "dat-ja", "nlp-waseda/JCQ", "other-questions"]


def test_jcq_names_its_judge_and_n_of_n_and_what_has_no_score_has_no_mean(tmp_path):
    folder = model(tmp_path, None)
    write_card(folder, jcq(tmp_path, CONTENT_SHA256))
    results = {one.metric_type: one for one in ModelCard.load(folder / "README.md").data.eval_results}
    assert results["jcq_fluency"].metric_name == "JCQ fluency (1 to 5, judge gpt-4o; 698 of 700 questions)"
    assert results["jcq_fluency"].dataset_split == "test"
    assert results["jcq_mean"].metric_args["scored_questions"] == 698
    assert results["jcq_scored_rate"].metric_value == round(698 / 700, 4)
    write_card(folder, jcq(tmp_path, CONTENT_SHA256, scored=0))
    (only,) = ModelCard.load(folder / "README.md").data.eval_results
    assert (only.metric_type, only.metric_value) == ("jcq_scored_rate", 0.0)


@pytest.mark.parametrize(
    "content", [None, "", "# Mine\n", "---\nmodel-index: []\n---\n# Mine\n", "---\n# nothing\n---\n# Mine\n"]
)
def test_a_card_without_metadata_gets_them(tmp_path, dat, content):
    folder = model(tmp_path, content)
    check_card(folder)
    write_card(folder, dat)
    card = ModelCard.load(folder / "README.md")
    assert card.data.to_dict()["model-index"][0]["name"] == "mine"
    body = "# mine\n\nResults: see the metadata.\n" if content is None else content.rpartition("---\n")[2]
    assert card.text.endswith(body)
    if content is None:
        assert card.data.tags == ["sozo"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("a: [", "its metadata is not YAML"),
        ("- a\n- b", "must be lines `key: value`"),
        ("model-index: none", "its model-index is no list of models with results"),
        ("model-index: [{name: x}]", "its model-index is no list of models with results"),
        ("{license: mit, language: ja}", "not in block style"),
        ("model-index: []\nmodel-index: null", "not in block style"),
    ],
)
def test_a_card_that_cannot_be_written_is_left_alone(tmp_path, dat, header, message):
    content = f"---\n{header}\n---\n# Mine\n"
    folder = model(tmp_path, content)
    for act in (lambda: check_card(folder), lambda: write_card(folder, dat)):
        with pytest.raises(UserError, match=message) as caught:
            act()
        assert str(folder / "README.md") in str(caught.value)
        assert "\n" not in str(caught.value)
    assert (folder / "README.md").read_text("utf-8") == content
