"""The form of the pages: tables as files, contents, sorting, widths, the reader's filters and links."""

import csv
import io
import re
from urllib.parse import unquote

import pytest

from browser import CHROMIUM, Browser
from finished_runs import dat_run, jcq_run
from sozo.data.study_folder import StudyFolder, StudyRow, write_study
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.report.exports import csv_file
from sozo.scoring.measure import DIFFERENCE, RATIO, Estimate, Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.table import Cell, Table, TableRow
from sozo.tasks.jcq.questions import trial_questions

SCORE = Measure("a", 2)


def table(*rows, columns=("model", "mean"), **more):
    return Table("table12", columns, tuple(rows), **more)


def read(table):
    return list(csv.reader(io.StringIO(csv_file(table).decode("utf-8-sig"))))


def test_csv_has_a_difference_in_the_unit_of_its_number():
    """A ratio is a ratio, never a logarithm or percent; a difference of shares is from -1 to 1."""
    ratio = Cell(Estimate(2 / 3, 0.5, 0.9), SCORE, RATIO, mark="lower")
    share = Cell(Estimate(-0.25, -0.5, -0.125), SHARE, DIFFERENCE, mark="lower")
    cells = (
        Cell(Estimate(40.0), SCORE, change=ratio),
        Cell(Estimate(0.5), SHARE, change=share),
    )
    (heading, row) = read(
        table(TableRow("m", cells, base="b"), columns=("model", "mean", "usable"))
    )
    named = dict(zip(heading, row, strict=True))
    ends = ("", "_low", "_high")
    assert [named[f"Score ratio{end}"] for end in ends] == [repr(2 / 3), "0.5", "0.9"]
    assert [named[f"Usable difference{end}"] for end in ends] == [
        "-0.25",
        "-0.5",
        "-0.125",
    ]


def test_a_name_in_csv_is_one_line_and_a_number_stays_one():
    heading, row = read(table(TableRow("a\r\n=1", (Cell(-1.5),), base="b")))
    assert (len(heading), row) == (3, ["a  =1", "b", "-1.5"])


NAMES = (
    "tokyotech-llm/Llama-3.1-Swallow-8B-Instruct-v0.5",
    "a_name_with_underscores_that_is_rather_long",
    "桃／太郎",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Three models; of the second one judgement is refused, and one of its answers is empty."""
    folder, questions = tmp_path_factory.mktemp("form"), trial_questions()
    for number, name in enumerate(NAMES):
        jcq_run(
            folder / str(number) / "jcq",
            name,
            lambda q, n=number: "。" if n == 1 and q == questions[1] else f"答え{n}",
            lambda q, n=number: (
                None if n == 1 and q == questions[2] else (1 + n, 2, 3, 4)
            ),
        )
        dat_run(folder / str(number) / "dat", name, seed=number, n=12, bad=2)
    rows = {
        name: StudyRow(name, folder / str(k) / "dat") for k, name in enumerate(NAMES)
    }
    write_study(folder, StudyFolder("form", None, rows))  # so it has Tables 11 to 13
    write_evaluation(folder / "r.html", find_evaluated([str(folder)]))
    return folder / "r.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
    assert browser.errors == []


def test_every_table_lies_beside_the_page(page):
    names = {path.name for path in page.with_name("r-tables").iterdir()}
    tables = page.read_text("utf-8").count("<table>")
    assert len(names - {"findings.csv"}) == len(names) - 1 == tables


def test_the_list_of_contents_leads_to_every_section(page):
    text = page.read_text("utf-8")
    links = re.findall(r'<li><a href="#([^"]+)">', text)
    assert links == re.findall(r'<(?:h2|summary) id="([^"]+)"', text)
    assert len(links) == len(set(links)) == 5


@pytest.mark.parametrize(("width", "language"), [(390, "ja"), (1280, "en")])
def test_only_tables_scroll_and_only_in_their_own_box(page, browser, width, language):
    browser.open(page.as_uri(), width)
    browser.run(f"showLanguage('{language}')")
    assert browser.run("document.documentElement.scrollWidth") == width
    browser.run(
        "for (const part of document.querySelectorAll('details')) part.open = true"
    )
    assert browser.run("document.documentElement.scrollWidth") == width
    browser.run(
        "for (const box of document.querySelectorAll('.scroll')) box.scrollLeft = 1e6"
    )
    lefts = "[...document.querySelectorAll('.scroll')].filter(box => box.offsetWidth).map(box => {left})"
    boxes = browser.run(lefts.format(left="box.getBoundingClientRect().left"))
    heads = browser.run(
        lefts.format(left="box.querySelector('tbody th').getBoundingClientRect().left")
    )
    assert heads == pytest.approx(boxes, abs=1)
    if width == 1280:  # all of JCQ's columns are there
        assert browser.run(
            "[12, 13].every(n => { const b = document.querySelector(`#section-table${n} + .table .scroll`);"
            " return b.scrollWidth === b.clientWidth; })"
        )
    long = "for (const own of document.querySelectorAll('.key > span, tbody th')) own.append('x'.repeat(300))"
    browser.run(long)
    assert browser.run("document.documentElement.scrollWidth") == width


def test_names_break_behind_separators_only(page, browser):
    browser.open(page.as_uri(), 390)
    # Where a name's line ends, letter by letter.
    code = """[...document.querySelectorAll('tbody th, .key, .chips label')].flatMap(cell => {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), ends = [];
      let last = null;
      for (let node; (node = walker.nextNode());) for (let k = 0; k < node.length; k++) {
        const range = document.createRange(); range.setStart(node, k); range.setEnd(node, k + 1);
        const box = range.getBoundingClientRect();
        if (last && box.width && box.top > last.top + 4 && !node.parentElement.closest('small'))
          ends.push(last.letter + node.data[k]);
        if (box.width) last = { top: box.top, letter: node.data[k] };
        else if (last) last.letter = node.data[k]; // a space where a line ends
      }
      return ends;
    })"""
    ends = browser.run(code)
    assert len(ends) > 5
    assert [pair for pair in ends if re.fullmatch(r"[A-Za-z0-9]{2}", pair)] == []


def test_columns_sort_by_keyboard(page, browser):
    browser.open(page.as_uri())
    table = "document.querySelector('#section-table12 + .table table')"
    column = f"[...{table}.tBodies[0].rows].map(row => row.cells[1].firstChild.data)"
    before = browser.run(column)
    browser.run(f"{table}.querySelectorAll('thead button')[1].focus()")
    for order, values in (
        ("descending", ["3.00", "2.00", "1.00"]),
        ("ascending", ["1.00", "2.00", "3.00"]),
        ("none", before),
    ):
        browser.press_enter()
        assert (
            browser.run(f"{table}.tHead.rows[0].cells[1].getAttribute('aria-sort')")
            == order
        )
        assert browser.run(column) == values


def test_the_page_is_complete_without_a_script(page, browser):
    browser.open(page.as_uri(), script=False)
    assert browser.run("document.querySelectorAll('thead button').length") == 0
    shown = "[...document.querySelectorAll('#section-table12 + .table td')].filter(cell => cell.offsetHeight).length"
    assert browser.run(shown) == 3 * 6


def test_answers_are_filtered_by_kind_and_status(page, browser):
    browser.open(page.as_uri())
    browser.run(
        "document.querySelectorAll('#models input:not(:checked)').forEach(box => box.click())"
    )
    options = browser.run(
        "Object.fromEntries([...byId('status').options].map(o => [o.value, o.textContent]))"
    )
    assert set(options) == {
        "",
        "scored",
        "unscored",
        "unscored:no_text",
        "unscored:refused",
        "answer:no_text",
    }
    assert options["unscored:refused"].endswith("(1)")
    choose = "byId('{}').value = '{}'; byId('{}').dispatchEvent(new Event('change')); byId('count').textContent"
    assert browser.run(choose.format("status", "answer:no_text", "status")) == "1 / 1"
    assert browser.run("byId('asked').textContent").endswith(
        trial_questions()[1].question
    )
    assert (
        browser.run(
            "document.querySelectorAll('#answers .answer:not(.other) pre')[0].textContent"
        )
        == "。"
    )
    assert browser.run("document.querySelectorAll('#answers .other').length") == 2
    assert browser.run(choose.format("status", "", "status")) == "1 / 35"
    kind = trial_questions()[0].task
    number = sum(question.task == kind for question in trial_questions())
    assert browser.run(choose.format("group", kind, "group")) == f"1 / {number}"


def test_a_link_opens_its_answer(page, browser):
    browser.open(page.as_uri())
    browser.run("byId('next').click()")
    link = browser.run("[...document.querySelectorAll('#answers a')].at(-1).href")
    browser.open(link)
    shown = "document.querySelector('#answers .linked').{}"
    assert browser.run("byId('count').textContent") == "2 / 35"
    name = browser.run(
        shown.format("closest('section').querySelector('h3').textContent")
    )
    assert unquote(link).endswith(f"/{trial_questions()[1].id}/{name}/1")
    top = browser.run(shown.format("getBoundingClientRect().top"))
    assert 0 <= top < 900
    for broken in ("#answer/jcq/none/x/1", "#answer/%E0%A4%A", "#answer"):
        browser.run(f"byId('elsewhere').hidden = true; location.hash = '{broken}'")
        assert (
            browser.run(
                "new Promise(done => setTimeout(() => done(byId('elsewhere').hidden), 50))"
            )
            is False
        )
