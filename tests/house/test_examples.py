"""The examples that CONTRIBUTING.md and README.md show: each is complete, short, and does what it says."""

import doctest
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from examples import encoder, generator, reward, task

from command_line import sozo
from fakes import AXES, FakeNouns, axis_encoder, list_text
from sozo.models.nouns import RandomNouns
from sozo.tasks.dat.scorer import DatScorer
from sozo.training.entries import read_entries

ROOT = Path(__file__).parents[2]
EXAMPLES = (task, reward, encoder, generator)


@pytest.mark.parametrize("module", EXAMPLES, ids=lambda module: module.__name__)
def test_an_example_is_true(module):
    assert doctest.testmod(module).failed == 0


def test_the_task_is_a_command(tmp_path):
    texts = [
        {"item": "sakura", "text": "さむい朝だった\nくもを見あげた\nらいねんも来る"},
        {"item": "sakura", "text": "さ\nく\nら"},
        {"item": "himawari", "text": "ひるの庭で\n待っていた\nわらう君を\nりんごの木"},
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in texts), "utf-8")
    words = ["score", "acrostic", answers, "--output", tmp_path / "a"]
    done = sozo(ROOT, *words, SOZO_TASKS="examples.task.Acrostic")
    assert done.returncode == 0, done.stderr
    assert "acrostic\n" in done.stdout
    metrics = json.loads((tmp_path / "a" / "metrics.json").read_bytes())
    assert (metrics["num_items"], metrics["num_answers"], metrics["usable"]) == (
        3,
        3,
        2,
    )
    assert metrics["reasons"] == {"short_line": 1}
    # Means over the items: sakura has one answer with a value, himawari another, yukidaruma none.
    measures = {
        name: (m["value"], m["n"], m["of"]) for name, m in metrics["measures"].items()
    }
    assert measures == {"acrostic": (0.875, 2, 3), "acrostic/length": (6.0, 2, 3)}


def test_the_task_is_a_reward_and_prompts_for_training(monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "examples.task.Acrostic")
    (entry,) = read_entries(["acrostic"])
    assert [item.id for item in entry.items] == list(task.WORDS)
    (pays,) = entry.rewards
    text = "さむい朝だった\nくもを見あげた\n来年も来る春"
    rewards = pays(
        prompts=["?"] * 2,
        completions=[text, "さ\nく\nら"],
        word=["さくら"] * 2,
        item=["sakura"] * 2,
    )
    assert rewards == pytest.approx([2 / 3, 0.0])


def test_the_reward_is_called_as_trl_calls_it():
    pays = reward.make_fresh_words_reward(scale=2.0)
    texts = [list_text(AXES[:10]), list_text(AXES[1:11]), "no list"]
    metrics = {}
    rewards = pays(
        prompts=[[{"role": "user", "content": "?"}]] * 3,
        completions=[[{"role": "assistant", "content": text}] for text in texts],
        completion_ids=[[1], [2], [3]],
        log_metric=metrics.__setitem__,
        log_extra=lambda column, values: None,
    )
    assert rewards == [0.2, 0.2, 0.0]  # nine of ten words are named twice
    assert metrics["fresh_words/usable"] == pytest.approx(2 / 3)


def test_the_encoder_scores(tmp_path):
    vectors = np.eye(len(AXES), dtype=int)
    rows = [
        f"{word} {' '.join(map(str, vector))}"
        for word, vector in zip(AXES, vectors, strict=True)
    ]
    (tmp_path / "vectors.txt").write_text(
        "\n".join([f"{len(AXES)} {len(AXES)}", *rows]), "utf-8"
    )
    ours = encoder.VectorFile(tmp_path / "vectors.txt")
    assert ours.name == "vectors.txt"
    scorer = DatScorer(FakeNouns([*AXES, "箱"]), ours)
    usable, unusable = scorer.score(
        [list_text(AXES[:10]), list_text([*AXES[:9], "箱"])]
    )
    assert (usable.score, usable.reason) == (1.0, None)
    assert unusable.reason == "no_vector"


def test_a_generator_draws_lines_of_a_file(tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("1. 犬\n2. 猫\n", "utf-8")
    lines = generator.Lines(SimpleNamespace(source="mine", model=texts))
    drawn = lines.answer([""] * 20, seed=0, batch=0)
    assert drawn == lines.answer([""] * 20, seed=0, batch=0)
    assert {completion.text for completion in drawn} == {"1. 犬", "2. 猫"}


def test_the_generator_is_better_than_what_it_asks():
    scorer = DatScorer(
        FakeNouns(AXES), axis_encoder(AXES[:10])
    )  # two of twelve words have no vector
    nouns = RandomNouns(AXES)

    def score(texts):
        return [result.score for result in scorer.score(texts)]

    best = generator.BestOf(nouns, score, 8)
    prompts = [""] * 20
    completions = best.answer(prompts, seed=0, batch=0)
    assert completions == best.answer(prompts, seed=0, batch=0)
    assert len(completions) == len(prompts)
    usable = [
        sum(s is not None for s in score([c.text for c in g.answer(prompts, 0, 0)]))
        for g in (nouns, best)
    ]
    assert usable[0] < usable[1]
    assert best.describe()["of"] == nouns.describe()
