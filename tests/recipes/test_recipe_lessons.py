"""What was learned with one recipe holds in all: every shipped YAML, against the combinations that docs warn of."""

from itertools import chain

import pytest
import yaml

from grpo_runs import ROOT

FILES = {
    str(path.relative_to(ROOT)): yaml.safe_load(path.read_text("utf-8"))
    for path in sorted(
        chain((ROOT / "recipes").glob("*/*.yaml"), (ROOT / "examples").rglob("*.yaml"))
    )
    if path.parent.name != "accelerate"
}
STUDIES = {
    name: study
    for name, study in FILES.items()
    if "arms" in study or "num_training_answers" in study
}
TRAININGS = {
    name: settings for name, settings in FILES.items() if "learning_rate" in settings
}
PAPER = ("swallow-8b", "qwen2.5-7b", "llm-jp-3-7.2b")
# Of the base models in the paper's table 11 (data/published/dat_training.csv).


def arms():
    """Every training, and every arm of a study with the settings of its file under its own."""
    yield from ((name, None, settings) for name, settings in TRAININGS.items())
    for name, study in STUDIES.items():
        for arm, own in (study.get("arms") or {}).items():
            if "train" in own:
                folder = name.rpartition("/")[0]
                file = FILES[
                    f"{folder}/{own.get('config', study['training'][own['train']])}"
                ]
                yield name, arm, file | own


ARMS = {(name, arm): settings for name, arm, settings in arms()}


def tasks_of(settings):
    """The entries of `tasks`; an arm of a study names one by its mapping alone."""
    tasks = settings.get("tasks", ())
    return [tasks] if isinstance(tasks, dict) else tasks


def prompts_of(settings):
    """How many different prompts are asked: DAT has one, a file or another task has several."""
    return sum(
        1 if task == "dat" or dict(task).get("task") == "dat" else 2
        for task in tasks_of(settings)
    )


def test_all_kinds_are_read():
    assert len(TRAININGS) >= 30


def test_a_loss_that_sees_the_micro_batch_asks_one_prompt():
    of_entropy = {"top_entropy_quantile", "entropy_coef", "use_adaptive_entropy"}
    several = {key: one for key, one in ARMS.items() if prompts_of(one) > 1}
    assert several
    for key, settings in several.items():
        assert settings["loss_type"] == "dapo", key
        assert not settings.keys() & of_entropy, key


def test_credit_by_the_word_has_usable_beside_it():
    by_word = {key: one for key, one in ARMS.items() if one.get("credit") == "word"}
    for key, settings in by_word.items():
        for task in tasks_of(settings):
            assert "sozo.rewards.make_dat_usable" in task["reward_funcs"], key
        assert settings["multi_objective_aggregation"] == "normalize_then_sum", key


@pytest.mark.parametrize("name", STUDIES)
def test_weights_in_half_precision_have_a_master(name):
    # Full training of bf16 weights without DeepSpeed loses small steps. An adapter is float32, and weights may be.
    training = STUDIES[name]["training"]
    methods = [
        training[method] for method in ("sft", "dpo", "grpo") if method in training
    ]
    trained = [FILES[f"{name.rpartition('/')[0]}/{file}"] for file in methods]
    if any(
        settings["bf16"]
        and settings["dtype"] != "float32"
        and not settings.get("use_peft")
        for settings in trained
    ):
        assert "zero" in training["launcher"]


@pytest.mark.parametrize(
    "name", [name for name in TRAININGS if name.split("/")[1] in PAPER]
)
def test_the_papers_models_are_evaluated(name):
    settings = TRAININGS[name]
    evaluate = settings["evaluate"]
    assert evaluate["every"] == 16
    assert settings["save_strategy"] == "no"  # one would take as long as the training
    (task,) = evaluate["tasks"]
    assert (task["task"], task["noun_checker"]) == ("dat", "jumanpp")
    if "grpo" in name:  # TRL 0.14 to 0.18, the paper's, had no correction
        assert settings["vllm_importance_sampling_correction"] is False
        assert settings["use_bias_correction_kl"] is False


@pytest.mark.parametrize(
    "name", [name for name in TRAININGS if name.split("/")[1] in (*PAPER, "ideas")]
)
def test_micro_batches_are_large_where_the_loss_does_not_see_them(name):
    settings = TRAININGS[name]
    size = settings["per_device_train_batch_size"]
    if settings.get("loss_type") == "bnpo":
        assert size == 4  # what TRL 0.18 trains depends on it
    elif name.startswith("examples"):
        assert size == settings["completions_per_step"]
    else:
        assert size == 16  # on two nodes of eight it fills a step
    batch = settings.get("examples_per_step", settings.get("completions_per_step"))
    assert batch % size == 0
    assert name.startswith("examples") or batch % (8 * size) == 0
