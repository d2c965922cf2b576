"""Kinds of words that make a list look more different than it is: recognised, counted, refused."""

import numpy as np
import pytest

from fakes import Answer, list_text, write_answer_table
from sentences import refused
from sozo.data.schema import Reason
from sozo.tasks.dat.instruments import measure
from sozo.tasks.dat.scorer import DatRules, DatScorer
from sozo.tasks.dat.words import BITS


def words(text):
    return text.split()


# A hundred by hand. Two words in one, which nobody wrote before:
GLUED = [
    *words(
        "台風憲法 鮫彫刻 林檎病気 海数学 靴音楽 机天気 法律水 祝日鉛筆 椅子哲学 雲経済 魚帽子 月冷蔵庫"
    ),
    *words(
        "眼鏡砂漠 牛乳戦争 毛布政治 針宇宙 橋牛乳 窓細胞 時計蜂蜜 雷石鹸 釘民主主義 鏡火山 麦惑星 傘憲法"
    ),
    *words("鯨辞書 雪契約 砂糖幾何 石炭友情 手紙氷河 太鼓遺伝子 鍋忘却 狐統計"),
]
# Runs of kanji numerals, other than words that are written with them:
NUMERALS = [
    *words(
        "一二 三四 一二三 四五六 七八九 一二三四 二三五七 九八七六 一一 二二二 百万 三百 五千 二千三百 一億"
    ),
    *words(
        "五十 三十六 四千万 十一 百一 十億 九十九 六六六 百二十 千二百 八八 七七七七 一兆 壱弐 一零 数百"
    ),
    *words("五億 八十一 十六 三万"),
]
# Words, however many words or numerals are in them:
WORDS = [
    *words(
        "犬 林檎 自転車 携帯電話 図書館 民主主義 七五三 十二支 一石二鳥 冷蔵庫 地下鉄 飛行機 新幹線 幼稚園"
    ),
    *words(
        "千 百 一 八百屋 十字架 四季 三日月 人工知能 郵便局 消防署 心臓 万年筆 五線譜 九官鳥 百科事典"
    ),
    *words("自然言語処理 走り 喜び 東京"),
]


@pytest.fixture(scope="module")
def scorer(ginza, jumandic_checker):
    return DatScorer(jumandic_checker, ginza)


def test_a_hundred_words(scorer):
    assert (
        len({*GLUED, *NUMERALS, *WORDS})
        == len(GLUED) + len(NUMERALS) + len(WORDS)
        == 100
    )
    assert all(
        verdict.is_noun for verdict in scorer.checker.check([*GLUED, *NUMERALS, *WORDS])
    )
    kinds = scorer.flags([*GLUED, *NUMERALS, *WORDS]) & (
        BITS["glued"] | BITS["numeral"]
    )
    expected = np.repeat(
        [BITS["glued"], BITS["numeral"], 0], [len(GLUED), len(NUMERALS), len(WORDS)]
    )
    assert [
        word
        for word, k, e in zip([*GLUED, *NUMERALS, *WORDS], kinds, expected, strict=True)
        if k != e
    ] == []


TEN = words("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日")


def lists_of(*first):
    """Lists of ten, each of them TEN with one word instead of the first."""
    return [[word, *TEN[1:]] for word in first]


def table_of(folder, lists):
    rows = [
        Answer(str(i), "base", 0, "", tuple(one), 0.8) for i, one in enumerate(lists)
    ]
    write_answer_table(folder / "answers" / "part-00000.parquet", rows)
    return folder


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ("reject_glued", "台風憲法"),
        ("reject_numerals", "一二三"),
        ("reject_rare", "林檎"),
    ],
)
def test_each_kind_can_be_refused(ginza, jumandic_checker, tmp_path, rule, word):
    base = table_of(tmp_path, [TEN])  # it never says 林檎
    texts = [list_text(one) for one in lists_of(word, "犬")]
    for rejected in (False, True):
        scorer = DatScorer(
            jumandic_checker, ginza, DatRules(**{rule: rejected}), base=base
        )
        reasons = [result.reason for result in scorer.score(texts)]
        assert reasons == [Reason.NOT_NOUN if rejected else None, None]


def test_shares_of_words(ginza, jumandic_checker, tmp_path):
    known = [*TEN, "一二三", "台風憲法", "東京", "林檎"]
    lists = np.array(
        [
            [10, *range(1, 10)],
            [11, *range(1, 10)],
            [12, *range(1, 10)],
            [13, *range(1, 10)],
        ]
    )
    base = table_of(tmp_path, [TEN, *lists_of("一二三", "台風憲法", "東京")])
    values = measure(DatScorer(jumandic_checker, ginza, base=base), known, lists)
    shares = {
        name.removesuffix("_share"): value
        for name, value in values.items()
        if name.endswith("_share")
    }
    assert shares == {
        "proper_noun": 1 / 40,
        "wikipedia": 0,
        "glued": 1 / 40,
        "numeral": 1 / 40,
        "respelled": 1 / 40,
        "rare": 1 / 40,
    }
    assert "rare_share" not in measure(DatScorer(jumandic_checker, ginza), known, lists)


def test_rare_words_need_a_base(ginza, jumandic_checker, tmp_path):
    with refused("dat: rare without a base"):
        DatScorer(jumandic_checker, ginza, DatRules(reject_rare=True))
    with refused("dat: a base without a table"):
        DatScorer(jumandic_checker, ginza, base=tmp_path)
    write_answer_table(
        tmp_path / "part-00000.parquet",
        [Answer("0", "m", 0, "", None, None, "format")],
    )
    with refused("dat: a base without a list"):
        DatScorer(jumandic_checker, ginza, base=tmp_path)


def test_what_a_few_lists_tell(scorer):
    assert measure(scorer, [], np.zeros((0, 10), int)) == {}
    one = measure(scorer, TEN, np.arange(10)[None])
    assert one["perplexity"] == pytest.approx(10)
    assert "pairing" not in one  # there is no other list
    rolled = np.array([np.roll(np.arange(10), k) for k in range(30)])
    three = measure(scorer, TEN, rolled[:3])
    assert three["word_choice"] + three["position"] + three["pairing"] == pytest.approx(
        float(scorer.score([list_text(TEN)]).scores[0])
    )
    # 動物, 抽象物, 場所-自然, ...: what the dictionary's editors say of these ten.
    assert three["categories"] == one["categories"]
    assert "categories_se" not in three  # too few lists for an interval
    many = measure(scorer, TEN, rolled)
    assert (many["categories_se"], "pairing_se" in many) == (0, True)
    assert 1 < three["categories"] < 10
    # Under Olson's protocol words have only their diversity.
    olson = DatScorer(
        scorer.checker, scorer.vectors.encoder, DatRules(language="en", olson=True)
    )
    assert set(measure(olson, TEN, np.arange(10)[None])) == {
        "perplexity",
        "inverse_simpson",
    }
