"""What `run --model` stands for: checkpoints of a training output, rows of a study."""

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from model_server import server
from sentences import refused
from sozo.data.checkpoints import STATE, folder_sha256
from sozo.data.study_folder import StudyFolder, StudyRow, read_study, write_study
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.models_to_run import find_targets, write_studies
from sozo.eval.seeds import fold
from sozo.tasks.dat.summary import DatSummary
from two_tasks import both, command, evaluate


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
    assert [target.folder for target in find_targets(names)[0]] == [
        "grpo",
        "alone",
        "tiny",
    ]
    targets, studies = find_targets(names, checkpoints=True)
    folders = [target.folder for target in targets]
    assert folders == [
        "grpo/checkpoint-9",
        "grpo/checkpoint-10",
        "grpo/final",
        "alone",
        "tiny",
    ]
    assert targets[2].model == str(tmp_path / "grpo")
    assert all(target.source == target.folder for target in targets)
    assert studies == {}


def test_with_checkpoints_the_model_that_a_training_began_with_comes_first(
    tmp_path, caplog, monkeypatch
):
    there = ("org/base", "tiny")
    monkeypatch.setattr("sozo.models.needs.is_here", there.__contains__)

    def trained(name, start, **loaded):
        model(tmp_path / name)
        settings = {"model": {"model_name_or_path": str(start)}}
        config = {"settings": settings, "loaded": loaded}
        (tmp_path / name / "run_config.json").write_text(json.dumps(config))
        return str(tmp_path / name)

    def found(*names):
        targets = find_targets(names, checkpoints=True)[0]
        return [(t.folder, t.model, t.revision) for t in targets]

    base = tmp_path / "base"
    model(base)
    local = trained("a", base, model_sha256=folder_sha256(base))
    assert found(local) == [("a/before", str(base), None), ("a", local, None)]
    assert found(str(base), local) == [("base", str(base), None), ("a", local, None)]
    assert len(find_targets([local])[0]) == 1
    hub = trained("b", "org/base", model_sha256=None, model_commit="c0ffee")
    assert found(hub) == [("b/before", "org/base", "c0ffee"), ("b", hub, None)]
    assert found(trained("c", "tiny"))[0] == ("c/before", "tiny", None)
    gone = trained("d", tmp_path / "nowhere", model_sha256="0" * 64)
    other = trained("e", base, model_sha256="0" * 64)
    away = trained("f", "org/away", model_sha256=None, model_commit="c0ffee")
    assert found(away) == [("f", away, None)]
    assert found(gone, other) == [("d", gone, None), ("e", other, None)]
    said = "the model that it began with, .*, is gone from there or changed"
    assert len(re.findall(said, caplog.text)) == 3


def test_a_training_that_was_cut_off_means_its_last_checkpoint(tmp_path):
    for steps in (9, 10):
        model(tmp_path / "grpo" / f"checkpoint-{steps}")
    (target,) = find_targets([str(tmp_path / "grpo")])[0]
    assert (target.folder, target.source) == (
        "grpo/checkpoint-10",
        "grpo/checkpoint-10",
    )


def test_equal_tensors_are_scored_once_whatever_stands_beside_them(tmp_path):
    def weights(name, value, *, split=False, **metadata):
        folder = tmp_path / "grpo" / name
        model(folder)
        tensors = {
            "a": torch.full((2, 3), value, dtype=torch.bfloat16),
            "b": torch.tensor(1.0),
        }
        for file in ("a", "b") if split else ("ab",):
            save_file(
                {key: tensors[key] for key in file},
                folder / f"{file}.safetensors",
                metadata=metadata,
            )

    weights("checkpoint-1", 1.0)
    weights("checkpoint-2", 2.0, split=True)
    weights(".", 2.0, format="pt")
    targets, _ = find_targets([str(tmp_path / "grpo")], checkpoints=True)
    assert [target.folder for target in targets] == ["grpo/checkpoint-1", "grpo/final"]


def test_a_study_means_its_rows_that_are_models_as_they_ended(study):
    targets, _ = find_targets([str(study)])
    assert [(t.folder, t.model, t.source) for t in targets] == [
        ("mini-study/base", "org/base", "base"),
        ("mini-study/DPO-1", str(study / "dpo1"), "DPO 1"),
    ]


@pytest.mark.parametrize("missing", ["metrics.json", "config.json"])
def test_an_unfinished_step_is_named(study, missing):
    (study / "dpo1" / missing).unlink()
    with refused("study: a step that is not finished"):
        find_targets([str(study)])


def test_the_copy_of_a_study_says_where_it_is_and_belongs_to_one_study(
    study, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    _, studies = find_targets(["made"])
    write_studies(Path("out"), studies)
    monkeypatch.chdir("/")
    copy = read_study(tmp_path / "out" / "mini-study")
    assert copy.rows["DPO 1"] == StudyRow(str(study / "dpo1"), study / "dpo1-sample")
    assert copy.rows["base"].model == "org/base"
    assert copy.paper_model == "Swallow-8B"
    write_studies(tmp_path / "out", find_targets([str(study)])[1])  # the same again
    other = StudyFolder(
        "mini study", None, {"base": StudyRow("org/other", study / "base")}
    )
    with refused("study: another of its name"):
        write_studies(tmp_path / "out", {"mini-study": other})


def test_two_studies_of_one_name_are_refused(study, tmp_path):
    (tmp_path / "again").symlink_to(study)
    with refused("study: two of one name"):
        find_targets([str(study), str(tmp_path / "again")])


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


def test_models_of_one_name_and_models_with_a_name_of_their_own(tmp_path):
    targets, _ = find_targets(["a/m", "b/m", "other=c/m", "n"])
    assert [(target.folder, target.model, target.source) for target in targets] == [
        ("a-m", "a/m", "a-m"),
        ("b-m", "b/m", "b-m"),
        ("other", "c/m", "other"),
        ("n", "n", "n"),
    ]
    with refused("run: two models of one name"):
        find_targets(["x=a", "x=b"])


def test_a_seed_stays_last_where_seeds_are_folded():
    models, ways = (
        ["own@0=a", "own@1=b", "other=c@main"],
        ["temperature=0.7", "top_k=9"],
    )
    targets, _ = find_targets(models, ways)
    assert [target.source for target in targets] == [
        "own temperature=0.7@0",
        "own top_k=9@0",
        "own temperature=0.7@1",
        "own top_k=9@1",
        "other temperature=0.7",
        "other top_k=9",
    ]
    methods = fold([Evaluated(target.source) for target in targets])
    assert [(one.name, list(one.runs)) for one in methods[:2]] == [
        ("own temperature=0.7", ["0", "1"]),
        ("own top_k=9", ["0", "1"]),
    ]
    assert len({target.folder for target in targets}) == len(targets)


def test_a_training_that_is_lengthened_ends_with_its_last_checkpoint(tmp_path):
    output = tmp_path / "grpo"
    model(output, finished=False)
    model(output / "checkpoint-4")
    (output / "checkpoint-4" / STATE).write_text('{"version": 1}')
    (output / "run_config.json").write_text("{}")
    assert models_of(output) == [str(output / "checkpoint-4")]
    (output / "metrics.json").write_text("{}")
    assert models_of(output) == [str(output)]


def models_of(output):
    return [target.model for target in find_targets([str(output)])[0]]
