"""What a page of the report begins with: what is higher and lower of each model, and one table."""

import json

from finished_runs import dat_run, jcq_run
from pages import cells_of
from run_files import change_config
from sozo.data.study_folder import StudyFolder, StudyRow, write_study
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.models.trained_on import NOT_RECORDED, trained_on
from sozo.tasks.jcq.questions import trial_questions

QUESTIONS = trial_questions()


def page_of(folder, tmp_path, **options):
    write_evaluation(tmp_path / "r.html", find_evaluated([str(folder)]), **options)
    return (tmp_path / "r.html").read_text("utf-8")


def test_different_words_are_rarefied_within_a_study(
    tmp_path,
):
    for study, bad in (("small", 28), ("large", 10)):
        folder = tmp_path / study
        dat_run(folder / "base", "base", seed=1, n=40, bad=bad)
        dat_run(folder / "GRPO", "GRPO", seed=2, n=40, bad=0)
        write_study(
            folder,
            StudyFolder(
                study, None, {n: StudyRow("m", folder / n) for n in ("base", "GRPO")}
            ),
        )
    models = {model.name: model for model in find_evaluated([str(tmp_path)])}
    sizes = {
        study: models[f"{study}/base"].run("dat").summary.usable
        for study in ("small", "large")
    }
    assert sizes["small"] < sizes["large"]
    page = page_of(tmp_path, tmp_path)
    for size in sizes.values():
        assert (
            page.count(f"<small>n = {size:,}</small>") == 4
        )  # two models, in their table and among all columns


def test_all_columns_say_how_models_were_asked_and_who_scored(tmp_path):
    dat_run(tmp_path / "a", "a", seed=0)
    asked = {"temperature": 0.9, "max_new_tokens": 99, "seed": 3}
    change_config(tmp_path / "a", "settings", model="/home/me/org/name", **asked)
    # What the generator did.
    change_config(tmp_path / "a", "loaded", decoder={"temperature": 0.7})
    page = page_of(tmp_path, tmp_path)
    heading, row, *_ = cells_of(page, "DAT: all columns")
    asked = dict(zip(heading, row, strict=True))
    assert "/home/me" not in page
    assert [asked[name] for name in ("temperature", "max_new_tokens", "seed")] == [
        "0.7",
        "99",
        "3",
    ]
    assert asked["DAT: encoder"] == "ja-ginza"


def cut_off(folder, counts):
    """A run of each name, as many of whose 35 answers end within their reasoning."""
    for name, cut in counts.items():
        ends = iter(["" if k < cut else "</think>案" for k in range(35)])
        jcq_run(
            folder / name,
            name,
            lambda q, ends=ends: f"<think>{q.id}{next(ends)}",
            lambda q: (3, 3, 3, 3),
        )


def test_answers_cut_off_of_several_seeds_are_one_number(tmp_path):
    counts = {"base@0": 7, "base@1": 7, "cut@0": 15, "cut@1": 5, "cut@2": 0}
    cut_off(tmp_path, counts)
    page = page_of(tmp_path, tmp_path, base="base")
    assert "base: 14 of 70 answers without text" in page
    assert "cut: 20 of 70 answers without text" in page


def test_what_a_model_was_trained_on_is_read_from_its_folder(tmp_path):
    for folder in (tmp_path, tmp_path / "checkpoint-8"):
        folder.mkdir(exist_ok=True)
        (folder / "sozo_state.json").write_text("{}", "utf-8")
    unknown = dict.fromkeys(("task", "measure", "encoder", "judge", "by"), NOT_RECORDED)
    assert trained_on(tmp_path) == [unknown]  # nothing says on what
    rewards = [
        {"task": "dat", "scale": 10.0, "embedding_model": "ja-ginza"},
        {"task": "jcq", "path": "a.b", "judge": {"model": "j"}},
        {"task": "sentences", "measure": "sentences/usable"},
    ]
    config = {"settings": {"rewards": rewards}, "loaded": {"model_sha256": None}}
    paid = [
        {
            "task": "dat",
            "measure": "dat",
            "encoder": "ja-ginza",
            "judge": None,
            "by": "grpo",
        },
        {"task": "jcq", "measure": "a.b", "encoder": None, "judge": "j", "by": "grpo"},
        {
            "task": "sentences",
            "measure": "sentences/usable",
            "encoder": None,
            "judge": None,
            "by": "grpo",
        },
    ]
    # Before, only what GRPO paid for was written, and nothing of a folder from which it started.
    for start, known in ((None, paid), ("0" * 64, [unknown, *paid])):
        config["loaded"]["model_sha256"] = start
        (tmp_path / "run_config.json").write_text(json.dumps(config), "utf-8")
        assert trained_on(tmp_path) == trained_on(tmp_path / "checkpoint-8") == known
    (tmp_path / "run_config.json").write_text(
        json.dumps(config | {"trained_on": paid[:1]}), "utf-8"
    )
    assert trained_on(tmp_path) == trained_on(tmp_path / "checkpoint-8") == paid[:1]
    (tmp_path / "sozo_state.json").unlink()
    assert (
        trained_on(tmp_path) == paid[:1]
    )  # a merged or a cut model has the record alone
    (tmp_path / "run_config.json").unlink()
    assert trained_on(tmp_path) == []
