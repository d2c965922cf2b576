"""What `run --model` stands for: checkpoints of a training output, rows of a study."""

import json
from pathlib import Path

import pytest

from model_server import server
from sentences import refused
from sozo.data.checkpoints import STATE
from sozo.data.study_folder import StudyFolder, StudyRow, read_study, write_study
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.models_to_run import find_models, write_studies
from sozo.eval.seeds import fold
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.summary import DatSummary
from two_tasks import both, command, evaluate


def found(*names, ways=(), checkpoints=False):
    """Folder, model and source of what `--model` names."""
    asked = GeneratorSettings()
    models, _ = find_models(names, asked, ways, checkpoints=checkpoints)
    return [(folder, one.model, one.source) for folder, one in models.items()]


def studies_of(name):
    return find_models([name], GeneratorSettings())[1]


def model(folder, *, finished=True):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    if finished:
        (folder / "metrics.json").write_text("{}")


def table(folder, source, usable):
    """A finished table of answers, as far as its numbers."""
    summary = DatSummary(
        source, 20, usable, 0.8, 0.1, (0.7, 0.9), 50, {"format": 20 - usable}
    )
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        json.dumps(
            {
                "format": 3,
                "settings": {"task": "dat", "num_answers": 20, "num_usable": None},
            }
        )
    )
    (folder / "metrics.json").write_text(json.dumps(summary.metrics()))


@pytest.fixture
def study(tmp_path):
    """A finished study of three rows; DPO 1 has a checkpoint too."""
    folder = tmp_path / "made"
    for name, source, usable in (
        ("random", "random", 20),
        ("base", "base", 15),
        ("dpo1-sample", "dpo1", 18),
    ):
        table(folder / name, source, usable)
    model(folder / "dpo1")
    model(folder / "dpo1" / "checkpoint-4")
    rows = {
        "random": StudyRow(None, folder / "random"),
        "base": StudyRow("org/base", folder / "base"),
        "DPO 1": StudyRow(str(folder / "dpo1"), folder / "dpo1-sample"),
    }
    write_study(folder, StudyFolder("mini study", "Swallow-8B", rows))
    return folder


def test_a_training_output_means_its_end_and_its_checkpoints_where_they_are_wanted(
    tmp_path,
):
    for name in ("checkpoint-10", "checkpoint-9", "checkpoint-12", "."):
        folder = tmp_path / "grpo" / name
        folder.mkdir(parents=True, exist_ok=True)
        if name != "checkpoint-12":  # cut off before its weights
            (folder / "config.json").write_text("{}")
    (tmp_path / "alone").mkdir()
    names = [str(tmp_path / "grpo"), str(tmp_path / "alone"), "tiny"]
    # What was asked for is the model: its checkpoints cost as much again, each.
    assert [folder for folder, *_ in found(*names)] == ["grpo", "alone", "tiny"]
    models = found(*names, checkpoints=True)
    assert [folder for folder, *_ in models] == [
        "grpo/checkpoint-9",
        "grpo/checkpoint-10",
        "grpo/final",
        "alone",
        "tiny",
    ]
    assert models[2][1] == str(tmp_path / "grpo")
    assert all(source == folder for folder, _, source in models)


def test_a_training_that_was_cut_off_means_its_last_checkpoint(tmp_path):
    for steps in (9, 10):
        model(tmp_path / "grpo" / f"checkpoint-{steps}")
    place = "grpo/checkpoint-10"
    assert found(str(tmp_path / "grpo")) == [(place, str(tmp_path / place), place)]


def test_a_study_means_its_rows_that_are_models_as_they_ended(study):
    assert found(str(study)) == [
        ("mini-study/base", "org/base", "base"),
        ("mini-study/DPO-1", str(study / "dpo1"), "DPO 1"),
    ]


@pytest.mark.parametrize("missing", ["metrics.json", "config.json"])
def test_an_unfinished_step_is_named(study, missing):
    (study / "dpo1" / missing).unlink()
    with refused("study: a step that is not finished"):
        found(str(study))


def test_the_copy_of_a_study_says_where_it_is_and_belongs_to_one_study(
    study, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_studies(Path("out"), studies_of("made"))
    monkeypatch.chdir("/")
    copy = read_study(tmp_path / "out" / "mini-study")
    assert copy.rows["DPO 1"] == StudyRow(str(study / "dpo1"), study / "dpo1-sample")
    assert copy.rows["base"].model == "org/base"
    assert copy.paper_model == "Swallow-8B"
    write_studies(tmp_path / "out", studies_of(str(study)))  # the same again
    other = StudyFolder(
        "mini study", None, {"base": StudyRow("org/other", study / "base")}
    )
    with refused("study: another of its name"):
        write_studies(tmp_path / "out", {"mini-study": other})


def test_two_studies_of_one_name_are_refused(study, tmp_path):
    (tmp_path / "again").symlink_to(study)
    with refused("study: two of one name"):
        found(str(study), str(tmp_path / "again"))


def test_a_study_is_evaluated_row_by_row_and_read_as_one(study, tmp_path):
    with server(both) as (url, _):
        done = evaluate(tmp_path, *command(url, url, models=("made",)))
    assert done.returncode == 0, done.stderr
    models = find_evaluated([str(tmp_path / "out" / "mini-study")])
    assert [(model.name, model.method, model.paper_model) for model in models] == [
        (name, name, "Swallow-8B") for name in ("random", "base", "DPO 1")
    ]
    assert [model.run("dat").summary.usable for model in models] == [20, 15, 18]
    assert [model.run("jcq") is not None for model in models] == [False, True, True]
    assert (
        models[2].run("jcq").folder == tmp_path / "out" / "mini-study" / "DPO-1" / "jcq"
    )
    assert models[2].run("jcq").metrics["source"] == "DPO 1"


def test_models_of_one_name_and_models_with_a_name_of_their_own():
    assert found("a/m", "other=c/m", "n") == [
        ("m", "a/m", "m"),
        ("other", "c/m", "other"),
        ("n", "n", "n"),
    ]
    with refused("run: two models of one name"):
        found("x=a", "n/x")


def test_a_seed_stays_last_where_seeds_are_folded():
    ways = ["temperature=0.7", "top_k=9"]
    models = found("own@0=a", "own@1=b", "other=c@main", ways=ways)
    sources = [source for *_, source in models]
    assert sources == [
        "own temperature=0.7@0",
        "own top_k=9@0",
        "own temperature=0.7@1",
        "own top_k=9@1",
        "other temperature=0.7",
        "other top_k=9",
    ]
    methods = fold([Evaluated(source) for source in sources])
    assert [(one.name, list(one.runs)) for one in methods[:2]] == [
        ("own temperature=0.7", ["0", "1"]),
        ("own top_k=9", ["0", "1"]),
    ]


def test_a_training_that_is_lengthened_ends_with_its_last_checkpoint(tmp_path):
    output = tmp_path / "grpo"
    model(output, finished=False)
    model(output / "checkpoint-4")
    (output / "checkpoint-4" / STATE).write_text('{"version": 2, "files": {}}')
    (output / "run_config.json").write_text("{}")
    assert models_of(output) == [str(output / "checkpoint-4")]
    (output / "metrics.json").write_text("{}")
    assert models_of(output) == [str(output)]


def models_of(output):
    return [name for _, name, _ in found(str(output))]
