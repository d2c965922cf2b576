"""`sozo correlate` of rewrites: Tables 23 and 24 and Figure 1 of finished runs, by hand and as a user runs it."""

import json
import shutil
from contextlib import contextmanager
from xml.etree import ElementTree

import numpy as np
import pytest

from command_line import sozo
from finished_runs import SCORES, given_sat
from judge_server import completion, serving
from sentences import refused, says
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.studies.correlate.run import correlate_runs
from sozo.tasks.sat.stories import Story

KEY = "sk-very-secret"
MODELS = "abcd"
TALES = ("桃", "鶴", "亀", "犬")
# Model x story.
DISTANCES = np.array(
    [
        [0.9, 0.5, 0.7, 0.4],
        [0.6, 0.8, 0.2, 0.5],
        [0.3, 0.4, 0.6, 0.1],
        [0.1, 0.3, 0.3, 0.2],
    ]
)
PLACES = {"桃": "abcd", "鶴": "bacd", "亀": "acbd", "犬": "badc"}


def write_runs(folder, models=MODELS, **how):
    for k, model in enumerate(models):
        scores = dict(zip(TALES, DISTANCES[k].tolist(), strict=True))
        given_sat(folder / model, model, scores, **how)
    return folder


def write_rankings(path, places=PLACES, rename=lambda model: model):
    rows = [
        {"story_id": story, "ranking": [*map(rename, order)], "rater": "r"}
        for story, order in places.items()
    ]
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )
    return path


def human(model):
    """A model's points on each story: 1, 2/3, 1/3, 0."""
    return np.array([1 - PLACES[story].index(model) / 3 for story in TALES])


@contextmanager
def judging(grade):
    """A judge on loopback that replies `grade(text of the rewrite)`; gives its address and what it was asked."""
    asked = []

    def reply(request, headers):
        asked.append(
            request["messages"][0]["content"].rpartition("# 現代版の物語\n")[2]
        )
        return 200, {}, completion(grade(asked[-1]))

    with serving(reply) as url:
        yield url, asked


def correlated(folder, runs, out="out", **how):
    run = correlate_runs([str(folder / runs)], folder / out, task="sat", **how)
    return run, json.loads((run.folder / "correlations.json").read_text("utf-8"))


def test_ranks_and_agreement_with_people_by_hand(tmp_path):
    write_runs(tmp_path / "runs")
    run, found = correlated(
        tmp_path, "runs", ratings=[write_rankings(tmp_path / "r.jsonl")]
    )
    by_model = {row.pop("system"): row for row in found["places"]}
    assert list(by_model) == ["a", "b", "c", "d"]
    points = (1 + 2 / 3 + 1 + 2 / 3) / 4
    assert by_model["a"] == {
        "ja-ginza": {"mean": pytest.approx(0.625), "n": 4, "place": 1},
        "people": {"mean": pytest.approx(points), "n": 4, "place": 1},
    }
    points = (1 / 3 + 1 / 3 + 2 / 3 + 0) / 4
    assert by_model["c"]["people"]["mean"] == pytest.approx(points)
    (cell,) = found["people and ja-ginza"]
    theirs = np.array([human(model) for model in MODELS])
    over = np.corrcoef(DISTANCES.mean(axis=1), theirs.mean(axis=1))[0, 1]
    assert cell["over systems"]["r"] == pytest.approx(over)
    assert cell["over systems"]["reason"] == "4 questions: an interval needs at least 5"
    own = [side - side.mean(axis=1, keepdims=True) for side in (DISTANCES, theirs)]
    within = np.corrcoef(*(side.ravel() for side in own))[0, 1]
    assert cell["within systems"]["r"] == pytest.approx(within)
    assert cell["r"] == pytest.approx(
        np.corrcoef(DISTANCES.ravel(), theirs.ravel())[0, 1]
    )
    # Figure 1: one story at a time, the mean over the four stories that can be drawn; all four, the correlation itself.
    each = [np.corrcoef(DISTANCES[:, k], theirs[:, k])[0, 1] for k in range(4)]
    first, *_, last = found["curves"]["ja-ginza"]
    assert first["mean"] == pytest.approx(np.mean(each), abs=0.02)
    ends = (pytest.approx(min(each)), pytest.approx(max(each)))
    assert (first["low"], first["high"]) == ends
    assert (last["questions"], last["mean"]) == (4, pytest.approx(over))
    svg = ElementTree.parse(run.folder / "curve.svg").getroot()
    assert "Pearson correlation with people" in "".join(svg.itertext())


def test_without_people_encoders_are_compared_with_the_judge(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    runs = write_runs(tmp_path / "runs", "abc")
    given_sat(runs / "e", "e", dict.fromkeys(TALES))  # wrote nothing
    grades = {"a": "5", "b": "3", "c": "4点"}
    with judging(lambda text: grades[text[0]]) as (url, asked):
        options = JudgeSettings(judge_model="j", judge_base_url=url)
        _, found = correlated(tmp_path, "runs", judging=options)
    assert len(asked) == 16  # four stories by three models, and c's replies once more
    assert found["judge"]["statuses"] == {
        "a": {"ok": 4},
        "b": {"ok": 4},
        "c": {"unparseable": 4},
        "e": {"no_rewrite": 4},
    }
    by_model = {row["system"]: row["judge j"] for row in found["places"]}
    assert by_model["a"] == {"mean": 1.0, "n": 4, "place": 1}
    assert by_model["c"] == {"mean": None, "n": 0, "place": None}
    (cell,) = found["judge j and ja-ginza"]
    assert cell["over systems"]["reason"] == "2 systems: a line goes through any two"
    assert "curves" not in found


def test_a_judge_that_was_stopped_goes_on_and_nothing_is_asked_twice(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_runs(tmp_path / "runs", "abc")
    rankings = write_rankings(tmp_path / "r.jsonl")

    def grade(text):
        return "5" if text[0] == "a" else str(1 + TALES.index(text[2]))

    with judging(grade) as (url, asked):
        # A reply costs at most 1 (50 tokens), and here 0.4: six of them fit into 3.2.
        options = {
            "judge_model": "j",
            "judge_base_url": url,
            "judge_concurrency": 1,
            "judge_price_in": 0.0,
            "judge_price_out": 1e6 / 50,
            "judge_max_tokens": 50,
        }

        def agreed(name, **more):
            settings = JudgeSettings(**options, **more)
            return correlated(
                tmp_path, "runs", name, ratings=[rankings], judging=settings
            )

        first, found = agreed("out", max_cost=3.2)
        assert "above 3.2" in first.stopped
        assert len(asked) == 6
        assert found["judge"]["statuses"]["c"] == {"not_asked": 4}
        assert not (tmp_path / "out" / "metrics.json").exists()
        whole, found = agreed("out")
        assert (whole.stopped, len(asked), len(set(asked))) == (None, 12, 12)
        assert [name for name in found if " and " in name] == [
            "people and ja-ginza",
            "people and judge j",
            "judge j and ja-ginza",
        ]
        again, _ = agreed("out")
        assert (again.finished_before, again.page, len(asked)) == (True, whole.page, 12)
        # One more model: another folder, with what was paid for.
        write_runs(tmp_path / "runs")
        with refused("correlate: one more model"):
            agreed("out")
        (tmp_path / "more").mkdir()
        shutil.copy(tmp_path / "out" / "judgements.jsonl", tmp_path / "more")
        agreed("more")
        assert [text[0] for text in asked[12:]] == ["d"] * 4


def test_the_command(tmp_path):
    tales = [
        Story(name, "", "", "", f"{name}を助けた漁師が竜宮城へ行った話")
        for name in TALES
    ]
    for model, ending in zip(
        "abc",
        ("竜宮城へ行った", "銀行から融資を受けた", "人工知能を開発した"),
        strict=True,
    ):
        texts = {name: f"{name}を助けた漁師が{ending}話" for name in TALES}
        given_sat(
            tmp_path / "runs" / model,
            model,
            dict.fromkeys(TALES, 0.5),
            stories=tales,
            texts=texts,
        )
    write_rankings(tmp_path / "r.jsonl", dict.fromkeys(TALES, "cba"))
    with judging(
        lambda text: "1" if "竜宮城" in text else "3" if "銀行" in text else "4"
    ) as (url, asked):
        words = (
            "runs --task sat --embedding-models ja-ginza --ratings r.jsonl --output out"
        )
        judge = ("--judge", "--judge-model", "j", "--judge-base-url", url)
        done = sozo(tmp_path, "correlate", *words.split(), *judge, OPENAI_API_KEY=KEY)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(asked) == 12
    assert (tmp_path / "out" / "correlations.md").read_text("utf-8") in done.stdout
    found = json.loads((tmp_path / "out" / "correlations.json").read_text("utf-8"))
    # The run's own scores are all 0.5; the encoder that was named finds the copies, as people and the judge do.
    means = {row["system"]: row for row in found["places"]}
    assert means["a"]["ja-ginza-texts"]["mean"] == pytest.approx(0, abs=1e-6)
    assert min(means[model]["ja-ginza-texts"]["mean"] for model in "bc") > 0.05
    assert [means[model]["judge j"]["mean"] for model in "abc"] == pytest.approx(
        [0.2, 0.6, 0.8]
    )
    (cell,) = found["people and judge j"]
    expected = np.corrcoef([1, 3, 4], [0, 0.5, 1])[0, 1]
    assert cell["over systems"]["r"] == pytest.approx(expected)
    assert not [
        path for path in (tmp_path / "out").iterdir() if KEY in path.read_text("utf-8")
    ]


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("runs --judge-model j", "correlate: judge's setting without a judge"),
        ("runs --task sat --judge --judge-price-in 1", "correlate: half a price"),
        (
            "runs else --task sat --ratings r.jsonl",
            "correlate: scores by another encoder",
        ),
        (
            "runs changed --task sat --ratings r.jsonl",
            "correlate: story with another text",
        ),
        ("runs --task dat --ratings r.jsonl", "correlate: no run of the task"),
        ("runs --ratings other.jsonl", "correlate: rankings of other models"),
    ],
)
def test_what_cannot_be_compared_is_refused(words, row, tmp_path):
    write_runs(tmp_path / "runs")
    write_rankings(tmp_path / "r.jsonl")
    write_rankings(tmp_path / "other.jsonl", {"桃": "xyz"})
    other, changed = (
        {**SCORES, "embedding_model": "other"},
        [Story("桃", "", "", "", "別の話")],
    )
    given_sat(tmp_path / "else", "e", {"桃": 0.5}, scorer=other)
    given_sat(tmp_path / "changed", "f", {"桃": 0.5}, stories=changed)
    done = sozo(
        tmp_path, "correlate", *words.split(), "--output", "out", OPENAI_API_KEY="none"
    )
    assert done.returncode == 2
    assert says(row, done.stderr)
    assert not (tmp_path / "out").exists()
