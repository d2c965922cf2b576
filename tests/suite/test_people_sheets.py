"""Sheets as people keep them and as survey tools export them: which words are read, and from which columns and rows."""

import csv
import io
import json

import pytest

from fakes import AXES
from sentences import refused
from sheets import LISTED, WORDS, save, scored, table
from sozo.data.sheet import read_sheet
from sozo.suite.people.lists import people_words, read_written

KANJI = "一二三四五六七八九十"
CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩"
WIDE = "１２３４５６７８９"
CUP = ["コーヒー・カップ", *WORDS[1:]]


def numbered(form, between="\n"):
    return between.join(form(k, word) for k, word in enumerate(WORDS, 1))


# One cell that holds a whole list: each is the same ten words.
CELLS = {
    "kanji_comma": numbered(lambda k, w: f"{KANJI[k - 1]}、{w}", " "),
    "kanji_bracket": numbered(lambda k, w: f"（{KANJI[k - 1]}）{w}", " "),
    "digit_glued_in_one_line": numbered(lambda k, w: f"{k}{w}", ""),
    "digit_hyphen": numbered(lambda k, w: f"{k}-{w}", " "),
    "wide_dot": numbered(
        lambda k, w: f"{'１０' if k == 10 else WIDE[k - 1]}．{w}", "　"
    ),
    "circled_kanji": numbered(lambda k, w: f"{chr(0x3280 + k - 1)}{w}", ""),
    "no": numbered(lambda k, w: f"No.{k} {w}", "、"),
    "count": numbered(lambda k, w: f"{k}つ目：{w}", "、"),
    "ordinal": numbered(lambda k, w: f"第{k}語 {w}"),
    "letters": numbered(lambda k, w: f"{'アイウエオカキクケコ'[k - 1]}. {w}"),
    "one_missed": numbered(lambda k, w: w if k == 5 else f"{k}{w}"),
    "spaced_dashes": " – ".join(WORDS),
    "middle_dots": "・".join(WORDS),
    "slashes": "/".join(WORDS),
    "quotes": "".join(f"「{w}」" for w in WORDS),
    "readings": "、".join([f"{WORDS[0]}【いぬ】", f"{WORDS[1]}(ほうりつ)", *WORDS[2:]]),
    "of a page": "<br>".join(WORDS),
    "of Excel": "_x000D_\n".join(WORDS),
    "nothing behind": "、".join([*WORDS, "無回答", "わからない", "none"]),
    "diamonds": numbered(lambda k, w: f"◆{w}", ""),
    "bullets of Word": numbered(lambda k, w: f"\uf0b7 {w}"),
}


@pytest.mark.parametrize("kind", CELLS)
def test_one_cell_with_a_whole_list_is_ten_words(kind):
    assert people_words(CELLS[kind]) == WORDS


def test_words_that_begin_as_a_number_does_stay_whole():
    same = ["一日", "二人", "三味線", "四季", "五月", "六法", "七夕", "八百屋", "九州"]
    for between in ("\n", "、", "・"):
        assert people_words(between.join(same)) == same
    assert people_words("一、二、三") == ["一", "二", "三"]
    assert people_words("一、犬\n二、\n三、海\n四、山") == ["犬", "海", "山"]
    assert people_words("一、一日\n二、二人") == ["一日", "二人"]
    # What is numbered is numbered from the start.
    assert people_words("犬\n一 番\n猫") == ["犬", "一", "番", "猫"]
    assert people_words("三月 1犬 10") == ["三月", "1犬"]


def test_a_middle_dot_within_a_word_stays_where_anything_else_parts_the_words():
    assert people_words("、".join(CUP)) == CUP
    assert people_words(numbered(lambda k, w: f"{k}. {CUP[k - 1]}")) == CUP


def test_english_cells():
    words = ["ice cream", "dog", "sea-horse"]
    for text in ("ice cream / dog / sea-horse", "1 ice cream, 2 dog, 3 sea-horse"):
        assert people_words(text, "en") == words
    assert people_words("first: one two", "en") == ["first", "one", "two"]


def lists_of(tmp_path, text, language="ja", name="sheet.csv"):
    return read_written(read_sheet(save(tmp_path / name, text)), language)


def wide(headings, rows=(WORDS,), first="participant"):
    return table([[first, *headings], *([f"p{k}", *row] for k, row in enumerate(rows))])


NAMES = {
    "word1": [f"word{k}" for k in range(1, 11)],
    "word0": [f"word{k}" for k in range(10)],
    "語①": [f"語{mark}" for mark in CIRCLED],
    "@1": [f"@{k}" for k in range(1, 11)],
    "V1": [f"V{k}" for k in range(1, 11)],
    "G01Q02[SQ001]": [f"G01Q02[SQ{k:03d}]" for k in range(1, 11)],
}

OTHER = "、".join(WORDS[::-1])
SECOND = [f"W2_{k}" for k in range(1, 11)]


@pytest.mark.parametrize("kind", NAMES)
def test_a_whole_set_of_columns_is_read_whatever_it_is_called(kind, tmp_path):
    assert lists_of(tmp_path, wide(NAMES[kind]))["words"].tolist() == [WORDS]
    turned = wide(NAMES[kind][::-1], [WORDS[::-1]])
    assert lists_of(tmp_path, turned)["words"].tolist() == [WORDS]


@pytest.mark.parametrize(
    ("row", "headings"),
    [
        ("word2 to word10", NAMES["word1"][1:]),
        ("単語4 is missing", [f"単語{k}" for k in range(1, 11) if k != 4]),
        ("beside a response", ["answer1", "answer2", "response"]),
    ],
)
def test_some_of_a_set_of_columns_is_an_error_that_names_them(row, headings, tmp_path):
    with refused(f"people: {row}"):
        lists_of(tmp_path, wide(headings, [["犬"] * len(headings)]))


def test_two_lists_in_a_row_are_two_trials(tmp_path):
    row = [*WORDS, *WORDS[::-1]]
    lists = lists_of(tmp_path, wide([*NAMES["V1"], *SECOND], [row, row]))
    assert lists.index.tolist() == [2, 2, 3, 3]
    assert lists["trial"].tolist() == ["V1–V10", "W2_1–W2_10"] * 2
    assert lists["words"].tolist() == [WORDS, WORDS[::-1]] * 2
    both = ["、".join(WORDS), "、".join(WORDS[::-1])]
    for headings, trials in {
        ("回答（前）", "回答（後）"): ["前", "後"],
        ("Ten words", "Ten words"): ["Ten words", "Ten words (again)"],
    }.items():
        assert lists_of(tmp_path, wide(headings, [both]))["trial"].tolist() == trials
    # With a column of times, what a row's lists are called stands behind it.
    rows = [["1", "7", *both], ["2", "7", *both]]
    text = table([["wave", "participant", "pre", "post"], *rows])
    times = lists_of(tmp_path, text)["trial"]
    assert times.tolist() == ["1 pre", "1 post", "2 pre", "2 post"]


def test_remarks_are_no_second_list_and_few_who_came_back_are_told(tmp_path):
    felt = (
        "最初は、楽しかったです、後で、難しかったです、でも、また、やりたいです、ので"
    )
    rows = [["ID", "十語", "感想"], *([k, LISTED, felt] for k in range(4))]
    assert lists_of(tmp_path, table(rows)).attrs["columns"] == "ID; 十語"
    # Two of nine who wrote again are a second time; one alone might be a remark, and is named.
    for n, times in ((2, 2), (1, 1)):
        rows = [["ID", "前", "後"]]
        rows += [[k, LISTED, OTHER if k < n else ""] for k in range(9)]
        lists = lists_of(tmp_path, table(rows))
        assert lists["trial"].nunique() == times
        assert lists.attrs["unread"] == ("後" if n == 1 else "")


def test_questions_that_are_numbered_are_no_words_of_one_list(tmp_path):
    """Q1 to Q10 are ten questions, of which one asks for a list."""
    row = ["犬", "女性", "東京", "会社員", LISTED, "ない", "はい", "東", "西", "南"]
    lists = lists_of(tmp_path, wide([f"Q{k}" for k in range(1, 11)], [row, row]))
    assert lists["words"].tolist() == [WORDS] * 2
    assert lists.attrs["columns"] == "participant; Q5"


def test_the_same_lists_in_one_cell_and_in_ten_are_one(tmp_path):
    text = wide(["answer", *NAMES["word1"]], [["、".join(WORDS), *WORDS]])
    assert lists_of(tmp_path, text)["words"].tolist() == [WORDS]


def test_a_second_list_beside_a_known_one_is_named(tmp_path):
    lists = lists_of(tmp_path, wide([*NAMES["word1"], *SECOND], [WORDS * 2]))
    assert lists["words"].tolist() == [WORDS]
    assert lists.attrs["columns"].endswith("; word1–word10")
    assert lists.attrs["unread"] == "W2_1–W2_10"
    row = ["、".join(WORDS), OTHER, "、".join(WORDS)]  # the last is a column of ours
    lists = lists_of(tmp_path, wide(["response", "after", "sozo_words"], [row]))
    assert lists.attrs["unread"] == "after"


def test_scales_and_times_are_no_words(tmp_path):
    headings = [
        *(f"BFI_{k}" for k in range(1, 11)),
        *NAMES["V1"],
        *(f"rt{k}" for k in range(1, 11)),
    ]
    row = [*"1234512345", *WORDS, *(f"{k}.25" for k in range(10))]
    assert lists_of(tmp_path, wide(headings, [row]))["words"].tolist() == [WORDS]


COLUMNS = {
    "kanji": [f"{KANJI[k]}、{w}" for k, w in enumerate(WORDS)],
    "label": [f"単語{k}:{w}" for k, w in enumerate(WORDS, 1)],
    "readings": [f"{w}（よみ）" for w in WORDS],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_cell_of_a_word_column_is_one_word_without_its_numbering(kind, tmp_path):
    assert lists_of(tmp_path, wide(NAMES["word1"], [COLUMNS[kind]]))[
        "words"
    ].tolist() == [WORDS]


def test_a_cell_of_a_word_column_is_never_split(tmp_path):
    kept = ["コーヒー・カップ", "一日", "二人", "三味線", "梨"]
    row = [*kept, "犬、猫", "犬 猫", "犬/猫", "犬→猫", "海\n山"]
    (words,) = lists_of(tmp_path, wide(NAMES["word1"], [row]))["words"]
    assert (len(words), words[:5]) == (10, kept)


NOTHING = "なし 特になし None n/a ー － 無回答 なし。 該当なし -99 わかりません"


@pytest.mark.parametrize("nothing", NOTHING.split())
def test_a_word_for_nothing_in_an_otherwise_empty_cell_is_no_word(nothing, tmp_path):
    few = [*WORDS[:6], *[nothing] * 4]
    lists = lists_of(tmp_path, wide(NAMES["word1"], [few]))
    assert lists["words"].tolist() == [WORDS[:6]]
    lists = lists_of(
        tmp_path,
        table(
            [["participant", "response"], ["1", nothing], ["2", f"犬、{nothing}、猫"]]
        ),
    )
    assert lists.attrs["unwritten"] == [2]
    assert lists.index.tolist() == [3]
    assert lists["words"][3][0] == "犬"


def test_a_pear_among_words_is_a_word():
    assert people_words("犬、なし、海") == ["犬", "なし", "海"]


def qualtrics(*answers):
    """Its second row says what was asked, its third is for its own program."""
    ids = ["startDate", "_recordId", "QID2_TEXT"]
    said = ["Start Date", "Response ID", "名詞を10個書いてください。\n例：犬、机"]
    rows = [["StartDate", "ResponseId", "Q2"], said]
    rows += [[json.dumps({"ImportId": own}, separators=(",", ":")) for own in ids]]
    rows += [[f"2026-05-01 10:0{k}:00", f"R_{k}", a] for k, a in enumerate(answers)]
    return table(rows)


def test_rows_that_are_no_lists_are_kept_without_a_score_and_told(fake, tmp_path):
    text = qualtrics(*["、".join(AXES[:10])] * 2)
    rows, page = scored(fake, tmp_path, [*csv.reader(io.StringIO(text))])
    assert [row["sozo_score"] for row in rows] == ["", "", "1.0000", "1.0000"]
    assert [row["ResponseId"] for row in rows[2:]] == ["R_0", "R_1"]
    assert [row["sozo_reason"] for row in rows] == [""] * 4
    for fact in ("headings): 2 (2, 3)", "2 of 2", "All 2 participants"):
        assert fact in page


def test_an_answer_that_looks_like_an_export_is_still_an_answer(tmp_path):
    lists = lists_of(
        tmp_path,
        'participant,answer\n1,"{""ImportId"":""QID1""}"\n2,犬 猫\nparticipant,犬 猫\n',
    )
    assert lists["participant"].tolist() == ["1"]
    assert lists.attrs["unwritten"] == [3, 4]


def test_a_list_that_nobody_wrote_is_none_and_sums_are_nobody(tmp_path):
    rows = [
        ["participant", "trial", "response"],
        ["1", "1", "、".join(WORDS)],
        ["1", "2", ""],
        ["2", "1", ""],
        ["平均値", "", "2.5"],
        ["Total", "1", ""],
    ]
    lists = lists_of(tmp_path, table(rows))
    assert lists["participant"].tolist() == ["1"]
    assert lists.attrs["unwritten"] == [3, 4]
    rows[-1][2] = "、".join(WORDS)
    with refused("people: a list below sums"):
        lists_of(tmp_path, table(rows))


def test_spellings_of_one_person_are_one(tmp_path):
    rows = [["ID", "wave", "answer"], ["Ｓ１４", "１", LISTED], [" s 14", "2", LISTED]]
    lists = lists_of(tmp_path, table([*rows, ["S15", "1 ", LISTED]]))
    assert lists["participant"].tolist() == ["S14", "S14", "S15"]
    assert lists["trial"].tolist() == ["1", "2", "1"]
    assert lists.attrs["spellings"] == ["Ｓ１４ = S14", "s 14 = S14"]


@pytest.mark.parametrize(
    ("heading", "who"),
    [
        ("参加者番号を入力してください", True),
        ("Q1. 学籍番号（半角）", True),
        ("お名前", True),
        ("What is your Prolific ID?\nIt should be filled in.", True),
        ("subject_nr", True),
        ("参加者の年齢", False),
        ("participant.time_started_utc", False),
        ("好きな動物の名前", False),
        ("filename", False),
    ],
)
def test_a_heading_says_who_or_something_else(heading, who, tmp_path):
    text = wide(["answer"], [[LISTED], [LISTED]], heading)
    if who:
        assert lists_of(tmp_path, text)["participant"].tolist() == ["p0", "p1"]
    else:
        with refused("people: nobody is named"):
            lists_of(tmp_path, text)


def test_dates_are_nobody_whatever_they_are_called(tmp_path):
    for date in ("5/1/26 10:00:00", "2026-05-01T10:00:00Z", "9:30"):
        text = wide(["answer"], [[LISTED]], "ID").replace("p0", date)
        with refused("people: nobody is named"):
            lists_of(tmp_path, text)
    for number in ("20260501", "3-2-15"):
        text = wide(["answer"], [[LISTED]], "ID").replace("p0", number)
        assert lists_of(tmp_path, text)["participant"].tolist() == [number]


def test_a_heading_that_comes_twice_is_looked_at_only_where_words_may_be(tmp_path):
    text = table(
        [["participant", "Q1", "Q1", "response"], ["1", "3", "4", "、".join(WORDS)]]
    )
    assert lists_of(tmp_path, text)["words"].tolist() == [WORDS]
    with refused("people: word1 and word01"):
        lists_of(tmp_path, wide([*NAMES["word1"], "word01"], [[*WORDS, "犬"]]))


def test_rows_of_one_word_are_an_error(tmp_path):
    rows = [
        ["Participant Private ID", "Question Key", "Response"],
        *(["9", f"w{k}", w] for k, w in enumerate(WORDS)),
    ]
    with refused("people: one word a row"):
        lists_of(tmp_path, table(rows))


def test_one_remark_does_not_make_a_column_of_lists(tmp_path):
    heads = ["ResponseId", *(f"Q5_{k}" for k in range(1, 11)), "Q7"]
    rows = [[k, *WORDS, "犬、猫、鳥、山、海、空、雲とも" * (k == 1)] for k in range(4)]
    lists = lists_of(tmp_path, table([heads, *rows]))
    assert lists.attrs["columns"] == "ResponseId; Q5_1–Q5_10"
