"""The noun checker for people: what speakers call nouns, named wherever a score is, beside the models' rule."""

import pytest

from sentences import refused
from sheets import HEADINGS, command, save, table, written
from sozo.scoring.nouns import make_noun_checker
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat

STEMS = "幸せ 平和 自由 健康 元気 孤独 不安 親切 便利 静寂 憂鬱 真っ赤 永遠 暇 必要"
NOUNS_IN_SA = "優しさ 楽しさ 美しさ 強さ 速さ 豊かさ 大切さ 高さ 赤さ 元気さ 貧しさ"
WITH_AFFIXES = "お茶 お金 お母さん お寿司 お菓子 ご先祖 子供たち お正月"
COMPOUNDS = "自由時間 健康診断 平和主義 危険物"
NO_NOUNS = "走る 速い 楽しい 美しく ゆっくり ありがとう 便利な 自由な 自由に さ お 御 電脳化する 食べて とても ホゲムガ"
NEW = "app selfie smartphone website podcast burger emoji blog hashtag smoothie hoodie apps selfies websites hoodies"
NO_ENGLISH_NOUNS = (
    "london tokyo tiktok the beautiful amazing quickly who without recieve asdf bees's"
)


@pytest.fixture(scope="module")
def speakers():
    return make_noun_checker("jumandic-speakers")


def nouns(checker, words):
    return [
        word
        for word, verdict in zip(
            words.split(), checker.check(words.split()), strict=True
        )
        if verdict.is_noun
    ]


def test_what_people_call_nouns(speakers):
    words = " ".join([STEMS, NOUNS_IN_SA, WITH_AFFIXES, COMPOUNDS, "犬 走り インスタ"])
    assert nouns(speakers, words) == words.split()


def test_what_people_do_not_call_nouns(speakers):
    assert nouns(speakers, NO_NOUNS) == []


def test_the_papers_rule_stays(speakers):
    paper = make_noun_checker("jumandic")
    assert (speakers.name, paper.name) == ("jumandic-speakers", "jumandic")
    assert (
        nouns(
            paper, " ".join([STEMS, NOUNS_IN_SA, WITH_AFFIXES, COMPOUNDS, "インスタ"])
        )
        == []
    )


def test_settings_hold_for_speakers_too():
    checker = make_noun_checker(
        "jumandic-speakers", DatSettings(reject_proper_nouns=True)
    )
    assert nouns(checker, "東京 自由") == ["自由"]


def test_newer_english_nouns():
    assert nouns(make_noun_checker("lemminflect-speakers"), NEW) == NEW.split()
    assert nouns(make_noun_checker("lemminflect"), NEW) == []
    assert nouns(make_noun_checker("lemminflect-speakers"), NO_ENGLISH_NOUNS) == []
    (verdict,) = make_noun_checker("lemminflect-speakers").check(["Selfies"])
    assert (verdict.is_noun, verdict.representative) == (True, "selfie")


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with refused("noun_checker: an unknown name"):
        make_noun_checker("speakers")
    with refused("noun_checker: no English words"):
        DatSettings(language="en", noun_checker="jumandic-speakers")


def test_people_get_it_by_default_and_models_do_not():
    assert not Dat(DatSettings()).settings.noun_checker.endswith("speakers")
    assert Dat(DatSettings()).for_people().settings.noun_checker in (
        "jumandic-speakers",
        "jumanpp-speakers",
    )
    assert (
        Dat(DatSettings(language="en")).for_people().settings.noun_checker
        == "lemminflect-speakers"
    )
    assert (
        Dat(DatSettings(noun_checker="jumandic")).for_people().settings.noun_checker
        == "jumandic"
    )


FREE = ["自由", "優しさ", "お茶", "犬", "法律", "海", "数学", "走る", "靴", "走る"]


def test_the_strict_score_stands_beside(tmp_path, monkeypatch, capsys):
    file = save(tmp_path / "p.csv", table([HEADINGS, ["1", *FREE]]))
    monkeypatch.setattr("shutil.which", lambda command: None)

    def row_of(name, *flags):
        words = ("people", file, "--output", tmp_path / name, "--all-scores", *flags)
        code, _, err = command(monkeypatch, capsys, *words)
        assert (code, err) == (0, "")
        return written(tmp_path / name / "scores.csv")[0]

    one = row_of("people")
    assert one["sozo_words"] == "自由、お茶、犬、法律、海、数学、靴"
    assert float(one["sozo_score"]) > 0
    assert "jumandic-speakers" in one["sozo_scale"]
    assert one["sozo_strict_reason"] == "not_noun"
    flags = ("--noun-checker", "jumandic", "--repeated-words", "representative")
    one = row_of("paper", *flags)
    assert "(repeated_words: representative)" in one["sozo_scale"]
    assert one["sozo_score"] == ""
