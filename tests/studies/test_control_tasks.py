"""A study's control tasks: shares, and differences from the base, of stand-ins for trained rows."""

import random
import shlex
from dataclasses import replace

import pytest

from sentences import refused
from sipen_runs import run_of, truthful
from sozo.studies.study.config import load_study
from sozo.studies.study.control_tasks import control_rows
from sozo.studies.study.page import StudyResult, to_markdown
from sozo.studies.study.steps import StudyList, study_steps
from sozo.studies.study.table11 import table11
from sozo.suite.sipen.items import (
    ANSWERS,
    CONTROL,
    ENTAILMENT,
    FORMS,
    IMPLICATURE,
    MAYBE,
    STRONGER,
    WEAKER,
    YES,
    trial_items,
)
from sozo.tasks import finished_run
from tiny_study import study_file
from written_tables import write

OPTIONS = FORMS["sipen-ja-v2"].options


def row(folder, name, right, seed=0, **settings):
    """A finished run that answers so large a share of the controls right, the others by another option."""
    controls = [item.id for item in trial_items() if item.direction in CONTROL]
    known = set(random.Random(seed).sample(controls, round(right * len(controls))))

    def answer(item):
        gold = truthful(item)
        return gold if item.id in known else OPTIONS[(OPTIONS.index(gold) + 1) % 3]

    return finished_run(run_of(folder / name, answer, source=name, **settings).folder)


def beside(base, model):
    """What is said of a model, measure by measure: its share, the difference from its base, what else."""
    folders = [("base", base.folder), ("model", model.folder)]
    return {
        measure.name: by_row["model"]
        for measure, by_row in control_rows(folders, {"model": "base"}).items()
    }


def test_a_control_is_a_share_a_difference_and_its_interval(tmp_path):
    base = row(tmp_path, "base", 0.9)
    same = beside(base, base)["sipen/controls"]
    change = same.change.estimate
    assert change.value == 0
    assert change.low == pytest.approx(-change.high)
    assert (
        -0.1 < change.low < -0.05
    )  # two pseudo-observations: no certainty even where nothing changed
    other = row(tmp_path, "other", 0.5)
    said = beside(base, other)["sipen/controls"]
    assert said.estimate == other.estimate(said.measure)
    assert said.change.estimate == other.against(base, said.measure)
    assert said.change.estimate.high < -0.1
    assert said.change.estimate.value == pytest.approx(
        said.value - base.estimate(said.measure).value
    )


def answering(folder, name, answers):
    """A run that answers controls right, and premises' scale items by `answers`: direction -> answer."""
    words = dict(zip(ANSWERS, OPTIONS, strict=True))

    def answer(item):
        number = int(item.premise_id[-2:]) if item.direction in ENTAILMENT else 0
        return words[answers(number, item.direction)] if number else truthful(item)

    return finished_run(run_of(folder / name, answer, source=name).folder)


def test_scale_answers_wrong_by_both_readings_are_errors_and_moves_between_them_are_none(
    tmp_path,
):
    literal = answering(
        tmp_path, "literal", lambda number, direction: ENTAILMENT[direction]
    )
    pragmatic = answering(
        tmp_path, "pragmatic", lambda number, direction: IMPLICATURE[direction]
    )
    for base, other in ((literal, pragmatic), (pragmatic, literal)):
        said = beside(base, other)
        assert [cell.change.value for cell in said.values()] == [0, 0]
        assert list(said) == ["sipen/controls", "sipen/neither"]
    wrong = {STRONGER: YES, WEAKER: MAYBE}

    def broken(number, direction):
        return wrong[direction] if number % 10 < 4 else ENTAILMENT[direction]

    right, errors = beside(literal, answering(tmp_path, "broken", broken)).values()
    assert (right.value, right.change.value) == (1, 0)
    assert errors.change.value == errors.value > 0.3
    assert errors.change.estimate.low > 0.1


def test_without_scale_items_the_controls_stand_alone(tmp_path):
    controls = [item for item in trial_items() if item.direction in CONTROL]
    run = finished_run(
        run_of(
            tmp_path / "c", truthful, items=controls, sipen_prompt="sipen-ja-v2"
        ).folder
    )
    assert list(beside(run, run)) == ["sipen/controls"]


def test_what_is_on_another_scale_is_not_compared(tmp_path):
    base = row(tmp_path, "base", 0.9)
    run = run_of(tmp_path / "literal", truthful, sipen_prompt="sipen-ja-v1")
    said = beside(base, finished_run(run.folder))["sipen/controls"]
    assert (said.value, said.change) == (1, None)
    assert "sipen_prompt is sipen-ja-v2 and sipen-ja-v1" in said.below[0]


def test_a_study_asks_the_base_and_every_trained_row(tmp_path):
    study = load_study(study_file(tmp_path, control_tasks={"sipen": {}}), "runs/s")
    steps = {step.name: step for step in study_steps(study)}
    controls = {"base-sipen", "sft-sipen", "dpo1-sipen", "dpo2-sipen", "grpo-sipen"}
    assert controls < set(steps)
    runs = StudyList(study).controls
    assert ("GRPO", "grpo-sipen") in {(row, folder.name) for row, folder in runs}
    assert {folder.name for _, folder in runs} == controls
    grpo = steps["grpo-sipen"]
    assert grpo.after == ("grpo",)
    said = shlex.join(grpo.words([]))
    assert said.startswith("--config_file ")
    assert " -m sozo run --backend transformers " in said
    assert " --model grpo=runs/s/grpo --tasks sipen --flat " in said
    assert not {"max_new_tokens", "temperature", "noun_checker"} & set(grpo.flags)
    names = list(steps)
    assert names.index("grpo") < names.index("grpo-sipen")
    plain = [step.name for step in study_steps(replace(study, control_tasks={}))]
    assert plain == [name for name in names if name not in controls]


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({"control_tasks": ["sipen"]}, "control tasks: no mapping"),
        ({"control_tasks": {"sippen": {}}}, "control tasks: no such task"),
        (
            {"control_tasks": {"sipen": {}}, "arms": {"GRPO": {"train": "grpo"}}},
            "control tasks: no base",
        ),
    ],
)
def test_what_cannot_be_a_control_is_refused(changes, row, tmp_path):
    with refused(row):
        study_steps(load_study(study_file(tmp_path, **changes)))


def test_the_difference_stands_beside_the_row(tmp_path):
    tables = {
        name: write(tmp_path / name, [("犬猫", 0.5), ("水山", 0.7)])
        for name in ("base", "SFT", "GRPO")
    }
    shares = {"base": 0.9, "SFT": 0.9, "GRPO": 0.4}
    runs = [
        (name, row(tmp_path / "g", name, right).folder)
        for name, right in shares.items()
    ]
    controls = control_rows(runs, dict.fromkeys(("SFT", "GRPO"), "base"))
    result = StudyResult("Table 11", table11(tables), controls)
    text = to_markdown(result)
    lines = {
        line.split(" | ")[0].strip("| "): line
        for line in text.splitlines()
        if line.startswith("| ")
    }
    assert "−50.0 points [" in lines["GRPO"]
    assert "90.3% [" in lines["base"]
    assert "points [" not in lines["base"]
