"""What `sozo study --check` starts: two processes that meet, answers of the tiny model, ten words, a file."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import FakeNouns
from sentences import says
from sozo.studies.study import trial as module
from sozo.studies.study.config import load_study
from sozo.studies.study.steps import study_steps
from sozo.studies.study.trial import trial

ROOT = Path(__file__).parents[2]
LAUNCH = ["accelerate", "launch"]


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    study = load_study(ROOT / "recipes" / "tiny" / "reproduce.yaml", "o")
    two = {"launcher": str(ROOT / "recipes" / "accelerate" / "cpu2_ddp.yaml")}
    return replace(
        study,
        sampling=study.sampling | two,
        training=replace(study.training, **two),
    )


@pytest.mark.launches
def test_what_is_counted_is_started(tiny, tmp_path):
    said = []
    assert list(trial(tiny, study_steps(tiny), LAUNCH, said.append)) == []
    written, processes, drawn = said
    assert written.startswith(f"{tmp_path}: ")
    for rank in range(2):
        assert f"process {rank} of 2: cpu" in processes
    assert drawn.startswith("step base: ")
    assert not (tmp_path / "o").exists()


def test_what_does_not_start_is_told(tiny, monkeypatch):
    nouns = FakeNouns(["犬", "学校", "時間", "東京", "走る"])
    monkeypatch.setattr(module, "make_noun_checker", lambda name: nouns)
    monkeypatch.setattr(module, "_WRITTEN", 1024)
    fails = [sys.executable, "-c", "raise SystemExit('no such device')"]
    faults = "\n".join(trial(tiny, study_steps(tiny), fails, lambda line: None))
    assert says("study trial: nothing works", faults)


def test_commits_that_nobody_pinned_are_named(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_WRITTEN", 1024)
    study = load_study(ROOT / "recipes" / "swallow-8b" / "reproduce.yaml", "o")
    study = replace(study, sampling=study.sampling | {"noun_checker": "jumandic"})
    said = []
    assert list(trial(study, study_steps(study), ["true"], said.append)) == []
    unpinned = "\n".join(line for line in said if "pins no commit" in line)
    for key in (
        "reproduce.yaml: model_revision",
        "reproduce.yaml: embedding_revision",
        "grpo.yaml: embedding_revision",
        "dpo.yaml: model_revision",
    ):
        assert key in unpinned
