"""60 people's sheets to scores and paragraph; what the form says of 200 lists, in Chromium."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from freeze import files_of

from browser import CHROMIUM, Browser
from fakes import list_text
from sozo.data.english import english_nouns
from sozo.data.jumandic import load_nouns
from sozo.suite.people.command import PeopleOptions, score_people
from sozo.suite.people.form import form
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatSettings

ODD = {
    "ja": "走る,美しい,cat,犬!,「海」,1. 山,犬（いぬ）,ﾈｺ,なし,12,🐈,=海,ー,犬 猫,くじら,",
    "en": "quickly,the,犬,ice cream,London,CAT.,  moon ,None,(dog),well-known,🐈,=tree,a,",
}
NAMES = {
    "ja": ("参加者", "条件", "時期", "単語", "年齢"),
    "en": ("participant", "condition", "time", "word", "age"),
}
LISTS = 100  # of each language


def words_of(language: str) -> list[str]:
    """Some 1,100 nouns."""
    nouns = load_nouns()[::20] if language == "ja" else english_nouns()[::20]
    return sorted(nouns)[:1100]


def sheet(number: int) -> tuple[str, str, dict[str, Any]]:
    """A table of six to twenty persons of up to two groups and two times, its language, and the options."""
    random = Random(f"sheet {number}")
    language = ("ja", "ja", "en")[number % 3]
    person, group, time, word, age = NAMES[language]
    groups, times, apart = number % 4 > 1, number % 2, number % 5 > 0
    head = [person, *[group] * groups, *[time] * times, age]
    head += [f"{word}{k}" for k in range(1, 11)] if apart else [word]
    file = io.StringIO()
    rows = csv.writer(file, delimiter="\t" if number % 7 == 3 else ",")
    rows.writerow(head)
    for who in range(random.randrange(6, 21)):
        of = ("実験群", "統制群")[who % 2] if language == "ja" else ("A", "B")[who % 2]
        years = str(random.randrange(18, 60)) if random.random() < 0.9 else ""
        for when in range(1 + times):
            if times and random.random() < 0.05:
                continue
            words = random.sample(words_of(language)[: 200 + 300 * when], 10)
            if random.random() < 0.3:
                words[random.randrange(10)] = random.choice(
                    (*ODD[language].split(","), words[0])
                )
            row = [f"s{who:02d}", *[of] * groups, *[("前", "後")[when]] * times, years]
            rows.writerow(row + (words if apart else ["\n".join(words)]))
    options = {"participant": person, **({"group": group} if groups else {})}
    options |= {"trial": time} if times else {}
    return (
        file.getvalue(),
        language,
        options | {"correlate": [age] if number % 3 else []},
    )


def sheets(first: int, folder: Path) -> Mapping[str, Any]:
    """Every third sheet -> its scores, person by person, and the text around them, in both languages."""
    values = {}
    for number in range(first, 60, 3):
        text, language, options = sheet(number)
        file, out = folder / f"{number}.csv", folder / str(number)
        file.write_text(text, "utf-8")
        correlate = options.pop("correlate")
        task = Dat(DatSettings(language=language, noun_checker=CHECKERS[language]))
        with patch("sozo.suite.people.figure.design_figure", lambda *_: ("", True)):
            score_people(task, file, out, PeopleOptions(**options), correlate=correlate)
        kept = files_of(out, but=("config.json", "metrics.json", "bill.jsonl"))
        values |= {f"{number}: {name}": content for name, content in kept.items()}
    return values


CHECKERS = {"ja": "jumandic-speakers", "en": "auto"}


def lists(language: str) -> Iterator[list[str]]:
    """Ten words each, some of them odd."""
    random, odd = Random(f"form {language}"), ODD[language].split(",")
    for _ in range(LISTS):
        words = random.sample(words_of(language), 10)
        for _ in range(random.choice((0, 0, 1, 2))):
            words[random.randrange(10)] = random.choice((*odd, words[0]))
        yield words


def of_the_form(folder: Path) -> Mapping[str, Any]:
    """List -> the page's score, and the words as it keeps them."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    browser, values = Browser(folder / "profile"), {}
    try:
        for language in ODD:
            page = folder / f"{language}.html"
            known = dict.fromkeys(words_of(language))
            with patch("sozo.suite.people.form.vocabulary", lambda _, w=list(known): w):
                form(page, language)
            browser.open(page.as_uri() + "?p=S1", 390)
            browser.run("loaded.then(() => 1)")
            drawn = list(lists(language))
            said = browser.run(
                f"{json.dumps(drawn)}.map((words) =>"
                " [scored(judge(words))?.score ?? null, ...words.map(tidy)])"
            )
            values |= {
                f"{language} {list_text(w)}": s
                for w, s in zip(drawn, said, strict=True)
            }
    finally:
        browser.close()
    return values


PARTS: dict[str, Any] = {
    f"sheets-{first}": partial(sheets, first) for first in range(3)
}
PARTS |= {"form": of_the_form}
