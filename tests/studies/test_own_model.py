"""`sozo study FILE --model YOURS`: a model of one's own in a study's place of a model, planned as what it is."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from transformers import AutoTokenizer

import warm
from grpo_runs import ROOT
from sozo.data.errors import UserError
from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import prompt
from sozo.models.model_support import encode_text
from sozo.studies.study.config import load_study
from sozo.studies.study.needs import missing
from sozo.studies.study.plan import plan_lines, study_disk, study_time
from sozo.studies.study.run import plan
from sozo.studies.study.steps import study_steps
from sozo.training.estimates import TINY, architecture_of
from tiny_study import change, run

ANY = ROOT / "recipes" / "any"
PAPERS = ROOT / "recipes" / "swallow-8b" / "beyond.yaml"


def test_the_two_languages_differ_in_their_words_alone():
    japanese, english = (
        (ANY / f"{name}.yaml").read_text("utf-8").splitlines()
        for name in ("wide", "wide-en")
    )
    differ = [
        (one.split(":")[0], other.split(":")[0])
        for one, other in zip(japanese, english, strict=True)
        if one != other
    ]
    assert [key.strip() for key, _ in differ] == [
        "# WIDE of a model of your own, in Japanese",
        "#     sozo study recipes/any/wide.yaml --model org/model --dry-run",
        "output_dir",
        "even lists",
        "# Strengths and encoder are Gemma's",
        "wide lists",
        "#     sozo run --model own=org/model --tasks sentences --sentences-split train --output runs/any",
        "language",
        "noun_checker",
        "embedding_model",
    ]


@pytest.mark.parametrize("name", ["wide", "wide-en"])
def test_wide_begins_at_the_model_itself_and_is_compared_by_an_encoder_of_nobody(name):
    own = load_study(ANY / f"{name}.yaml", model="org/model-7B")
    assert own.output_dir == f"runs/any/{name}/org-model-7B"
    steps = {step.name: step for step in study_steps(own)}
    for arm, rate in (("base", "0.0003"), ("wide", None)):
        flags = steps[arm].flags
        assert flags["model_name_or_path"] == "org/model-7B"
        assert flags.get("learning_rate") == rate
    assert steps["wide-lists-1920"].flags["word_strength"] == "60"
    assert steps["nouns"].inputs == ()
    for lists in ("even-lists", "even-lists-1000", "wide-lists", "wide-lists@3"):
        assert steps[lists].inputs == ("nouns",)
        assert steps[lists].flags["nouns"] == f"{own.output_dir}/nouns/nouns.txt"
    assert own.second_encoder == "e5"
    assert own.claims[0].formula == "second encoder pairing of wide"


def test_each_model_has_a_folder_of_its_own_unless_one_is_given():
    def folder(model, output=None):
        return load_study(ANY / "wide.yaml", output, model=model).output_dir

    assert folder("/data/my model/") == "runs/any/wide/data-my-model"
    assert folder("../x/base") != folder("../y/base")
    assert folder(".").endswith(Path.cwd().name)
    assert folder("tiny", "o") == "o"
    with pytest.raises(UserError, match="names no model; give yours by --model"):
        load_study(ANY / "wide.yaml")


def test_what_a_yaml_says_of_its_own_model_is_not_said_of_yours(mini):
    own = load_study(PAPERS, model=str(mini))
    assert own.shape == architecture_of(str(mini))
    assert own.shape.parameters < 300_000
    assert load_study(PAPERS, model="tiny").shape == TINY
    paper = load_study(PAPERS.with_name("reproduce.yaml"), model=str(mini))
    assert (paper.paper_model, paper.architecture) == (None, None)
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
    assert study_time(own, steps).startswith("no estimate of time without the model's")
    text = "\n".join(plan(own, steps, ["accelerate", "launch"]))
    assert text.count("optimizer steps;") == 6
    assert "1,920 examples / 8 a step = 240 optimizer steps" in text
    assert text.count("memory, disk and hours are not known: ") == 27
    assert "2,500 nouns at most: those that the model's tokenizer writes with" in text
    assert "W&B" not in text  # the recipe reports to nobody
    (line,) = missing(own, steps)
    assert line.startswith("org/absent: neither in a folder nor in the hub's cache")


def test_check_of_a_model_of_ones_own(mini):
    command = [sys.executable, "-m", "sozo", "study", str(ANY / "wide.yaml"), "--check"]
    done = warm.run([*command, "--model", str(mini)])
    assert (done.returncode, done.stdout) == (0, "Nothing is missing\n")


def test_from_nouns_to_page_with_the_model_of_the_command(study):
    file = study / "recipes" / "reproduce.yaml"
    values = yaml.safe_load(file.read_text("utf-8"))
    for key in ("model", "architecture", "tokens"):
        del values[key]
    file.write_text(yaml.safe_dump(values), "utf-8")
    change(file, random_nouns=40)
    words = ("--model", "tiny")
    assert "names no model; give yours by --model" in run(study, status=2)[1].stderr
    launched, done = run(study, *words)
    assert launched[:2] == ["random", "base"]
    assert "[1/12] nouns: finished in" in done.stderr
    nouns = (study / "out" / "nouns" / "nouns.txt").read_text("utf-8").split()
    assert len(nouns) == 40
    assert set(nouns) < set(tiny_nouns())
    assert (study / "out" / "table" / "report.html").is_file()
    launched, done = run(study, *words)
    assert launched == []
    assert done.stderr.count("finished before") == 12
    # A folder is of one model.
    refused = run(study, "--model", "tiny@3", status=2)[1].stderr
    assert 'holds a run with flags.model = "tiny", but now it is "tiny@3"' in refused
