"""The plan of a training: steps by hand, and the shape of the model that is trained."""

import json
import re
import shutil

import pytest
from transformers import AutoModelForCausalLM, TrainerCallback

from fakes import list_text
from grpo_runs import ROOT, flags
from sentences import refused, says
from sozo.data.schema import write_columns
from sozo.models.tiny import ensure_tiny
from sozo.training.config import parse
from sozo.training.estimates import TINY, UNKNOWN, architecture_of
from sozo.training.grpo import GrpoRun
from sozo.training.methods import recipe
from sozo.training.plan import Hardware, make_plan, plan
from sozo.training.run import opened

TINY_YAML = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml")]
SFT_YAML = ["--config", str(ROOT / "recipes" / "tiny" / "sft.yaml"), "--answers", "x"]


@pytest.mark.parametrize(
    ("method", "settings", "steps"),
    [
        # recipes/tiny/grpo.yaml: 2,000 prompts x 16 completions, 64 a step.
        ("grpo", {}, 500),
        ("grpo", {"num_train_epochs": 3}, 1500),
        ("grpo", {"num_train_epochs": 0.5}, 250),
        ("grpo", {"max_steps": 10}, 10),
        # Each completion is trained on twice.
        ("grpo", {"num_iterations": 2}, 1000),
        ("grpo", {"num_prompts": 8, "num_generations": 8}, 1),
        # Generations of 32 fill an epoch of 96 completions, though steps of 64 do not.
        ("grpo", {"num_prompts": 6, "steps_per_generation": 1}, 2),
        # recipes/tiny/sft.yaml: 64 examples a step.
        ("sft", {"top_k": 640, "num_train_epochs": 2}, 20),
        ("sft", {"top_k": 640, "max_steps": 3}, 3),
        ("sft", {"top_k": 640, "beside": '{"drawn/later": 70}'}, 11),
    ],
)
def test_steps_by_hand(method, settings, steps):
    words = [*(TINY_YAML if method == "grpo" else SFT_YAML), *flags(settings)]
    for processes in (1, 2)[: 1 + ("steps_per_generation" not in settings)]:
        assert make_plan(method, words, Hardware(processes)).steps == steps


@pytest.mark.parametrize(
    "settings",
    [
        "--per_device_train_batch_size 0",
        "--num_prompts 2 --max_steps 2",
        "--num_prompts 12 --steps_per_generation 4",
    ],
)
def test_batches_that_training_refuses_have_no_plan(settings):
    with refused(f"plan: {settings}"):
        plan("grpo", [*TINY_YAML, *settings.split()])


@pytest.mark.parametrize(
    "settings",
    [
        "--credit word",
        "--max_completion_length 5000",
        "--max_completion_length 9",
        '--chat_template_kwargs {"thinking":true}',
    ],
)
def test_what_training_refuses_is_missing_in_its_plan(settings):
    ensure_tiny()
    _, (lacking,) = plan("grpo", [*TINY_YAML, "--use_peft", "true", *settings.split()])
    assert says(f"plan: {settings}", lacking)


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ("--save_strategy no", 1),  # by SIGTERM
        ("--save_strategy epoch --num_train_epochs 2", 2),
        ("--save_strategy epoch --num_train_epochs 9", 3),  # save_total_limit 2
        ("--save_strategy epoch --max_steps 600", 2),
        ("--save_steps 250", 2),
        ("--save_steps 0.25 --save_total_limit 9", 4),
    ],
)
def test_checkpoints_that_a_run_will_have(settings, count):
    lines, _ = plan("grpo", [*TINY_YAML, *settings.split()])
    (disk,) = [line for line in lines if line.startswith("disk, GiB: ")]
    assert f" each, {count} at once at most" in disk


def test_a_training_starts_from_a_model():
    _, (line,) = plan(
        "grpo", ["--tasks", "dat", "--use_cpu", "true", "--bf16", "false"]
    )
    assert says("plan: no model", line)


def test_a_warm_up_longer_than_the_run_is_told():
    words = ["--max_steps", "2", "--warmup_steps", "3"]
    lines, lacking = plan("grpo", [*TINY_YAML, *words])
    assert "note: warmup_steps 3 are more than the run's steps" in "\n".join(lines)
    assert lacking == []


def test_what_cannot_be_shared_evenly_is_refused():
    with refused("plan: three processes"):
        make_plan("grpo", TINY_YAML, Hardware(3))
    with refused("plan: steps of 96 completions"):
        make_plan("grpo", [*TINY_YAML, "--completions_per_step", "96"], Hardware(1))
    _, lacking = plan("grpo", [*TINY_YAML, "--tf32", "true"])
    assert lacking == []  # a plan needs no GPU


def test_a_folders_shape_is_that_of_its_weights(mini):
    model = AutoModelForCausalLM.from_pretrained(mini)
    shape = architecture_of(str(mini))
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())
    assert (shape.layers, shape.hidden_size) == (1, 32)
    assert shape.vocabulary == model.config.vocab_size
    whole = architecture_of(str(ensure_tiny()))
    assert (whole.parameters, whole.widths) == (TINY.parameters, TINY.widths)
    assert architecture_of("tiny") == TINY


def test_an_adapters_shape_is_its_bases(mini, tmp_path):
    adapter = {"base_model_name_or_path": str(mini), "peft_type": "LORA"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(adapter))
    assert architecture_of(str(tmp_path)) == architecture_of(str(mini))


def test_what_is_no_decoder_has_no_shape(tmp_path):
    for text in ("{}", "[", '{"model_type": "t5"}'):
        (tmp_path / "config.json").write_text(text)
        with refused(f"estimates: no shape in {text}"):
            architecture_of(str(tmp_path))


@pytest.mark.studies
def test_a_small_model_is_not_planned_as_the_yamls_large_one(mini, tmp_path):
    lines, lacking = plan(
        "grpo", [*TINY_YAML, *flags({"model_name_or_path": mini, "output_dir": "o"})]
    )
    assert lacking == []
    size = architecture_of(str(mini)).parameters
    assert size < 300_000
    (memory,) = [line for line in lines if line.startswith("memory for each process")]
    weights = float(re.search(r"GiB: weights (\S+),", memory)[1])
    assert weights == pytest.approx(4 * size / 2**30, rel=0.01)  # float32
    text = (ROOT / "recipes" / "swallow-8b" / "reproduce.yaml").read_text("utf-8")
    folder = shutil.copytree(ROOT / "recipes" / "swallow-8b", tmp_path / "mine" / "own")
    (tmp_path / "mine" / "accelerate").symlink_to(ROOT / "recipes" / "accelerate")
    named = re.sub("^model: .*$", f"model: {mini}", text, flags=re.MULTILINE)
    (folder / "reproduce.yaml").write_text(named, "utf-8")
    from sozo.studies.study.config import load_study

    study = load_study(folder / "reproduce.yaml", "o")
    assert study.architecture.parameters == 8_030_261_248
    assert study.shape.parameters == size


def test_where_no_config_can_be_read_steps_are_told_and_the_rest_is_not_known(tmp_path):
    lines, lacking = plan(
        "grpo", [*TINY_YAML, "--model_name_or_path", str(tmp_path / "none")]
    )
    assert lines[1].startswith("32,000 completions / 64 a step = 500 optimizer steps")
    assert lines[2] == UNKNOWN
    (missing,) = lacking
    assert missing.startswith(f"{tmp_path / 'none'}: neither in a folder nor in the")


GRPO_ALONE = """
model: tiny
output_dir: runs/x
num_answers: 16
seeds: [0]
sampling: {{launcher: {0}/accelerate/single.yaml, max_new_tokens: 24}}
training: {{launcher: {0}/accelerate/single.yaml, grpo: {0}/tiny/grpo.yaml}}
arms:
  base: {{}}
  GRPO: {{train: grpo}}
"""


@pytest.mark.studies
def test_a_study_of_grpo_alone_needs_nothing_of_sft(tmp_path):
    from sozo.studies.study.config import load_study
    from sozo.studies.study.steps import study_steps

    file = tmp_path / "study.yaml"
    text = GRPO_ALONE.format(ROOT / "recipes")
    file.write_text(text)
    study = load_study(file)
    names = [step.name for step in study_steps(study)]
    assert names == ["base", "grpo", "grpo-sample"]
    assert study.shape == TINY


def test_a_dry_run_writes_nothing_and_reads_no_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan("grpo", TINY_YAML)
    assert not list(tmp_path.iterdir())


def test_a_plan_of_sft_looks_at_the_answers_it_would_learn_from(mini, tmp_path):
    texts = [list_text([word] * 10) for word in ("犬", "自転車")]
    columns = {"id": ["0", "1"], "text": texts, "score": [0.5, 0.6]}
    write_columns(tmp_path / "run" / "part-00000.parquet", columns)
    given = flags({"model_name_or_path": mini, "answers": tmp_path / "run"})
    pairs = ["--config", str(ROOT / "recipes" / "tiny" / "dpo.yaml"), *given]
    (few,) = plan("dpo", pairs)[1]
    assert "2 answers to 1 prompts are enough for num_pairs 1, not for 1024" in few
    given += flags({"top_k": 2, "examples_per_step": 2, "output_dir": tmp_path / "o"})
    words = [*SFT_YAML[:2], *given, "--per_device_train_batch_size", "2"]
    lines, lacking = plan("sft", words)
    assert lacking == []
    assert lines[0].startswith("2 examples / 2 a step = 1 optimizer steps")
    _, (none,) = plan("sft", [*words, "--answers", "nosuch"])
    assert none.startswith("nosuch: no answer table here")


def test_a_dry_run_looks_at_the_folder_as_the_run_does(mini, tmp_path):
    given = {"model_name_or_path": mini, "output_dir": tmp_path / "o", "max_steps": 2}
    short = {"max_completion_length": 24, "num_prompts": 8, "report_to": "none"}
    words = [*TINY_YAML, *flags(given | short)]
    named = ["--resume_from_checkpoint", str(tmp_path / "o" / "checkpoint-1")]
    (line,) = plan("grpo", [*words, *named])[1]
    assert says("plan: no such checkpoint", line)
    _, *settings = recipe("grpo")
    asked, training, model = parse(*settings, words)
    run = GrpoRun(asked, training, model)
    folder, *_ = opened(run, training, mini)
    folder.start({}, {"how": run.how})
    assert plan("grpo", words)[1] == []
    (line,) = plan("grpo", [*words, "--seed", "7"])[1]
    assert says("plan: another run's folder", line)
    folder.finish({})
    lines, lacking = plan("grpo", words)
    assert says("plan: a finished run", "\n".join(lines))
    assert lacking == []
    (line,) = plan("grpo", [*words, "--output_dir", str(ROOT / "README.md")])[1]
    assert says("plan: a file for a folder", line)


class Said(TrainerCallback):
    """A callback of one's own."""


@pytest.mark.parametrize("name", ["test_plan.Said", "test_plan.plan"])
def test_what_is_no_callback_is_refused_before_anything_is_written(name, tmp_path):
    words = [*TINY_YAML, "--callbacks", name, "--output_dir", str(tmp_path / "o")]
    lacking = plan("grpo", words)[1]
    assert [says("plan: no callback", line) for line in lacking] == (
        [True] if name == "test_plan.plan" else []
    )
    if lacking:
        trains, *settings = recipe("grpo")
        with refused("plan: no callback"):
            trains(*parse(*settings, words))
        assert not list(tmp_path.iterdir())


def test_a_package_that_is_asked_for_and_not_installed_is_missing(monkeypatch):
    monkeypatch.setattr("sozo.models.needs.find_spec", lambda name: None)
    words = ["--report_to", "tensorboard", "--sampler", "vllm"]
    _, missing = plan("grpo", [*TINY_YAML, *words])
    for name in ("tensorboard", "vllm"):
        said = f"the package {name} is not installed: "
        assert any(line.startswith(said) for line in missing)
