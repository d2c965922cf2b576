"""Sheets as people keep them and as survey tools export them: which words are read, and from which columns and rows."""

import json

import pytest

from fakes import AXES
from sheets import LISTED, WORDS, save, table, written
from sozo.data.errors import UserError
from sozo.data.sheet import read_sheet
from sozo.suite.people.command import PeopleOptions, score_people
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
    "kanji_comma_in_lines": numbered(lambda k, w: f"{KANJI[k - 1]}、{w}"),
    "kanji_comma_glued": numbered(lambda k, w: f"{KANJI[k - 1]}、{w}", "、"),
    "kanji_space": numbered(lambda k, w: f"{KANJI[k - 1]} {w}"),
    "kanji_wide_space": numbered(lambda k, w: f"{KANJI[k - 1]}\u3000{w}", "\u3000"),
    "kanji_dot": numbered(lambda k, w: f"{KANJI[k - 1]}．{w}"),
    "kanji_bracket": numbered(lambda k, w: f"（{KANJI[k - 1]}）{w}", " "),
    "digit_glued": numbered(lambda k, w: f"{k}{w}"),
    "digit_glued_in_one_line": numbered(lambda k, w: f"{k}{w}", ""),
    "digit_hyphen": numbered(lambda k, w: f"{k}-{w}", " "),
    "digit_underscore_free": numbered(lambda k, w: f"{k:02d} {w}"),
    "digit_comma": numbered(lambda k, w: f"{k}、{w}"),
    "wide_dot": numbered(
        lambda k, w: f"{'１０' if k == 10 else WIDE[k - 1]}．{w}", "　"
    ),
    "wide_glued": numbered(
        lambda k, w: f"{'１０' if k == 10 else WIDE[k - 1]}{w}", "、"
    ),
    "circled": numbered(lambda k, w: CIRCLED[k - 1] + w, ""),
    "circled_in_lines": numbered(lambda k, w: f"{CIRCLED[k - 1]} {w}"),
    "label": numbered(lambda k, w: f"単語{k}:{w}", " "),
    "label_wide": numbered(
        lambda k, w: f"単語{'１０' if k == 10 else WIDE[k - 1]}：{w}"
    ),
    "english_label": numbered(lambda k, w: f"Word {k}: {w}"),
    "circled_label": numbered(lambda k, w: f"単語{CIRCLED[k - 1]}：{w}"),
    "circled_kanji": numbered(lambda k, w: f"{chr(0x3280 + k - 1)}{w}", ""),
    "parenthesised": numbered(lambda k, w: f"{chr(0x2474 + k - 1)}{w}", ""),
    "parenthesised_kanji": numbered(lambda k, w: f"{chr(0x3220 + k - 1)}{w}", ""),
    "brackets_glued": numbered(lambda k, w: f"({k}){w}", ""),
    "square_brackets": numbered(lambda k, w: f"[{k}] {w}"),
    "hash": numbered(lambda k, w: f"#{k} {w}", " "),
    "no": numbered(lambda k, w: f"No.{k} {w}", "、"),
    "dots_glued": numbered(lambda k, w: f"{k}.{w}", ""),
    "kanji_middle_dot": numbered(lambda k, w: f"{KANJI[k - 1]}・{w}"),
    "count": numbered(lambda k, w: f"{k}つ目：{w}", "、"),
    "spaced_middle_dots": " ・ ".join(WORDS),
    "hyphens": "-".join(WORDS),
    "spaced_dashes": " – ".join(WORDS),
    "ordinal": numbered(lambda k, w: f"第{k}語 {w}"),
    "one_missed": numbered(lambda k, w: w if k == 5 else f"{k}{w}"),
    "middle_dots": "・".join(WORDS),
    "half_middle_dots": "･".join(WORDS),
    "middle_dots_in_two_lines": "・".join(WORDS[:5]) + "\n" + "・".join(WORDS[5:]),
    "bullets": "・" + "・".join(WORDS),
    "bullets_in_lines": "・" + "\n・".join(WORDS),
    "slashes": "/".join(WORDS),
    "wide_slashes": "／".join(WORDS),
    "spaced_slashes": " / ".join(WORDS),
    "brackets": "".join(f"【{w}】" for w in WORDS),
    "quotes": "".join(f"「{w}」" for w in WORDS),
    "quotes_with_commas": "、".join(f"「{w}」" for w in WORDS),
    "arrows": " → ".join(WORDS),
    "glued_arrows": "→".join(WORDS),
    "bars": "|".join(WORDS),
    "full_stops": "。".join(WORDS) + "。",
    "readings": "、".join([f"{WORDS[0]}（いぬ）", f"{WORDS[1]}(ほうりつ)", *WORDS[2:]]),
}


@pytest.mark.parametrize("kind", CELLS)
def test_one_cell_with_a_whole_list_is_ten_words(kind):
    assert people_words(CELLS[kind]) == WORDS


def test_words_that_begin_as_a_number_does_stay_whole():
    same = [
        "一日",
        "二人",
        "三味線",
        "四季",
        "五月",
        "六法",
        "七夕",
        "八百屋",
        "九州",
        "十字架",
    ]
    for between in ("\n", "、", " ", "・", "/"):
        assert people_words(between.join(same)) == same
    assert people_words("一\n二\n三") == ["一", "二", "三"]
    assert people_words("一、二、三") == ["一", "二", "三"]
    assert people_words("一、犬\n二、\n三、海\n四、山") == ["犬", "海", "山"]
    assert people_words("一、一日\n二、二人") == ["一日", "二人"]
    assert people_words("犬\n一 番\n猫") == [
        "犬",
        "一",
        "番",
        "猫",
    ]  # what is numbered is numbered from the start
    assert people_words("三月 1犬 10") == ["三月", "1犬"]


def test_a_middle_dot_within_a_word_stays_where_anything_else_parts_the_words():
    assert people_words("、".join(CUP)) == CUP
    assert people_words("\n".join(CUP)) == CUP
    assert people_words(" ".join(CUP)) == CUP
    assert people_words(numbered(lambda k, w: f"{k}. {CUP[k - 1]}")) == CUP


def test_english_cells():
    words = ["ice cream", "dog", "sea-horse"]
    for text in (
        "1. ice cream\n2. dog\n3. sea-horse",
        "ice cream / dog / sea-horse",
        "1 ice cream, 2 dog, 3 sea-horse",
    ):
        assert people_words(text, "en") == words
    assert people_words("dog → sea → law", "en") == ["dog", "sea", "law"]
    assert people_words("first: one two", "en") == ["first", "one", "two"]


def lists_of(tmp_path, text, language="ja", name="sheet.csv"):
    return read_written(read_sheet(save(tmp_path / name, text)), language)


def wide(headings, rows=(WORDS,), first="participant"):
    return table([[first, *headings], *([f"p{k}", *row] for k, row in enumerate(rows))])


NAMES = {
    "word1": [f"word{k}" for k in range(1, 11)],
    "word01": [f"word{k:02d}" for k in range(1, 11)],
    "Word_01": [f"Word_{k:02d}" for k in range(1, 11)],
    "word0": [f"word{k}" for k in range(10)],
    "w1": [f"w{k}" for k in range(1, 11)],
    "noun 1": [f"noun {k}" for k in range(1, 11)],
    "単語1": [f"単語{k}" for k in range(1, 11)],
    "第1語": [f"第{k}語" for k in range(1, 11)],
    "語①": [f"語{mark}" for mark in CIRCLED],
    "1": [str(k) for k in range(1, 11)],
    "@1": [f"@{k}" for k in range(1, 11)],
    "V1": [f"V{k}" for k in range(1, 11)],
    "回答1": [f"回答{k}" for k in range(1, 11)],
    "Q5_1": [f"Q5_{k}" for k in range(1, 11)],
    "G01Q02[SQ001]": [f"G01Q02[SQ{k:03d}]" for k in range(1, 11)],
    "単語を書いてください [1つ目]": [
        f"単語を書いてください [{k}つ目]" for k in range(1, 11)
    ],
}

OTHER = "、".join(WORDS[::-1])
SECOND = [f"W2_{k}" for k in range(1, 11)]


@pytest.mark.parametrize("kind", NAMES)
def test_a_whole_set_of_columns_is_read_whatever_it_is_called(kind, tmp_path):
    assert lists_of(tmp_path, wide(NAMES[kind]))["words"].tolist() == [WORDS]
    turned = wide(NAMES[kind][::-1], [WORDS[::-1]])
    assert lists_of(tmp_path, turned)["words"].tolist() == [WORDS]


@pytest.mark.parametrize(
    ("headings", "named"),
    [
        ([f"word{k}" for k in range(2, 11)], "word2–word10"),
        ([f"word{k}" for k in range(1, 10)], "word1–word9"),
        (["word10"], "word10"),
        ([f"word{k}" for k in range(1, 10)] + ["word_ten"], "word1–word9"),
        (
            [f"単語{k}" for k in (1, 2, 3, 5, 6, 7, 8, 9, 10)],
            "単語1–単語10 (not all ten)",
        ),
        ([f"第{k}語" for k in range(1, 8)], "第1語–第7語"),
        ([f"answer{k}" for k in range(1, 3)], "answer1–answer2"),
    ],
)
def test_some_of_a_set_of_columns_is_an_error_that_names_them(
    headings, named, tmp_path
):
    for more in ([], ["response"]):
        text = wide([*headings, *more], [["犬"] * len(headings + more)])
        with pytest.raises(UserError) as error:
            lists_of(tmp_path, text)
        assert named in str(error.value)
        assert "\n" not in str(error.value)


def test_two_lists_in_a_row_are_two_trials(tmp_path):
    row = [*WORDS, *WORDS[::-1]]
    lists = lists_of(tmp_path, wide([*NAMES["V1"], *SECOND], [row, row]))
    assert lists.index.tolist() == [2, 2, 3, 3]
    assert lists["trial"].tolist() == ["V1–V10", "W2_1–W2_10"] * 2
    assert lists["words"].tolist() == [WORDS, WORDS[::-1]] * 2
    both = ["、".join(WORDS), "、".join(WORDS[::-1])]
    for headings, trials in {
        ("回答（前）", "回答（後）"): ["前", "後"],
        ("answer1", "answer2"): ["answer1", "answer2"],
        ("Ten words", "Ten words"): ["Ten words", "Ten words (again)"],
    }.items():
        assert lists_of(tmp_path, wide(headings, [both]))["trial"].tolist() == trials
    # With a column of times, what a row's lists are called stands behind it.
    rows = [["1", "7", *both], ["2", "7", *both]]
    text = table([["wave", "participant", "pre", "post"], *rows])
    assert lists_of(tmp_path, text)["trial"].tolist() == [
        "1 pre",
        "1 post",
        "2 pre",
        "2 post",
    ]


def test_remarks_are_no_second_list_and_few_who_came_back_are_told(tmp_path):
    said = "I thought it was fun, but it was hard to think of ten"
    english = "cat dog moon tree soup law glove"
    rows = [["ID", "Ten words", "Comments"], *([k, english, said] for k in range(4))]
    lists = lists_of(tmp_path, table(rows), "en")
    assert lists.attrs["columns"] == "ID; Ten words"
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


def test_what_excel_made_of_words_is_told_by_column_and_row(tmp_path):
    odd = ["2025-01-02", "2-Jan", "0.5", "1:30", "#NAME?", "True"]
    blank = ["-", "-99", "なし", "ー"]
    lists = lists_of(tmp_path, wide(NAMES["word1"], [[*odd, *blank], [*WORDS]]))
    assert lists.attrs["made"] == [
        (f"word{k}", 2, cell) for k, cell in enumerate(odd, 1)
    ]


def test_the_same_lists_in_one_cell_and_in_ten_are_one(tmp_path):
    text = wide(["answer", *NAMES["word1"]], [["、".join(WORDS), *WORDS]])
    assert lists_of(tmp_path, text)["words"].tolist() == [WORDS]


def test_a_second_list_beside_a_known_one_is_named(tmp_path):
    lists = lists_of(tmp_path, wide([*NAMES["word1"], *SECOND], [WORDS * 2]))
    assert lists["words"].tolist() == [WORDS]
    assert lists.attrs["columns"].endswith("; word1–word10")
    assert lists.attrs["unread"] == "W2_1–W2_10"
    row = [
        "、".join(WORDS),
        "、".join(WORDS[::-1]),
        "、".join(WORDS),
    ]  # the last is a column of ours
    lists = lists_of(tmp_path, wide(["response", "after", "sozo_words"], [row]))
    assert lists.attrs["unread"] == "after"
    remark = lists_of(
        tmp_path, wide(["response", "remark"], [[row[0], "難しかった。"]])
    ).attrs
    assert (remark["columns"].endswith("; response"), remark["unread"]) == (True, "")


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
    "kanji_space": [f"{KANJI[k]} {w}" for k, w in enumerate(WORDS)],
    "glued": [f"{k}{w}" for k, w in enumerate(WORDS, 1)],
    "hyphen": [f"{k}-{w}" for k, w in enumerate(WORDS, 1)],
    "label": [f"単語{k}:{w}" for k, w in enumerate(WORDS, 1)],
    "circled": [f"{CIRCLED[k]}{w}" for k, w in enumerate(WORDS)],
    "brackets": [f"「{w}」" for w in WORDS],
    "readings": [f"{w}（よみ）" for w in WORDS],
    "line_ends": [f"{w}\r\n" for w in WORDS],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_cell_of_a_word_column_is_one_word_without_its_numbering(kind, tmp_path):
    assert lists_of(tmp_path, wide(NAMES["word1"], [COLUMNS[kind]]))[
        "words"
    ].tolist() == [WORDS]


def test_a_cell_of_a_word_column_is_never_split(tmp_path):
    row = [
        "コーヒー・カップ",
        "犬、猫",
        "犬 猫",
        "犬/猫",
        "一日",
        "二人",
        "犬→猫",
        "三味線",
        "海\n山",
        "梨",
    ]
    (words,) = lists_of(tmp_path, wide(NAMES["word1"], [row]))["words"]
    assert len(words) == 10
    assert [words[k] for k in (0, 4, 5, 7, 9)] == [
        "コーヒー・カップ",
        "一日",
        "二人",
        "三味線",
        "梨",
    ]
    english = ["ice cream", *["dog"] * 9]
    assert lists_of(tmp_path, wide(NAMES["word1"], [english]), "en")[
        "words"
    ].tolist() == [english]


NOTHING = (
    "なし ナシ 無し 特になし none None NA N/A n/a - ー ― － NaN null 無回答 未記入"
)
NOTHING += (
    " なし。 （なし） 該当なし -99 999 。 … わかりません 分かりません 特にありません"
)


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


# Real exports, in the shapes that their makers' pages and users' scripts show.


def qualtrics(import_row=True):
    ids = ["startDate", "_recordId", "QID2_TEXT"]
    rows = [
        ["StartDate", "ResponseId", "Q2"],
        [
            "Start Date",
            "Response ID",
            "できるだけ意味の異なる名詞を10個書いてください。\n例：犬、机",
        ],
        [json.dumps({"ImportId": own}, separators=(",", ":")) for own in ids],
        ["2026-05-01 10:00:00", "R_1abc", LISTED],
        ["2026-05-01 10:05:00", "R_2def", "、".join(WORDS)],
    ]
    return table(rows if import_row else rows[:1] + rows[3:])


def qualtrics_form():
    """Ten fields of one question, with their texts and import ids, time zones among them."""
    ids = [
        {"ImportId": "startDate", "timeZone": "Asia/Tokyo"},
        {"ImportId": "_recordId"},
    ]
    ids += [{"ImportId": f"QID7_{k}"} for k in range(1, 11)]
    return table(
        [
            ["StartDate", "ResponseId", *(f"Q7_{k}" for k in range(1, 11))],
            [
                "Start Date",
                "Response ID",
                *(f"単語を書いてください - 単語 {k}" for k in range(1, 11)),
            ],
            [json.dumps(own) for own in ids],
            ["2026-05-01", "R_1", *WORDS],
            ["2026-05-01", "R_2", *WORDS],
        ]
    )


def limesurvey():
    headings = [
        "id. Response ID",
        "submitdate. Date submitted",
        "startlanguage. Start language",
    ]
    headings += [
        f"G01Q02[SQ{k:03d}]. 単語を10個書いてください。 [単語{k}]" for k in range(1, 11)
    ]
    return table(
        [headings, *([k, "2026-05-01 10:00:00", "ja", *WORDS] for k in (3, 4))], ";"
    )


def limesurvey_codes():
    headings = [
        "id",
        "submitdate",
        "G01Q02[SQ001]",
        *(f"G01Q02[SQ{k:03d}]" for k in range(2, 11)),
        "G01Q03",
    ]
    return table([headings, *([k, "", *WORDS, "特になし"] for k in (3, 4))])


def google_forms():
    return table(
        [
            [
                "タイムスタンプ",
                "学籍番号を教えてください",
                "互いにできるだけ異なる名詞を10個書いてください",
                "感想",
            ],
            ["2026/05/01 10:00:00", "20", "\n".join(WORDS), "楽しかったです"],
            ["2026/05/01 10:01:00", "21", "・".join(WORDS), ""],
        ]
    )


def microsoft_forms():
    names = [f"{k}つ目の単語" for k in range(1, 11)]
    return table(
        [
            ["ID", "開始時刻", "完了時刻", "メール", "名前", *names],
            *([k, "", "", "anonymous", "", *WORDS] for k in (1, 2)),
        ]
    )


def psychopy():
    headings = [
        "trials.thisN",
        "textbox.text",
        "textbox.started",
        "key_resp.rt",
        "participant",
        "session",
        "date",
        "",
    ]
    return table(
        [
            headings,
            ["", "", "", "1.2", "p01", "001", "2026-05-01_10h00.00.000", ""],
            [
                "0",
                "\n".join(WORDS) + "\n",
                "0.02",
                "",
                "p01",
                "001",
                "2026-05-01_10h00.00.000",
                "",
            ],
            ["", "", "", "0.8", "p01", "001", "2026-05-01_10h00.00.000", ""],
            headings,
            [
                "0",
                " ".join(WORDS),
                "0.02",
                "",
                "p02",
                "001",
                "2026-05-01_11h00.00.000",
                "",
            ],
        ]
    )


def jspsych():
    spoken = {f"Q{k}": word for k, word in enumerate(WORDS)}
    rows = [["rt", "stimulus", "response", "trial_type", "trial_index", "subject_id"]]
    for own in ("s1", "s2"):
        rows.append(["812", "<p>始め</p>", " ", "html-keyboard-response", "0", own])
        rows.append(
            [
                "64000",
                "",
                json.dumps(spoken, ensure_ascii=False),
                "survey-text",
                "1",
                own,
            ]
        )
        rows.append(["500", "<p>終わり</p>", "null", "html-button-response", "2", own])
    return table(rows)


def jspsych_textarea():
    rows = [["rt", "response", "trial_type", "trial_index", "run_id"]]
    for own in ("7", "8"):
        rows.append(["64000", json.dumps({"Q0": LISTED}), "survey-text", "0", own])
    return table(rows)


def spss():
    return "\ufeff" + table(
        [
            ["ID", "条件", *(f"@{k}" for k in range(1, 11))],
            *([k, "統制", *WORDS] for k in ("1.00", "2.00")),
        ],
        ";",
    )


def r_table():
    rows = [["", "participant", "condition", *NAMES["word1"]]]
    rows += [
        [k, f"p{k}", "NA", *WORDS[:8], *(["NA"] * 2 if k == 2 else WORDS[8:])]
        for k in (1, 2)
    ]
    return table(rows)


EXPORTS = {
    "qualtrics": qualtrics(),
    "qualtrics_without_its_rows": qualtrics(False),
    "qualtrics_form": qualtrics_form(),
    "limesurvey": limesurvey(),
    "limesurvey_codes": limesurvey_codes(),
    "google_forms": google_forms(),
    "microsoft_forms": microsoft_forms(),
    "psychopy": psychopy(),
    "jspsych": jspsych(),
    "jspsych_textarea": jspsych_textarea(),
    "spss": spss(),
    "r": r_table(),
}


@pytest.mark.parametrize("kind", EXPORTS)
def test_an_export_is_two_lists_of_two_people(kind, tmp_path):
    lists = lists_of(tmp_path, EXPORTS[kind])
    assert lists["participant"].nunique() == len(lists) == 2
    assert lists["words"].tolist() == [WORDS, WORDS[:8] if kind == "r" else WORDS]


def test_rows_that_are_no_lists_are_kept_without_a_score_and_told(fake, tmp_path):
    ten = "、".join(AXES[:10])
    text = qualtrics().replace(LISTED, ten).replace("、".join(WORDS), ten)
    score_people(
        fake, save(tmp_path / "q.csv", text), tmp_path / "out", PeopleOptions()
    )
    rows = written(tmp_path / "out/scores.csv")
    assert [row["sozo_score"] for row in rows] == ["", "", "1.0000", "1.0000"]
    assert [row["ResponseId"] for row in rows] == [
        "Response ID",
        '{"ImportId":"_recordId"}',
        "R_1abc",
        "R_2def",
    ]
    assert [row["sozo_reason"] for row in rows] == [""] * 4
    page = (tmp_path / "out/people.md").read_text("utf-8")
    for fact in ("2 rows (2, 3)", "2 lists", "2 participants", "ResponseId", "Q2"):
        assert fact in page
    assert "too_few_words" not in page


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
    with pytest.raises(UserError, match="row 6: names no participant"):
        lists_of(tmp_path, table(rows))


def test_spellings_of_one_person_are_one(tmp_path):
    rows = [["ID", "wave", "answer"], ["Ｓ１４", "１", LISTED], [" s 14", "2", LISTED]]
    lists = lists_of(tmp_path, table([*rows, ["S15", "1 ", LISTED]]))
    assert lists["participant"].tolist() == ["Ｓ１４", "Ｓ１４", "S15"]
    assert lists["trial"].tolist() == ["１", "2", "１"]
    assert lists.attrs["spellings"] == ["s 14 = Ｓ１４"]


@pytest.mark.parametrize(
    ("heading", "who"),
    [
        ("参加者番号を入力してください", True),
        ("Q1. 学籍番号（半角）", True),
        ("あなたのニックネームを教えてください。", True),
        ("お名前", True),
        ("参加者の番号", True),
        ("What is your Prolific ID?\nIt should be filled in.", True),
        ("メールアドレス", True),
        ("Email Address", True),
        ("Random ID", True),
        ("subject_nr", True),
        ("PID", True),
        ("参加者の年齢", False),
        ("subject_age", False),
        ("participant.time_started_utc", False),
        ("Participant Status", False),
        ("好きな動物の名前", False),
        ("filename", False),
        ("IP Address", False),
    ],
)
def test_a_heading_says_who_or_something_else(heading, who, tmp_path):
    text = wide(["answer"], [[LISTED], [LISTED]], heading)
    if who:
        assert lists_of(tmp_path, text)["participant"].tolist() == ["p0", "p1"]
    else:
        with pytest.raises(UserError, match="name it by --participant COLUMN"):
            lists_of(tmp_path, text)


def test_dates_are_nobody_whatever_they_are_called(tmp_path):
    for date in ("2026/05/01 10:00", "5/1/26 10:00:00", "2026-05-01T10:00:00Z", "9:30"):
        text = wide(["answer"], [[LISTED]], "ID").replace("p0", date)
        with pytest.raises(UserError, match="name it by --participant COLUMN"):
            lists_of(tmp_path, text)
    for number in ("20260501", "3-2-15", "07"):
        text = wide(["answer"], [[LISTED]], "ID").replace("p0", number)
        assert lists_of(tmp_path, text)["participant"].tolist() == [number]


def test_headings_and_refused_words_have_no_meaning_on_the_page(fake, tmp_path):
    words = "\n".join(["<img src=x>", "[a](b)", "\x1b[31mred", *AXES[:10]])
    text = table(
        [["participant", "<script>x</script> \x1b[31m"], ["1", words], ["2", words]]
    )
    score_people(
        fake, save(tmp_path / "p.csv", text), tmp_path / "out", PeopleOptions()
    )
    for name in ("people.md", "people.html"):
        page = (tmp_path / "out" / name).read_text("utf-8")
        # What stands in a fence, to be pasted, has no meaning either.
        fenced = page.split("~~~text\n")[-1].splitlines()
        assert fenced.count("~~~") == 1 or name != "people.md"
        page = page.split("~~~text\n")[0]
        for evil in ("<script>x", "<img", "[a](b", *["\x1b"] * (name == "people.md")):
            assert evil not in page


def test_a_list_in_one_piece_is_not_called_short_without_a_word_on_the_reader(
    fake,
    tmp_path,
):
    glued = "".join(AXES[:10])
    rows = [
        ["participant", "response"],
        ["1", "、".join(AXES[:10])],
        ["2", glued],
        ["3", glued],
    ]
    score_people(
        fake, save(tmp_path / "p.csv", table(rows)), tmp_path / "out", PeopleOptions()
    )
    page = (tmp_path / "out/people.md").read_text("utf-8")
    assert "Read as one word: 2 lists." in page
    assert "were written" not in page


def surveymonkey():
    headings = [
        "Respondent ID",
        "Collector ID",
        "Start Date",
        "単語を10個書いてください",
    ]
    answers = [
        ["118", "4", "05/01/2026 10:00:00", "\n".join(WORDS)],
        ["119", "4", "05/01/2026", "・".join(WORDS)],
    ]
    return table([headings, ["", "", "", "Open-Ended Response"], *answers])


def gorilla():
    end = ["END OF FILE", *[""] * 11]
    headings = [
        "Event Index",
        "Participant Private ID",
        *(f"word-{k}" for k in range(1, 11)),
    ]
    return table([headings, ["1", "9001", *WORDS], ["1", "9002", *WORDS], end])


def redcap():
    headings = [
        "record_id",
        "redcap_event_name",
        *(f"dat_w{k}" for k in range(1, 11)),
        "dat_complete",
    ]
    return table([headings, *([k, "baseline_arm_1", *WORDS, "2"] for k in (1, 2))])


def unipark():
    return table(
        [
            ["lfdn", "tester", *(f"v_{k}" for k in range(1, 11))],
            *([k, "0", *WORDS] for k in (1, 2)),
        ],
        ";",
    )


@pytest.mark.parametrize("export", [surveymonkey, gorilla, redcap, unipark])
def test_exports_that_were_kept_back(export, tmp_path):
    assert lists_of(tmp_path, export())["words"].tolist() == [WORDS, WORDS]


def test_a_heading_that_comes_twice_is_looked_at_only_where_words_may_be(tmp_path):
    text = table(
        [["participant", "Q1", "Q1", "response"], ["1", "3", "4", "、".join(WORDS)]]
    )
    assert lists_of(tmp_path, text)["words"].tolist() == [WORDS]
    with pytest.raises(UserError, match="word1"):
        lists_of(tmp_path, wide([*NAMES["word1"], "word01"], [[*WORDS, "犬"]]))


def test_a_scale_in_columns_1_to_5_stands_beside_an_answer(tmp_path):
    text = table(
        [["participant", *"12345", "response"], ["1", *"54321", "、".join(WORDS)]]
    )
    assert lists_of(tmp_path, text)["words"].tolist() == [WORDS]


def test_rows_of_one_word_are_an_error(tmp_path):
    rows = [
        ["Participant Private ID", "Question Key", "Response"],
        *(["9", f"w{k}", w] for k, w in enumerate(WORDS)),
    ]
    with pytest.raises(
        UserError, match="is one word; put a person's ten words into one row"
    ):
        lists_of(tmp_path, table(rows))


TEN = ["犬", "憲法", "鏡", "嵐", "涙", "パン", "数学", "墓", "電話", "海"]
KANJI = "一二三四五六七八九十"


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{k}．{word}" for k, word in zip(KANJI, TEN, strict=True)),
        "\n".join(
            f"{k}. {word}" for k, word in zip("アイウエオカキクケコ", TEN, strict=True)
        ),
        "\n".join(f"{k}) {word}" for k, word in zip("abcdefghij", TEN, strict=True)),
        "<br>".join(TEN),
        "_x000D_\n".join(TEN),
        "、".join(f"{word}！" for word in TEN),
        "、".join(f"{word}【いぬ】" for word in TEN),
        "、".join(f"{word}〈いぬ〉" for word in TEN),
        "、".join([*TEN, "なし", "なし"]),
        "、".join([*TEN, "無回答", "わからない", "none"]),
    ],
)
def test_what_stands_around_words_is_no_word(text):
    assert people_words(text) == TEN


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("犬、なし、海", ["犬", "なし", "海"]),
        ("一日、二人、三味線、犬", ["一日", "二人", "三味線", "犬"]),
    ],
)
def test_a_word_that_could_be_a_mark_stays(text, words):
    assert people_words(text) == words


def test_one_remark_does_not_make_a_column_of_lists(tmp_path, fake):
    heads = ["ResponseId", *(f"Q5_{k}" for k in range(1, 11)), "Q7"]
    rows = [
        [str(k), *WORDS[:10], "犬、猫、鳥、山、海、空、雲とも" if k == 1 else ""]
        for k in range(1, 5)
    ]
    score_people(
        fake,
        save(tmp_path / "q.csv", table([heads, *rows])),
        tmp_path / "out",
        PeopleOptions(),
    )
    assert "Q5_1–Q5_10" in (tmp_path / "out" / "people.md").read_text("utf-8")
