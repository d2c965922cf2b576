"""`sozo study FILE --model YOURS`: a model of one's own in a study's place of a model, planned as what it is."""

import re
import shutil

import pytest
import yaml

from grpo_runs import ROOT
from sentences import says
from sozo.data.nouns import tiny_nouns
from sozo.studies.study.config import load_study
from sozo.studies.study.plan import missing, plan_lines
from sozo.studies.study.run import plan
from sozo.studies.study.steps import study_steps
from sozo.training.estimates import TINY, architecture_of
from tiny_study import change, run

ANY = ROOT / "recipes" / "any"
PAPERS = ROOT / "recipes" / "swallow-8b" / "reproduce.yaml"


def test_wide_begins_at_the_model_itself_and_is_compared_with_its_placebo(tmp_path):
    own = load_study(ANY / "wide.yaml", model="org/model-7B")
    assert own.output_dir == "runs/any/wide/org-model-7B"
    steps = {step.name: step for step in study_steps(own)}
    for arm, rate in (("start", 3e-4), ("wide", None), ("placebo", None)):
        flags = steps[arm].flags
        assert flags["model_name_or_path"] == "org/model-7B"
        assert flags.get("learning_rate") == rate
    lists = [steps[f"{one}-lists-1920"].flags for one in ("wide", "placebo")]
    assert {key for key, value in lists[0].items() if value != lists[1].get(key)} == {
        "source",
        "output",
    }
    assert (lists[0].get("dealt"), lists[1]["dealt"]) == (None, True)
    assert steps["nouns"].words([])[:2] == ["sozo", "nouns"]
    for name in ("even-lists", "even-lists-1000", "wide-lists", "wide-lists@3"):
        assert steps[name].after == ("nouns",)
        assert steps[name].flags["nouns"] == f"{own.output_dir}/nouns/nouns.txt"
    # Its own sentences are drawn for what is trained at their seed, and are no row.
    sentences = steps["own-sentences-160@2"]
    assert sentences.flags["sentences_split"] == "train"
    assert "noun_checker" not in sentences.flags
    assert set(steps["wide@2"].after) == {"own-sentences-160@2", "wide-lists-1920@2"}
    assert steps["wide@2"].flags["beside"] == {str(sentences.folder): 160}
    assert "own sentences" not in {arm.name for arm in own.rows}
    # What was lost is a difference from the model before any training; gains are over its start.
    assert (own.bases()["wide@2"], own.bases("before")["wide@2"]) == (
        "start@2",
        "before",
    )
    assert own.claims[0].formula == "second encoder pairing of wide minus placebo"


@pytest.mark.parametrize("name", ["wide", "diverse"])
def test_one_language_changes_all_that_goes_by_it(name, tmp_path):
    folder = tmp_path / "recipes"
    shutil.copytree(ANY.parent / "accelerate", folder / "accelerate")
    shutil.copytree(ANY, folder / "any")
    file = folder / "any" / f"{name}.yaml"
    text = file.read_text("utf-8").replace("&language ja", "&language en")
    file.write_text(text, "utf-8")
    steps = study_steps(load_study(file, "o", model="tiny"))
    words = [word for step in steps for word in step.words([])]
    assert "en" in words
    assert not [word for word in words if word == "ja" or '"ja"' in word]


def test_what_a_yaml_says_of_its_own_model_is_not_said_of_yours(mini):
    own = load_study(PAPERS, model=str(mini))
    assert own.shape == architecture_of(str(mini))
    assert own.shape.parameters < 300_000
    assert load_study(PAPERS, model="tiny").shape == TINY
    assert (own.paper_model, own.architecture) == (None, None)
    any_own = load_study(ANY / "wide.yaml", model=str(mini))
    (wide,) = [step for step in study_steps(any_own) if step.name == "wide"]
    memory = next(line for line in plan_lines(any_own, wide) if "GiB: weights" in line)
    weights = float(re.search(r"weights (\S+),", memory)[1])
    assert weights == pytest.approx(4 * own.shape.parameters / 2**30, rel=0.01)


def test_a_model_that_is_not_here_is_missing_and_its_steps_are_told(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    own = load_study(ANY / "wide.yaml", "o", model="org/absent")
    steps = study_steps(own)
    assert own.shape is None
    text = "\n".join(plan(own, steps, ["accelerate", "launch"]))
    assert text.count("optimizer steps;") == 9
    assert " examples / 8 a step = " in text
    (line,) = missing(own, steps)
    assert says("study: model that is not here", line)


def test_from_nouns_to_page_with_the_model_of_the_command(study):
    file = study / "recipes" / "reproduce.yaml"
    values = yaml.safe_load(file.read_text("utf-8"))
    for key in ("model", "architecture"):
        del values[key]
    file.write_text(yaml.safe_dump(values), "utf-8")
    change(file, random_nouns=40)
    words = ("--model", "tiny")
    launched, done = run(study, *words)
    assert launched[:2] == ["random", "base"]
    nouns = (study / "out" / "nouns" / "nouns.txt").read_text("utf-8").split()
    assert len(nouns) == 40
    assert set(nouns) < set(tiny_nouns())
    assert (study / "out" / "table" / "report.html").is_file()
    # A folder is of one model.
    done = run(study, "--model", "tiny@3", status=2)[1]
    assert says("study: changed model of the command", done.stderr)
