"""Sheets as survey tools write them: how many people wrote lists, at how many times, or what the refusal asks for.

They were made by hand after the tools' pages and public exports, with the traps that each has; none is of a study.
"""

import json

import pytest

from sentences import refused
from sheets import WORDS, save, table
from sozo.data.sheet import read_sheet
from sozo.suite.people.lists import read_written

TEN = "\n".join(WORDS)
OTHER = "、".join(WORDS[::-1])
AT = "2026/05/01 10:00:{:02d}"
ASKED = "互いにできるだけ異なる名詞を10個書いてください"


def google_forms():
    """Before and after in one row; one wrote nothing the second time, and averages stand below."""
    heads = ["タイムスタンプ", "参加者番号を入力してください", f"（前）{ASKED}"]
    heads += [f"（後）{ASKED}", "感想"]
    after = [OTHER, OTHER, OTHER, "特になし", OTHER]
    rows = [
        [AT.format(k), f"S{k}", TEN, text, "楽しかったです"]
        for k, text in enumerate(after)
    ]
    return table([heads, *rows, ["平均", "", "", "", ""], ["", "合計", "", "", "5"]])


def microsoft_forms():
    """Its own columns say anonymous; its ID counts what was sent."""
    heads = ["ID", "開始時刻", "完了時刻", "メール", "名前", "学籍番号", "時期", ASKED]
    sent = [("S1", "前"), ("S2", "前"), ("Ｓ１", "後"), ("s2", "後"), ("S3", "前")]
    rows = [
        [k, f"5/1/26 10:0{k}:00", f"5/1/26 10:1{k}:00", "anonymous", "", who, when, TEN]
        for k, (who, when) in enumerate(sent, 1)
    ]
    return table([heads, *rows])


def qualtrics_two_waves():
    """Its second row says what Q1 asked; a ResponseId is of what was sent, not of who sent it."""
    heads = ["StartDate", "Status", "ResponseId", "Q1", "Q2", "wave"]
    said = ["Start Date", "Response Type", "Response ID"]
    said += ["参加者番号を半角で入力", ASKED, "wave"]
    ids = [json.dumps({"ImportId": head}) for head in heads]
    sent = [("7", "1"), ("8", "1"), ("9", "1"), ("7", "2"), ("8", "2")]
    rows = [
        [AT.format(k), "0", f"R_{k}", who, TEN, wave]
        for k, (who, wave) in enumerate(sent)
    ]
    return table([heads, said, ids, *rows])


def limesurvey():
    heads = ["id. Response ID", "submitdate. Date submitted", "seed. Seed"]
    heads += ["G01Q01. 学籍番号を入力してください。"]
    heads += [f"G01Q02[SQ{k:03d}]. {ASKED} [{k}]" for k in range(1, 11)]
    rows = [[k, "2026-05-01 10:00:00", "77", "s1", *WORDS] for k in (3, 4)]
    rows[1][3] = "s2"
    return table([heads, *rows], ";")


def jspsych():
    """Two questions of one visit stand in two rows, and only trial_index tells which."""
    rows = [["rt", "stimulus", "response", "trial_type", "trial_index", "subject_id"]]
    for own in ("s1", "s2"):
        rows.append(["812", "始め", " ", "html-keyboard-response", "0", own])
        rows.append(["64000", "", json.dumps({"Q0": TEN}), "survey-text", "1", own])
        rows.append(["64000", "", json.dumps({"Q0": OTHER}), "survey-text", "5", own])
    return table(rows)


def lab_js():
    heads = ["sender", "sender_type", "sender_id", "timestamp", "ended_on", "words"]
    rows = [["DAT", "html.Form", "2", AT.format(k), "", TEN] for k in (1, 2)]
    return table([heads, *rows])


def redcap():
    heads = ["record_id", "redcap_event_name", "redcap_repeat_instrument"]
    heads += ["dat_timestamp", *(f"dat_w{k}" for k in range(1, 11)), "dat_complete"]
    events = [(1, "baseline"), (1, "followup"), (2, "baseline"), (3, "baseline")]
    rows = [
        [who, f"{when}_arm_1", "", AT.format(who), *WORDS, "2"] for who, when in events
    ]
    return table([heads, *rows])


def otree():
    """Rounds stand in columns of their own; labels are empty unless links had them."""
    heads = ["participant.id_in_session", "participant.code", "participant.label"]
    heads += ["participant._is_bot", "participant.time_started_utc", "session.code"]
    heads += ["dat.1.player.words", "dat.1.player.payoff", "dat.2.player.words"]
    start = ["0", "2026-05-01 10:00:00.12", "k3"]
    rows = [[k, f"a{k}b{k}", "", *start, TEN, "0", OTHER] for k in (1, 2, 3)]
    return table([heads, *rows])


def by_hand():
    """Typed by a research assistant: two visits, blanks, dashes, and means below."""
    heads = ["No", "参加者", "測定時期", "回答"]
    rows = [[1, "Ｓ１４", "１回目", TEN], [2, "S15", "1回目", TEN]]
    rows += [[3, "s14", "2回目", OTHER], [4, "S 15", "2回目", "わかりません"]]
    rows += [[5, "S16", "1回目", "-"], [6, "S16", "2回目", ""]]
    return table([heads, *rows, ["", "平均", "", "0.8"], ["", "Total", "", "3"]])


# People who wrote a list, times, people with a list at every time; or what the refusal names.
SHEETS = {
    google_forms: (5, 2, 4),
    microsoft_forms: (3, 2, 2),
    qualtrics_two_waves: (3, 2, 2),
    limesurvey: (2, 1, 2),
    jspsych: "people: two lists of a visit",
    lab_js: "people: nobody is named",
    redcap: (3, 2, 1),
    otree: (3, 2, 3),
    by_hand: (2, 2, 1),
}


def counted(lists):
    times = lists["trial"].nunique()
    return (
        lists["participant"].nunique(),
        times,
        int((lists.groupby("participant")["trial"].nunique() == times).sum()),
    )


@pytest.mark.parametrize("tool", SHEETS, ids=lambda tool: tool.__name__)
def test_people_are_counted_as_they_are_or_the_sheet_is_refused(tool, tmp_path):
    sheet, expected = save(tmp_path / "sheet.csv", tool()), SHEETS[tool]
    if isinstance(expected, tuple):
        lists = read_written(read_sheet(sheet))
        assert counted(lists) == expected
        assert all(words in (WORDS, WORDS[::-1]) for words in lists["words"])
    else:
        with refused(expected):
            read_written(read_sheet(sheet))


@pytest.mark.parametrize(
    ("tool", "named", "expected"),
    [
        (jspsych, {"trial": "trial_index"}, (2, 2, 2)),
        (lab_js, {"participant": "timestamp"}, "people: dates are nobody"),
        (lab_js, {"participant": "ended"}, "people: a column that is not there"),
    ],
)
def test_a_column_that_is_named_is_taken_unless_it_says_when(
    tool, named, expected, tmp_path
):
    sheet = read_sheet(save(tmp_path / "sheet.csv", tool()))
    if isinstance(expected, tuple):
        assert counted(read_written(sheet, named=named)) == expected
    else:
        with refused(expected):
            read_written(sheet, named=named)
