"""A number carries its caveats: one is planted at each of eight places of a run, and every printer shows all eight."""

import io
import re
from contextlib import redirect_stdout

import pytest

from finished_runs import jcq_run
from run_files import change_config
from sozo.data.record import read_json, write_json
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report.contents import report_tables
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.report.labels import english, wording
from sozo.eval.report.paper import write_paper
from sozo.eval.terminal import print_tables
from sozo.scoring.table import markdown
from sozo.tasks import finished_run
from sozo.tasks.judge_check import CHECK, judge_key

# Where it is planted: what is said of it.
PLANTED = {
    "the answers' ends": "5 of 35 answers cut at the limit",
    "the answers that came": "2 of 35 answers never came",
    "the check of the judge": "its judge failed: off topic",
    "how answers were drawn": "the best of 4 answers by jcq/mean",
    "who replied to the generator": "judged by the model that wrote",
    "who replied to the judge": "judged by several: 20 judge-a, 15 other",
    "the verdicts": "9 of 30 verdicts in prose and left out",
}
SHARED = {"the questions": "35 trial questions by sozo and not of JCQ"}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("caveats")
    for name in ("base", "m"):
        jcq_run(
            folder / name / "jcq",
            name,
            lambda question: f"傘立て{question.id}",
            lambda question: (3, 3, 3, int(question.id[-2:]) % 5 + 1),
        )
    run = folder / "m" / "jcq"
    metrics = read_json(run / "metrics.json")
    metrics["states"] |= {"complete": 28, "cut": 5, "error": 2}
    metrics["judged_by"] = [
        {"model": "judge-a", "fingerprint": None, "judgements": 20},
        {"model": "other", "fingerprint": None, "judgements": 15},
    ]
    metrics["statuses"]["in_prose"] = 9
    metrics["with_prose"]["n"] = 30
    write_json(run / "metrics.json", metrics)
    change_config(run, "settings", sampling="best-of=4")
    change_config(run, "loaded", decoder={"reply_model": "judge-a"})
    key = judge_key(finished_run(run).settings)
    write_json(run / CHECK, {key: {"failed": ["off topic"]}})
    models = find_evaluated([str(folder)])
    write_evaluation(folder / "r.html", models, base="base")
    write_paper(folder / "paper", [str(folder / "base"), str(folder / "m")])
    return folder, findings(models, "base")


def flat(text):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))


def test_every_printer_shows_all_of_them(report, monkeypatch):
    monkeypatch.setenv("COLUMNS", "600")
    folder, found = report
    tables = [made.table for made in report_tables(found)]
    with redirect_stdout(io.StringIO()) as screen:
        print_tables(tables)
    overview = tables[0]
    printed = {
        "page": (folder / "r.html").read_text("utf-8"),
        "terminal": screen.getvalue(),
        "markdown": markdown(overview, english) + english(overview.scope),
        "CSV": (folder / "r-tables" / "overview.csv").read_text("utf-8-sig"),
        "LaTeX": (folder / "paper" / "scores.tex")
        .read_text("utf-8")
        .replace(r"\allowbreak{}", ""),
    }
    for printer, text in printed.items():
        for place, said in {**PLANTED, **SHARED}.items():
            assert said in flat(text), (printer, place)


def test_in_latex_they_are_the_tables_notes_and_not_its_captions(report):
    folder, _ = report
    for path in (folder / "paper").glob("*.tex"):
        text = path.read_text("utf-8").replace(r"\allowbreak{}", "")
        body = re.sub(r"\\caption.*", "", text)
        assert PLANTED["the verdicts"] in " ".join(body.split()), path.name


def test_they_are_said_in_japanese(report):
    _, found = report
    for row in found.rows:
        for caveat in row.caveats:
            assert re.search("[ぁ-ヿ一-龥]", wording(caveat)[1]), caveat
