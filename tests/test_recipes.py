"""Every shipped YAML loads and says what the paper says; a user's mistake ends the command in one line."""

import sys

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from grpo_runs import RECIPE, ROOT, eight_processes, flags, run

from training.config import parse

RECIPES = sorted((ROOT / "recipes").glob("*/grpo.yaml"))
LAUNCHERS = sorted((ROOT / "recipes" / "accelerate").glob("*.yaml"))
PAPER = {
    "swallow-8b": "tokyotech-llm/Llama-3.1-Swallow-8B-Instruct-v0.3",
    "qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct",
    "llm-jp-3-7.2b": "llm-jp/llm-jp-3-7.2b-instruct2",
}
ON_CPU = ["--use_cpu", "true", "--bf16", "false"]


def settings_of(name):
    return parse(["--config", str(ROOT / "recipes" / name / "grpo.yaml"), *ON_CPU])


def test_nothing_is_missing():
    assert {path.parent.name for path in RECIPES} >= {"tiny", *PAPER}
    assert {path.stem for path in LAUNCHERS} == {
        *("single", "ddp", "zero2", "zero3", "cpu2_ddp", "cpu2_zero2", "cpu2_zero3")
    }


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.parent.name)
def test_a_recipe_loads_and_samples_from_the_whole_distribution(path):
    assert path.read_text("utf-8").startswith("# GRPO of ")
    _, training, _ = parse(["--config", str(path), *ON_CPU])
    assert (training.temperature, training.top_k, training.top_p) == (1.0, 0, 1.0)
    written = yaml.safe_load(path.read_text("utf-8"))
    assert {"temperature", "top_k", "top_p", "seed", "output_dir", "max_completion_length"} <= set(written)


@pytest.mark.parametrize("processes", [1, 8])
@pytest.mark.parametrize("name", PAPER)
def test_the_papers_settings(name, processes):
    if processes == 8:
        with eight_processes():
            script, training, model = settings_of(name)
    else:
        script, training, model = settings_of(name)
    assert model.model_name_or_path == PAPER[name]
    assert (script.num_prompts, training.num_generations, training.num_train_epochs) == (4096, 8, 1)
    per_step = training.per_device_train_batch_size * processes * training.gradient_accumulation_steps
    assert per_step == training.generation_batch_size == 256
    assert 4096 * 8 / per_step == 128
    assert (training.learning_rate, training.beta, training.loss_type) == (5e-7, 0.04, "bnpo")
    # TRL's defaults of the paper's time.
    assert (training.scale_rewards, training.num_iterations, training.epsilon) == ("group", 1, 0.2)
    assert (training.lr_scheduler_type, training.max_completion_length) == ("linear", 256)
    (reward,) = script.reward_args.values()
    assert reward == {
        "noun_checker": "jumanpp",
        "embedding_model": "pkshatech/GLuCoSE-base-ja-v2",
        "scale": 10.0,
    }


@pytest.mark.parametrize("path", LAUNCHERS, ids=lambda path: path.stem)
def test_a_launcher_loads(path):
    assert path.read_text("utf-8").startswith("# ")
    config = load_config_from_file(str(path))
    eight = {"ddp", "zero2", "zero3"}
    assert config.num_processes == (8 if path.stem in eight else 2 if path.stem.startswith("cpu2") else 1)
    if "zero" in path.stem:
        assert config.deepspeed_config["zero_stage"] == int(path.stem[-1])
    # Of ZeRO-3's sharded weights the whole model is saved.
    assert "zero3" not in path.stem or config.deepspeed_config["zero3_save_16bit_model"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config", "nosuch.yaml"], "--config nosuch.yaml: no such file"),
        (["--lerning_rate", "1"], "unknown setting: lerning_rate (did you mean learning_rate?)"),
        (
            flags({"completions_per_step": 60, "per_device_train_batch_size": 64}),
            "x 1 process(es) = 64; nearest legal values: 64",
        ),
        (
            flags(
                {"reward_args": {"rewards.make_dat_reward": {"noun_checker": "jumanpp"}}, "model_name_or_path": "no"}
            ),
            "jumanpp",
        ),
    ],
    ids=["no file", "unknown flag", "batch", "no jumanpp"],
)
def test_a_mistake_is_one_line(words, message, tmp_path):
    # A PATH without Juman++, and a model that would be missed if it were looked for.
    done = run([sys.executable, str(RECIPE), *words], tmp_path, PATH="/nowhere")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("grpo_dat: ")
    assert message in line
    assert not list(tmp_path.iterdir())
