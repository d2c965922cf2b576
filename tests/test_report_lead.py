"""What a page of the report begins with: the answer in a sentence and a picture for each task."""

import json
import re
from datetime import UTC, datetime

import pytest

from sozo.data.study_folder import StudyFolder, StudyRow, write_study
from sozo.eval.cli import compare
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.report.labels import labels
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


def test_the_page_leads_with_the_answer_and_a_sorted_picture(three, tmp_path):
    page = page_of(three, tmp_path, base="base")
    before_tables = page.split("<table>", 1)[0]
    text = english_text(before_tables)
    number = r"\+0\.29 \[\+0\.\d\d, \+0\.\d\d\] \(95%\), p < 0\.001"
    assert re.search(
        rf"better: no difference shown to hold\. JCQ, 35 trial questions, by judge-a: higher, {number}; "
        "not shown to keep: .* cannot be said from 35",
        text,
    )
    assert re.search(r"worse: no difference shown to hold\. JCQ, 35 .*: lower, −0\.29 .* p < 0\.001", text)
    assert "Of 2 compared with their base: 1 higher, a bound not shown to hold, 1 lower." in text
    rows = re.findall(
        r'<span class="name">([^<]+)<small>.*?class="number ([a-z ]*)">([^<]+)<', before_tables, re.DOTALL
    )
    assert rows == [("better", "", "+0.29"), ("worse", "", "−0.29")]
    assert "Which differ" in text
    assert "trained" not in text.split("At a glance")[0]


def test_nobody_is_said_to_be_best(three, tmp_path):
    text = english_text(page_of(three, tmp_path, base="better").split("<table>", 1)[0])
    assert "Of 2 compared with their base: 2 lower." in text
    assert "best" not in text


def test_one_model_leads_with_its_mean(three, tmp_path):
    page = page_of(three / "better", tmp_path)
    assert re.search(
        r"better has 3\.\d\d \(\[\d\.\d\d, \d\.\d\d\], 35 of 35\); this page has no other model", english_text(page)
    )
    assert 'class="gains"' in page


def test_nothing_scored_says_so_and_there_is_no_picture(tmp_path):
    jcq_run(tmp_path / "a", "a", str, lambda q: None)
    page = page_of(tmp_path / "a", tmp_path)
    assert "No answer has a score (a: 0 of 35: 35 refused)." in english_text(page)
    assert 'class="gains"' not in page
    assert not re.search(r"<td[^>]*>–", page.split('id="packed"')[0])  # no table of dashes


def test_lists_of_nouns_are_rows_and_no_contestants(tmp_path):
    for seed, (name, model) in enumerate({"base": "m", "trained": "n", "random": "random", "top": "frontier"}.items()):
        dat_run(tmp_path / name, name, seed=seed)
        config = json.loads((tmp_path / name / "config.json").read_bytes())
        config["settings"]["model"] = model
        (tmp_path / name / "config.json").write_text(json.dumps(config), "utf-8")
    page = page_of(tmp_path, tmp_path, base="base")
    sentence = english_text(page.split('<p class="answer">', 1)[1].split("</p>", 1)[0])
    assert re.match(r"trained: no difference shown\. DAT, by ja-ginza: ", sentence)
    picture = page.split('<ol class="gains"', 1)[1].split("</ol>", 1)[0]
    assert {"trained", "random", "top"} <= set(re.findall(r'<span class="name">([^<]+)<', picture))
    only = page_of(tmp_path / "random", tmp_path)
    assert "There is no model here: random are lists" in english_text(only.split("<table>", 1)[0])


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
        assert page.count(f"<small>n = {size:,}</small>") == 2
    assert page.count("lists that are as random as they can be</tspan>") == 1
    assert f"No frontier of {sizes['small']} lists by this encoder was found beside the runs" in page
    assert f"No frontier of {sizes['large']} lists" not in page


def test_a_box_says_what_the_numbers_rest_on(three, tmp_path):
    page = page_of(three, tmp_path, base="base")
    facts = english_text(page.split('<dl class="facts card">', 1)[1].split("</dl>", 1)[0])
    date = datetime.now(UTC).date().isoformat()
    assert facts.startswith(f"This page{date}")
    assert re.search(r"git [0-9a-f]{12}", facts)
    assert f"Runs started{date}" in facts
    assert "Judgebackend openai, model judge-a" in facts
    assert "JCQ: cost of judging" in facts


def test_models_are_named_with_revisions_and_how_they_were_asked(tmp_path):
    dat_run(tmp_path / "a", "a", seed=0)
    path = tmp_path / "a" / "config.json"
    config = json.loads(path.read_bytes())
    config["settings"] |= {"model": "/home/me/org/name", "temperature": 0.7, "max_new_tokens": 99, "seed": 3}
    config["loaded"] |= {"model_sha256": "0123456789abcdef"}
    path.write_text(json.dumps(config), "utf-8")
    facts = english_text(page_of(tmp_path, tmp_path).split('<dl class="facts card">', 1)[1])
    assert "name, sha256 0123456789ab (a)" in facts
    assert "/home/me" not in facts
    assert "dat: temperature 0.7, max_new_tokens 99, seed 3" in facts


def test_the_papers_models_are_rows_when_they_are_asked_for(three, tmp_path):
    plain = page_of(three, tmp_path, base="base")
    assert "(paper)" not in plain
    page = page_of(three, tmp_path, base="base", with_published=True)
    table = {row[0]: row for row in cells_of(page, labels()["table12"][0])}
    (gpt,) = [row for name, row in table.items() if name.startswith("GPT-4o (paper)")]
    assert gpt[0] == "GPT-4o (paper) other encoder, judge"
    assert gpt[1:6] == ["4.10", "4.28", "2.73", "3.47", "3.64"]
    # Trained models against their own base, as the paper prints them: JCQ's mean of GRPO minus that of the base.
    answer = english_text(page.split('id="answer"', 1)[1].split("</section>", 1)[0])
    assert re.search(r"Swallow-8B, GRPO \(paper\): JCQ: −0\.01, of which nothing can be said", answer)
    assert "GPT-4o" not in answer
    assert "(paper)" not in page.split('<ol class="gains"', 1)[1].split("</ol>", 1)[0]


def test_a_caveat_stands_wherever_its_number_does(three, tmp_path, capsys):
    page = english_text(page_of(three, tmp_path, base="base"))
    trial = "JCQ, 35 trial questions, by judge-a"
    tables = tmp_path / "r-tables"
    assert trial in page.split("At a glance")[-1]
    for name in ("overview", "changes"):
        assert trial in (tables / f"{name}.csv").read_text("utf-8-sig").splitlines()[0]
        assert trial in (tables / f"{name}.tex").read_text("utf-8")
    assert (
        f"\\caption{{JCQ by criterion (the paper's Tables 3 and 12). {trial}." in (tables / "table12.tex").read_text()
    )
    lines = (tables / "table12.csv").read_text("utf-8-sig").splitlines()
    assert lines[0].endswith('"of"')
    assert all(line.endswith(f'"{trial}"') for line in lines[1:])
    compare([str(three)], "base")
    printed = capsys.readouterr().out
    assert f"({trial})" in " ".join(printed.split())
    assert f"better: no difference shown to hold. {trial}: higher" in printed
    assert "the paper's trainings gained" not in page


def test_answers_cut_off_stand_beside_their_models_number_alone(tmp_path):
    for name, ends in (("base", "。"), ("cut", "</think")):
        jcq_run(tmp_path / name, name, lambda q, ends=ends: f"<think>{q.id}{ends}", lambda q: (3, 3, 3, 3))
    config = tmp_path / "cut" / "metrics.json"
    metrics = json.loads(config.read_bytes())
    metrics["answer_states"] = {"whole": 20, "truncated": 15}
    config.write_text(json.dumps(metrics), "utf-8")
    page = english_text(page_of(tmp_path, tmp_path, base="base"))
    overview = next(row for row in cells_of((tmp_path / "r.html").read_text("utf-8"), "At a glance") if row[0] == "cut")
    assert overview[-1].endswith("15 of 35 answers cut off")
    assert "cut: no difference shown. JCQ, 35 trial questions, by judge-a, 15 of 35 answers cut off" in page
    csv = (tmp_path / "r-tables" / "overview.csv").read_text("utf-8-sig").splitlines()
    assert csv[1:] == ['"base",3.0,35,35,""', '"cut",3.0,35,35,"15 of 35 answers cut off"']
