"""`sozo agreement`: Table 23, agreement and Figure 1 of finished runs, by hand and as a user runs it."""

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
from sozo.studies.agreement.run import agree
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


def values(run):
    return json.loads((run.folder / "agreement.json").read_text("utf-8"))


def test_ranks_and_agreement_with_people_by_hand(tmp_path):
    runs = write_runs(tmp_path / "runs")
    run = agree(
        [str(runs)], tmp_path / "out", rankings=write_rankings(tmp_path / "r.jsonl")
    )
    found = values(run)
    by_model = {row["model"]: row["by_evaluation"] for row in found["ranked"]}
    assert list(by_model) == ["a", "b", "c", "d"]
    assert by_model["a"] == {
        "ja-ginza": {"mean": pytest.approx(0.625), "stories": 4, "place": 1},
        "human": {
            "mean": pytest.approx((1 + 2 / 3 + 1 + 2 / 3) / 4),
            "stories": 4,
            "place": 1,
        },
    }
    assert by_model["c"]["human"] == {
        "mean": pytest.approx((1 / 3 + 1 / 3 + 2 / 3 + 0) / 4),
        "stories": 4,
        "place": 3,
    }
    (one,) = found["compared"]
    theirs = [human(model).mean() for model in MODELS]
    assert one["pearson"] == pytest.approx(
        np.corrcoef(DISTANCES.mean(axis=1), theirs)[0, 1]
    )
    assert (one["evaluation"], one["reference"], one["models"], one["stories"]) == (
        "ja-ginza",
        "human",
        4,
        4,
    )
    assert one["p_holm"] == one["p"]  # one comparison
    assert one["reason"] == "4 models: the interval is wide"
    # Figure 1: one story at a time, the mean over the four stories that can be drawn; all four, the correlation itself.
    each = [
        np.corrcoef(DISTANCES[:, k], [human(model)[k] for model in MODELS])[0, 1]
        for k in range(4)
    ]
    first, *_, last = one["curve"]
    assert first["mean"] == pytest.approx(np.mean(each), abs=0.02)
    assert (first["low"], first["high"]) == (
        pytest.approx(min(each)),
        pytest.approx(max(each)),
    )
    assert (last["stories"], last["mean"]) == (4, pytest.approx(one["pearson"]))
    svg = ElementTree.parse(run.folder / "agreement-curve.svg").getroot()
    assert "Pearson correlation with human" in "".join(svg.itertext())


def test_what_people_did_not_rank_is_left_out_and_said(tmp_path):
    runs = write_runs(tmp_path / "runs")
    given_sat(tmp_path / "runs" / "_e|<b>", "_e|<b>", dict.fromkeys(TALES, 0.5))
    places = {**PLACES, "狐": "abcd"}
    rankings = write_rankings(
        tmp_path / "r.jsonl", places, lambda model: "gone" if model == "d" else model
    )
    run = agree([str(runs)], tmp_path / "out", rankings=rankings)
    found = values(run)
    assert found["notes"] == [
        "People ranked 1 models that there is no run of: gone.",
        "People did not rank 2 of the models: _e|<b>, d.",
        "People ranked 1 stories that are not among the runs'.",
    ]
    (one,) = found["compared"]
    assert (one["models"], one["stories"]) == (3, 4)
    assert one["reason"] == "3 models: too few for an interval"
    assert one["pearson"] == pytest.approx(
        np.corrcoef(DISTANCES[:3].mean(axis=1), [human(m).mean() for m in "abc"])[0, 1]
    )


def test_without_people_encoders_are_compared_with_the_judge(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    runs = write_runs(tmp_path / "runs", "abc")
    given_sat(runs / "e", "e", dict.fromkeys(TALES))  # wrote nothing
    grades = {"a": "5", "b": "3", "c": "4点"}
    with judging(lambda text: grades[text[0]]) as (url, asked):
        options = JudgeSettings(judge_model="j", judge_base_url=url)
        run = agree([str(runs)], tmp_path / "out", judging=options)
    assert len(asked) == 16  # four stories by three models, and c's replies once more
    found = values(run)
    assert found["judge"]["statuses"] == {
        "a": {"ok": 4},
        "b": {"ok": 4},
        "c": {"unparseable": 4},
        "e": {"no_rewrite": 4},
    }
    by_model = {
        row["model"]: row["by_evaluation"]["judge j"] for row in found["ranked"]
    }
    assert by_model["a"] == {"mean": 1.0, "stories": 4, "place": 1}
    assert by_model["c"] == {"mean": None, "stories": 0, "place": None}
    (one,) = found["compared"]
    assert (one["reference"], one["pearson"], one["stories"]) == ("judge j", None, 0)
    assert one["reason"] == "no story has scores of all models in both"
    assert (one["curve"], (tmp_path / "out" / "agreement-curve.svg").exists()) == (
        [],
        False,
    )


def test_a_judge_that_was_stopped_goes_on_and_nothing_is_asked_twice(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    runs = write_runs(tmp_path / "runs", "abc")
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
            return agree(
                [str(runs)], tmp_path / name, rankings=rankings, judging=settings
            )

        first = agreed("out", max_cost=3.2)
        assert "above 3.2" in first.stopped
        assert len(asked) == 6
        assert values(first)["judge"]["statuses"]["c"] == {"not_asked": 4}
        assert not (tmp_path / "out" / "metrics.json").exists()
        whole = agreed("out")
        assert (whole.stopped, len(asked), len(set(asked))) == (None, 12, 12)
        assert [
            (one["evaluation"], one["reference"]) for one in values(whole)["compared"]
        ] == [
            ("ja-ginza", "human"),
            ("judge j", "human"),
            ("ja-ginza", "judge j"),
        ]
        again = agreed("out")
        assert (again.finished_before, again.page, len(asked)) == (True, whole.page, 12)
        # One more model: another folder, with what was paid for.
        write_runs(tmp_path / "runs")
        with refused("agreement: one more model"):
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
        words = "runs --embedding-models ja-ginza --rankings r.jsonl --output out"
        judge = ("--judge", "--judge-model", "j", "--judge-base-url", url)
        done = sozo(tmp_path, "agreement", *words.split(), *judge, OPENAI_API_KEY=KEY)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(asked) == 12
    assert (tmp_path / "out" / "agreement.md").read_text("utf-8") in done.stdout
    found = json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))
    # The run's own scores are all 0.5; the encoder that was named finds the copies, as people and the judge do.
    means = {row["model"]: row["by_evaluation"] for row in found["ranked"]}
    assert means["a"]["ja-ginza-texts"]["mean"] == pytest.approx(0, abs=1e-6)
    assert min(means[model]["ja-ginza-texts"]["mean"] for model in "bc") > 0.05
    assert [means[model]["judge j"]["mean"] for model in "abc"] == pytest.approx(
        [0.2, 0.6, 0.8]
    )
    judge = next(one for one in found["compared"] if one["evaluation"] == "judge j")
    assert judge["pearson"] == pytest.approx(np.corrcoef([1, 3, 4], [0, 0.5, 1])[0, 1])
    assert not [
        path for path in (tmp_path / "out").iterdir() if KEY in path.read_text("utf-8")
    ]


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("runs/a", "agreement: one model"),
        ("runs --rankings other.jsonl", "agreement: rankings of other models"),
        ("runs --rankings stories.jsonl", "agreement: rankings of other stories"),
        ("runs --judge-model j", "agreement: judge's setting without a judge"),
        ("runs --judge --judge-price-in 1", "agreement: half a price"),
        ("runs else", "agreement: scores by another encoder"),
        ("runs changed", "agreement: story with another text"),
    ],
)
def test_what_cannot_be_compared_is_refused(words, row, tmp_path):
    write_runs(tmp_path / "runs")
    write_rankings(tmp_path / "other.jsonl", {"桃": "dxy"})
    write_rankings(tmp_path / "stories.jsonl", {"狐": "abcd"})
    other, changed = (
        {**SCORES, "embedding_model": "other"},
        [Story("桃", "", "", "", "別の話")],
    )
    given_sat(tmp_path / "else", "e", {"桃": 0.5}, scorer=other)
    given_sat(tmp_path / "changed", "f", {"桃": 0.5}, stories=changed)
    done = sozo(
        tmp_path, "agreement", *words.split(), "--output", "out", OPENAI_API_KEY="none"
    )
    assert done.returncode == 2
    assert says(row, done.stderr)
    assert not (tmp_path / "out").exists()
