"""SAT scores on hand-worked numbers, with the real packaged encoder, and whatever a model may write."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import FakeEncoder
from finished_runs import sat_items, write_run
from sentences import refused
from sozo.data.jsonl import write_objects
from sozo.eval.run import score_answers
from sozo.scoring.embeddings import make_encoder
from sozo.tasks.sat.compliance import Compliance
from sozo.tasks.sat.score import TEXT_LIMIT, SatScorer, SatSettings, what_counts
from sozo.tasks.sat.stories import Story, load_stories
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Answer, Complete, Item, Row


def story(name, text):
    return Story(name, "", "", "", text)


TALES = [story("1", "浦島"), story("2", "桃"), story("3", "鶴")]
VECTORS = {
    "浦島": [1, 0],
    "桃": [0, 2],
    "鶴": [0, 0],
    "近い": [6, 8],
    "遠い": [-3, 0],
    "無": [0, 0],
    "数": [math.nan, 1],
}


def score_with(encoder, asked):
    """The rows of pairs of an original and a rewrite."""
    task = Sat()
    task.__dict__["scorer"] = SatScorer(encoder)
    items = [
        Item(str(k), "?", {"story": original}) for k, (original, _) in enumerate(asked)
    ]
    return task.score(
        items, [Answer(str(k), str(k), text) for k, (_, text) in enumerate(asked)]
    )


def score(*rewrites, encoder=None):
    texts = {tale.id: tale.text for tale in TALES}
    return score_with(
        encoder or FakeEncoder(VECTORS),
        [(texts[name], text) for name, text in rewrites],
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("1", "浦島", 0.0),
        ("1", "桃", 1.0),
        ("1", "近い", 0.4),  # 1 - 0.6
        ("1", "遠い", 2.0),
        ("1", "<think>桃?</think>\n近い", 0.4),
        ("1", "", "no_text"),
        ("1", "\x00\x1b\u200b", "no_text"),
        ("1", "……。（）", "no_text"),
        ("1", "<think>桃", "no_text"),
        ("1", "無", "no_vector"),
        ("1", "数", "no_vector"),
        ("3", "近い", "story_no_vector"),
        ("3", "", "no_text"),
    ],
)
def test_hand_worked(name, text, expected):
    (row,) = score((name, text))
    if isinstance(expected, str):
        assert ("sat" in row.values, row.reason) == (False, expected)
    else:
        assert row.reason is None
        assert row.values["sat"] == pytest.approx(expected, abs=1e-6)
    assert "sat/length" in row.values


def test_company_and_order_do_not_matter_and_every_text_is_encoded_once():
    asked = [
        ("1", "近い"),
        ("2", ""),
        ("2", "近い"),
        ("3", "桃"),
        ("1", "無"),
        ("1", "近い"),
    ]
    encoder = FakeEncoder(VECTORS)
    together = score(*asked, encoder=encoder)
    assert sorted(text for batch in encoder.batches for text in batch) == [
        "桃",
        "浦島",
        "無",
        "近い",
        "鶴",
    ]
    for k, pair in enumerate(asked):
        assert score(pair)[0] == together[k]
    assert score() == []


def test_only_the_first_characters_are_embedded():
    encoder = FakeEncoder({"桃" * TEXT_LIMIT: [0, 1], "浦島": [1, 0]})
    (row,) = score(("1", "桃" * 100_000), encoder=encoder)
    assert row.values["sat"] == pytest.approx(1)
    assert row.values["sat/length"] == 100_000
    assert max(len(text) for batch in encoder.batches for text in batch) == TEXT_LIMIT


def test_a_broken_encoder_is_an_error():
    with refused("sat: an encoder without vectors"):
        SatScorer(FakeEncoder({"犬": [0.0]})).compare(
            [f"話{k}" for k in range(10)], ["桃"] * 10
        )


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_a_score_or_a_reason(text):
    class Lengths:
        name, revision = "lengths", "1"

        def encode(self, words):
            for word in words:
                word.encode()  # what no encoder takes must not reach one
            return np.array([[len(w), len(w) % 3 - 1.0] for w in words], np.float32)

    (row,) = score(("1", text), encoder=Lengths())
    assert ("sat" in row.values) == (row.reason is None)
    assert 0 <= row.values.get("sat", 0) <= 2
    assert what_counts(what_counts(text)[0])[0] == what_counts(text)[0]


# The summary


def rated(name, value, number=0, **kwargs):
    own = Compliance(
        **{"length": 400, "one_line": True, "extras": (), "copied": 0.1, **kwargs}
    ).values
    answer = Answer(f"{name}-{number}", name, "x", "m")
    if value is None:
        return answer, Row(own, "no_text")
    return answer, Row(
        own
        | {"sat": value}
        | ({"sat/compliant_mean": value} if own["sat/compliant"] else {})
    )


@pytest.fixture
def summarise(tmp_path):
    """What `metrics.json` holds of scored rewrites of so many stories."""

    def summary(rated, num_stories):
        task, (answers, rows) = Sat(), zip(*rated, strict=True)
        stories = [story(str(k), "話") for k in range(1, num_stories + 1)]
        write_run(tmp_path, task, sat_items(stories), answers, rows)
        return task.finish(Complete(tmp_path, "m"))

    return summary


def test_the_mean_is_over_stories(summarise):
    rows = [
        rated("1", 0.2),
        rated("1", 0.4, 1),
        rated("2", 0.9),
        rated("2", None, 1),
        rated("3", 0.6),
        rated("4", None),
    ]
    summary = summarise(rows, 5)
    score = summary["measures"]["sat"]
    assert (score["n"], score["of"], summary["num_items"]) == (3, 5, 5)
    assert (summary["usable"], summary["num_answers"]) == (4, 6)
    assert score["value"] == pytest.approx(
        0.6
    )  # of 0.3, 0.9 and 0.6; over rewrites it were 0.525
    margin = 4.302653 * 0.3 / math.sqrt(3)  # Student's t of 2 degrees of freedom
    assert (score["low"], score["high"]) == pytest.approx(
        (0, 0.6 + margin)
    )  # no distance is below 0
    assert summary["reasons"] == {"no_text": 2}


def test_what_is_selected_goes_by_the_headline(summarise, tmp_path):
    summarise([rated("1", 0.2), rated("2", 0.9, extras=("note",)), rated("3", None)], 3)
    assert Sat().written(tmp_path).table()["score"].to_pylist() == [0.2, 0.0, None]


# The packaged encoder


@pytest.fixture(scope="module")
def texts_encoder():
    return make_encoder(texts=True)


PARAPHRASE = (
    "浦島太郎という漁師が、浜辺で子どもたちにいじめられている亀を助け、海に逃がしてやった。何日かして釣りに出ると亀が現れ、"
    "お礼だと言って背中に乗せ、海の底にある竜宮城へ連れて行く。美しい乙姫に迎えられ、ごちそうと魚の踊りで楽しく過ごした。"
    "やがて母が恋しくなって帰りたいと言うと、乙姫は開けてはならない玉手箱をくれた。村に帰ると家も母もなく、三百年がたっていた。"
    "箱を開けると白い煙が出て、太郎は老人になった。"
)
UNRELATED = (
    "当社の第三四半期決算は、半導体需要の回復により売上高が前年同期比で増加した一方、為替変動と原材料価格の高騰が利益を圧迫した。"
    "取締役会は配当方針を据え置き、設備投資計画を見直すことを決議した。"
)


def test_the_packaged_encoder_knows_a_paraphrase_from_another_topic(
    texts_encoder,
):
    tales = {tale.id: tale for tale in load_stories()}
    urashima = tales["urashimataro"]
    others = [tale.text for tale in tales.values() if tale is not urashima]
    texts = [urashima.text, PARAPHRASE, *others, UNRELATED]
    rows = score_with(texts_encoder, [(urashima.text, text) for text in texts])
    same, paraphrase, *tales_apart, unrelated = [row.values["sat"] for row in rows]
    assert same == pytest.approx(0, abs=1e-6)
    assert 0.001 < paraphrase < min(tales_apart) < max(tales_apart) < unrelated
    copied = [row.values["sat/copied"] for row in rows]
    assert copied[0] == 1.0
    assert max(copied[2:]) < 0.05
    assert 0 < copied[1] < 0.5


def test_the_packaged_encoder_has_a_vector_for_every_story(texts_encoder):
    tales = load_stories()
    rows = score_with(texts_encoder, [(t.text, t.text) for t in tales])
    assert max(row.values["sat"] for row in rows) < 1e-6
    assert {row.values["sat/copied"] for row in rows} == {1.0}
    # The stories keep to the conditions that they come with, so the rules find nothing in 113 stories.
    assert [
        (t.id, row.facts)
        for t, row in zip(tales, rows, strict=True)
        if row.facts["extras"]
    ] == []


# The run's folder


@pytest.fixture
def small(tmp_path):
    tales = tmp_path / "stories.jsonl"
    tales.write_text(
        "".join(
            json.dumps({"id": t, "text": f"{t}と亀の話。"}) + "\n"
            for t in ("桃", "鶴", "犬")
        ),
        "utf-8",
    )
    file = tmp_path / "theirs.jsonl"
    write_objects(
        file,
        [
            {"story_id": "桃", "text": "都会の車の話。", "source": "m"},
            {"item": "鶴", "text": ""},
        ],
    )
    return file, Sat(SatSettings(stories=str(tales)))


def test_a_run_writes_its_folder_once_and_can_be_scored_again(small, tmp_path):
    file, task = small
    first = score_answers(task, file, tmp_path / "run")
    score = first.metrics["measures"]["sat"]
    assert (score["n"], score["of"], first.metrics["source"]) == (
        1,
        3,
        "m, theirs.jsonl",
    )
    rows = first.result.scored
    assert [(row.id, row.item, row.reason) for row in rows] == [
        ("桃-0", "桃", None),
        ("鶴-0", "鶴", "no_text"),
    ]
    assert rows[0].values["sat"] == score["value"]
    config = json.loads((tmp_path / "run" / "config.json").read_text("utf-8"))
    assert config["loaded"]["scorer"]["embedding_model"] == "ja-ginza-texts"
    again = score_answers(task, file, tmp_path / "run")
    assert (first.finished_before, again.finished_before, again.metrics) == (
        False,
        True,
        first.metrics,
    )
    with refused("sat: a story that is not asked"):
        score_answers(Sat(), file, tmp_path / "other")
    assert not (tmp_path / "other").exists()
