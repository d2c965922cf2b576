"""`sozo rate`: the page as people use it, in Chromium, and what `sozo agreement` says of eight invented raters."""

import csv
import io
import json
import math
import random
import re
import time
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest

from finished_runs import scored
from run_files import change_config
from sentences import refused
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report.answer import overview
from sozo.studies.agreement.run import agree_raters
from sozo.studies.pages import PageFolder
from sozo.studies.rating import command as module
from sozo.studies.rating.command import rate
from sozo.studies.rating.rated import over_both, rated_parts
from sozo.suite.people import page
from sozo.suite.people.page import texts_of
from sozo.suite.sentences.task import Sentences

FOLDER = Path(module.__file__).parent
# From the best to the worst, as the raters who agree see it.
MODELS = ["after GRPO", "another arm", "before", "before again"]
TRAINED = {"after GRPO": "grpo", "another arm": "placebo"}
QUESTIONS = 12


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three answers to each of twelve questions by each of four models."""
    folder = tmp_path_factory.mktemp("runs")
    places = []
    for model in MODELS:
        rows = [
            {"item": item.id, "text": f"{model}の{k}番目の文です。<b>{item.id}</b>"}
            for item in Sentences().items()[:QUESTIONS]
            for k in range(3)
        ]
        run = folder / model
        scored(Sentences(), run, model, rows)
        if model.startswith("before"):
            heat = {"temperature": 1.3 if model.endswith("again") else 1.0}
            change_config(run, "settings", model="runs/base")
            change_config(run, "loaded", decoder=heat, model_sha256="a")
        if by := TRAINED.get(model):
            trained = [{"task": "sentences", "measure": "sentences/usable", "by": by}]
            change_config(run, "loaded", model_trained=True, trained_on=trained)
        places.append(f"{model}={run}")
    return places


@pytest.fixture
def write(runs, tmp_path):
    def written(**options):
        rate(runs, tmp_path / "duel.html", **options)
        return tmp_path / "duel.html"

    return written


def open_page(browser, page, query="?p=R1", width=390):
    """Opened anew, with a clock that goes on as far as one says: milliseconds in `passed`."""
    browser.open(page.as_uri() + query, width)
    browser.run("sessionStorage.clear()")
    browser.open(page.as_uri() + query, width)
    browser.run("window.passed = 0; before = 0; performance.now = () => passed; 1")
    browser.run("state.language = 'ja'; turn()")


def judge(browser, choose, seconds=20, stop=None):
    """Go through the page; `choose` says which of the shown answers (id, text) is taken."""
    browser.run("element('begin').click()")
    for done in range(200):
        if browser.run("state.stage") == "end":
            return
        if done == stop:
            browser.run("element('stop').click()")
            continue
        shown = browser.run(
            "sequence()[state.done.length].answers.map(({answer, text}) => [answer, text])"
        )
        browser.run(f"passed += {1000 * seconds}; buttons()[{choose(shown)}].click()")


def rows_of(browser):
    return list(csv.DictReader(io.StringIO(browser.run("element('csv').value"))))


def read_key(key):
    rows = map(json.loads, key.read_text("utf-8").splitlines())
    return {row["answer"]: row["system"] for row in rows}


def test_twenty_clicks_say_who_was_chosen_how_often_and_what_is_a_control(
    browser, write
):
    page = write()
    browser.requests.clear()
    open_page(browser, page, "")
    assert browser.run("element('who').hidden")
    judge(browser, lambda shown: min((0, 1), key=lambda k: shown[k][1]))
    rows = rows_of(browser)
    assert len(rows) == 40
    wins = Counter(row["system"] for row in rows if row["score"] == "1")
    met = Counter(row["system"] for row in rows)
    assert max(met.values()) - min(met.values()) <= 3
    assert wins["after GRPO"] == met["after GRPO"]
    said = browser.run("element('end').textContent")
    assert f"{met['after GRPO']}回のうち{wins['after GRPO']}回（100%）" in said
    assert "コインを投げて選んだ場合の50%を上回っています" in said
    assert "1人の判断" in said
    # Stopping before the end shows the names, too, so nobody goes on after it.
    assert browser.run("element('go-on').hidden")
    rows = "[...document.querySelectorAll('#result tbody tr')].map((tr) => [...tr.children].map((td) => td.textContent))"
    table = {cells[0]: cells[1:] for cells in browser.run(rows)}
    assert table["報酬で学習したモデル（after GRPO）"][1] == "100%"
    known = browser.run(
        "[...document.querySelectorAll('#result > ul li')].map((li) => li.textContent)"
    )
    for model, why in {
        "after GRPO": "報酬を与えたのは、指示どおりに書けた文です",
        "before again": "「before」から、文を作るときのランダムさ（温度）だけ",
        "another arm": "報酬をランダムに与えて",
    }.items():
        assert any(model in line and why in line for line in known)
    whose = browser.run(
        "[...document.querySelectorAll('details ol')].map((ol) => ol.firstChild.textContent)"
    )
    assert len(whose) == 20
    assert (
        sum("（after GRPO）after GRPOの" in one for one in whose) == met["after GRPO"]
    )
    browser.run("element('language').click()")
    said = browser.run("element('end').textContent")
    assert '(after GRPO)" won the largest share' in said
    assert "one person's judgement" in said
    assert {url.partition(":")[0] for url in browser.requests} <= {"file", "about"}
    browser.run("element('next').click(); element('next').click()")
    assert browser.run("[state.stage, element('begin').disabled]") == ["start", False]


def test_no_model_is_first_before_three_duels_of_each_nor_in_a_tie(browser, write):
    """Two of three and four of six are level, whoever has more of them."""
    open_page(browser, write(), "")
    said = """(wins) => result("creative", settings.systems.flatMap(({name: system}, k) =>
        Array.from({length: 3 + 3 * (k % 2)}, (_, n) => ({system, criterion: "creative", score: Number(n < wins[k])}))
    ).slice(START))[1].textContent"""
    assert "上かは言えません" in browser.run(
        f"({said.replace('START', '1')})([2, 4, 0, 0])"
    )
    assert "1位が並びました" in browser.run(
        f"({said.replace('START', '0')})([2, 4, 0, 0])"
    )
    assert "6回のうち5回（83%）" in browser.run(
        f"({said.replace('START', '0')})([2, 5, 0, 0])"
    )


def test_neither_language_nor_back_loses_what_was_shown(browser, write):
    """The time to read goes on in another language; who goes back sees what was chosen."""
    open_page(browser, write(), "")
    browser.run("element('begin').click(); passed += 5000; element('language').click()")
    browser.run("passed += 4000; buttons()[1].click()")
    assert browser.run("state.done[0].seconds") == 9
    browser.run("element('back').click()")
    assert browser.run("buttons().map((one) => one.ariaPressed)") == ["false", "true"]
    browser.run("passed += 4000; buttons()[0].click()")
    assert browser.run("state.done[0].given.creative") == [0, 1]


def test_an_interval_is_wilson_s(browser, write):
    open_page(browser, write(), "")
    low, high = browser.run("wilson(0.8, 10)")
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)


def test_a_page_for_a_study_has_neither_names_nor_results(browser, write, tmp_path):
    page = write(key=tmp_path / "key.jsonl", pairs=12)
    source = page.read_text("utf-8")
    settings = json.loads(re.search(r'id="settings">(.*?)</script>', source)[1])
    shown = [one for trials in settings["rounds"] for trial in trials for one in trial]
    assert {frozenset(one) for one in shown} == {frozenset({"answer", "item", "text"})}
    assert settings["systems"] == []
    open_page(browser, page)
    judge(browser, lambda shown: 0)
    assert browser.run("element('result').hidden")
    assert {row["system"] for row in rows_of(browser)} == {""}
    assert read_key(tmp_path / "key.jsonl").keys() == {one["answer"] for one in shown}


def test_each_model_meets_each_as_often_and_no_answer_comes_twice(write, tmp_path):
    write(key=tmp_path / "key.jsonl", pairs=18)
    rows = [
        json.loads(line) for line in (tmp_path / "key.jsonl").open(encoding="utf-8")
    ]
    pairs = Counter(
        frozenset((one["system"], other["system"]))
        for one, other in zip(rows[::2], rows[1::2], strict=True)
    )
    assert set(pairs.values()) == {3}
    assert len(pairs) == 6
    assert all(
        one["item"] == other["item"]
        for one, other in zip(rows[::2], rows[1::2], strict=True)
    )
    assert len({row["id"] + row["system"] for row in rows}) == 36
    asked = Counter(row["item"] for row in rows[::2])
    assert len(asked) == QUESTIONS
    assert max(asked.values()) == 2


def test_a_reload_goes_on_where_one_was_and_the_order_is_the_rater_s(
    browser, write, tmp_path
):
    page = write(key=tmp_path / "key.jsonl", pairs=6)
    open_page(browser, page)
    order = "sequence().map(({answers}) => answers.map(({answer}) => answer))"
    first = browser.run(order)
    browser.run("element('begin').click(); passed += 20000; buttons()[1].click()")
    browser.run("state.saved = true")  # or the browser asks before it leaves
    browser.open(page.as_uri() + "?p=R1", 390)
    assert browser.run("[state.stage, state.done.length]") == ["rate", 1]
    assert browser.run(order) == first
    browser.open(page.as_uri() + "?p=R2", 390)
    second = browser.run(order)
    assert second != first
    assert sorted(map(sorted, second[:6])) == sorted(map(sorted, first[:6]))
    stop = "element('begin').click(); since -= 9000; buttons()[0].click(); element('stop').click(); element('go-on').click()"
    browser.run(stop)
    assert browser.run("[state.stage, state.done.length]") == ["rate", 1]
    kinds = browser.run("sequence().map(({kind}) => kind)")
    assert kinds == ["score"] * 6 + ["check"] + ["again"] * 4
    assert [answers[::-1] for answers in second[:4]] == second[7:]


def test_sides_and_order_are_left_to_chance(browser, write):
    """Over 400 visitors of 20 pairs: each answer is on the left as often as not, also in the first pairs."""
    open_page(browser, write(), "")
    browser.run("""window.first = new Set(settings.rounds.flat().map(([{answer}]) => answer));
        window.shown = Array.from({length: 400}, (_, k) => {
            state.seed = k / 400;
            return sequence().map(({answers}) => Number(first.has(answers[0].answer)));
        }); 1""")
    shares = browser.run("[mean(shown.flat()), mean(shown.map(([one]) => one))]")
    assert shares == pytest.approx([0.5, 0.5], abs=0.1)
    assert browser.run("new Set(shown.map((sides) => sides.join(''))).size") > 390


def test_keys_and_taps_choose_and_one_can_go_back(browser, write):
    page = write(by="both")
    open_page(browser, page, "")
    browser.run("element('begin').click()")
    key = "document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}'}}))"
    browser.run(key.format("1"))
    assert browser.run("state.done.length + picked.length") == 0  # too soon to be meant
    browser.run("passed += 5000; " + key.format("ArrowRight"))
    assert "よいと思いますか" in browser.run("element('question').textContent")
    browser.run(key.format("1"))
    assert browser.run("state.done[0].given") == {"creative": [1, 0], "better": [0, 1]}
    assert browser.run("element('count').textContent") == "2 / 20"
    browser.run("element('back').click()")
    assert browser.run("[state.done.length, element('count').textContent]") == [
        0,
        "1 / 20",
    ]
    for step in ({"type": "touchStart", "touchPoints": [{"x": 190, "y": 330}]},) * 2:
        browser.run("passed += 5000")
        browser.call("Input.dispatchTouchEvent", **step)
        browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    deadline = time.monotonic() + 10
    while browser.run("state.done.length") == 0:
        assert time.monotonic() < deadline


def test_criteria_are_scored_on_their_scales_and_what_they_open(browser, write):
    page = write(by="pbig")
    open_page(browser, page, "?c=technical")
    browser.run("element('begin').click(); passed += 5000")
    names = "asked().map(({name}) => name)"
    assert browser.run(names) == ["specificity"]
    key = "document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}'}}))"
    browser.run(key.format("4"))
    assert browser.run(names)[1:] == ["technical_validity"]
    assert "production-level" in browser.run("element('criteria').textContent")
    browser.run(key.format("1"))
    assert browser.run("state.done[0].given") == {
        "specificity": 4,
        "technical_validity": 1,
    }
    browser.run("state.group = 'nobody'")
    assert len(browser.run(names)) == 1
    browser.run("passed += 5000; given = {specificity: 3, technical_validity: 2}")
    assert len(browser.run(names)) == 8
    browser.run("state.group = 'technical'; element('stop').click()")
    rows = rows_of(browser)
    assert [row["score"] for row in rows] == ["4", "1"]
    assert {row["group"] for row in rows} == {"technical"}
    said = browser.run("element('result').textContent")
    assert "4.01" in said  # a mean of one score


def test_versions_are_put_in_order(browser, write):
    open_page(browser, write(by="rank"), "")
    browser.run("element('begin').click(); passed += 9000")
    for k in (2, 0, 2, 1, 3):  # a place that is pressed again is taken back
        browser.run(f"buttons()[{k}].click()")
    assert browser.run("state.done[0].given.creative") == [0, 1, 3, 2]
    browser.run("element('stop').click()")
    scores = [float(row["score"]) for row in rows_of(browser)]
    assert scores == pytest.approx([1, 2 / 3, 0, 1 / 3])
    said = browser.run("element('result').textContent")
    assert [f"{rank}.0位1" in said for rank in range(6)] == [0, 1, 1, 1, 1, 0]


def test_nothing_is_wider_than_the_screen(browser, write, tmp_path):
    for number, options in enumerate(
        ({}, {"by": "jcq"}, {"by": "rank"}, {"key": tmp_path / "k.jsonl"})
    ):
        page = write(**options)
        for width in (390, 1200):
            open_page(browser, page, f"?p={number}", width)
            wide = "document.documentElement.scrollWidth"
            widths = [browser.run(wide)]
            browser.run("element('begin').click()")
            widths.append(browser.run(wide))
            first = ".answers button, fieldset button:first-of-type"
            free = f"[...document.querySelectorAll('{first}')].find((one) => one.ariaPressed === 'false')"
            while browser.run("state.done.length") == 0:
                browser.run(f"passed += 9000; {free}.click()")
            browser.run("element('stop').click()")
            assert [*widths, browser.run(wide)] == [width] * 3
        page.unlink()


def test_two_thousand_answers_are_below_three_megabytes(browser, write, runs, tmp_path):
    for k, model in enumerate(MODELS[:2]):
        rows = [
            {"item": item.id, "text": f"{'長い文です。' * 60}{n}"}
            for item in Sentences().items()
            for n in range(11)
        ]
        scored(Sentences(), tmp_path / str(k), model, rows)
    page = tmp_path / "many.html"
    rate([str(tmp_path / "0"), str(tmp_path / "1")], page, pairs=1000)
    source = page.read_text("utf-8")
    settings = json.loads(re.search(r'id="settings">(.*?)</script>', source)[1])
    assert sum(len(trials) for trials in settings["rounds"]) == 1000
    assert page.stat().st_size < 3e6
    open_page(browser, page, "")
    assert browser.run("sequence().length") == 20


# Of eight raters: whom each prefers, seconds for a choice, and after how many choices one stops.
def _prefers(order):
    return lambda systems: min((0, 1), key=lambda k: order.index(systems[k]))


def _at_random(seed):
    drawn = random.Random(seed)
    return lambda systems: drawn.randrange(2)


def _at_random_and_again(seed):
    return lambda systems: random.Random(f"{seed} {sorted(systems)}").choice(
        [systems.index(one) for one in sorted(systems)]
    )


RATERS = {
    "agrees": (_prefers(MODELS), 20, None),
    "agrees too": (_prefers(MODELS), 30, None),
    "reverses": (_prefers(MODELS[::-1]), 20, None),
    "at random": (_at_random(3), 20, None),
    "always left": (lambda systems: 0, 20, None),
    "stops": (_prefers(MODELS), 20, 9),
    "too fast": (_prefers(MODELS), 0.4, None),
    "repeats himself": (_at_random_and_again(5), 20, None),
}


@pytest.fixture(scope="module")
def rated(browser, runs, tmp_path_factory):
    """What eight raters hand over, and the key."""
    folder = tmp_path_factory.mktemp("rated")
    rate(runs, folder / "duel.html", key=folder / "key.jsonl", pairs=24)
    systems = read_key(folder / "key.jsonl")
    for rater, (choice, seconds, stop) in RATERS.items():
        open_page(browser, folder / "duel.html", f"?p={quote(rater)}")

        def choose(shown, choice=choice):
            if shown[0][0] in ("take", "leave"):
                return [answer for answer, _ in shown].index("take")
            return choice([systems[answer] for answer, _ in shown])

        judge(browser, choose, seconds, stop)
        (folder / f"{rater}.csv").write_text(
            browser.run("element('csv').value"), "utf-8"
        )
    return [folder / f"{rater}.csv" for rater in RATERS], folder / "key.jsonl"


def table_of(files, key):
    read = [
        row for file in files for row in csv.DictReader(file.open(encoding="utf-8"))
    ]
    known = read_key(key)
    return [row | {"system": known.get(row["answer"])} for row in read]


def folder(path):
    return PageFolder(path, {}, "agreement", "")


def test_eight_raters_are_told_apart(rated, tmp_path):
    files, key = rated
    about = rated_parts(files, key, folder(tmp_path))[1]
    rows = {line.split("|")[1].strip(): line for line in about.splitlines()}
    told = {
        rater: rows[rater].rpartition("|")[0].rpartition("|")[2].strip()
        for rater in RATERS
    }
    assert told == dict.fromkeys(RATERS, "") | {
        "at random": "contradicts the own choices",
        "always left": "contradicts the own choices",
        "stops": "did not finish",
        "too fast": "is faster than one can read",
    }
    cells = [cell.strip() for cell in rows["always left"].split("|")]
    assert cells[2:5] == ["29 of 29", "24", "8 of 8"]
    assert rows["stops"].split("|")[2].strip() == "9 of 29"
    two = rated_parts(files[:2], key, folder(tmp_path / "two"))[4].splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")[1:4]] for line in two]
    shares = ["100.0%, n = 24", "66.7%, n = 24", "33.3%, n = 24", "0.0%, n = 24"]
    # Two raters are too few for an interval, and no strength is so great that all others lose.
    expected = [[*row, "–"] for row in zip(MODELS, shares, strict=True)]
    assert sorted(cells) == sorted(expected)


def test_agreement_joins_names_by_the_key(rated, runs):
    """The pair that is alike, the one that is reversed, and of the duels the models' own names."""
    files, key = rated
    people = Path(runs[0].partition("=")[2]).with_name("people")
    page = agree_raters([*map(str, files)], people, key=key).page
    both = {
        line.split("|")[2].strip(): line
        for line in page.splitlines()
        if ", " in line and line.count("|") > 7
    }
    assert " 1.00 " in both["agrees, agrees too"]
    assert " −1.00 " in both["agrees, reverses"]
    assert "| always left     | 29 of 29 |" in page
    duels = page.partition("## Duels")[2]
    assert all(f"| {model} " in duels for model in MODELS)
    # A report has them beside what the models are known by.
    shown = overview(findings(find_evaluated(runs)))
    chosen, strength = (
        [row.cells[shown.columns.index(label) - 1].value for row in shown.rows]
        for label in ("chosen_creative", "strength_creative")
    )
    assert sum(chosen) == pytest.approx(2, abs=0.1)
    assert sum(strength) == pytest.approx(0, abs=1e-6)


def test_strengths_are_those_of_an_own_computation(rated, tmp_path):
    """Bradley-Terry by minorisation and maximisation (Hunter, 2004), shares by counting."""
    files, key = rated
    trials = {}
    for row in table_of(files, key):
        if row["score"]:
            trials.setdefault((row["rater"], row["shown"]), []).append(row)
    wins = Counter()
    for both in trials.values():
        winner, loser = sorted(both, key=lambda row: -float(row["score"]))
        wins[winner["system"], loser["system"]] += 1
    worth = dict.fromkeys(MODELS, 1.0)
    for _ in range(2000):
        worth = {
            one: sum(wins[one, other] for other in MODELS)
            / sum(
                (wins[one, other] + wins[other, one]) / (worth[one] + worth[other])
                for other in MODELS
                if other != one
            )
            for one in MODELS
        }
    logs = {model: math.log(value) for model, value in worth.items()}
    mean = sum(logs.values()) / len(logs)
    numbers = re.compile(
        r"\| (.+?) +\| ([\d.]+)% \[[\d.]+, [\d.]+\], n = (\d+) +\| (\S+)"
    )
    lines = rated_parts(files, key, folder(tmp_path))[4].splitlines()[2:]
    found = {row[1]: row for row in map(numbers.match, lines) if row}
    assert found.keys() == set(MODELS)
    for model, row in found.items():
        won = sum(wins[model, other] for other in MODELS)
        met = won + sum(wins[other, model] for other in MODELS)
        assert float(row[2]) == pytest.approx(100 * won / met, abs=0.05)
        assert int(row[3]) == met
        assert float(row[4].replace("−", "-")) == pytest.approx(
            logs[model] - mean, abs=0.005
        )


def test_an_interval_goes_by_raters_and_questions():
    """By hand: the mean is 1/2; the gaps from it are 0.2 or -0.2 by rater, 0 by question, 0.1 in four of six cells."""
    scores = [0.6, 0.6, 0.5, 0.4, 0.4, 0.5]
    own = pd.DataFrame({"score": scores, "rater": [*"aaabbb"], "item": [*"xyzxyz"]})
    assert over_both(own).low is None  # of two raters
    # Of eight: the error is 0.2 sqrt(max(8, 0, 8 + 0 - 4)) / 24, times sqrt(3 / 2) since three questions are the fewest.
    own = pd.concat([own.assign(rater=own.rater + str(k)) for k in range(4)])
    found = over_both(own)
    assert found.low == pytest.approx(
        0.5 - 0.2 * 8**0.5 / 24 * 1.5**0.5 * 4.30265, abs=1e-4
    )


def test_what_cannot_be_is_refused(runs, tmp_path):
    (tmp_path / "key.jsonl").write_text("")
    for row, options in {
        "a key that exists": {"key": tmp_path / "key.jsonl"},
        "one model": {"runs": runs[:1]},
    }.items():
        with refused(f"rate: {row}"):
            rate(**{"runs": runs, "output": tmp_path / "new.html", **options})


def test_texts_are_the_same_in_both_languages():
    texts = [texts_of(FOLDER / "rate.html", language) for language in ("ja", "en")]

    def places(own):
        return {
            key: places(text)
            if isinstance(text, dict)
            else sorted(re.findall(r"\{\w+\}", text))
            for key, text in own.items()
        }

    assert places(texts[0]) == places(texts[1])
    scripts = FOLDER / "rate.js", Path(page.__file__).with_name("page.js")
    script = "".join(file.read_text("utf-8") for file in scripts)
    known = {*texts[0]}.union(
        *(own for own in texts[0].values() if isinstance(own, dict))
    )
    assert set(re.findall(r'say\("(\w+)"', script)) <= known
