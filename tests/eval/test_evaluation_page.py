"""`sozo report`: what stands in the page, and that what a model wrote stays text."""

import base64
import csv
import gzip
import json
import re

import pytest

from browser import CHROMIUM, Browser
from command_line import sozo
from finished_runs import dat_run, jcq_run, sat_run
from http_server import wait_until
from pages import cells_of
from sentences import refused
from sozo.data.study_folder import StudyFolder, StudyRow, write_study
from sozo.eval.compare import compare_models
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.report.labels import labels
from sozo.eval.report.reader import pack
from sozo.tasks import TASKS
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.sat.stories import load_stories

QUESTIONS, STORIES = trial_questions(), load_stories()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two models; the second is more original by 1 everywhere, and its first answer was refused."""
    folder = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(("before", "after")):
        jcq_run(
            folder / name / "jcq",
            name,
            lambda q, name=name: f"{name}の{q.id}への答え",
            lambda q, n=number: None if n and q == QUESTIONS[0] else (4, 3, 2 + n, 3),
        )
        sat_run(
            folder / name / "sat",
            name,
            lambda s, n=number: s.text[n * 40 :] + "現代の東京。" * (1 + 9 * n),
        )
        dat_run(folder / name / "dat", name, seed=number)
    return folder


def test_the_command_writes_a_page_and_its_numbers(runs, tmp_path):
    """What pages say of runs is frozen (tests/frozen)."""
    words = ("report", runs / "before", runs / "after", "--output", "r.html")
    done = sozo(tmp_path, *words, "--title", "<題>")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "r.html\n"
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "<h1>&lt;題&gt;</h1>" in page
    rows = (tmp_path / "r-tables" / "findings.csv").read_text("utf-8-sig")
    assert {row["task"] for row in csv.DictReader(rows.splitlines())} >= {"jcq", "sat"}
    japanese = re.sub(r'<span lang="en">.*?</span>', "", page)
    assert not re.search(r"\d of \d|with a score|tokens in", japanese)
    # A label's name is no label.
    models = find_evaluated([str(runs / "before")])
    write_evaluation(tmp_path / "t.html", models, title="overview")
    assert "<h1>overview</h1>" in (tmp_path / "t.html").read_text("utf-8")


def test_every_answer_can_be_read(runs):
    models = find_evaluated([str(runs / "before"), str(runs / "after")])
    packed = pack(models, TASKS, 10**9)
    held = json.loads(gzip.decompress(base64.b64decode(packed.text)))
    assert held["models"] == ["before", "after"]
    kinds = [item["kind"] for item in held["items"]]
    assert (kinds.count("jcq"), kinds.count("sat"), kinds.count("dat")) == (35, 113, 1)
    first = held["items"][0]
    assert first["text"] == QUESTIONS[0].question
    assert [entry[0]["text"] for entry in first["entries"]] == [
        f"{n}の{QUESTIONS[0].id}への答え" for n in ("before", "after")
    ]
    assert first["entries"][0][0]["score"] == 3
    assert (first["entries"][1][0]["score"], first["entries"][1][0]["status"]) == (
        None,
        "refused",
    )
    answers = held["items"][-1]["entries"]
    assert [len(rows) for rows in answers] == [20, 20]
    assert answers[0][0]["status"] == "format"
    part = pack(models, TASKS, 8000)
    assert len(part.text) <= 8000
    assert 1 < part.items < part.of == packed.items == 35 + 113 + 1


def test_a_name_for_a_folder(runs):
    with refused("report: two runs of one kind"):
        find_evaluated([str(runs / "before" / "jcq"), str(runs / "before")])
    models = find_evaluated([f"a={runs / 'before'}", f"b={runs}"])
    assert [model.name for model in models] == ["a", "b/before", "b/after"]


def test_a_study_fills_the_papers_tables_each_row_from_its_own_base(tmp_path):
    for seed, study in enumerate(("one", "two")):
        folder = tmp_path / study
        dat_run(folder / "base", "base-step", seed=seed, n=30, bad=10)
        dat_run(folder / "grpo-sample", "grpo-step", seed=seed + 10, n=30, bad=0)
        sat_run(folder / "eval" / "GRPO" / "sat", "GRPO", lambda s: s.text[::-1])
        rows = {
            "base": StudyRow("m", folder / "base"),
            "GRPO": StudyRow(str(folder / "grpo"), folder / "grpo-sample"),
        }
        write_study(folder, StudyFolder(study, "Swallow-8B", rows))
    models = find_evaluated([str(tmp_path)])
    assert [model.name for model in models] == [
        "one/base",
        "one/GRPO",
        "two/base",
        "two/GRPO",
    ]
    assert {model.paper_model for model in models} == {"Swallow-8B"}
    pairs = [(base.name, model.name) for base, model in compare_models(models).pairs]
    assert pairs == [("one/base", "one/GRPO"), ("two/base", "two/GRPO")]
    write_evaluation(tmp_path / "r.html", models)
    page = (tmp_path / "r.html").read_text("utf-8")
    dat = cells_of(page, labels()["table11"][0])
    assert re.search(
        r"^▲ .* \+\d+\.\d points \[\+.*\]$", dat[2][2]
    )  # more usable than its base, with interval
    below = r"<th[^>]*>Swallow-8B</th>\s*<td[^>]*>base</td>\s*<td[^>]*>105401</td>"  # the paper's rows
    assert re.search(below, page)
    assert "Qwen2.5-7B" not in page
    sat = cells_of(page, labels()["table14"][0])
    assert [row[0] for row in sat[1:]] == ["one/GRPO", "two/GRPO"]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_what_a_model_wrote_runs_nothing_and_fetches_nothing(tmp_path):
    url = "http://127.0.0.1:9/hit"
    attack = (
        f"</script></pre><script>document.title='hacked';fetch('{url}')</script>"
        f"<img src='{url}' onerror=\"document.title='hacked'\"><svg onload=\"document.title='hacked'\">"
        f"<link rel=stylesheet href='{url}'><style>@import '{url}'</style><iframe src='{url}'></iframe>"
    )
    long = "長" * 100_000
    source = "<img src=x onerror=document.title='hacked'>"
    jcq_run(
        tmp_path / "a" / "jcq",
        source,
        lambda q: attack + long,
        lambda q: (1, 2, 3, 4),
        judge=attack,
    )
    dat_run(tmp_path / "a" / "dat", source, seed=0)
    write_evaluation(
        tmp_path / "r.html",
        find_evaluated([str(tmp_path / "a")]),
        title="safe" + attack[:40],
    )
    browser = Browser(tmp_path / "profile")
    browser.call("Network.enable")
    browser.open((tmp_path / "r.html").as_uri())
    # As text, whole.
    wait_until(lambda: attack + long in browser.run("byId('answers').textContent"))
    assert browser.run("document.title").startswith("safe</script>")
    asked = {url.partition(":")[0] for url in browser.requests}
    assert asked <= {"about", "file", "data"}
    browser.close()
