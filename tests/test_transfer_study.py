"""A study with `transfer`: its steps, what is refused, and the page from finished runs whose shares are known."""

import json
import random

import pytest
import yaml

from sozo.data.errors import UserError
from sozo.eval.run import score_answers
from sozo.scoring.parse import write_list
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.words.kanji import Kanji, KanjiSettings
from study.config import load_study
from study.plan import check_training_flags, training_of
from study.steps import answers_folder, study_rows, study_steps
from study.transfer_page import write_matrix
from test_reproduce import ROOT

TINY = ROOT / "recipes" / "tiny" / "transfer.yaml"


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """The tiny model's study with other settings."""
    monkeypatch.chdir(ROOT)

    def load(transfer=None, **changes):
        values = yaml.safe_load(TINY.read_text("utf-8")) | changes
        values["transfer"] |= transfer or {}
        for block in ("sampling", "training"):
            for key, value in values[block].items():
                if str(value).endswith(".yaml"):
                    values[block][key] = str((TINY.parent / value).resolve())
        path = tmp_path / "transfer.yaml"
        path.write_text(yaml.safe_dump(values, sort_keys=False), "utf-8")
        return load_study(path, str(tmp_path / "o"))

    return load


def test_steps_by_hand(edited):
    study = edited(seeds=[1, 2])
    steps = study_steps(study)
    rows = ["dat", "cue_dat", "kana_dat", "chain", "kanji", "mix", "form-only"]
    names = ["none-answers", *(name for row in rows for name in (row, f"{row}-answers"))]
    assert [step.name for step in steps] == [*names, *(f"{name}@2" for name in names), "table"]
    by_name = {step.name: step for step in steps}
    asked = by_name["chain-answers@2"]
    assert (asked.script, asked.inputs, asked.flags["seed"]) == ("measure.py", ("chain@2",), "2")
    assert list(json.loads(asked.flags["tasks"])) == ["dat", "cue_dat", "kana_dat", "chain", "kanji"]
    assert by_name["table"].inputs == tuple(
        step.name for step in steps if step.name.partition("@")[0].endswith("answers")
    )
    assert study_rows(study)["mix@2"].model.endswith("/mix@2")
    # Every trained row takes the same steps.
    assert {training_of(step).total for step in steps if step.trains} == {1000 * 16}
    check_training_flags(study)


@pytest.mark.parametrize(
    ("transfer", "changes", "message"),
    [
        ({}, {"seeds": [1]}, "two seeds"),
        ({}, {"guard_encoder": "e5"}, "guard_encoder goes with the table of DAT"),
        ({}, {"arms": {"dat": {"train": "grpo"}, "form only": {"train": "grpo"}}}, "an untrained arm first"),
        ({"against": "form"}, {}, "form is not one of none, dat, .*did you mean form only"),
        ({"columns": {"kanjj": {}}}, {}, "no task kanjj"),
        ({"columns": {"kanji": {"nouns": 3}}}, {}, "unknown setting: nouns"),
        ({"controls": {"jcq": 0.3}}, {}, "jcq is not one of dat"),
        ({"claim": {"name": "x", "rows": [], "columns": ["kanji"]}}, {}, "at least 1 item"),
        ({"claim": {"name": "x", "rows": ["form only"], "columns": ["kanji"]}}, {}, "about other arms"),
    ],
)
def test_what_cannot_be_is_refused(transfer, changes, message, edited):
    with pytest.raises(UserError, match=message):
        edited(transfer, **changes)


def kanji_answers(path, items, right, valid, draw):
    """Some solve their item, some of the others say a kanji, the rest says two."""
    for item in items:
        solved, text = draw.random() < right, "猫" if draw.random() < valid else "猫犬"
        row = {"item": item.id, "text": item.columns["solutions"][0] if solved else text}
        path.open("a").write(json.dumps({"id": item.id} | row) + "\n")
    return path


def test_the_page_from_runs_of_known_shares(edited, tmp_path):
    arms = {"none": {}, "kanji": {"train": "grpo"}, "dat": {"train": "grpo"}, "form only": {"train": "grpo"}}
    columns = {"dat": {"noun_checker": "jumandic", "embedding_model": "ja-ginza"}, "kanji": {"num_items": 200}}
    claim = {"name": "lists teach kanji", "rows": ["dat"], "columns": ["kanji"]}
    study = edited({"columns": columns, "claim": claim}, arms=arms, seeds=[1, 2])
    draw, tasks = (
        random.Random(0),
        {"dat": Dat(DatSettings(**columns["dat"])), "kanji": Kanji(KanjiSettings(num_items=200))},
    )
    nouns = ["犬", "海", "法律", "机", "時間", "音楽", "石", "病気", "数学", "祭り", "車", "塩"]
    lists = tmp_path / "lists.jsonl"
    lists.write_text("".join(json.dumps({"text": write_list(draw.sample(nouns, 10))}) + "\n" for _ in range(60)))
    right = {"none": 0.5, "kanji": 0.9, "dat": 0.6, "form only": 0.5}
    for arm, seed in study.points:
        folder = answers_folder(study, arm, seed)
        answers = kanji_answers(tmp_path / f"{folder.name}.jsonl", tasks["kanji"].items(), right[arm.name], 0.5, draw)
        score_answers(tasks["kanji"], answers, folder / "kanji")
        score_answers(tasks["dat"], lists, folder / "dat")
    text = write_matrix(tmp_path / "table", study)
    told = json.loads((tmp_path / "table" / "metrics.json").read_text("utf-8"))
    column = told["columns"]["kanji"]
    # Of 100 answers 50 are right and 25 wrong but valid.
    assert sum(column["valid"]["none"]) / 2 == pytest.approx(0.75, abs=0.06)
    assert sum(column["values"]["none"]) / 2 == pytest.approx(0.5 / 0.75, abs=0.08)
    assert column["effects"]["kanji"]["interval"]["mean"] > 0.1
    assert "dat" in column["effects"]
    assert told["columns"]["dat"]["n"] == 60
    assert told["claim"]["verdict"] in ("held", "cannot be said")
    assert "valid 7" in text
    assert "seen from" in text
    page = (tmp_path / "table" / "report.html").read_text("utf-8")
    assert "near" in page
    assert "lists teach kanji" in page
