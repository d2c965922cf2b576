"""What SFT, DPO and GRPO record of what they train on: whence answers come, by what they were chosen, and before."""

import json

import pytest

from answer_tables import table
from fakes import AXES, list_text
from finished_runs import given_jcq
from grpo_runs import ROOT, flags
from once import answered, dat, targets, train
from sozo.eval.draw import SamplingOptions
from sozo.eval.evaluated import find_evaluated
from sozo.eval.run import run_task
from sozo.models.settings import GeneratorSettings
from sozo.models.trained_on import NOT_RECORDED
from sozo.tasks.jcq.questions import trial_questions
from sozo.training.arguments import GrpoArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings, train_grpo
from toy_task import Lipogram

pytestmark = pytest.mark.usefixtures("lipogram")


@pytest.fixture(scope="module")
def tables(tmp_path_factory, lipogram):
    """Tables of several kinds, by name."""
    folder = tmp_path_factory.mktemp("tables")
    sampling = SamplingOptions(num_answers=16)
    run_task(dat(), GeneratorSettings("random"), sampling, folder / "random")
    answered(Lipogram(), folder / "lipogram", *(f"{k}" for k in range(15)))
    scores = {
        question.id: [(4, 3, 4, 5), (2, 2, 2, 2)] for question in trial_questions()[:4]
    }
    given_jcq(folder / "jcq", "m", scores, questions=trial_questions(), judge=JUDGE)
    bare = {f"{k:02d}": 0.5 + k / 100 for k in range(16)}
    table(
        folder / "bare",
        bare,
        parts=1,
        text=[list_text([*AXES[k % 12 :], *AXES[: k % 12]][:10]) for k in range(16)],
    )
    return folder


JUDGE = {
    "model": "judge-of-jcq",
    "prompt": "jcq-v1",
    "temperature": 0.0,
    "max_tokens": 1024,
}


def measured(model, folder):
    """What a measured run of a model says of its training: `loaded`, and the tasks whose measure is a target."""
    sampling = SamplingOptions(num_answers=3)
    run_task(
        Lipogram(), GeneratorSettings(str(model), max_new_tokens=4), sampling, folder
    )
    loaded = json.loads((folder / "config.json").read_text("utf-8"))["loaded"]
    (evaluated,) = find_evaluated([str(folder)])
    said = json.dumps(loaded["trained_on"])
    return said, targets(evaluated.trainings)


def unknown(said):
    return NOT_RECORDED in said


def test_of_a_mix_the_known_part_is_named_and_the_other_is_not_known(
    tables, mini, tmp_path
):
    output = train("sft", mini, [tables / "jcq", tables / "bare"], tmp_path / "out", 8)
    said, went_for = measured(output, tmp_path / "run")
    assert "jcq" in went_for
    assert unknown(said)


@pytest.fixture(scope="module")
def of_jcq(tables, mini, tmp_path_factory):
    """A model of SFT on judged answers."""
    folder = tmp_path_factory.mktemp("jcq") / "model"
    return train("sft", mini, [tables / "jcq"], folder, 4)


def test_a_lora_adapter_and_what_it_stands_on(tables, of_jcq, tmp_path):
    lora = {"use_peft": True, "lora_target_modules": "all-linear"}
    second = train("sft", of_jcq, [tables / "random"], tmp_path / "second", 4, **lora)
    assert measured(second, tmp_path / "run")[1] == {"jcq", "dat"}


def test_grpo_of_an_sft_has_both(of_jcq, tmp_path):
    settings = {
        "model_name_or_path": of_jcq,
        "output_dir": tmp_path / "grpo",
        "max_steps": 1,
        "report_to": "none",
    }
    sizes = ("per_device_train_batch_size", "completions_per_step")
    sizes = dict.fromkeys((*sizes, "num_generations", "num_prompts"), 8)
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml")]
    train_grpo(*parse(GrpoArguments, GrpoSettings, [*yaml, *flags(settings | sizes)]))
    assert measured(tmp_path / "grpo", tmp_path / "run")[1] == {"dat", "jcq"}


def older(folder):
    """What an earlier sozo would have left."""
    path = folder / "run_config.json"
    config = json.loads(path.read_text("utf-8"))
    known = {
        name: config[name]
        for name in ("format", "settings", "how", "loaded", "free", "environment")
    }
    known["loaded"] = {
        name: known["loaded"].get(name) for name in ("model_sha256", "model_commit")
    }
    path.write_text(json.dumps(known), "utf-8")
    return folder


def test_a_folder_of_before_says_so(tables, mini, tmp_path):
    first = older(train("dpo", mini, [tables / "random"], tmp_path / "first", 4))
    said, went_for = measured(first, tmp_path / "run")
    assert (went_for, unknown(said)) == (set(), True)
    # And so does what starts from it, beside what is known.
    second = train("sft", first, [tables / "lipogram"], tmp_path / "second", 4)
    said, went_for = measured(second, tmp_path / "run2")
    assert (went_for, unknown(said)) == ({"lipogram"}, True)
