"""A psychologist's spreadsheet through `sozo people`: every kind of file, people's rule, and where words may go."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

from fakes import AXES
from judge_server import serving
from sentences import refused, says
from sheets import (
    HEADINGS,
    LISTED,
    WORDS,
    command,
    lists,
    save,
    scored,
    table,
    written,
)
from sozo.data.sheet import as_text, read_sheet
from sozo.scoring.embeddings.e5 import E5Encoder
from sozo.suite.people.command import PeopleOptions, score_people, words_go
from sozo.suite.people.lists import people_words, read_written
from sozo.suite.people.scores import score_written
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.task import Dat
from workbooks import cell, workbook

ROOT = Path(__file__).parents[2]
WIDE = [HEADINGS, ["007", *WORDS]]


KINDS = {
    "shift_jis": (table(WIDE), "cp932", ",", "Shift_JIS"),
    "sep": ("sep=;\r\n" + table(WIDE, ";"), "utf-8-sig", ";", "UTF-8"),
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
    flags = ("--noun-checker", "jumandic", "--all-scores", "--output", output)
    code, out, err = command(monkeypatch, capsys, "people", file, *flags)
    assert (code, err) == (0, "")
    assert f"1 row read as {name}." in out
    (row,) = written(output / "scores.csv", delimiter)
    scorer = DatScorer.from_settings(DatSettings(noun_checker="jumandic"))
    strict = scorer.score([LISTED])[0].score
    assert next(iter(row.values())) == "007"
    assert row["sozo_words"] == "、".join(WORDS[:7])
    names = ("sozo_refused", "sozo_reason", "sozo_strict_reason")
    assert [row[name] for name in names] == [""] * 3
    assert float(row["sozo_strict_score"]) == pytest.approx(strict, abs=5e-5)
    assert 0 < float(row["sozo_score"]) < 2


REFUSED = {
    "no column of lists": "参加者,年齢\na,1\n",
    "a list of one trial twice": "participant,trial,answer\n1,1,犬 猫\n2,1,犬 猫\n1.0,1.0,猫\n",
    "nobody's list": "participant,answer\n1,犬\n,猫\n",
    "two columns of one word": "participant,answer,Answer\n1,犬,猫\n",
    "a NUL character": table(WIDE).replace("007", "0\x007"),
    "a zip archive": b"PK\x03\x04" + bytes(99),
    "an old workbook": b"\xd0\xcf\x11\xe0" + bytes(99),
    "a large-file pointer": "version https://git-lfs.github.com/spec/v1\nsize 3\n",
    "headings alone": "participant,answer\n",
    "UTF-16": table(WIDE).encode("utf-16"),
    "an SPSS file": b"$FL2@(#) SPSS DATA FILE" + bytes(99),
    "mojibake": table(WIDE).encode().decode("latin-1"),
    "twelve columns of words": table(
        [
            ["participant", *(f"Q{k}_word" for k in range(1, 13))],
            ["1", *WORDS, "鏡", "嵐"],
        ]
    ),
    "Latin-1": "participant,answer\n1,Zürich\n".encode("latin-1"),
    # This line in UTF-8 is Shift_JIS as well, of kanji that nobody wrote: 縺縺.
    "Shift_JIS, then UTF-8": "participant,answer\n1,猫\n".encode("cp932")
    + "2,ああ\n".encode(),
    "an open quote": 'participant,answer\n1,"犬\n2,猫\n',
    "an empty file": "",
}


@pytest.mark.parametrize("row", REFUSED)
def test_what_is_no_such_table_is_refused_in_both_languages(
    row, tmp_path, monkeypatch, capsys
):
    file = save(tmp_path / "表.csv", REFUSED[row])
    flags = ("people", file, "--output", tmp_path / "out", "--lang")
    code, out, err = command(monkeypatch, capsys, *flags, "en")
    assert (code, out, says(f"people: {row}", err)) == (2, "", True), err
    code, out, err = command(monkeypatch, capsys, *flags, "ja")
    assert (code, out, err.count("\n")) == (2, "", 1)
    said = err.replace(str(file), "").replace("error: ", "")
    assert re.search("[ぁ-ん]", said)
    assert (
        re.findall(r"\b(?:is|the|no|not|it|columns|row|line|holds|an?)\b", said) == []
    )
    assert not (tmp_path / "out").exists()


def test_peoples_rule():
    assert people_words("犬\r\n猫\r\n\r\n海") == ["犬", "猫", "海"]
    assert people_words("犬,猫，海、山､川;空；石") == list("犬猫海山川空石")
    numbered = "① 犬 ② 猫\n(3) 海\n４．山\n5)川\n6: 空\n・石\n- 木"
    assert people_words(numbered) == list("犬猫海山川空石木")
    assert people_words("ﾈｺ、ﾋﾟｱﾉ") == ["ネコ", "ピアノ"]
    assert people_words("「犬」と。、 猫。") == ["犬」と", "猫"]
    assert people_words(" 　\n1.\n2.\n、") == []
    # No numbering: the word stays what was written.
    assert people_words("3月 1犬 10") == ["3月", "1犬"]


def test_english_people_by_olson_are_on_the_scale_of_models_by_olson(
    tmp_path, monkeypatch, capsys
):
    rows = lists("cat, Cat, cats, moon, algorithm, feather, priest, volcano, butter")
    file, output = save(tmp_path / "en.csv", table(rows)), tmp_path / "out"
    flags = ("--language", "en", "--olson", "--output", output)
    code, out, err = command(monkeypatch, capsys, "people", file, *flags)
    assert code == 0, err
    out, (cats,) = " ".join(out.split()), written(output / "scores.csv")
    assert 50 < float(cats["sozo_score"]) < 100
    assert "times 100; it goes from 0 to 200" in out
    assert "(olson)" not in out
    assert "cannot be compared with published norms" in out
    assert cats["sozo_scale"].endswith("times 100")


def results(fake, tmp_path, *answers):
    sheet = read_sheet(save(tmp_path / "p.csv", table(lists(*answers))))
    return score_written(read_written(sheet), fake.scorer).to_dict("records")


def test_the_first_seven_usable_of_ten_count(fake, tmp_path):
    ten = "、".join(AXES[:10])
    whole, bad, few, mostly_bad, repeated, many = results(
        fake,
        tmp_path,
        ten,
        "dog 走る " + ten,
        "犬 猫 水 山 川 本",
        "犬 猫 水 山 川 本 走る abc 犬",
        "犬 犬 猫 水 山 川 本 車",
        "走る " * 10 + ten,  # what comes after the tenth word is not read
        "  ",  # wrote no list
    )
    assert whole["score"] == 1
    assert whole["words"] == "犬、猫、水、山、川、本、車"
    assert (bad["score"], bad["refused"]) == (1, "dog (not_japanese)、走る (not_noun)")
    assert (few["reason"], mostly_bad["reason"]) == (
        "too_few_words",
        "fewer_than_7_valid",
    )
    assert np.isnan([few["score"], mostly_bad["score"], many["score"]]).all()
    assert (repeated["score"], repeated["refused"]) == (1, "犬 (repeated_word)")
    assert many["reason"] == "fewer_than_7_valid"


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
    evil = ["=1+1", "+1+2", "@SUM(A1)", "\tx", "＝1"]
    rows = [["participant", "mood", "=note", "response", "sozo_score"]]
    rows += [[cell, "-3.5", cell, cell, "0.5"] for cell in evil]
    (*_, last), _ = scored(
        fake, tmp_path, [*rows, ["007", "1", "", "、".join(AXES), ""]]
    )
    text = (tmp_path / "out/scores.csv").read_bytes().decode("utf-8-sig")
    headings, *lines = csv.reader(io.StringIO(text, newline=""))
    assert headings[:5] == ["participant", "mood", "'=note", "response", "sozo_score"]
    assert [line[0] for line in lines] == [*(f"'{cell}" for cell in evil), "007"]
    assert [line[1] for line in lines] == [*["-3.5"] * len(evil), "1"]
    cells = [cell for line in [headings, *lines] for cell in line if cell]
    assert not [cell for cell in cells if cell[0] in "=+@＝\t\r"]
    # A heading of ours that the sheet has is the sheet's.
    assert (last["sozo_score"], last["sozo2_score"]) == ("", "1.0000")
    assert as_text("\rx") == "'\rx"


def test_what_people_wrote_has_no_meaning_on_the_page(fake, tmp_path):
    words = ["<img src=x>", "[a](b)", "\x1b[31mred", *AXES[:10]]
    script = "<script>x</script> \x1b[31m"
    rows = [["participant", script], [script, "\n".join(words)]]
    _, text = scored(fake, tmp_path, [*rows, ["{{ 7 * 7 }}", "\n".join(words)]])
    html = (tmp_path / "out/people.html").read_text("utf-8")
    assert "&lt;script&gt;" in html.lower()
    assert "{{ 7 * 7 }}" in html
    # Of a drawing's name spaces nothing is loaded.
    html = re.sub("http-equiv|http://www.w3.org/|https://doi.org/", "", html)
    assert "http" not in html
    # What stands in a fence, to be pasted, has no meaning either.
    text, *fenced = text.split("~~~text\n")
    assert [part.splitlines().count("~~~") for part in fenced] == [1] * 3
    assert "\x1b" not in text
    for page in (text, html.split("~~~text\n")[0]):
        for evil in ("<script>x", "<img", "[a](b"):
            assert evil not in page


def test_the_first_line_says_how_many_people_wrote_how_often(fake, tmp_path):
    ten, other = "、".join(AXES[:10]), "、".join(AXES[1:11])
    rows = [["Code", "事前", "事後", "mood"], ["Ｓ１", ten, other, "1"]]
    rows += [["s2", ten, "特になし", "2"], ["平均", "", "", "1.5"]]
    with refused("people: nobody is named"):
        scored(fake, tmp_path, rows)
    scores, page = scored(fake, tmp_path, rows, participant="code")
    assert page.startswith("Of 2 participants, 1 entered the analysis; left out were")
    for fact in ("1 (3)", "1 (4)", "3 of 3", "one of the times: s2."):
        assert fact in page
    assert [(row["Code"], row["sozo_trial"], row["sozo_score"]) for row in scores] == [
        ("Ｓ１", "事前", "1.0000"),
        ("Ｓ１", "事後", "1.0000"),
        ("s2", "事前", "1.0000"),
        ("平均", "", ""),
    ]
    with refused("people: a folder of another participant"):
        scored(fake, tmp_path, rows)


def test_a_folder_of_people_is_of_one_file_and_no_run(tmp_path, monkeypatch, capsys):
    """What its pages say is frozen (tests/frozen)."""
    monkeypatch.chdir(tmp_path)
    file = ROOT / "examples/people.csv"
    flags = ("people", file, "--noun-checker", "jumandic", "--output", "out")
    # The words are Japanese, and so is what the terminal says of them.
    code, out, err = command(monkeypatch, capsys, *flags, "--lang", "ja")
    assert (code, err) == (0, "")
    assert (tmp_path / "out/people_ja.md").read_text("utf-8") in out
    assert "採点は実施者のコンピューターの中で行い、" in out
    assert "フォルダー out を削除すれば、" in out
    code, out, _ = command(monkeypatch, capsys, *flags)
    assert (code, "finished before" in out) == (0, True)
    other = save(tmp_path / "q.csv", table(lists("、".join(AXES))))
    _, _, err = command(monkeypatch, capsys, "people", other, *flags[2:])
    assert says("people: a folder of another file", err)
    # The folder is no run: nothing that sends or shows answers reads it.
    _, _, err = command(monkeypatch, capsys, "report", "out")
    assert says("people: a folder of people is no run", err)
    again = ("score", "dat", "out", "--output", "again")
    code, _, err = command(monkeypatch, capsys, *again)
    assert (code, says("people: a folder of people is no answers", err)) == (2, True)


def test_words_go_to_a_server_within_a_consensus_only_where_people_agreed(
    tmp_path, monkeypatch, capsys
):
    file, output = save(tmp_path / "p.csv", table(WIDE)), tmp_path / "out"
    flags = (file, "--embedding-model", "ja-ginza+openai:m", "--output", output)
    code, out, err = command(monkeypatch, capsys, "people", *flags)
    assert (code, out, says("people: words to a server", err)) == (2, "", True)
    assert not output.exists()


def test_a_cache_of_their_words_says_so_and_can_be_left_out(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path / "home"))

    def goes(**settings):
        return words_go(Dat(DatSettings(noun_checker="jumandic", **settings)).settings)

    assert goes() == (None, None)
    assert goes(embedding_model="ja-ginza+e5[query: ]") == (
        None,
        tmp_path / "home/vectors",
    )
    assert goes(embedding_model="e5", embedding_cache="none") == (None, None)
    assert goes(embedding_cache="vectors") == (None, Path("vectors"))
    assert goes(embedding_model="openai:e") == ("openai:e", None)
    assert E5Encoder(Path("none"))._kept._disk is None
    file = save(tmp_path / "p.csv", table(WIDE))
    flags = ("--noun-checker", "jumandic", "--embedding-cache", "vectors")
    monkeypatch.chdir(tmp_path)
    _, out, _ = command(monkeypatch, capsys, "people", file, *flags, "--output", "out")
    assert "--embedding-cache none keeps none" in out
    assert list(Path("vectors").glob("*.sqlite"))


def test_a_workbook_is_read_as_its_sheet_says(fake, tmp_path):
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
    with refused("people: a workbook of two sheets"):
        score_people(fake, path, tmp_path / "out", PeopleOptions())
    score_people(fake, path, tmp_path / "out", options)
    (scores,) = written(tmp_path / "out/scores.csv")
    assert (scores["participant"], scores["sozo_score"]) == ("7", "1.0000")


def test_a_workbook_of_another_kind_is_refused(tmp_path):
    with refused("people: a workbook of OpenOffice"):
        read_sheet(save(tmp_path / "people.ods", b"PK\x03\x04"))


def test_with_send_words_the_server_gets_them_and_without_nothing(
    tmp_path, monkeypatch, capsys
):
    asked = []

    def reply(request, headers):
        asked.extend(request["input"])
        vectors = np.eye(40)[[sum(map(ord, word)) % 40 for word in request["input"]]]
        rows = enumerate(vectors.tolist())
        return 200, {}, {"data": [{"index": k, "embedding": row} for k, row in rows]}

    with serving(reply) as url:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        file = save(tmp_path / "p.csv", table(WIDE))
        flags = (file, "--noun-checker", "jumandic", "--embedding-model", "openai:m")
        flags = (*flags, "--output", tmp_path / "out")
        code, _, err = command(monkeypatch, capsys, "people", *flags)
        assert (code, says("people: words to a server", err), asked) == (2, True, [])
        assert not (tmp_path / "out").exists()
        code, _, err = command(monkeypatch, capsys, "people", *flags, "--send-words")
    assert (code, err) == (0, "")
    assert set(WORDS) <= set(asked)
    text = (tmp_path / "out/people.md").read_text("utf-8")
    assert "the words of participants were sent to the server openai:m" in text
