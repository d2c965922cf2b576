"""`sozo study FILE --model YOURS`: a model of one's own in a study's place of a model, planned as what it is."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from transformers import AutoTokenizer

from grpo_runs import ROOT
from sentences import refused, says
from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import prompt
from sozo.models.model_support import encode_text
from sozo.studies.study.config import load_study
from sozo.studies.study.needs import missing
from sozo.studies.study.plan import plan_lines, study_disk
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
    for arm, rate in (("start", "0.0003"), ("wide", None), ("placebo", None)):
        flags = steps[arm].flags
        assert flags["model_name_or_path"] == "org/model-7B"
        assert flags.get("learning_rate") == rate
    lists = [steps[f"{one}-lists-1920"].flags for one in ("wide", "placebo")]
    assert {key for key, value in lists[0].items() if value != lists[1].get(key)} == {
        "source",
        "output_dir",
    }
    assert (lists[0].get("dealt"), lists[1]["dealt"]) == (None, "true")
    assert steps["nouns"].inputs == ()
    for name in ("even-lists", "even-lists-1000", "wide-lists", "wide-lists@3"):
        assert steps[name].inputs == ("nouns",)
        assert steps[name].flags["nouns"] == f"{own.output_dir}/nouns/nouns.txt"
    # Its own sentences are drawn for what is trained at their seed, and are no row.
    sentences = steps["own-sentences-160@2"]
    assert sentences.flags["sentences_split"] == "train"
    assert "noun_checker" not in sentences.flags
    assert set(steps["wide@2"].inputs) == {"own-sentences-160@2", "wide-lists-1920@2"}
    assert steps["wide@2"].beside == {sentences.flags["output_dir"]: 160}
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
    words = [word for step in steps for word in step.settings]
    assert "en" in words
    assert not [word for word in words if word == "ja" or '"ja"' in word]


def test_each_model_has_a_folder_of_its_own_unless_one_is_given():
    def folder(model, output=None):
        return load_study(ANY / "wide.yaml", output, model=model).output_dir

    assert folder("/data/my model/") == "runs/any/wide/data-my-model"
    assert folder("../x/base") != folder("../y/base")
    assert folder(".").endswith(Path.cwd().name)
    assert folder("tiny", "o") == "o"
    with refused("study: no model"):
        load_study(ANY / "wide.yaml")


def test_what_a_yaml_says_of_its_own_model_is_not_said_of_yours(mini):
    own = load_study(PAPERS, model=str(mini))
    assert own.shape == architecture_of(str(mini))
    assert own.shape.parameters < 300_000
    assert load_study(PAPERS, model="tiny").shape == TINY
    assert (own.paper_model, own.architecture) == (None, None)
    # Its own tokenizer counts: a noun of its 64 is one token, others are unknown; a prompt has several.
    tokenizer = AutoTokenizer.from_pretrained(mini)
    assert own.lengths.prompt == len(encode_text(tokenizer, prompt("dat"))) > 1
    any_own = load_study(ANY / "wide.yaml", model=str(mini))
    assert 20 <= any_own.lengths.answer <= 32
    (wide,) = [step for step in study_steps(any_own) if step.name == "wide"]
    memory = next(line for line in plan_lines(any_own, wide) if "GiB: weights" in line)
    weights = float(re.search(r"weights (\S+),", memory)[1])
    assert weights == pytest.approx(4 * own.shape.parameters / 2**30, rel=0.01)


def test_a_model_that_is_not_here_is_missing_and_its_steps_are_told(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    own = load_study(ANY / "wide.yaml", "o", model="org/absent")
    steps = study_steps(own)
    assert (own.shape, study_disk(own, steps)) == (None, None)
    text = "\n".join(plan(own, steps, ["accelerate", "launch"]))
    assert text.count("optimizer steps;") == 9
    assert "2,080 examples / 8 a step = 260 optimizer steps" in text
    assert text.count("memory and disk are not known: ") == 34
    assert "2,500 nouns at most: those that the model's tokenizer writes with" in text
    (line,) = missing(own, steps)
    assert says("study: model that is not here", line)


def test_from_nouns_to_page_with_the_model_of_the_command(study):
    file = study / "recipes" / "reproduce.yaml"
    values = yaml.safe_load(file.read_text("utf-8"))
    for key in ("model", "architecture", "tokens"):
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
    launched, done = run(study, *words)
    assert launched == []
    assert done.stderr.count("finished before") == 12
    # A folder is of one model.
    done = run(study, "--model", "tiny@3", status=2)[1]
    assert says("study: changed model of the command", done.stderr)
