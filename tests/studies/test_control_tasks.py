"""A study's control tasks: understanding kept, lost, or nothing that can be said, by stand-ins for trained rows."""

import json
import random
from dataclasses import replace

import pytest
import yaml

from sozo.data.errors import UserError
from sozo.data.study_folder import StudyRow
from sozo.studies.study.config import load_study
from sozo.studies.study.control_tasks import KEPT, LOST, OPEN, explanation, judge_control, judge_rows
from sozo.studies.study.page import write_result
from sozo.studies.study.plan import plan_lines
from sozo.studies.study.result import tables_result
from sozo.studies.study.steps import control_runs, study_steps
from sozo.tasks import finished_run
from sozo.tasks.sipen.items import (
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
from test_reproduce import ROOT
from test_sipen import run_of, truthful
from test_table11 import write

OPTIONS = FORMS["sipen-ja-v2"].options


def row(folder, name, right, seed=0, **settings):
    """A finished run that answers so large a share of the controls right, the others by another option."""
    controls = [item.id for item in trial_items() if item.direction in CONTROL]
    known = set(random.Random(seed).sample(controls, round(right * len(controls))))

    def answer(item):
        gold = truthful(item)
        return gold if item.id in known else OPTIONS[(OPTIONS.index(gold) + 1) % 3]

    return finished_run(run_of(folder / name, answer, source=name, **settings).folder)


def verdict(base, model):
    return judge_control("sipen", base, model)


def changes(said):
    return [one.change for one in said.states]


def reasons(said):
    return [one.why for one in said.states]


def test_kept_lost_and_open(tmp_path):
    base = row(tmp_path, "base", 0.9)
    same = verdict(base, base)
    change, _ = changes(same)
    assert (same.verdict, change.difference) == (KEPT, 0)
    assert -0.1 < change.low < -0.05  # two pseudo-observations: no certainty even where nothing changed
    assert same.text().startswith("kept (right 90.3%; understanding +0.0 pp [−5.")
    lost = verdict(base, row(tmp_path, "lost", 0.5))
    assert lost.verdict == LOST
    assert changes(lost)[0].high < -0.1
    between = verdict(base, row(tmp_path, "between", 0.8, seed=1))
    assert (between.verdict, reasons(between)) == (OPEN, ["cannot be said from 48", ""])
    assert changes(between)[0].low < -0.1 < changes(between)[0].high


def answering(folder, name, answers):
    """A run that answers controls right, and premises' scale items by `answers`: direction -> answer."""
    words = dict(zip(ANSWERS, OPTIONS, strict=True))

    def answer(item):
        number = int(item.premise_id[-2:]) if item.direction in ENTAILMENT else 0
        return words[answers(number, item.direction)] if number else truthful(item)

    return finished_run(run_of(folder / name, answer, source=name).folder)


def test_scale_answers_wrong_by_both_readings_are_a_loss_and_moves_between_them_are_none(tmp_path):
    literal = answering(tmp_path, "literal", lambda number, direction: ENTAILMENT[direction])
    pragmatic = answering(tmp_path, "pragmatic", lambda number, direction: IMPLICATURE[direction])
    for base, other in ((literal, pragmatic), (pragmatic, literal)):
        said = verdict(base, other)
        assert (said.verdict, [change.difference for change in changes(said)]) == (KEPT, [0, 0])
    wrong = {STRONGER: YES, WEAKER: MAYBE}

    def broken(share):
        return lambda number, direction: wrong[direction] if number % 10 < share else ENTAILMENT[direction]

    lost = verdict(literal, answering(tmp_path, "lost", broken(4)))
    right, errors = changes(lost)
    assert (lost.verdict, right.difference) == (LOST, 0)
    assert errors.low > 0.1
    assert "wrong by both readings +" in lost.text()
    assert lost.text().startswith("lost (right 100.0%; understanding +0.0 pp [")
    between = verdict(literal, answering(tmp_path, "between", broken(1)))
    assert (between.verdict, reasons(between)) == (OPEN, ["", "cannot be said from 48"])
    assert changes(between)[1].low < 0.1 < changes(between)[1].high
    assert verdict(answering(tmp_path, "again", broken(4)), literal).verdict == KEPT


def test_without_scale_items_the_controls_alone_are_judged(tmp_path):
    controls = [item for item in trial_items() if item.direction in CONTROL]
    run = finished_run(run_of(tmp_path / "c", truthful, items=controls, sipen_prompt="sipen-ja-v2").folder)
    said = verdict(run, run)
    assert (said.verdict, len(said.states)) == (KEPT, 1)


def test_a_base_at_chance_has_nothing_to_lose(tmp_path):
    guessing = row(tmp_path, "guessing", 1 / 3)
    said = verdict(guessing, guessing)
    assert (said.verdict, reasons(said)) == (OPEN, ["one side is not above chance (33.3%)"])
    assert said.text().startswith("cannot be said (right 33.3%; understanding +0.0 pp [−")
    assert said.text().endswith("]): one side is not above chance (33.3%)")
    barely = row(tmp_path, "barely", 0.44)
    assert barely.metrics["measures"]["sipen/controls"]["low"] < 1 / 3
    assert verdict(barely, guessing).verdict == OPEN
    # A broken model is not taken for one that kept what little its base knew.
    half = row(tmp_path, "half", 0.5)
    assert verdict(half, guessing).verdict != KEPT


def test_too_few_controls_and_other_items_say_nothing(tmp_path):
    base = row(tmp_path, "base", 0.9)
    some = [item for item in trial_items() if item.premise_id < "control-06" or item.premise_id > "trial-16"]
    few = finished_run(run_of(tmp_path / "few", truthful, items=some, sipen_prompt="sipen-ja-v2").folder)
    assert reasons(verdict(few, few)) == ["45 controls, and it takes 144"]
    other = finished_run(run_of(tmp_path / "other", truthful, sipen_context="none").folder)
    assert "sipen_context" in reasons(verdict(base, other))[0]
    literal = finished_run(run_of(tmp_path / "literal", truthful, sipen_prompt="sipen-ja-v1").folder)
    assert "sipen_prompt is sipen-ja-v2 and sipen-ja-v1" in reasons(verdict(base, literal))[0]


def test_an_unchanged_model_with_noise_passes_as_it_should(tmp_path):
    """Two draws of one model that knows 90%: of 20 pairs most are kept, and none is called lost."""
    runs = [row(tmp_path, f"m{seed}", 0.9, seed) for seed in range(5)]
    said = [verdict(a, b).verdict for a in runs for b in runs if a is not b]
    assert LOST not in said
    assert said.count(KEPT) > len(said) / 2


def study_file(folder, **changes):
    values = yaml.safe_load((ROOT / "recipes" / "tiny" / "reproduce.yaml").read_text("utf-8")) | changes
    values["sampling"]["launcher"] = str(ROOT / "recipes" / "accelerate" / "single.yaml")
    values["training"] = {k: str(ROOT / "recipes" / "tiny" / v) for k, v in values["training"].items()}
    values["training"]["launcher"] = values["sampling"]["launcher"]
    path = folder / "reproduce.yaml"
    path.write_text(yaml.safe_dump(values), "utf-8")
    return path


def test_a_study_asks_the_base_and_every_trained_row(tmp_path):
    study = load_study(study_file(tmp_path, control_tasks=["sipen"]), "runs/s")
    steps = {step.name: step for step in study_steps(study)}
    controls = {"base-sipen", "sft-sipen", "dpo1-sipen", "dpo2-sipen", "grpo-sipen"}
    assert controls < set(steps)
    assert ("GRPO", "grpo-sipen") in {(row, folder.name) for row, folder in control_runs(study)}
    assert {folder.name for _, folder in control_runs(study)} == controls
    grpo = steps["grpo-sipen"]
    assert (grpo.script, grpo.flags["task"], grpo.inputs, grpo.flags["model"]) == (
        "sample_dat.py",
        "sipen",
        ("grpo",),
        "runs/s/grpo",
    )
    assert (grpo.flags["source"], grpo.flags["backend"]) == ("GRPO", "transformers")
    assert not {"max_new_tokens", "temperature", "noun_checker"} & set(grpo.flags)
    assert "sipen" in plan_lines(study, grpo)[0]
    assert controls < set(steps["table"].inputs)
    names = [step.name for step in study_steps(study)]
    assert names.index("grpo") < names.index("grpo-sipen") < names.index("table")
    plain = [step.name for step in study_steps(replace(study, control_tasks=[]))]
    assert plain == [name for name in names if name not in controls]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"control_tasks": "sipen"}, "control_tasks: Input should be a valid list"),
        ({"control_tasks": ["dat"]}, "dat has no control measure"),
        ({"control_tasks": ["sippen"]}, "there is no task sippen"),
        ({"control_tasks": ["sipen"], "arms": {"GRPO": {"train": "grpo"}}}, "an arm named base"),
    ],
)
def test_what_cannot_be_a_control_is_refused(changes, message, tmp_path):
    with pytest.raises(UserError, match=message):
        load_study(study_file(tmp_path, **changes))


def test_the_verdict_stands_beside_the_row(tmp_path):
    tables = {name: write(tmp_path / name, [("犬猫", 0.5), ("水山", 0.7)]) for name in ("base", "SFT", "GRPO")}
    shares = {"base": 0.9, "SFT": 0.9, "GRPO": 0.4}
    runs = [(name, row(tmp_path / "g", name, right).folder) for name, right in shares.items()]
    rows = {name: StudyRow(None, folder) for name, folder in tables.items()}
    markdown = write_result(tmp_path / "out", tables_result("Table 11", rows, controls=runs), "table11")
    assert "| Understanding (sipen)  " in markdown.splitlines()[0]
    lines = {line.split(" | ")[0].strip("| "): line for line in markdown.splitlines() if line.startswith("| ")}
    assert "kept (right 90.3%" in lines["SFT"]
    assert "lost (" in lines["GRPO"]
    assert lines["base"].rstrip(" |").endswith("–")
    assert explanation("sipen") in markdown
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Understanding (sipen)" in page
    assert "lost (" in page
    stored = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))["control_tasks"]["sipen"]
    assert {name: said["verdict"] for name, said in stored.items()} == {"SFT": KEPT, "GRPO": LOST}
    with pytest.raises(UserError, match="compared with base, of which there is no run"):
        judge_rows(runs[1:], {"SFT": "base"})
