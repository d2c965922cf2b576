"""People's ratings: the file, line by line, and Table 8 by hand."""

import json

import pandas as pd
import pytest

from sentences import refused
from sozo.studies.correlate.people import KIND, judge_human_correlations
from sozo.studies.ratings import Rating, read_ratings

ROW = {"model": "m", "item": "q1", "criterion": "流暢性", "rater": "A", "score": 4}


def jsonl(tmp_path, *rows):
    path = tmp_path / "ratings.jsonl"
    path.write_text(
        "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows),
        "utf-8",
    )
    return path


def test_jsonl_and_csv_say_the_same(tmp_path):
    expected = [
        Rating("m", "q1", "流暢性", "A", 4.0),
        Rating("m", "7", "柔軟性, 広さ", "B", 2.5),
    ]
    rows = [
        ROW,
        "",
        {
            **ROW,
            "item": 7,
            "criterion": "柔軟性, 広さ",
            "rater": "B",
            "score": "2.5",
            "note": "x",
        },
    ]
    assert read_ratings(jsonl(tmp_path, *rows)) == expected
    table = tmp_path / "ratings.CSV"
    lines = [
        "score,rater,criterion,item,model,note",
        "4,A,流暢性,q1,m,",
        '2.5,B,"柔軟性, 広さ",7,m,"two\nlines"',
    ]
    table.write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())
    assert read_ratings(table) == expected


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([ROW, "{"], "ratings: no JSON"),
        ([{**ROW, "rater": None}], "ratings: empty cell"),
        ([{**ROW, "score": 6}], "ratings: score out of range"),
        ([{**ROW, "score": "good"}], "ratings: score a word"),
        ([{**ROW, "score": True}], "ratings: score a truth value"),
        ([{**ROW, "score": float("nan")}], "ratings: score no number"),
        ([{**ROW, "score": [4]}], "ratings: score a list"),
        ([{**ROW, "item": 1.5}], "ratings: item a fraction"),
        ([ROW, "", {**ROW, "score": 5}], "ratings: rated twice"),
    ],
)
def test_a_wrong_line_of_jsonl_is_named(tmp_path, rows, row):
    with refused(row):
        read_ratings(jsonl(tmp_path, *rows))


COLUMNS = b"model,item,criterion,rater,score\n"


@pytest.mark.parametrize(
    ("content", "row"),
    [
        (b"model,item,criterion,score\nm,q,f,3\n", "ratings: CSV without a column"),
        (COLUMNS + b"m,q,f,A,3\nm,q,f,B,\n", "ratings: CSV with an empty cell"),
        (COLUMNS + b"m,q,f,g,A,3\n", "ratings: CSV with too many cells"),
        (COLUMNS + b'm,q,f,A,3\nm,"q"x,f,A,3\n', "ratings: no CSV"),
        (COLUMNS + b"m,q,\x97\xac,A,3\n", "ratings: CSV not UTF-8"),
        (COLUMNS, "ratings: CSV of headings alone"),
        (b"", "ratings: empty CSV"),
    ],
)
def test_a_wrong_line_of_csv_is_named(tmp_path, content, row):
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)
    with refused(row):
        read_ratings(path)


def test_a_file_that_is_none(tmp_path):
    with refused("ratings: file not there"):
        read_ratings(tmp_path / "none.csv")
    (tmp_path / "ratings.txt").write_text("x")
    with refused("ratings: neither JSONL nor CSV"):
        read_ratings(tmp_path / "ratings.txt")


def test_table_8_by_hand():
    # Task one: people's means over two raters 1, 2, 3, 4, 5 against the judge's 1, 3, 2, 5, 4: r = 0.8.
    people, judged, order = [], {}, [1, 3, 2, 5, 4]
    for i in range(5):
        for rater, shift in (("A", 0.5), ("B", -0.5)):
            people.append(Rating(f"m{i}", "q1", "f", rater, 1 + i + shift))
        judged[f"m{i}", "q1", "f"] = order[i]
        # Another criterion, which the judge missed for the last answer: 1, 2, 3, 4 against 4, 3, 2, 1.
        people.append(Rating(f"m{i}", "q1", "g", "A", 1 + i))
        judged[f"m{i}", "q1", "g"] = None if i == 4 else 4 - i
    # Task two: people saw no difference.
    people += [Rating(f"m{i}", "q2", "f", "A", 3) for i in range(3)]
    judged |= {(f"m{i}", "q2", "f"): i for i in range(3)}
    scores = pd.Series(judged, dtype=float).unstack()
    scores.insert(
        0, KIND, ["one" if item == "q1" else "two" for _, item in scores.index]
    )
    scores = scores.sort_values(KIND)
    cells = {
        (cell.task, cell.criterion): cell
        for cell in judge_human_correlations(people, scores)
    }
    assert [*cells] == [
        (t, c) for t in ("one", "two", "All") for c in ("f", "g", "mean")
    ]
    first = cells["one", "f"]
    assert (first.correlation.r, first.correlation.n, first.of) == (
        pytest.approx(0.8),
        5,
        5,
    )
    assert first.correlation.note == "5 answers: the interval is wide"
    missed = cells["one", "g"]
    assert (missed.correlation.r, missed.correlation.n, missed.of) == (
        pytest.approx(-1),
        4,
        5,
    )
    # The mean needs every criterion of both: people 1, 2, 3, 4 and judge (1+4)/2, (3+3)/2, (2+2)/2, (5+1)/2.
    mean = cells["one", "mean"].correlation
    assert (mean.r, mean.n) == (pytest.approx(0.13484, abs=1e-5), 4)
    assert cells["two", "f"].correlation.reason == "all 3 values of y are equal"
    assert (cells["two", "g"].of, cells["two", "g"].correlation.reason) == (
        0,
        "no values of x",
    )
    # Over both questions three models have two answers each: 8 pairs are not 8 draws.
    pooled = cells["All", "f"].correlation
    assert (pooled.n, pooled.p, pooled.low) == (8, None, None)
    assert pooled.r is not None
    assert (
        pooled.reason
        == "answers share models or questions: neither interval nor p-value"
    )


def test_a_judge_that_scored_nothing():
    rating = Rating("m", "q1", "f", "A", 3)
    nothing = pd.DataFrame(
        {KIND: "one", "f": [float("nan")]}, pd.MultiIndex.from_tuples([("m", "q1")])
    )
    cell = judge_human_correlations([rating], nothing)[0]
    assert (cell.of, cell.correlation.n, cell.correlation.r) == (1, 0, None)
