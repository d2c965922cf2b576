"""--dry-run: every shipped study, with the paper's counts, commands that can be pasted, and sums that are right."""

import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import warm

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "recipes").glob("*/reproduce.yaml"))
BEYOND = [
    *sorted((ROOT / "recipes").glob("*/beyond.yaml")),
    ROOT / "recipes" / "gemma-3-270m" / "all-nouns.yaml",
]
PAPER = ("swallow-8b", "qwen2.5-7b", "llm-jp-3-7.2b")


@pytest.fixture(autouse=True)
def recipes_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))
    monkeypatch.chdir(ROOT)


def dry_run(path, *words, cwd=ROOT):
    command = [sys.executable, "-m", "sozo", "study", str(path), "--dry-run", *words]
    # Nothing may be looked up: a proxy that is not there makes every request fail.
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
        "HF_HUB_OFFLINE": "1",
    }
    environment["https_proxy"] = "http://127.0.0.1:9"
    return warm.run(command, cwd=cwd, env=environment)


def test_there_is_a_study_for_every_model():
    assert {path.parent.name for path in STUDIES} == {"tiny", "gemma-3-270m", *PAPER}
    assert all(
        path.read_text("utf-8").startswith("# The paper's study of ")
        for path in STUDIES
    )
    assert {path.parent for path in BEYOND} == {path.parent for path in STUDIES} | {
        ROOT / "recipes" / "smollm2-135m"
    }


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.parent.name)
def test_a_shipped_study_passes_its_dry_run(path, tmp_path):
    done = dry_run(path, "--output", str(tmp_path / "o"))
    assert done.returncode == 0, done.stderr
    commands = [
        shlex.split(line)
        for line in done.stdout.splitlines()
        if line and not line.startswith("#")
    ]
    assert len(commands) == 11
    for words in commands[:-1]:
        assert words[:3] == ["accelerate", "launch", "--config_file"]
        files = [word for word in words if word.endswith((".yaml", ".py"))]
        # sample_dat.py takes no --config here; sft_dat.py and so on do.
        assert len(files) == (2 if "sample_dat" in words[4] else 3)
        assert all((ROOT / word).is_file() for word in files), files
    assert not (tmp_path / "o").exists()
    assert done.stdout.count("optimizer steps;") == 4
    assert done.stdout.count("memory for each process") == 9
    assert done.stdout.count("disk, GiB: checkpoints ") == 4
    assert done.stdout.count("# disk: ") == 1


def test_a_lock_that_a_killed_start_has_left_is_named(monkeypatch, tmp_path):
    from sozo.studies.study.plan import machine_faults

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    old, new = (tmp_path / "py311_cpu" / name / "lock" for name in ("comm", "adam"))
    for lock in (old, new):
        lock.parent.mkdir(parents=True)
        lock.touch()
    os.utime(old, (0, 0))
    (fault,) = [fault for fault in machine_faults() if "DeepSpeed" in fault]
    assert fault.startswith(f"{old}: ")


@pytest.mark.parametrize("path", BEYOND, ids=lambda path: path.parent.name)
def test_a_study_beyond_the_paper_passes_its_dry_run(path):
    from sozo.studies.study.config import load_study
    from sozo.studies.study.steps import study_steps

    study = load_study(path, "o")
    steps = study_steps(study)
    done = dry_run(path, "--output", "o")
    assert (done.returncode, done.stderr) == (0, "")
    commands = [
        shlex.split(line)
        for line in done.stdout.splitlines()
        if line and not line.startswith("#")
    ]
    assert commands == [step.command(["accelerate", "launch"]) for step in steps]
    trained = sum(step.trains for step in steps)
    assert (
        done.stdout.count("optimizer steps;")
        == done.stdout.count("disk, GiB: checkpoints ")
        == trained
    )
    assert done.stdout.count("# disk: ") == 1
    assert study.claims
    # An arm that claims something has all seeds, as what it beats has.
    claimed = {name for claim in study.claims for name in (claim.arm, claim.against)}
    assert all(
        list(arm.seeds) == study.seeds for arm in study.rows if arm.name in claimed
    )


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_counts(name):
    text = dry_run(ROOT / "recipes" / name / "reproduce.yaml").stdout
    assert (
        text.count("131,072 answers in 32 batches of 4,096, on 8 process(es) (ddp)")
        == 6
    )
    for said in (
        "16,384 examples / 256 a step = 64 optimizer steps; 256 = 8 process(es) x 32 each x 1 accumulation step(s)",
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
        if "sample_dat" in str(words)
    ]
    assert seeds == ["42", "43", "44", "45", "46", "47"]


def test_who_starts_from_whom():
    from sozo.studies.study.config import load_study
    from sozo.studies.study.steps import study_steps

    steps = {
        step.name: step
        for step in study_steps(
            load_study(ROOT / "recipes" / "swallow-8b" / "reproduce.yaml", "o")
        )
    }
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
    assert {
        name: s.inputs for name, s in steps.items() if s.inputs and name != "table"
    } == {
        "sft": ("random",),
        "sft-sample": ("sft",),
        "dpo1": ("base",),
        "dpo1-sample": ("dpo1",),
        "dpo2": ("dpo1", "dpo1-sample"),
        "dpo2-sample": ("dpo2",),
        "grpo-sample": ("grpo",),
    }
    assert steps["table"].inputs[:3] == ("random", "base", "sft-sample")
    # The generator's flags would be refused by random nouns.
    assert not {"backend", "dtype", "max_new_tokens"} & set(steps["random"].flags)


def test_every_step_that_asks_a_model_asks_in_the_form_that_stands_in_sampling():
    from sozo.studies.study.config import load_study
    from sozo.studies.study.steps import study_steps

    study = load_study(ROOT / "recipes" / "swallow-8b" / "reproduce.yaml", "o")
    form = {"system_prompt": "短く", "chat_template_kwargs": {"enable_thinking": False}}
    steps = study_steps(replace(study, sampling=study.sampling | form))
    asked = {
        step.name: step.flags["chat_template_kwargs"]
        for step in steps
        if step.flags.get("system_prompt")
    }
    assert asked == {
        step.name: '{"enable_thinking": false}'
        for step in steps
        if step.name not in ("random", "table")
    }


def test_sft_of_8b_on_eight_gpus_by_hand():
    text = dry_run(
        ROOT / "recipes" / "swallow-8b" / "reproduce.yaml", "--only", "sft"
    ).stdout
    # 8.03e9 x 2 / 8 / 2^30 = 1.87; x 12 / 8 = 11.2; 200 + 32 x 256 = 8,392 tokens, of which a tile has 4,096:
    # 2 x 4,096 x 32,768 + 4 x 4,096 x 8,392 + 4 x 128,256 x 4,096 bytes = 2.34 GiB.
    for said in (
        "ZeRO-3",
        "weights 1.87",
        "gradients 1.87",
        "optimizer 11.2",
        "head 2.34",
        "reference 0,",
    ):
        assert said in text, text
    # 512 x (200 + 32 x 60) tokens x 8 x 8.03e9 operations / (312e12 x 0.35) / 3600 s = 0.18 hours.
    assert (
        "estimated, never run: 1 minutes on 8 A100, 0 on 8 H100 (0.2 A100 hours)"
        in text
    )
    # (2 + 12) x 8.03e9 / 2^30 = 105 GiB; of steps 16, 32, 48, 64 two are kept, and a third is written.
    assert (
        "disk, GiB: checkpoints 105 each, 3 at once at most, dropped when it is done; 15 stay"
        in text
    )
    assert "disk: 329 GiB at most, " in text


def test_sampling_without_vllm_is_reckoned_at_its_own_utilisation():
    from sozo.studies.study.config import load_study
    from sozo.studies.study.plan import plan_lines, step_hours, study_time
    from sozo.studies.study.steps import study_steps

    study = load_study(ROOT / "recipes" / "swallow-8b" / "reproduce.yaml", "o")
    plain = replace(study, sampling=study.sampling | {"backend": "transformers"})
    steps = {step.name: step for step in study_steps(plain)}
    # 2 x 8,030,261,248 operations x 131,072 x 60 tokens / (312e12 x 0.05) / 3600 s: four times vLLM's at 0.20.
    assert step_hours(plain, steps["base"]) == pytest.approx(2.2490, abs=1e-4)
    assert (
        "estimated, never run: 17 minutes on 8 A100, 5 on 8 H100 (2.2 A100 hours)"
        in plan_lines(plain, steps["base"])
    )
    assert plan_lines(plain, steps["random"])[1:] == [
        "no model draws these lists: 0 A100 hours"
    ]
    # vLLM's 5.17 hours and three quarters of five rows of 2.2490 hours: 13.6, on eight GPUs 102 minutes.
    assert study_time(plain, list(steps.values())).startswith(
        "estimated, never run: 102 minutes on 8 A100, 32 on 8 H100 (13.6 A100 hours); "
    )
    alone = replace(study, control_tasks=["sipen"])
    assert (
        "(5.2 A100 hours), without base-sipen, sft-sipen, dpo1-sipen, dpo2-sipen, grpo-sipen; "
        in study_time(alone, study_steps(alone))
    )


def test_a_study_of_different_hardware_adds_up_its_minutes():
    from sozo.studies.study.config import load_study
    from sozo.studies.study.plan import study_time
    from sozo.studies.study.steps import study_steps

    study = load_study(ROOT / "recipes" / "swallow-8b" / "reproduce.yaml", "o")
    study = replace(
        study, sampling=study.sampling | {"launcher": "../accelerate/single.yaml"}
    )
    steps = [step for step in study_steps(study) if step.name in ("base", "sft")]
    # A row is 0.562 hours of one GPU, SFT 0.180 hours of eight: 33.7 + 1.4 minutes.
    assert study_time(study, steps).startswith(
        "estimated, never run: 35 minutes on 8 A100, 11 on 8 H100 (0.7 A100"
    )


def test_a_plan_ends_with_what_comes_out_and_what_is_missing(tmp_path):
    text = dry_run(
        ROOT / "recipes" / "swallow-8b" / "reproduce.yaml",
        "--output",
        str(tmp_path / "o"),
    ).stdout
    end = text[text.index("# 11 steps; ") :].splitlines()
    # 5.2 A100 hours x 60 / 8 = 39 minutes; 989 / 312 = 3.17 times as fast 12.
    assert (
        "estimated, never run: 39 minutes on 8 A100, 12 on 8 H100 (5.2 A100 hours)"
        in end[0]
    )
    assert (
        f"# results: {tmp_path}/o/table/result.md, report.html, metrics.json, report-tables/"
        in end
    )
    assert any(
        line.startswith("# W&B, project sozo: swallow-8b-sft, swallow-8b-dpo1,")
        for line in end
    )
    # The paper's Table 11, digit for digit.
    assert (
        "# to hit: GRPO: usable 117,824 of 131,072, score 0.570, std 0.022, 10,696 different words"
        in end
    )
    missing = [line for line in end if line.startswith("# missing: ")]
    assert any(
        "the command jumanpp is not on the PATH; install Juman++ 2 or" in line
        for line in missing
    )
    assert any("GPUs: 8 are needed" in line for line in missing)
    for name in (
        "pkshatech/GLuCoSE-base-ja-v2",
        "tokyotech-llm/Llama-3.1-Swallow-8B-Instruct-v0.3",
    ):
        assert any(
            line.startswith(f"# missing: {name}: neither in a folder nor in the hub's")
            for line in missing
        )


def test_check_says_whether_anything_is_missing(monkeypatch, capsys):
    from sozo.eval.cli import run_cli
    from sozo.models import needs
    from sozo.studies.study import needs as of_study

    def check(recipe):
        monkeypatch.setattr(
            sys, "argv", ["sozo", "study", str(ROOT / "recipes" / recipe), "--check"]
        )
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
    assert out.startswith("the package ja_ginza: ")
    assert len(out.splitlines()) == 1
    # Without trl no training's YAML can be read; all that is missing is told even so.
    for module in (needs, of_study):
        monkeypatch.setattr(
            module,
            "find_spec",
            lambda package: None if package in ("trl", "vllm") else object(),
        )
    monkeypatch.setattr(of_study, "study_disk", None)
    code, out = check("swallow-8b/reproduce.yaml")
    assert code == 1
    for said in (
        "the package trl: ",
        "the package vllm: ",
        "Juman++",
        "tokyotech-llm/",
        "GPUs: 8 are needed",
    ):
        assert said in out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_anwsers": 1}, "unknown key num_anwsers (did you mean num_answers?)"),
        ({"model": None}, "model: is missing; give it"),
        (
            {"sampling": {"launcher": "x.yaml", "max_new_tokens": 1, "tempo": 1}},
            "unknown setting in sampling: tempo",
        ),
        (
            {"training": {"launcher": "x.yaml"}},
            "training: sft is missing, by which the arm SFT is trained",
        ),
        (
            {"architecture": {"parameters": 1}},
            "architecture, hidden_size: is missing; give it",
        ),
        (
            {"keep_checkpoints": "no"},
            "keep_checkpoints: Input should be a valid boolean, not 'no'",
        ),
        ({"guard_encoder": "e5"}, "unknown key guard_encoder"),
        ({"guards": ["sipen"]}, "unknown key guards"),
        (
            {"top_k": 100},
            "100 examples in batches of examples_per_step 64 cannot be made of 1 process(es)",
        ),
    ],
    ids=[
        "unknown",
        "missing",
        "sampling",
        "training",
        "architecture",
        "checkpoints",
        "guard encoder",
        "guards",
        "batch",
    ],
)
def test_a_mistake_is_one_line(changes, message, tmp_path):
    values = yaml.safe_load(
        (ROOT / "recipes" / "tiny" / "reproduce.yaml").read_text("utf-8")
    )
    for section in ("sampling", "training"):
        for key, value in values[section].items():
            if str(value).endswith(".yaml"):
                values[section][key] = str(
                    (ROOT / "recipes" / "tiny" / value).resolve()
                )
    values |= changes
    (tmp_path / "reproduce.yaml").write_text(
        yaml.safe_dump(
            {key: value for key, value in values.items() if value is not None}
        ),
        "utf-8",
    )
    done = dry_run(tmp_path / "reproduce.yaml", cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line


@pytest.mark.parametrize(
    "flag", ["--dry-run", "--check", "--launcher=false"]
)  # the last one would start the steps
@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "learning_rate:",
            "learning_rat:",
            "unknown setting: learning_rat (did you mean learning_rate?)",
        ),
        ("epsilon:", "epsilonn:", "unknown setting: epsilonn (did you mean epsilon?)"),
        (
            "scale: 10.0",
            "scall: 10.0",
            "tasks: dat: unknown setting: scall (did you mean scale?)",
        ),
        (
            "  every: 16",
            "  evry: 16",
            "evaluate: unknown key evry (did you mean every?)",
        ),
    ],
)
def test_a_methods_yaml_is_read_as_training_reads_it(
    flag, right, wrong, message, tmp_path
):
    recipe = shutil.copytree(
        ROOT / "recipes" / "qwen2.5-7b", tmp_path / "mine" / "model"
    )
    (tmp_path / "mine" / "accelerate").symlink_to(ROOT / "recipes" / "accelerate")
    text = (recipe / "grpo.yaml").read_text("utf-8")
    assert right in text
    (recipe / "grpo.yaml").write_text(text.replace(right, wrong), "utf-8")
    command = [
        sys.executable,
        "-m",
        "sozo",
        "study",
        "mine/model/reproduce.yaml",
        "--output",
        "o",
        flag,
    ]
    done = warm.run(
        command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1"}
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: step grpo with mine/model/grpo.yaml: {message}\n"
    assert not (tmp_path / "o").exists()


def test_what_a_methods_yaml_leaves_out_is_trls_default(tmp_path):
    from sozo.studies.study.config import load_study
    from sozo.studies.study.plan import plan_lines
    from sozo.studies.study.steps import study_steps

    recipe = shutil.copytree(ROOT / "recipes" / "qwen2.5-7b", tmp_path / "model")
    (tmp_path / "accelerate").symlink_to(ROOT / "recipes" / "accelerate")
    (recipe / "grpo.yaml").write_text("tasks: [dat]\nnum_prompts: 64\n", "utf-8")
    study = load_study(recipe / "reproduce.yaml", "o")
    (grpo,) = [step for step in study_steps(study) if step.name == "grpo"]
    # TRL 1.16: 3 epochs x 64 prompts x 8 completions, 8 of them on each of eight GPUs, at 1e-6.
    assert plan_lines(study, grpo)[0] == (
        "1,536 completions / 64 a step = 24 optimizer steps; 64 = 8 process(es) x 8 each x 1 accumulation step(s)"
        " (zero3, learning rate 1e-06)"
    )


def test_a_model_folder_that_is_not_there_is_found_first(tmp_path):
    file = ROOT / "recipes" / "gemma-3-270m" / "reproduce.yaml"
    command = [sys.executable, "-m", "sozo", "study", str(file), "--output", "o"]
    done = warm.run(command, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: model runs/gemma-3-270m/warm: no such folder")
    assert not (tmp_path / "o").exists()


def test_the_readme_says_what_the_cost_model_says():
    from sozo.studies.study.estimates import generation_hours, training_hours

    parameters = 8_030_261_248
    row = generation_hours(parameters, 131_072 * 60, "vllm")
    # One prompt of 200 tokens for 32 answers of 60, for four in GRPO.
    sft = training_hours(
        parameters, 16_384 * 66.25, checkpointing=True, lora=False, reference=False
    )
    dpo = training_hours(
        parameters, 2 * 16_384 * 66.25, checkpointing=True, lora=False, reference=True
    )
    grpo = training_hours(
        parameters, 32_768 * 110, checkpointing=True, lora=False, reference=True
    )
    grpo += generation_hours(parameters, 32_768 * 60, "transformers")
    cells = [
        line.rpartition("| ")[2].rstrip(" |")
        for line in readme_section("## What it costs")
        if line[:1] == "|"
    ]
    assert cells[2:] == [
        f"{hours:.1f}"
        for hours in (row, sft, dpo, grpo, 5 * row + sft + 2 * dpo + grpo)
    ]


def readme_section(heading):
    lines = (ROOT / "recipes" / "README.md").read_text("utf-8").splitlines()
    start = lines.index(heading)
    return lines[start : start + 12]
