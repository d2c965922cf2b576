"""What stands before people's words and above their rows: marks, headings, sums; none of it is a participant's word."""

import pytest

from fakes import AXES
from sentences import refused
from sheets import HEADINGS, WORDS, save, scored, table
from sozo.data.sheet import read_sheet
from sozo.suite.people.lists import people_words, read_written


def test_letters_and_marks_of_some_words_stay_theirs():
    assert people_words("vitamin\nxylophone\nion", "en")[0] == "vitamin"
    assert people_words("★犬\n法律\n海") == ["★犬", "法律", "海"]


# --- above and below the rows ---


def sheet(tmp_path, rows):
    return read_sheet(save(tmp_path / "s.csv", table(rows)))


def test_a_title_above_the_headings_is_told(tmp_path):
    above = [["DAT 調査 2026", *[""] * 10], [""] * 11]
    path = save(tmp_path / "s.csv", table([*above, HEADINGS, ["p1", *WORDS]]))
    with refused("people: headings in row 3"):
        read_written(read_sheet(path))


def test_one_question_over_ten_columns_is_told(tmp_path):
    heads = ["参加者番号", "10個の名詞を書いてください", *[""] * 9]
    rows = [heads, *([f"S{k}", *WORDS] for k in range(3))]
    with refused("people: one question over ten columns"):
        read_written(sheet(tmp_path, rows))


@pytest.mark.parametrize(
    "name",
    ["合計", "平均値", "SD"],
)
def test_sums_below_are_no_participants(name, tmp_path):
    rows = [HEADINGS, *([f"S{k}", *WORDS] for k in range(3))]
    rows.append([name, "3", *[""] * 9])
    lists = read_written(sheet(tmp_path, rows))
    assert lists["participant"].tolist() == ["S0", "S1", "S2"]


# --- nothing is passed over in silence ---

TEN = AXES[:10]
MANY = [["p1", *TEN], ["p2", *TEN]]
CONSENT = [["participant", "同意", "回答"]]
CONSENT += [
    [f"p{k}", said, "、".join(TEN)] for k, said in enumerate(["はい", "いいえ", "はい"])
]

BOTH = [[f"p{k}", "はい", ("はい", "", "いいえ")[k], "、".join(TEN)] for k in (0, 2)]
SPANNED = [["", "Response", *(f"Response {k}" for k in range(1, 11))]]
SPANNED += [[str(k), "はい", *TEN] for k in (1, 2)]


def tool(who):
    """An export with question texts and a tool's sign below its headings, with a byte order mark."""
    rows = [
        ["ResponseId", "Q2"],
        ["Response ID", "名詞を10個"],
        ['{"ImportId":"x"}'] * 2,
    ]
    return "\ufeff" + table([*rows, [who, "、".join(TEN)]])


def filed(*rows):
    return "\ufeff" + table([HEADINGS, *rows])


P1, P2 = (filed(row) for row in MANY)
# Files of a folder, options, how many people, and what is told.
TOLD = {
    "upper case": ({"a.csv": P1, "B.CSV": P2}, {}, 2, None),
    "of a Mac": (
        {"a.csv": P1, "._a.csv": "\0\x05", ".DS_Store": ""},
        {},
        1,
        "(hidden): 2",
    ),
    "no table": ({"a.csv": P1, "a.txt": "犬"}, {}, 1, "(no CSV file): 1 (a.txt)"),
    "equal": (
        {"DAT (1).csv": P1, "DAT.csv": P1},
        {},
        1,
        "(equal to DAT.csv): 1 (DAT (1).csv)",
    ),
    "joined by hand": (
        {"a.csv": P1 + P2},
        {},
        2,
        "(repeats a heading): 1 (3 of a.csv)",
    ),
    "a tool's, joined": (
        {"a.csv": tool("a") + tool("b")},
        {},
        2,
        "(repeats a heading): 3",
    ),
    "no list": (
        {"a.csv": P1, "b.csv": filed(["p2", *[""] * 10])},
        {},
        1,
        "list: 1 (2 of b.csv)",
    ),
    "unseen": (
        {"a.csv": filed(["\u200bp1", "犬\u200b", "\u00ad猫", *TEN[2:]])},
        {},
        1,
        "in cells: 3",
    ),
    "7.0": (
        {"a.csv": filed(["7.0", *TEN], ["007", *TEN])},
        {},
        2,
        "Read as one: 7.0 = 7.",
    ),
    "only": (
        {"a.csv": table(CONSENT)},
        {"only": ["同意=はい"]},
        2,
        "(other than 同意=はい): 1 (3 of a.csv)",
    ),
    "consent elsewhere": (
        {"a.csv": P1 + P2, "q.csv": "participant,同意\np1,はい\np2,いいえ\n"},
        {"only": ["同意=はい"]},
        1,
        "(other than 同意=はい): 2",
    ),
    "two of which both": (
        {"a.csv": table([["participant", "同意", "公開", "回答"], *BOTH])},
        {"only": ["同意=はい", "公開=はい"]},
        1,
        "(other than 公開=はい): 1",
    ),
    "a heading that spans ten": (
        {"a.csv": table([["番号", "同意しますか", "名詞を", *[""] * 9], *SPANNED])},
        {"header_rows": 2},
        2,
        "columns 番号; Response 1–Response 10.",
    ),
    "a person": ({"a.csv": filed(["氏名", *TEN], *MANY)}, {"header_rows": 1}, 3, None),
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_is_no_participant_is_told(kind, fake, tmp_path):
    files, options, people, fact = TOLD[kind]
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in files.items():
        save(folder / name, text)
    rows, page = scored(fake, tmp_path, folder, **options)
    assert page.startswith(f"All {people} participants entered")
    assert sum(row["sozo_score"] == "1.0000" for row in rows) == people
    assert fact is None or fact in page, page


# Rows below the headings that no person wrote.
NO_PERSON = {
    "who": [["氏名", *TEN], *MANY],
    "words": [["x", *["名詞を書いてください"] * 10], *MANY],
    "joined": [*MANY, [*HEADINGS[1:], HEADINGS[0]]],
    "joined, otherwise spelt": [*MANY, ["Who", *(f"Word {k}" for k in range(1, 11))]],
}


@pytest.mark.parametrize("kind", NO_PERSON)
def test_a_second_heading_is_shown_and_not_guessed(kind, tmp_path):
    with refused(f"people: a second heading, {kind}"):
        read_written(sheet(tmp_path, [HEADINGS, *NO_PERSON[kind]]))


def test_a_value_that_no_row_has_and_two_columns_of_one_name(fake, tmp_path):
    for wish in ("同意=yes", "同意"):
        with refused("people: no row of that value"):
            scored(fake, tmp_path, CONSENT, only=[wish])
    (tmp_path / "in").mkdir()
    save(tmp_path / "in/a.csv", P1)
    save(tmp_path / "in/q.csv", "participant,開放性,開放性\np1,3,4\n")
    with refused("people: two columns of one name"):
        read_sheet(tmp_path / "in")
