"""Every shipped YAML loads and says what the paper says; a plan of one names what is missing."""

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from grpo_runs import ROOT, flags
from shipped import METHODS, PAPER, settings_of
from sozo.training.arguments import GrpoArguments
from sozo.training.plan import plan

RECIPES = sorted(
    path
    for method in METHODS
    for path in (ROOT / "recipes").glob(f"*/{method}.yaml")
    if path != ROOT / "recipes" / "any" / "wide.yaml"  # a study
)
LAUNCHERS = sorted((ROOT / "recipes" / "accelerate").glob("*.yaml"))
TINY = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml")]


def read(name):
    return yaml.safe_load((ROOT / "recipes" / f"{name}.yaml").read_text("utf-8"))


def differing(one, other):
    """The settings in which two recipes differ."""
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def test_nothing_is_missing():
    models = {"tiny", "gemma-3-270m", *PAPER}
    assert {(path.parent.name, path.stem) for path in RECIPES} >= {
        *((model, method) for model in models for method in ("sft", "dpo", "grpo")),
    }
    launchers = "single ddp fsdp zero2 zero3 cpu2_ddp cpu2_zero2 cpu2_zero3"
    assert {path.stem for path in LAUNCHERS} == set(launchers.split())


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=f"{path.parent.name}-{path.stem}",
            marks=pytest.mark.suite if path.parent.name == "ideas" else (),
        )
        for path in RECIPES
    ],
)
def test_a_recipe_loads_and_says_what_it_is(path):
    _, training, _ = settings_of(path)
    assert training.output_dir == f"runs/{path.parent.name}/{path.stem}"
    assert training.run_name == f"{path.parent.name}-{path.stem}"
    written = read(f"{path.parent.name}/{path.stem}")
    always = "seed output_dir learning_rate lr_scheduler_type"
    assert written.keys() >= set(always.split())
    assert written.keys() & {"save_steps", "save_strategy"}
    if METHODS[path.stem][0] is GrpoArguments:
        drawn = training.temperature, training.top_k, training.top_p
        assert drawn == ((0.9, 50, 1.0) if "0.17" in path.stem else (1.0, 0, 1.0))
        drawing = {"temperature", "top_k", "top_p", "max_completion_length"}
        assert written.keys() >= drawing


@pytest.mark.parametrize("name", ["tiny", "smollm2-135m"])
def test_beyond_the_paper_differs_in_what_is_paid_and_to_whom(name):
    (script, training, _), (paper, papers, _) = (
        settings_of(ROOT / "recipes" / name / f"{each}.yaml")
        for each in ("grpo-beyond", "grpo")
    )
    assert [
        path.rpartition("make_")[2]
        for task in script.tasks
        for path in task["reward_funcs"]
    ] == ["dat_usable", "dat_distance"]
    assert (script.credit, training.multi_objective_aggregation) == (
        "word",
        "normalize_then_sum",
    )
    differ = {
        key
        for key, value in training.to_dict().items()
        if value != papers.to_dict()[key]
    }
    may = {"output_dir", "run_name", "multi_objective_aggregation", "logging_dir"}
    assert differ <= may
    assert script.num_prompts == paper.num_prompts


@pytest.mark.parametrize("name", ["qwen2.5-coder-1.5b", "tiny"])
def test_a_placebo_differs_in_what_is_paid_alone(name):
    placebo, grpo = (read(f"{name}/{each}") for each in ("placebo", "grpo"))
    assert differing(placebo, grpo) == {"tasks", "output_dir", "run_name"}
    (task,), (paid,) = placebo["tasks"], grpo["tasks"]
    assert task["reward_funcs"] == ["sozo.rewards.make_placebo"]
    (made,) = task["reward_args"].values()
    assert made["quality"] == "sozo.rewards.make_dat_reward"
    scorer = made["quality_args"]
    assert scorer in (
        {name: paid.get(name) for name in scorer},
        *paid.get("reward_args", {}).values(),
    )


def test_the_placebo_of_pairing_differs_in_what_is_paid_and_to_whom():
    names = "smollm2-135m/placebo", "smollm2-135m/grpo-pairing"
    paid = {"tasks", "credit", "multi_objective_aggregation"}
    assert differing(*map(read, names)) == paid | {"output_dir", "run_name"}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_settings(name):
    script, training, model = settings_of(ROOT / "recipes" / name / "grpo.yaml", 8)
    assert model.model_name_or_path == PAPER[name]
    assert (
        script.num_prompts,
        training.num_generations,
        training.num_train_epochs,
    ) == (4096, 8, 1)
    per_device = training.per_device_train_batch_size
    per_step = per_device * 8 * training.gradient_accumulation_steps
    assert per_step == training.generation_batch_size == 256
    assert 4096 * 8 / per_step == 128
    assert (training.learning_rate, training.beta, training.loss_type) == (
        5e-7,
        0.04,
        "bnpo",
    )
    # TRL's defaults of the paper's time.
    assert (training.scale_rewards, training.num_iterations, training.epsilon) == (
        "group",
        1,
        0.2,
    )
    assert (training.lr_scheduler_type, training.max_completion_length) == (
        "linear",
        256,
    )
    assert not training.use_bias_correction_kl
    assert not training.vllm_importance_sampling_correction
    (task,) = script.tasks
    assert task == {
        "task": "dat",
        "noun_checker": "jumanpp",
        "embedding_model": "pkshatech/GLuCoSE-base-ja-v2",
        "embedding_revision": None,  # a place to fill: no commit is written from memory
        "scale": 10.0,
    }
    assert model.model_revision is None


@pytest.mark.parametrize("method", ["sft", "dpo"])
@pytest.mark.parametrize("name", PAPER)
def test_the_papers_settings_on_a_table(name, method):
    script, training, model = settings_of(ROOT / "recipes" / name / f"{method}.yaml")
    assert model.model_name_or_path == PAPER[name]
    assert not model.use_peft
    assert (script.top_k if method == "sft" else script.num_pairs) == 16384
    per_device = training.per_device_train_batch_size
    per_step = per_device * training.gradient_accumulation_steps
    assert (per_step, training.num_train_epochs, training.max_steps) == (256, 1, -1)
    assert training.learning_rate == {"sft": 2e-7, "dpo": 5e-7}[method]
    # TRL's defaults, where the paper is silent.
    assert (
        training.lr_scheduler_type,
        training.warmup_steps,
        training.weight_decay,
    ) == ("linear", 0, 0.0)
    if method == "sft":
        assert (training.completion_only_loss, training.packing) == (True, False)
    else:
        assert (training.beta, training.loss_type) == (0.1, ["sigmoid"])
        assert training.precompute_ref_log_probs


@pytest.mark.parametrize("path", LAUNCHERS, ids=lambda path: path.stem)
def test_a_launcher_loads(path):
    config = load_config_from_file(str(path))
    eight = {"ddp", "fsdp", "zero2", "zero3"}
    assert config.num_processes == (
        8 if path.stem in eight else 2 if path.stem.startswith("cpu2") else 1
    )
    if "zero" in path.stem:
        assert config.deepspeed_config["zero_stage"] == int(path.stem[-1])
    # Of ZeRO-3's sharded weights the whole model is saved.
    assert "zero3" not in path.stem or config.deepspeed_config["zero3_save_16bit_model"]


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ([], []),
        (
            flags({"model_name_or_path": "runs/no", "evaluate": "null"}),
            ["runs/no: neither in a folder nor in the "],
        ),
        (
            flags(
                {
                    "tasks": {
                        "task": "dat",
                        "noun_checker": "jumandik",
                        "embedding_model": "ja-ginzza",
                    }
                }
            ),
            [
                "no noun checker is called 'jumandik'; choose ",
                "ja-ginzza: neither in a folder nor in the hub's cache",
            ],
        ),
        (
            flags(
                {
                    "evaluate": {
                        "every": 1,
                        "tasks": [{"task": "dat", "noun_checker": "jumanpp"}],
                    }
                }
            ),
            ["the command jumanpp is not on the PATH; "],
        ),
        (
            flags({"tasks": [{"task": "dat", "reward_funcs": ["nosuch.reward"]}]}),
            ["reward function nosuch.reward: No module named 'nosuch'"],
        ),
    ],
    ids=["nothing", "model", "checker and encoder", "of an evaluation", "reward"],
)
def test_a_dry_run_names_what_is_missing(words, missing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    lines, lacking = plan("grpo", [*TINY, *words])
    assert "2,000 prompts an epoch, 16 completions of each" in lines[0]
    # recipes/tiny/grpo.yaml: 2,000 prompts x 16 = 32,000.
    assert lines[1].startswith("32,000 completions / 64 a step = 500 optimizer steps")
    for line, start in zip(lacking, missing, strict=True):
        assert line.startswith(start)
    assert not list(tmp_path.iterdir())
