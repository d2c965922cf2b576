"""People's ratings: a lab's sheets and ratings files as one table, and what is wrong with one."""

import csv
import json

import pytest

from finished_runs import QUESTION_OF_TASK, given_jcq
from sentences import refused
from sozo.eval.answers import write_for_raters
from sozo.eval.evaluated import find_evaluated
from sozo.studies.agreement.run import agree_raters
from sozo.studies.ratings import UNIT, read_ratings, said_of

ROW = {"model": "m", "item": "q1", "criterion": "流暢性", "rater": "A", "score": 4}
LONG = [("m", "q1", "fluency", "A", 4.0), ("m", "7", "flexibility", "B", 2.5)]
COLUMNS = ["system", "item", "criterion", "rater", "score"]


def jsonl(tmp_path, *rows, name="ratings.jsonl"):
    path = tmp_path / name
    path.write_text(
        "".join(
            (r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n"
            for r in rows
        ),
        "utf-8",
    )
    return path


def read(*paths, **how):
    table = read_ratings(paths, **how)
    return [*table[COLUMNS].itertuples(index=False, name=None)]


def test_jsonl_and_csv_say_the_same(tmp_path):
    other = {"item": 7, "criterion": "柔軟性", "rater": "B", "score": "2.5"}
    assert read(jsonl(tmp_path, ROW, "", ROW | other | {"note": "x"})) == LONG
    table = tmp_path / "ratings.CSV"
    lines = ["点数,評価者,観点,質問,モデル,memo", "４,A,流暢性,q1,m,"]
    lines += ['2.5,B,柔軟性,7,m,"two\nlines"']
    for encoding in ("utf-8-sig", "cp932"):
        table.write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
        assert read(table) == LONG


def test_a_wide_sheet_has_a_column_for_each_rater_and_criterion(tmp_path):
    sheet = tmp_path / "lab.csv"
    sheet.write_text(
        "No.,条件,質問番号,回答,評価者A 流暢性,評価者B_流暢性,面白さ（評価者A）,備考,"
        "田中 独創性,田中 有用性,田中コメント,GPT-4o（自動）_独創性\n"
        "1,m,q1,海,4,3,2,良い,3,1,好き,2\n2,n,q1,空,5,,1,,,,,\n",
        "utf-8",
    )
    assert said_of(read_ratings([sheet]), {})[1:] == [
        "Not read: No., 備考, 田中コメント."
    ]
    assert read(sheet) == [
        ("m", "q1", "fluency", "評価者A", 4),
        ("m", "q1", "fluency", "評価者B", 3),
        ("m", "q1", "originality", "田中", 3),
        ("m", "q1", "originality", "GPT-4o(自動)", 2),
        ("m", "q1", "面白さ", "評価者A", 2),
        ("m", "q1", "有用性", "田中", 1),  # whom another column names
        ("n", "q1", "fluency", "評価者A", 5),
        ("n", "q1", "面白さ", "評価者A", 1),
    ]


def test_a_rater_is_a_column_or_the_name_of_the_file(tmp_path):
    for rater, score in (("tanaka", 3), ("sato", 4)):
        sheet = tmp_path / f"{rater}.csv"
        sheet.write_text(f"answer,独創性,精緻性\na1,{score},\na2,5,5\n", "utf-8")
    rows = read(tmp_path / "tanaka.csv", tmp_path / "sato.csv")
    assert [row[3] for row in rows] == ["tanaka"] * 3 + ["sato"] * 3


def test_blind_answers_are_found_by_their_key(tmp_path):
    sheet, key = tmp_path / "x.csv", tmp_path / "key.csv"
    sheet.write_text("answer,rater,独創性\nb,x,3\na,x,4\n", "utf-8")
    key.write_text("answer,system,item,id\na,m,q1,q1-0\nb,n,q1,q1-1\n", "utf-8")
    table = read_ratings([sheet], key=key)
    assert table[[*UNIT, "score"]].to_numpy().tolist() == [
        ["n", "q1", "q1-1", 3],
        ["m", "q1", "q1-0", 4],
    ]
    key.write_text("answer,system,item,id\na,m,q1,q1-0\n", "utf-8")
    with refused("ratings: answer that is not in the key"):
        read_ratings([sheet], key=key)


def test_a_sheet_for_raters_is_blind_and_comes_back_through_its_key(tmp_path):
    grades = {q.id: [(int(q.id) % 5 + 1, 3, 3, 3)] for q in QUESTION_OF_TASK}
    for name in "xy":
        given_jcq(tmp_path / "runs" / name, name, grades)
    models = find_evaluated([str(tmp_path / "runs")])
    sheet = tmp_path / "sheet.csv"
    drawn, key = write_for_raters(sheet, models, 9)
    assert (drawn, key) == (8, tmp_path / "sheet.key.csv")  # four questions of both
    rows = [*csv.DictReader(sheet.open(encoding="utf-8-sig"))]
    criteria = ["流暢性", "柔軟性", "独創性", "精緻性"]
    assert [*rows[0]] == ["answer", "question", "text", *criteria]
    assert {row[name] for row in rows for name in criteria} == {""}
    keys = {
        row["answer"]: row for row in csv.DictReader(key.open(encoding="utf-8-sig"))
    }
    items = [keys[row["answer"]]["item"] for row in rows]
    assert items != sorted(items)
    for rater, shift in (("tanaka", 0), ("sato", 1)):
        lines = [",".join([*rows[0]])]
        for row, item in zip(rows, items, strict=True):
            score = grades[item][0][0] - (shift and row == rows[0])
            lines.append(f"{row['answer']},{row['question']},{row['text']},{score},,,")
        (tmp_path / f"{rater}.csv").write_text("\n".join(lines) + "\n", "utf-8")
    places = [str(tmp_path / name) for name in ("tanaka.csv", "sato.csv", "runs")]
    run = agree_raters(places, tmp_path / "out", key=key)
    cells = json.loads((run.path / "agreement.json").read_text("utf-8"))["cells"]
    two = {tuple(cell["between"]): cell for cell in cells if cell["what"] == "each two"}
    assert two["tanaka", "j"]["pairs"]["exact"] == 1  # the judge of these very answers
    assert two["tanaka", "sato"]["pairs"]["exact"] == 7 / 8
    with refused("answers: sheet that is there"):
        write_for_raters(sheet, models, 9)
    with refused("answers: fewer than the models"):
        write_for_raters(tmp_path / "other.csv", models, 1)


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([ROW, "{"], "ratings: no JSON"),
        ([{**ROW, "rater": None}], "ratings: empty cell"),
        ([{**ROW, "score": "good"}], "ratings: score a word"),
        ([{**ROW, "score": True}], "ratings: score a truth value"),
        ([{**ROW, "score": float("nan")}], "ratings: score no number"),
        ([{**ROW, "score": [4]}], "ratings: score a list"),
        ([ROW, "", {**ROW, "score": 5}], "ratings: rated twice"),
        ([], "ratings: empty file"),
    ],
)
def test_a_wrong_line_of_jsonl_is_named(tmp_path, rows, row):
    with refused(row):
        read(jsonl(tmp_path, *rows))


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("model,item,criterion,score\nm,q,f,3\n", "ratings: CSV without a column"),
        ("model,criterion,rater,点\nm,f,A,3\n", "ratings: no column with scores"),
        ("観点,評価者,点数\nf,A,3\n", "ratings: nothing that was rated"),
        ("item,A_fun,B_fun\nq,3,4\n", "ratings: who rated is not said"),
        ("item,流暢性,流暢性\nq,3,4\n", "ratings: two columns of one name"),
        ("item,A 流暢性\nq,3点\n", "ratings: word in a wide sheet"),
        ("item,rater,score\n", "ratings: CSV of headings alone"),
        ("モデル,A 流暢性\nm,3\nm,4\n", "ratings: nobody says which question"),
        ("質問,田中,,,\n,独創性,有用性,質,量\n", "ratings: two rows of headings"),
    ],
)
def test_a_wrong_sheet_is_named(tmp_path, text, row):
    path = tmp_path / "ratings.csv"
    path.write_text(text, "utf-8")
    with refused(row):
        read(path)


def test_a_file_that_is_none(tmp_path):
    with refused("ratings: file not there"):
        read(tmp_path / "none.csv")
