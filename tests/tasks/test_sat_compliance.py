"""What counts as keeping to the SAT prompt's conditions: each rule where it must fire and where it must not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sozo.tasks.sat.compliance import (
    LENGTH_BAND,
    Compliance,
    check,
    copied_share,
    find_extras,
)

STORY = "浦島拓也は大手企業の技術者だった。ある朝、道端で故障した自動運転車を見つけ、乗っていた老婦人を助けた。"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"はい、{STORY}", "preface"),
        (f"承知しました。{STORY}", "preface"),
        (f"以下は、浦島太郎を現代風に書き換えた物語です。{STORY}", "preface"),
        (f"浦島太郎を現代風に作り変えた物語です。{STORY}", "preface"),
        (f"浦島太郎を現代風に書き換えてみました。{STORY}", "preface"),
        (f"Sure! {STORY}", "preface"),
        (f"Here is the story: {STORY}", "preface"),
        (f"# 竜宮リゾート\n{STORY}", "heading"),
        (f"**竜宮リゾート**\n{STORY}", "heading"),
        (f"【竜宮リゾート】{STORY}", "heading"),
        (f"竜宮リゾート\n\n{STORY}", "heading"),
        (f"{STORY}\n---\n{STORY}", "heading"),
        (f"タイトル：竜宮リゾート\n{STORY}", "label"),
        (f"【題名】：竜宮リゾート\n{STORY}", "label"),
        (f"現代風の物語: {STORY}", "label"),
        (f"```\n{STORY}\n```", "fence"),
        (f"{STORY}（398文字）", "note"),
        (f"{STORY} [全412文字]", "note"),
        (f"{STORY}\n文字数: 398文字", "note"),
        (f"{STORY}\n※この物語はフィクションです。", "note"),
        (f"{STORY}\n注：原作の竜宮城をホテルに置き換えました。", "note"),
        (f"{STORY}いかがでしょうか？", "comment"),
        (f"{STORY}以上です。", "comment"),
        (f"{STORY}この物語は原作のテーマを現代社会に置き換えたものです。", "comment"),
        ("申し訳ありませんが、その依頼にはお応えできません。", "refusal"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        (f"{STORY}あなたが考えた物語のみを出力する", "prompt"),
    ],
)
def test_a_rule_fires(text, found):
    assert found in find_extras(text.strip())


@pytest.mark.parametrize(
    "text",
    [
        STORY,
        f"「はい、すぐに行きます」と拓也は答えた。{STORY}",
        f"「{STORY}」",
        "次の日、彼は新しい作品を完成させた。物語はここから始まる。",
        "以下同文、と社長は言った。",
        f"{STORY}その日から店の名は（旧称のまま）残った。",
        f"{STORY}彼は笑った（少しだけ）。",
        f"{STORY}この物語は今も町で語り継がれている。",
        f"{STORY}以上が彼女の知るすべてだった、と記者は書いた。",
        "現代風のカフェで働く浦島さんは、昔話が大好きです。",
        "【速報】桃太郎さん、鬼ヶ島で鬼と和解。",
        "一行目。\n二行目。",
        "2024年、#竜宮 というタグが流行した。",
        "時刻は10:30。タイトルは未定だった。",
        "",
    ],
)
def test_a_story_is_left_alone(text):
    assert find_extras(text) == ()


def test_several_at_once_come_in_order():
    text = f"はい、\n# 題\nタイトル: 竜宮\n```\n{STORY}\n```\n（400文字）"
    assert [str(extra) for extra in find_extras(text)] == [
        "preface",
        "heading",
        "label",
        "fence",
        "note",
    ]


@pytest.mark.parametrize(
    ("text", "length", "one_line"),
    [
        ("", 0, True),
        ("あ" * 400, 400, True),
        ("\n あ\n", 1, True),
        ("あい\nうえ", 4, False),
        ("あ\r\nい", 2, False),
        ("あ\u2028い", 2, False),
        ("あ\u3000い", 3, True),
        ("𠮷野家", 3, True),
    ],
)
def test_length_and_lines(text, length, one_line):
    found = check(STORY, text)
    assert (found.length, found.one_line) == (length, one_line)


def test_the_band_is_400_and_a_quarter_either_way():
    assert LENGTH_BAND == (300, 500)
    kept = [
        Compliance(n, True, (), None).values["sat/length_ok"]
        for n in (0, 299, 300, 400, 500, 501)
    ]
    assert kept == [0, 0, 1, 1, 1, 0]


def test_copied_share_by_hand():
    story = "あいうえおかきくけこ"  # grams from 3 places
    assert copied_share(story, story) == 1
    assert copied_share(story, "…" + story[:9] + "…") == pytest.approx(2 / 3)
    assert copied_share(story, story[:7]) == 0
    assert copied_share(story, "あいうえ おか\nきく") == pytest.approx(
        1 / 3
    )  # white space does not hide a copy
    assert (
        copied_share("ＡＢＣＤＥＦＧＨ", "ABCDEFGH") == 1
    )  # nor do full-width letters
    assert copied_share("短い話", "短い話") is None
    assert (
        copied_share("ああああああああああああ", "ああああああああ") == 1
    )  # distinct grams


@given(st.text(max_size=80), st.text(max_size=80))
def test_copied_share_is_a_share(story, rewrite):
    share = copied_share(story, rewrite)
    assert share is None or 0 <= share <= 1
    if share is not None:
        assert copied_share(story, rewrite + "。" + story) == 1
