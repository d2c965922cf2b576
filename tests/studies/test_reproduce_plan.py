"""--dry-run: every shipped study, with the paper's counts, commands that can be pasted, and sums that are right."""

import shlex
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import warm
from sentences import refused, says
from sozo.eval.cli import run_cli
from sozo.models import needs
from sozo.studies.study.config import load_study
from sozo.studies.study.plan import plan_lines
from sozo.studies.study.steps import study_steps
from tiny_study import study_file

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "recipes"
STUDIES = sorted(RECIPES.glob("*/reproduce.yaml"))
BEYOND = [
    *sorted(RECIPES.glob("*/beyond.yaml")),
    RECIPES / "gemma-3-270m/all-nouns.yaml",
]
PAPER = ("swallow-8b", "qwen2.5-7b", "llm-jp-3-7.2b")
SWALLOW = RECIPES / "swallow-8b" / "reproduce.yaml"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def swallow():
    return load_study(SWALLOW, "o")


def by_name(study):
    return {step.name: step for step in study_steps(study)}


@cache
def dry_run(path, *words):
    command = [sys.executable, "-m", "sozo", "study", str(path), "--dry-run", *words]
    # Nothing may be looked up: a proxy that is not there makes every request fail.
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
        "HF_HUB_OFFLINE": "1",
    }
    environment["https_proxy"] = "http://127.0.0.1:9"
    return warm.run(command, cwd=ROOT, env=environment)


@pytest.mark.parametrize(
    "path", [*STUDIES, *BEYOND], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_shipped_study_passes_its_dry_run(path, tmp_path):
    study = load_study(path, str(tmp_path / "o"))
    steps = study_steps(study)
    done = dry_run(path, "--output", str(tmp_path / "o"))
    assert done.stderr == ""
    missing = "\n# missing: " in done.stdout
    assert done.returncode == int(missing)
    assert done.stdout.endswith("\n# Nothing is missing\n") != missing
    commands = [
        shlex.split(line)
        for line in done.stdout.splitlines()
        if line and not line.startswith("#")
    ]
    assert commands == [step.words(["accelerate", "launch"]) for step in steps]
    files = {word for words in commands for word in words if word.endswith(".yaml")}
    assert all((ROOT / file).is_file() for file in files), files
    assert not (tmp_path / "o").exists()
    trained = sum(step.trains for step in steps)
    for line in (
        "optimizer steps;",
        "disk, GiB: checkpoints ",
        "memory for each process",
    ):
        assert done.stdout.count(line) == trained
    if path in STUDIES:
        # The tiny one needs nothing that is not here; of the others at least the model is missing.
        assert missing == (path.parent.name != "tiny")
        assert len(steps) == 10 + bool(study.paper_model)
    assert bool(study.claims) == (path in BEYOND)
    # An arm that claims something has all seeds, as what it beats has.
    claimed = {name for claim in study.claims for name in (claim.arm, claim.against)}
    assert all(
        list(arm.seeds) == study.seeds for arm in study.rows if arm.name in claimed
    )


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_counts(name):
    text = dry_run(RECIPES / name / "reproduce.yaml").stdout
    assert text.count("--num_answers 131072") == text.count("#   on 8 process(es)") == 6
    assert text.count("--batch_size 4096") == 6
    for said in (
        "16,384 examples / 256 a step = 64 optimizer steps; 256 = 8 process(es) x 16 each x 2 accumulation step(s)",
        "(zero3, learning rate 2e-07)",
        "16,384 pairs / 256 a step = 64 optimizer steps",
        "32,768 completions / 256 a step = 128 optimizer steps",
        "(zero3, learning rate 5e-07)",
        "--noun_checker jumanpp --embedding_model pkshatech/GLuCoSE-base-ja-v2",
    ):
        assert said in text, said
    seeds = [
        words[words.index("--seed") + 1]
        for words in map(str.split, text.splitlines())
        if words[6:7] == ["dat"]
    ]
    assert seeds == ["42", "43", "44", "45", "46", "47"]


def test_who_starts_from_whom(swallow):
    steps = by_name(swallow)
    model = "tokyotech-llm/Llama-3.1-Swallow-8B-Instruct-v0.3"
    started = {
        name: (s.flags["model_name_or_path"], s.flags.get("answers"))
        for name, s in steps.items()
        if s.trains
    }
    assert started == {
        "sft": (model, "o/random"),
        "dpo1": (model, "o/base"),
        "dpo2": ("o/dpo1", "o/dpo1-sample"),
        "grpo": (model, None),
    }
    assert {name: s.after for name, s in steps.items() if s.after} == {
        "sft": ("random",),
        "sft-sample": ("sft",),
        "dpo1": ("base",),
        "dpo1-sample": ("dpo1",),
        "dpo2": ("dpo1", "dpo1-sample"),
        "dpo2-sample": ("dpo2",),
        "grpo-sample": ("grpo",),
        "gate": ("random", "base"),
    }
    # The generator's flags would be refused by random nouns.
    assert not {"backend", "dtype", "max_new_tokens"} & set(steps["random"].flags)


def test_every_step_that_asks_a_model_asks_in_the_form_that_stands_in_sampling(swallow):
    form = {"system_prompt": "短く", "chat_template_kwargs": {"enable_thinking": False}}
    steps = study_steps(replace(swallow, sampling=swallow.sampling | form))
    asked = {
        step.name: step.flags["chat_template_kwargs"]
        for step in steps
        if step.flags.get("system_prompt")
    }
    assert asked == {
        step.name: form["chat_template_kwargs"]
        for step in steps
        if step.name not in ("random", "gate")
    }


def test_the_launchers_processes_go_over_the_yamls():
    """The paper's models train on two nodes of eight."""
    # As many examples of a process as were given, or fewer where a step of 256 has no more: the loss is the same.
    for processes, each in ((16, 16), (32, 8)):
        launcher = f"srun x --num_processes {processes}"
        text = dry_run(SWALLOW, "--launcher", launcher).stdout
        assert text.count(f" = {processes} process(es) x {each} each x 1 ") == 3
        assert text.count(f" = {processes} process(es) x 4 each x ") == 1
        assert text.count(f"#   on {processes} process(es)") == 6
    done = dry_run(SWALLOW, "--launcher", "srun x --num_processes 24")
    assert done.returncode == 2
    assert says("study: 24 processes", done.stderr)


def test_check_says_whether_anything_is_missing(monkeypatch, capsys):
    def check(recipe):
        command = ["sozo", "study", str(RECIPES / recipe), "--check"]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            run_cli()
        return ended.value.code, capsys.readouterr().out

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert check("tiny/reproduce.yaml") == (0, "Nothing is missing\n")
    monkeypatch.setattr(
        needs, "find_spec", lambda package: None if package == "ja_ginza" else object()
    )
    code, out = check("tiny/reproduce.yaml")
    assert code == 1
    assert says("study check: a package is missing", out)
    # Without trl no training's YAML can be read; all that is missing is told even so.
    monkeypatch.setattr(
        needs,
        "find_spec",
        lambda package: None if package in ("trl", "vllm") else object(),
    )
    code, out = check("swallow-8b/reproduce.yaml")
    assert code == 1
    for said in ("trl", "vllm", "Juman++", "tokyotech-llm/"):
        assert said in out


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({"num_anwsers": 1}, "study: unknown key"),
        ({"model": None}, "study: no model"),
        (
            {"sampling": {"launcher": "x.yaml", "max_new_tokens": 1, "tempo": 1}},
            "study: unknown setting in sampling",
        ),
        ({"training": {"launcher": "x.yaml"}}, "study: no sft"),
        ({"architecture": {"parameters": 1}}, "study: architecture without a size"),
        ({"keep_checkpoints": "no"}, "study: keep_checkpoints no truth value"),
        ({"top_k": 20}, "study: batch that cannot be made"),
    ],
)
def test_a_mistake_is_named(changes, row, tmp_path):
    with refused(row):
        study = load_study(study_file(tmp_path, **changes), "o")
        for step in study_steps(study):
            plan_lines(study, step)
