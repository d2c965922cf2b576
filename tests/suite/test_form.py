"""`sozo form`: the page as people use it, in Chromium, and its answers as `sozo people` reads them."""

import csv
import json
import random
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from http_server import wait_until
from sentences import refused
from sozo.data.sheet import read_sheet, write_sheet
from sozo.scoring.embeddings.ginza import read_package
from sozo.suite.people import form as module
from sozo.suite.people.command import PeopleOptions, score_people
from sozo.suite.people.form import form, vocabulary
from sozo.suite.people.lists import read_written
from sozo.suite.people.scores import score_written
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatSettings

FOLDER = Path(module.__file__).parent
WORDS = {
    "ja": [
        "茶碗",
        "憲法",
        "三角形",
        "お茶",
        "自由",
        "肝臓",
        "大工",
        "台風",
        "金星",
        "味噌",
    ],
    "en": [
        "bowl",
        "justice",
        "triangle",
        "tea",
        "freedom",
        "liver",
        "carpenter",
        "typhoon",
        "shoe",
        "soup",
    ],
}
# What people write beside nouns, and around them.
ODD = {
    "ja": "走る,自由な,美しい,cat,犬!,　犬　,「海」,1. 山,一、川,犬（いぬ）,猫【ねこ】,ﾈｺ,なし,不明,12,第1,🐈,<script>,"
    "=海,ー,・,山・川,犬 猫,くじら,",
    "en": "quickly,the,犬,ice cream,London,Cat,CAT.,  moon ,None,nan,(dog),1. river,well-known,🐈,=tree,a,n/a,don't,"
    "dog/cat,",
}
WORDS_OF_ODD = {
    "ja": "走る 美しい 犬 海 山 川 猫 ねこ ネコ ネ コ なし 不明 茶 お くじら うどん かみ 東京 電気自動車",
    "en": "cat dog moon river",
}


@pytest.fixture(scope="module")
def write_page(tmp_path_factory):
    """Write a page of few words, with options of the command."""
    few = {}

    def written(language="ja", **options):
        if language not in few:
            known = (
                read_package()[0]
                if language == "ja"
                else dict.fromkeys(vocabulary("en"))
            )
            own = {*WORDS[language], *WORDS_OF_ODD[language].split()}
            few[language] = sorted({*list(known)[:: len(known) // 1000], *own})
        path = tmp_path_factory.mktemp("page") / "dat.html"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "vocabulary", lambda language: few[language])
            form(path, language, **options)
        return path

    return written


@pytest.fixture(scope="module")
def page(write_page):
    return write_page()


def open_page(browser, page, query="?p=S14&c=walk&t=2", width=390):
    browser.open(page.as_uri() + query, width)
    if browser.run("state.stage !== 'start'"):
        browser.run("state = fresh()")  # which the page keeps where it is left
        browser.open(page.as_uri() + query, width)
    browser.run("loaded.then(() => 1)")


def begin(browser, page, *words, **options):
    open_page(browser, page, **options)
    browser.run("element('begin').click()")
    for k, word in enumerate(words):
        write(browser, k, word)


def write(browser, k, text):
    browser.run(f"inputs[{k}].focus()")
    browser.call("Input.insertText", text=text)


def press(browser, *keys):
    for key in keys:
        if key == "Enter":
            browser.press_enter()
            continue
        code = {"Tab": 9, " ": 32}[key]
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if key == " " and kind == "keyDown" else {}
            browser.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code="Space" if key == " " else key,
                windowsVirtualKeyCode=code,
                **text,
            )


def paste(browser, k, text):
    browser.run(
        f"""(() => {{ const data = new DataTransfer(); data.setData("text", {json.dumps(text)});
        inputs[{k}].focus();
        inputs[{k}].dispatchEvent(new ClipboardEvent("paste", {{clipboardData: data, cancelable: true}})); }})()"""
    )


def wait(browser, condition):
    wait_until(lambda: browser.run(condition))


def end(browser):
    browser.run("element('finish').click()")
    wait(browser, "!element('end').hidden")


def fields(browser):
    return browser.run("inputs.map((input) => input.value)")


def notes(browser):
    return browser.run("notes.map((note) => note.parentElement.className)")


def scores_of(files, output, language="ja"):
    score_people(Dat(DatSettings(language=language)), files, output, PeopleOptions())
    return read_sheet(output / "scores.csv").cells


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_score_is_that_of_people(browser, write_page, tmp_path, language):
    open_page(browser, write_page(language))
    drawn, odd = random.Random(7), ODD[language].split(",")
    nouns = browser.run("dictionary.words.filter((word) => verdictOf(word) === 'ok')")
    lists = [drawn.sample(nouns, 10) for _ in range(100)]
    for words in lists:
        for _ in range(drawn.choice([0, 0, 1, 2, 4])):
            words[drawn.randrange(10)] = drawn.choice([*odd, words[0]])
    found = browser.run(
        f"{json.dumps(lists)}.map((words) => [scored(judge(words))?.score ?? NaN, ...words.map(tidy)])"
    )
    headings = ["page", *(f"word{k}" for k in range(1, 11))]
    table = pd.DataFrame(found, columns=headings).astype({"page": float})
    table["participant"] = [f"p{k}" for k in table.index]
    write_sheet(tmp_path / "lists.csv", table.drop(columns="page"), ",")
    written = read_written(read_sheet(tmp_path / "lists.csv"), language)
    scorer = Dat(DatSettings(language=language)).for_people().scorer
    people = score_written(written, scorer).set_index("participant")["score"]
    both = table.set_index("participant")[["page"]].join(people)
    wrong = both[(both["page"] - both["score"]).abs() > 0.001]
    assert wrong.empty, wrong.to_string()
    assert both["page"].notna().mean() > 0.8
    # A word that the page leaves to `sozo people` may cost it a score; it never has one that people's rule refuses.
    assert both["score"][both["page"].notna()].notna().all()


def test_answers_are_saved_and_read_as_they_are(browser, page, tmp_path):
    answers = tmp_path / "answers"
    browser.call(
        "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(answers)
    )
    for person in ("S14", "S15"):
        begin(browser, page, *WORDS["ja"], query=f"?p={person}&c=walk&t=2")
        end(browser)
        browser.run("element('save').click()")
        shown = browser.run(
            "[document.querySelector('.score').textContent, element('csv').value]"
        )
        file = answers / f"dat-{person}-walk-2.csv"
        wait_until(file.exists)
        assert file.read_text("utf-8-sig").splitlines() == shown[1].splitlines()
    cells = scores_of(answers, tmp_path / "scored")
    assert list(cells["participant"]) == ["S14", "S15"]
    assert list(cells["group"]) == ["walk"] * 2
    assert list(cells["trial"]) == ["2"] * 2
    assert list(cells.loc[:, "word1":"word10"].iloc[0]) == WORDS["ja"]
    said = cells.iloc[0]
    assert "1つの欄に1語ずつ、名詞だけを書いてください" in said["instruction"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d", said["began"])
    paper = (tmp_path / "scored/people_ja.md").read_text("utf-8")
    for sentence in (
        said["instruction"],
        "制限時間は設けなかった。",
        "入力欄の下に表示した。",
    ):
        assert sentence in paper
    assert shown[0] == f"{float(said['page_score']):.3f}"
    assert abs(float(said["page_score"]) - float(said["sozo_score"])) < 0.001
    times = cells.filter(regex="seconds_(first|last|all)").iloc[0].astype(float)
    assert len(times) == 21
    assert times.max() == times["seconds_all"]


def test_nothing_is_asked_of_any_server(browser, page):
    browser.requests.clear()
    begin(browser, page, *WORDS["ja"], query="?p=S14")
    end(browser)
    browser.run("element('save').click()")
    assert {url.partition(":")[0] for url in browser.requests} <= {
        "file",
        "about",
        "blob",
    }
    assert {url for url in browser.requests if url.startswith("file")} == {
        f"{page.as_uri()}?p=S14"
    }
    refused = "fetch('https://example.org').then(() => 'went', () => 'refused')"
    assert browser.run(refused) == "refused"
    browser.errors.clear()  # which that attempt is


def test_a_word_is_not_judged_while_an_input_method_is_at_work(browser, page):
    begin(browser, page)
    browser.run("inputs[0].focus()")
    for text in ("h", "は", "はし", "走る"):
        browser.call(
            "Input.imeSetComposition",
            text=text,
            selectionStart=len(text),
            selectionEnd=len(text),
        )
    assert browser.run("composing")
    # Longer than the page waits for a key.
    browser.run("new Promise((done) => setTimeout(done, 1500))")
    assert notes(browser)[0] == ""
    browser.run(
        "inputs[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: 229, bubbles: true}))"
    )
    assert browser.run("document.activeElement.id") == "word1"
    browser.call("Input.insertText", text="走る")
    assert not browser.run("composing")
    press(browser, "Enter")
    assert notes(browser)[0] == "not_noun"
    assert browser.run("element('live').textContent").startswith("1番 走る")
    assert browser.run("state.first[0] <= state.last[0]")


def test_every_note_is_said_and_every_word_kept(browser, page):
    kept = ["犬", "走る", "犬", "cat", "🐈", "ねこ", "猫", "かみ", "東京", ""]
    begin(browser, page, *kept[:2], "犬!", *kept[3:])
    browser.run("inputs[9].focus()")
    assert fields(browser) == kept
    assert notes(browser) == [
        *("ok", "not_noun", "repeated_word", "not_script", "symbol", "ok"),
        *("repeated_word", "ambiguous", "proper_noun", ""),
    ]
    counts = "counts({verdict: 'proper_noun'})"
    strict = f"settings.reject_proper_nouns = true; {counts}"
    assert [browser.run(counts), browser.run(strict)] == [True, False]


def test_enter_leads_on_and_never_ends_the_test(browser, page):
    open_page(browser, page, query="")
    assert browser.run("element('begin').disabled")
    press(browser, "Tab")
    assert browser.run("document.activeElement.id") == "participant"
    browser.call("Input.insertText", text="S1")
    press(browser, "Enter", "Enter", "Enter")
    assert browser.run("document.activeElement.id") == "begin"
    press(browser, "Enter")
    for k, word in enumerate(WORDS["ja"], 1):
        assert browser.run("document.activeElement.id") == f"word{k}"
        browser.call("Input.insertText", text=word)
        press(browser, "Enter")
    assert browser.run("[document.activeElement.id, state.stage]") == [
        "finish",
        "write",
    ]
    press(browser, " ")
    wait(browser, "!element('end').hidden")
    press(browser, "Tab")
    assert browser.run("document.activeElement.id") == "save"


def test_too_few_words_are_asked_about_even_after_a_double_click(browser, page):
    begin(browser, page, *WORDS["ja"][:6])
    browser.run("element('finish').click(); element('finish').click()")
    assert browser.run("[state.stage, document.activeElement.id]") == ["write", "go-on"]
    assert "4" in browser.run("element('unfinished').textContent")
    browser.run("element('go-on').click()")
    assert browser.run("document.activeElement.id") == "word7"
    browser.run(
        "element('finish').click(); element('finish-anyway').click(); element('finish-anyway').click()"
    )
    wait(browser, "!element('end').hidden")
    assert "7個以上" in browser.run("element('result').textContent")
    assert browser.run("document.querySelector('.score')") is None


def test_ten_words_pasted_at_once_go_to_ten_fields(browser, page):
    begin(browser, page)
    numbered = (f"{k}. {word}" for k, word in enumerate(WORDS["ja"], 1))
    paste(browser, 0, "\r\n".join(numbered))
    assert fields(browser) == WORDS["ja"]


@pytest.mark.parametrize(("saved", "asked"), [(False, ["beforeunload"]), (True, [])])
def test_what_is_not_saved_is_asked_about(browser, page, tmp_path, saved, asked):
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.call("Browser.setDownloadBehavior", **folder)
    begin(browser, page, *WORDS["ja"])
    end(browser)
    if saved:
        browser.run("element('save').click()")
        note = browser.run("element('end-note').textContent")
        assert note.startswith("dat-S14-walk-2.csv を保存しています。")
        browser.open(f"{page.as_uri()}?p=S14&c=walk&t=2", 390)
    browser.asked.clear()
    browser.call("Page.navigate", url="about:blank")
    assert browser.asked == asked


@pytest.mark.parametrize("text", ["." * 60_000 + "犬", "・" * 60_000 + "a)"])
def test_a_text_without_end_does_not_hold_the_page(browser, page, text):
    begin(browser, page)
    paste(browser, 0, text)
    took = browser.run(
        f"""(() => {{ const text = {json.dumps(text)}, began = performance.now();
        pieces(text).map(tidy); tidy(text); return performance.now() - began; }})()"""
    )
    assert took < 2000
    assert len(browser.run("element('page-note').textContent")) < 300


def test_what_has_no_room_is_named_and_written_words_stay(browser, page):
    begin(browser, page, "川")
    paste(browser, 5, "\n".join([*WORDS["ja"], "海"]))
    assert fields(browser) == ["川", *[""] * 4, *WORDS["ja"][:5]]
    assert browser.run("element('page-note').textContent").endswith(
        "肝臓、大工、台風、金星、味噌、海"
    )


def test_a_reload_finds_what_was_written(browser, page):
    begin(browser, page, "犬", "猫")
    began = browser.run("state.started")
    browser.open(f"{page.as_uri()}?p=S14&c=walk&t=2", 390)
    assert fields(browser)[:3] == ["犬", "猫", ""]
    assert browser.run("state.started") == began
    browser.open(f"{page.as_uri()}?p=S15", 390)  # somebody else
    assert browser.run("[state.stage, state.words[0]]") == ["start", ""]


def test_a_browser_that_keeps_nothing_does_as_well(browser, page):
    denied = "Object.defineProperty(window, 'sessionStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=denied)[
        "identifier"
    ]
    browser.open(f"{page.as_uri()}?p=S14", 390)
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    browser.run("element('begin').click()")
    for k, word in enumerate(WORDS["ja"]):
        write(browser, k, word)
    end(browser)
    assert WORDS["ja"][9] in browser.run("element('csv').value")
    browser.run("element('next').click(); element('next').click()")
    assert browser.run("[state.stage, state.words.join('')]") == ["start", ""]


def test_the_next_participant_is_asked_for_a_number(browser, page):
    begin(browser, page, *WORDS["ja"], query="?p=S14&c=walk&t=2")
    end(browser)
    browser.run("element('next').click(); element('next').click()")
    asked = "[element('who').hidden, element('begin').disabled, state.participant, state.group, state.trial]"
    assert browser.run(asked) == [False, True, "", "walk", "2"]
    browser.open(f"{page.as_uri()}?p=S14&c=walk&t=2", 390)  # a reload asks, too
    assert browser.run(asked) == [False, True, "", "walk", "2"]
    browser.run("state = fresh()")


def test_cells_run_no_formula_and_names_no_script(browser, page, tmp_path):
    name = '<script>alert(1)</script>",=2'
    begin(
        browser,
        page,
        *WORDS["ja"],
        query=f"?p=%3D1%2B1&c={'%3Cscript%3Ealert(1)%3C/script%3E%22,%3D2'}",
    )
    assert browser.run("document.querySelectorAll('script').length") == browser.run(
        "document.documentElement.outerHTML.match(/<script/g).length"
    )
    end(browser)
    (tmp_path / "a.csv").write_text(browser.run("element('csv').value"), "utf-8")
    cells = scores_of(tmp_path / "a.csv", tmp_path / "out")
    assert list(cells.iloc[0, :2]) == ["'=1+1", name]


def test_a_hidden_score_and_hidden_notes_are_nowhere(browser, write_page):
    page = write_page(hide_score=True, hide_notes=True)
    assert page.stat().st_size < write_page().stat().st_size / 10
    begin(browser, page, *WORDS["ja"][:9], "走る")
    assert {*notes(browser)} == {""}
    end(browser)
    assert browser.run("element('result').hidden")
    heading, row = csv.reader(browser.run("element('csv').value").splitlines())
    said = dict(zip(heading, row, strict=True))
    names = ("page_score", "notes_shown", "score_shown")
    assert [said[name] for name in names] == ["", "no", "no"]


def test_time_that_is_over_ends_the_test(browser, write_page):
    page = write_page(seconds=2)
    begin(browser, page, *WORDS["ja"][:8])
    assert re.fullmatch("残り 0:0[12]", browser.run("element('time').textContent"))
    wait(browser, "!element('end').hidden")
    assert browser.run("state.ended - state.started") == pytest.approx(2000)
    assert browser.run("document.querySelector('.score').textContent")


def test_consent_is_needed_and_is_text(browser, write_page, tmp_path):
    (tmp_path / "consent.txt").write_text(
        "研究に参加します。\n<b>太字</b> & </div>", "cp932"
    )
    open_page(browser, write_page(consent=tmp_path / "consent.txt"))
    assert browser.run("document.querySelector('.consent').textContent").endswith(
        "<b>太字</b> & </div>"
    )
    assert browser.run("element('begin').disabled")
    browser.run("element('agreed').click()")
    assert not browser.run("element('begin').disabled")


def test_what_cannot_be_is_refused(tmp_path):
    page = tmp_path / "dat.html"
    page.write_text("")
    (tmp_path / "empty.txt").write_text(" \n")
    for row, options in {
        "a page that exists": {"output": page},
        "no name of a page": {"output": tmp_path / "dat"},
        "no such consent": {"consent": tmp_path / "none.txt"},
        "a folder for a consent": {"consent": tmp_path},
        "an empty consent": {"consent": tmp_path / "empty.txt"},
    }.items():
        with refused(f"form: {row}"):
            form(**{"output": tmp_path / "new.html", "language": "en", **options})
    with refused("form: a page that exists, in Japanese"):
        form(output=page)


def test_a_folder_names_the_file_of_a_wrong_row(tmp_path):
    with refused("people: a folder without a file"):
        read_sheet(tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(
            f"participant,answer\nS1,{' '.join(WORDS['ja'])} {name}"
        )
    with refused("people: one person in two files"):
        scores_of(tmp_path, tmp_path / "out")


def test_texts_are_the_same_in_both_languages():
    texts = yaml.safe_load((FOLDER / "form.yaml").read_text("utf-8"))
    places = {
        language: {
            key: sorted(re.findall(r"\{\w+\}", str(text))) for key, text in own.items()
        }
        for language, own in texts.items()
    }
    assert places["ja"] == places["en"]
    script = (FOLDER / "form.js").read_text("utf-8")
    assert set(re.findall(r'say\("(\w+)"', script)) <= texts["ja"].keys()
