"""What stands before people's words and above their rows: marks, headings, sums; none of it is a participant's word."""

import pytest

from sentences import refused
from sheets import HEADINGS, WORDS, save, table
from sozo.data.sheet import read_sheet
from sozo.suite.people.lists import people_words, read_written

ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"]
ONE_SIGN = "ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ"
SMALL = "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹ"


def listed(form, between="\n"):
    return between.join(form(k, word) for k, word in enumerate(WORDS))


# One cell: each is the same ten words.
MARKED = {
    "roman": listed(lambda k, w: f"{ROMAN[k]}. {w}"),
    "roman, brackets": listed(lambda k, w: f"({ROMAN[k]}) {w}"),
    "roman, in one line": listed(lambda k, w: f"{ROMAN[k]}. {w}", " "),
    "one sign, glued": listed(lambda k, w: f"{ONE_SIGN[k]}{w}"),
    "diamonds": listed(lambda k, w: f"◆{w}"),
    "reference marks": listed(lambda k, w: f"※{w}"),
    "bullets of Word": listed(lambda k, w: f"\uf0b7 {w}"),
    "diamonds in one line": listed(lambda k, w: f"◆{w}", ""),
    "diamonds between blanks": listed(lambda k, w: f"◆{w}", " "),
    "keycaps": listed(lambda k, w: f"{k + 1}\ufe0f\u20e3{w}" if k < 9 else f"🔟{w}"),
    "at signs": listed(lambda k, w: f"@{w}"),
    "plus signs": listed(lambda k, w: f"+ {w}"),
    "greek": listed(lambda k, w: f"{'αβγδεζηθικ'[k]}. {w}"),
    "iroha": listed(lambda k, w: f"{'イロハニホヘトチリヌ'[k]}. {w}"),
    "a label of letters": listed(lambda k, w: f"Q{k + 1}. {w}"),
}


@pytest.mark.parametrize("kind", MARKED)
def test_a_mark_before_every_word_is_not_the_participants(kind):
    assert people_words(MARKED[kind]) == WORDS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I\nyou\ncat", ["i", "you", "cat"]),
        ("vitamin\nxylophone\nion", ["vitamin", "xylophone", "ion"]),
        ("I. cat\nII. moon", ["cat", "moon"]),
    ],
)
def test_letters_that_are_no_sequence_stay(text, words):
    assert people_words(text, "en") == words


def test_a_mark_of_some_words_stays_theirs():
    assert people_words("★犬\n法律\n海") == ["★犬", "法律", "海"]


# --- above and below the rows ---


def sheet(tmp_path, rows):
    return read_sheet(save(tmp_path / "s.csv", table(rows)))


@pytest.mark.parametrize(
    ("row", "above"),
    [
        ("headings in row 3", [["DAT 調査 2026"], []]),
        ("headings in row 2", [["単語課題", "", "", ""]]),
    ],
)
def test_a_title_above_the_headings_is_told(row, above, tmp_path):
    rows = [[*line, *[""] * (11 - len(line))] for line in above]
    path = save(tmp_path / "s.csv", table([*rows, HEADINGS, ["p1", *WORDS]]))
    with refused(f"people: {row}"):
        read_written(read_sheet(path))


def test_one_question_over_ten_columns_is_told(tmp_path):
    heads = ["参加者番号", "10個の名詞を書いてください", *[""] * 9]
    rows = [heads, *([f"S{k}", *WORDS] for k in range(3))]
    with refused("people: one question over ten columns"):
        read_written(sheet(tmp_path, rows))


@pytest.mark.parametrize(
    "name",
    ["平均", "合計", "平均値", "総計", "Mean", "SD", "中央値"],
)
def test_sums_below_are_no_participants(name, tmp_path):
    rows = [HEADINGS, *([f"S{k}", *WORDS] for k in range(3))]
    rows.append([name, "3", *[""] * 9])
    lists = read_written(sheet(tmp_path, rows))
    assert lists["participant"].tolist() == ["S0", "S1", "S2"]
