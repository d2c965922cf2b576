"""`sozo report`: what stands in the page, and that what a model wrote stays text."""

import base64
import gzip
import html
import json
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import warm
from pages import cells_of, english_text, read_packed
from sozo.data.study_folder import StudyFolder, StudyRow, write_study
from sozo.eval.compare import compare_models
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.report.labels import labels, translate_chart
from sozo.eval.report.reader import chunks
from sozo.tasks import TASKS
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.sat.stories import load_stories
from whole_runs import dat_run, jcq_run, sat_run

ROOT = Path(__file__).parents[2]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
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


def report(folder, *words):
    command = [sys.executable, "-m", "sozo", "report", *words]
    return warm.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT / "src")})


def test_the_page_says_what_the_runs_say(runs, tmp_path):
    done = report(
        tmp_path,
        runs / "before",
        runs / "after",
        "--output",
        "r.html",
        "--title",
        "<題>",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("r.html (")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "<h1>&lt;題&gt;</h1>" in page
    criteria = cells_of(page, labels()["table12"][0])
    assert criteria[0] == [
        "Model",
        "Fluency",
        "Flexibility",
        "Originality",
        "Elaboration",
        "Score",
        "Complete answers",
    ]
    scores = [
        "4.00 35 of 35",
        "3.00 35 of 35",
        "2.00 35 of 35",
        "3.00 35 of 35",
        "3.00 35 of 35",
    ]
    assert criteria[1] == ["before", *scores, "100.0% [90.0, 100.0] 35 of 35"]
    assert (
        criteria[2][3] == "3.00 34 of 35 +1.00"
    )  # all differences are 1: there is no interval of them
    assert criteria[2][:2] == ["after against before", "4.00 34 of 35 +0.00"]
    overview = cells_of(page)
    assert overview[0][:4] == [
        "Model",
        "DAT score",
        "DAT usable",
        "DAT different words",
    ]
    assert "JCQ score" in overview[0]
    assert "DAT, by ja-ginza; JCQ, 35 trial questions, by judge-a" in english_text(page)
    changed = cells_of(page, "JCQ: differences")
    assert changed[0][:3] == ["Model", "score", "with a score"]
    assert changed[1][0] == "after against before"
    assert "34 of 35" in changed[1][1]
    dat = cells_of(page, labels()["table11"][0])
    summary = find_evaluated([str(runs / "before")])[0].run("dat").summary
    assert 20 < summary.usable <= 36
    assert dat[1][1] == "40"
    assert re.fullmatch(
        rf"{summary.usable / 40:.1%} \[\d\d\.\d, \d\d\.\d\] {summary.usable} of 40",
        dat[1][2],
    )
    assert "d = " in cells_of(page, "DAT: differences")[1][1]
    sat = cells_of(page, labels()["table14"][0])
    assert "113 of 113" in sat[1][1]
    assert "0.527" in page  # GPT-4o's DAT score of the paper
    numbers = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert [(run["model"], run["run"]) for run in numbers["runs"]][:3] == [
        *(("before", kind) for kind in ("answers", "jcq", "sat"))
    ]
    rows = numbers["findings"]
    (original,) = [
        row
        for row in rows
        if row["measure"] == "jcq/originality" and row["kind"] == "difference"
    ]
    told = [original[name] for name in ("base", "value", "n", "of", "state", "reason")]
    assert told == [
        "before",
        1.0,
        34,
        35,
        "no interval",
        "all 34 differences are equal",
    ]
    for language in (0, 1):
        assert html.escape(labels()["sat_note"][language]) in page
    japanese = re.sub(r'<span lang="en">.*?</span>', "", page)
    assert "採点あり 34" in japanese
    assert not re.search(r"\d of \d|with a score|tokens in", japanese)
    title = report(
        tmp_path, runs / "before", "--output", "t.html", "--title", "overview"
    )  # a label's name is no label
    assert (
        title.returncode,
        "<h1>overview</h1>" in (tmp_path / "t.html").read_text("utf-8"),
    ) == (0, True)


def test_every_answer_can_be_read(runs):
    (chunk,) = chunks(
        find_evaluated([str(runs / "before"), str(runs / "after")]), TASKS, 10**9
    )
    held = json.loads(gzip.decompress(base64.b64decode(chunk)))
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


def test_what_is_too_much_for_a_page_goes_on_the_next(runs, tmp_path):
    models = find_evaluated([str(runs)])
    pages = write_evaluation(tmp_path / "r.html", models, most_bytes=8000)
    assert [page.name for page in pages[:2]] == ["r.html", "r-2.html"]
    held = [read_packed(page.read_text("utf-8"))["items"] for page in pages]
    assert sum(map(len, held)) == 35 + 113 + 1
    assert all(
        len(items) == 1 or page.stat().st_size < 60_000
        for page, items in zip(pages[1:], held[1:], strict=True)
    )
    for page in pages:
        assert all(
            f'href="{other.name}"' in page.read_text("utf-8")
            for other in pages
            if other != page
        )
    assert 'id="reader"' in pages[1].read_text("utf-8")
    assert 'id="answer"' not in pages[1].read_text("utf-8")


def test_numbers_of_different_judges_are_not_subtracted(runs, tmp_path):
    jcq_run(
        tmp_path / "other",
        "other",
        lambda q: "答え",
        lambda q: (5, 5, 5, 5),
        judge="judge-b",
    )
    models = find_evaluated([str(runs / "before"), str(tmp_path / "other")])
    write_evaluation(tmp_path / "r.html", models)
    page = (tmp_path / "r.html").read_text("utf-8")
    first = english_text(page.split('id="answer"', 1)[1].split("</section>", 1)[0])
    assert "(scored by judge-b, before by judge-a)" in first
    assert "DAT score by ja-ginza" in first
    assert "(other has no run of it)" in first
    # What no judge decides is compared, and the rest is a line that says why: no dashes.
    heading, row = cells_of(page, "JCQ: differences")
    assert heading == ["Model", "complete"]
    assert row[1].startswith("+0.0 points [")
    lines = english_text(
        page.split('id="section-jcq-differences"', 1)[1].split("</details>", 1)[0]
    )
    assert re.search(
        r"no values: score, with a score, .*\(scored by judge-b, before by judge-a\)",
        lines,
    )
    assert 'id="section-dat-differences"' not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere",), "nowhere: no such folder"),
        ((".",), "holds no finished run"),
        (("{runs}", "--base", "x"), "there is no model x; there are"),
        (("{runs}/before/jcq", "{runs}/before"), "two runs of one kind"),
    ],
)
def test_mistakes_are_one_line(runs, words, message, tmp_path):
    done = report(tmp_path, *(word.replace("{runs}", str(runs)) for word in words))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_name_for_a_folder(runs):
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
    assert [(model.method, model.paper_model) for model in models[:2]] == [
        ("base", "Swallow-8B"),
        ("GRPO", "Swallow-8B"),
    ]
    assert [model.run("sat") is not None for model in models] == [
        False,
        True,
        False,
        True,
    ]
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


def test_chart_texts_come_in_both_languages():
    svg = translate_chart(
        "<svg><text x='1'>DAT score</text><text>&lt;DAT score</text></svg>"
    )
    assert svg.count("<tspan") == 2
    assert "<text>&lt;DAT score</text>" in svg


class Recorder(BaseHTTPRequestHandler):
    """Notes every request and answers none."""

    seen: list

    def handle(self):
        self.seen.append(self.rfile.readline())


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_what_a_model_wrote_runs_nothing_and_fetches_nothing(tmp_path):
    Recorder.seen = []
    server = HTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hit"
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
    words = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    )
    words += (
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=5000",
        "--dump-dom",
    )
    command = [CHROMIUM, *words, (tmp_path / "r.html").as_uri()]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    )
    server.shutdown()
    assert "<title>safe&lt;/script&gt;" in done.stdout
    assert "<title>hacked" not in done.stdout
    shown = done.stdout.split('id="answers"', 1)[1]
    assert html.escape(attack, quote=False) in shown  # as text, whole
    assert long in shown
    assert Recorder.seen == []
