"""What a page of the report begins with: a question, one table, a word for each model."""

import json
import re
import shutil
from datetime import UTC, datetime

import pytest

from sozo.data.record import provenance
from sozo.data.study_folder import StudyFolder, StudyRow, write_study
from sozo.eval.cli import compare
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.models.trained_on import NOT_RECORDED, trained_on
from sozo.tasks.jcq.questions import trial_questions
from test_evaluation_page import cells_of, english_text
from whole_runs import dat_run, jcq_run

QUESTIONS = trial_questions()


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """JCQ of a base, of a model that is better everywhere but by chance, and of one that is worse."""
    folder = tmp_path_factory.mktemp("three")
    for name, gain in (("base", 0), ("worse", -1), ("better", 1)):
        jcq_run(folder / name, name, str, lambda q, gain=gain: _scores(q, gain))
    return folder


def _scores(question, gain):
    if gain and QUESTIONS.index(question) % 7 == 0:
        gain = 2 * gain  # differences that are all equal have no interval
    return (3 + gain, 3, 3, 3)


def page_of(folder, tmp_path, **options):
    write_evaluation(tmp_path / "r.html", find_evaluated([str(folder)]), **options)
    return (tmp_path / "r.html").read_text("utf-8")


def first_of(page):
    """What an English reader sees of the first screen."""
    return english_text(page.split('id="answer">', 1)[1].split("</section>", 1)[0])


def overview(page):
    """The overview's rows by their names."""
    return {row[0]: row[1:] for row in cells_of(page)}


def test_the_first_screen_has_question_overview_and_a_word_for_each(three, tmp_path):
    page = page_of(three, tmp_path, base="base")
    text = first_of(page)
    assert text.startswith("Which differ? JCQ improved in some models; JCQ got worse in some models.")
    assert overview(page) == {
        "Model": ["JCQ, 35 trial questions, by judge-a"],
        "base": ["3.00"],
        "better": ["▲ 3.29 [3.25, 3.32]"],
        "worse": ["▼ 2.71 [2.68, 2.75]"],
    }
    assert "▲ higher, ▼ lower than base: the 95% interval of the difference" in text
    for name, number in (("better", "+0.29"), ("worse", "−0.29")):
        assert (
            f"{name}: no difference shown to hold: JCQ, 35 trial questions, by judge-a {number}; "
            "not shown to hold: answers with a score, whole answers." in text
        )
    assert "Not run: DAT, SAT, SIPeN controls, Ideas (PBIG)." in text
    assert "One training each" not in text  # nothing says that they were trained
    answers = page.split('class="samples"', 1)[1].split("</dl>", 1)[0]
    assert answers.count("<dd ") == 6


def test_compare_prints_what_the_page_shows(three, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    page = page_of(three, tmp_path, base="base")
    compare([str(three)], "base")
    printed = " ".join(capsys.readouterr().out.split())
    prose = [english_text(text) for text in re.findall(r'<p class="(?:question|answer)">(.*?)</p>', page, re.DOTALL)]
    assert len(prose) == 3
    assert not [text for text in prose if text not in printed]
    for title in ("", "JCQ: differences"):
        numbers = {number for row in cells_of(page, title)[1:] for cell in row[1:] for number in cell.split()}
        assert not [number for number in numbers if number not in printed]


def test_means_intervals_and_p_stand_in_tables_only(three, tmp_path):
    page = page_of(three, tmp_path, base="base")
    prose = english_text(re.sub(r"<table>.*?</table>", "", page.split('id="packed"')[0], flags=re.DOTALL))
    first = prose.split("Which differ?")[1].split("All columns")[0]
    assert not re.search(r"\[[+−]?\d|p [<=]|3\.29", first)
    assert "Which differ? JCQ improved" in prose
    assert not re.search(r"\d", first.split("Two answers")[0].split("▲ higher")[0])
    rows = {row[0].partition(" from ")[0]: row[1:] for row in cells_of(page, "JCQ: differences")}
    number = r"\+0\.29 \* \[\+0\.\d\d, \+0\.\d\d\] 35 of 35 p < 0\.001 d = \+\d\.\d\d"
    assert re.fullmatch(number, rows["better"][0])
    assert (
        rows["better"][1]
        == "+0.00 pp [−7.86, +7.86 pp] 35 of 35 p = 1.000 not shown 35 of 35 → 35 of 35 cannot be said from 35"
    )


def test_nobody_is_said_to_be_best(three, tmp_path):
    text = first_of(page_of(three, tmp_path, base="better"))
    assert "no gain is shown; JCQ got worse in all models." in text
    assert "best" not in text


def test_one_model_has_its_row_and_nothing_to_compare_with(three, tmp_path):
    page = page_of(three / "better", tmp_path)
    assert overview(page)["better"] == ["3.29 [3.25, 3.32]"]
    assert first_of(page).startswith("Which differ? Nothing here was compared with a base.")
    assert "section-all_differences" not in page
    assert "▲" not in page.split('id="section-all_columns"')[0].split("<body>")[1]


def test_nothing_scored_says_so(tmp_path):
    jcq_run(tmp_path / "a", "a", str, lambda q: None)
    page = page_of(tmp_path / "a", tmp_path)
    assert "JCQ, 35 trial questions, by judge-a (0 of 35: 35 refused)" in first_of(page)
    assert not re.search(r"<td[^>]*>–", page.split('id="packed"')[0])  # no table of dashes


def test_lists_of_nouns_are_rows_and_no_contestants(tmp_path):
    for seed, (name, model) in enumerate({"base": "m", "trained": "n", "random": "random", "top": "frontier"}.items()):
        dat_run(tmp_path / name, name, seed=seed)
        config = json.loads((tmp_path / name / "config.json").read_bytes())
        config["settings"]["model"] = model
        (tmp_path / name / "config.json").write_text(json.dumps(config), "utf-8")
    page = page_of(tmp_path, tmp_path, base="base")
    words = re.findall(r'<p class="answer"><strong>([^<]+)</strong>', page)
    assert words == ["trained"]
    assert {"base", "trained", "random", "top"} <= overview(page).keys()
    assert {"random from base", "top from base"} <= {row[0] for row in cells_of(page, "DAT: differences")}


def test_of_many_models_words_are_counted_and_stand_in_the_table(tmp_path):
    for k in range(8):
        jcq_run(tmp_path / f"m{k}", f"m{k}", str, lambda q, k=k: _scores(q, int(k > 4)))
    page = page_of(tmp_path, tmp_path, base="m0")
    assert "7 models: 4 no difference shown, 3 no difference shown to hold." in first_of(page)
    rows = overview(page)
    assert (rows["m1"][-1], rows["m7"][-1]) == ("no difference shown", "no difference shown to hold")
    assert 'class="samples"' not in page


def test_a_target_is_called_target_wherever_its_number_stands(three, tmp_path):
    shutil.copytree(three, tmp_path / "runs")
    path = tmp_path / "runs" / "better" / "config.json"
    config = json.loads(path.read_bytes())
    config["loaded"] |= {"model_trained": True, "trained_on": ["jcq"]}
    path.write_text(json.dumps(config), "utf-8")
    page = page_of(tmp_path / "runs", tmp_path, base="base")
    assert overview(page)["better"] == ["▲ 3.29 [3.25, 3.32] target"]
    assert overview(page)["worse"] == ["▼ 2.71 [2.68, 2.75]"]
    text = first_of(page)
    assert "JCQ (the target) improved in some models" in text
    assert "JCQ, 35 trial questions, by judge-a +0.29 (the target)" in text
    assert "target: trained on it, so a gain is no evidence" in text


def test_unique_words_are_rarefied_within_a_study_and_meet_a_frontier_of_as_many_lists(tmp_path):
    for study, bad in (("small", 28), ("large", 10)):
        folder = tmp_path / study
        dat_run(folder / "base", "base", seed=1, n=40, bad=bad)
        dat_run(folder / "GRPO", "GRPO", seed=2, n=40, bad=0)
        write_study(folder, StudyFolder(study, None, {n: StudyRow("m", folder / n) for n in ("base", "GRPO")}))
    models = {model.name: model for model in find_evaluated([str(tmp_path)])}
    sizes = {study: models[f"{study}/base"].run("dat").summary.valid for study in ("small", "large")}
    assert sizes["small"] < sizes["large"]
    at = {"mean": 0.9, "unique_words": 90.0, "perplexity": 80.0}
    facts = {"lists": sizes["large"], "embedding_model": "ja-ginza", "rows": [{"free": at}] * 2}
    (tmp_path / "large" / "frontier").mkdir()
    (tmp_path / "large" / "frontier" / "frontier.json").write_text(json.dumps(facts), "utf-8")
    page = page_of(tmp_path, tmp_path)
    for study, size in sizes.items():
        assert f"{study}, n = {size:,}" in page
        assert page.count(f"<small>n = {size:,}</small>") == 4  # two models, in their table and among all columns
    assert page.count("lists that are as random as they can be</tspan>") == 1
    assert f"No frontier of {sizes['small']} lists by this encoder was found beside the runs" in page
    assert f"No frontier of {sizes['large']} lists" not in page


def facts_of(page, task):
    """What was run: heading -> what stands below it for the first model."""
    heading, row, *_ = cells_of(page, f"{task}: what was run")
    return dict(zip(heading, row, strict=True))


def test_a_table_says_what_the_numbers_rest_on(three, tmp_path):
    page = page_of(three, tmp_path, base="base")
    facts = facts_of(page, "JCQ")
    assert facts["Runs started"] == datetime.now(UTC).date().isoformat()
    of_a_commit = provenance()["git_commit"]  # an installed package is of none
    assert re.fullmatch(r"git [0-9a-f]{12}(-dirty)?" if of_a_commit else "git –", facts["Runs' code"])
    assert facts["Judge"].startswith("backend openai, model judge-a")
    assert "JCQ: cost of judging" in facts


def test_models_are_named_with_revisions_and_how_they_were_asked(tmp_path):
    dat_run(tmp_path / "a", "a", seed=0)
    path = tmp_path / "a" / "config.json"
    config = json.loads(path.read_bytes())
    config["settings"] |= {"model": "/home/me/org/name", "temperature": 0.7, "max_new_tokens": 99, "seed": 3}
    config["loaded"] |= {"model_sha256": "0123456789abcdef"}
    path.write_text(json.dumps(config), "utf-8")
    page = page_of(tmp_path, tmp_path)
    facts = facts_of(page, "DAT")
    assert facts["Models and revisions"] == "name, sha256 0123456789ab"
    assert "/home/me" not in page
    assert [facts[name] for name in ("temperature", "max_new_tokens", "seed")] == ["0.7", "99", "3"]


def test_a_caveat_stands_wherever_its_number_does(three, tmp_path, capsys):
    page = english_text(page_of(three, tmp_path, base="base"))
    trial = "JCQ, 35 trial questions, by judge-a"
    tables = tmp_path / "r-tables"
    for name in ("overview", "jcq-differences"):
        assert trial in (tables / f"{name}.csv").read_text("utf-8-sig").splitlines()[0]
        assert trial in (tables / f"{name}.tex").read_text("utf-8")
    assert f"JCQ by criterion (the paper's Tables 3 and 12). {trial}." in (tables / "table12.tex").read_text("utf-8")
    lines = (tables / "table12.csv").read_text("utf-8-sig").splitlines()
    assert lines[0].endswith(",of")
    assert all(line.endswith(f'"{trial}"') for line in lines[1:])
    compare([str(three)], "base")
    printed = capsys.readouterr().out
    assert f"({trial})" in " ".join(printed.split())
    assert f"better: no difference shown to hold: {trial} +0.29" in " ".join(printed.split())
    assert f"{trial} +0.29" in page


def test_answers_cut_off_stand_beside_their_models_number_alone(tmp_path):
    for name, cut in (("base", 0), ("cut", 15)):
        ends = iter(["" if k < cut else "</think>案" for k in range(35)])
        jcq_run(tmp_path / name, name, lambda q, ends=ends: f"<think>{q.id}{next(ends)}", lambda q: (3, 3, 3, 3))
    page = english_text(page_of(tmp_path, tmp_path, base="base"))
    row = next(row for row in cells_of((tmp_path / "r.html").read_text("utf-8")) if row[0] == "cut")
    assert row[1:] == ["3.00 15 of 35 answers cut off", "▼ 57.14%"]
    assert "cut: behind: whole answers −42.86 pp." in page
    csv = (tmp_path / "r-tables" / "overview.csv").read_text("utf-8-sig").splitlines()
    assert csv[1].startswith("base,")
    assert csv[2].startswith("cut,3.0,35,35,15 of 35 answers cut off,")


def test_what_a_model_was_trained_on_is_read_from_its_folder(tmp_path):
    for folder in (tmp_path, tmp_path / "checkpoint-8"):
        folder.mkdir(exist_ok=True)
        (folder / "sozo_state.json").write_text("{}", "utf-8")
    unknown = dict.fromkeys(("task", "measure", "encoder", "judge", "by"), NOT_RECORDED)
    assert trained_on(tmp_path) == [unknown]  # nothing says on what
    rewards = [
        {"task": "dat", "scale": 10.0, "embedding_model": "ja-ginza"},
        {"task": "jcq", "path": "a.b", "judge": {"model": "j"}},
        {"task": "cue_dat", "measure": "cue_dat/valid"},
    ]
    config = {"settings": {"rewards": rewards}, "loaded": {"model_sha256": None}}
    paid = [
        {"task": "dat", "measure": "dat", "encoder": "ja-ginza", "judge": None, "by": "grpo"},
        {"task": "jcq", "measure": "a.b", "encoder": None, "judge": "j", "by": "grpo"},
        {"task": "cue_dat", "measure": "cue_dat/valid", "encoder": None, "judge": None, "by": "grpo"},
    ]
    # Before, only what GRPO paid for was written, and nothing of a folder from which it started.
    for start, known in ((None, paid), ("0" * 64, [unknown, *paid])):
        config["loaded"]["model_sha256"] = start
        (tmp_path / "run_config.json").write_text(json.dumps(config), "utf-8")
        assert trained_on(tmp_path) == trained_on(tmp_path / "checkpoint-8") == known
    (tmp_path / "run_config.json").write_text(json.dumps(config | {"trained_on": paid[:1]}), "utf-8")
    assert trained_on(tmp_path) == trained_on(tmp_path / "checkpoint-8") == paid[:1]
    (tmp_path / "sozo_state.json").unlink()
    assert trained_on(tmp_path) == paid[:1]  # a merged or a cut model has the record alone
    (tmp_path / "run_config.json").unlink()
    assert trained_on(tmp_path) == []
