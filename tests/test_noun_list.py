"""The noun list of the random baseline: 22,128 words, the same from either form of the dictionary."""

from pathlib import Path

import pytest

from sozo.data.errors import UserError
from sozo.data.jumandic import CompiledDictionary, default_dictionary, load_nouns

DEBIAN = Path("/usr/share/juman/dic/ContentW.dic")
LINES = """\
; 2011/11/29 domain:ver1.0 category:ver1.0
(名詞 (普通名詞 ((読み りんご)(見出し語 林檎 リンゴ りんご)(意味情報 "代表表記:林檎/りんご カテゴリ:植物"))))
(名詞 (普通名詞 ((読み かき)(見出し語 柿 (かき 1.6) カキ)(意味情報 "代表表記:柿/かき カテゴリ:植物"))))
(名詞 (普通名詞 ((読み かき)(見出し語 牡蠣 牡蛎 (かき 1.6) カキ)(意味情報 "代表表記:牡蠣/かき カテゴリ:動物"))))
(名詞 (サ変名詞 ((読み あいいく)(見出し語 愛育 (あい育 1.6))(意味情報 "代表表記:愛育/あいいく カテゴリ:抽象物"))))
(名詞 (時相名詞 ((読み あき)(見出し語 秋 (あき 1.6))(意味情報 "代表表記:秋/あき 漢字読み:訓 カテゴリ:時間"))))
(名詞 (普通名詞 ((読み りんご)(見出し語 林檎)(意味情報 "代表表記:林檎/りんご"))))
(名詞 (普通名詞 ((読み ほげ)(見出し語 苹果)(意味情報 "自動獲得:Wikipedia 代表表記:苹果/ほげ"))))
(名詞 (固有名詞 ((読み ふじさん)(見出し語 富士山)(意味情報 "代表表記:富士山/ふじさん"))))
(動詞 ((読み あいす)(見出し語 愛す あいす)(活用型 子音動詞サ行)(意味情報 "代表表記:愛す/あいす")))
(形容詞 ((読み あおい)(見出し語 青い)(活用型 イ形容詞アウオ段)(意味情報 "代表表記:青い/あおい")))
"""


def test_list_of_the_compiled_dictionary(nouns):
    assert len(nouns) == 22_128
    assert list(nouns) == sorted(set(nouns))
    assert {"林檎", "水", "愛育", "秋"} <= set(nouns)
    assert not {"りんご", "愛す", "苹果", "富士山"} & set(nouns)


def test_list_of_a_dictionary_source(tmp_path):
    source = tmp_path / "ContentW.dic"
    source.write_text(LINES, "utf-8")
    # Homographs (かき) are two words, spellings (リンゴ) are one.
    # By code point: 愛 6101 < 林 6797 < 柿 67FF < 牡 7261 < 秋 79CB.
    assert load_nouns(source) == ("愛育", "林檎", "柿", "牡蠣", "秋")


def test_source_and_compiled_dictionary_give_the_same_list(tmp_path, nouns):
    # Every line that the machine's own source has; the handful above where it has none.
    source = DEBIAN
    if not DEBIAN.exists():
        source = tmp_path / "ContentW.dic"
        source.write_text(LINES, "utf-8")
        assert set(load_nouns(source)) <= set(nouns)
    else:
        assert load_nouns(source) == nouns


def test_no_such_file(tmp_path):
    with pytest.raises(UserError, match=r"missing\.dic: no such dictionary file"):
        load_nouns(tmp_path / "missing.dic")


def test_another_file(tmp_path):
    other = tmp_path / "other.dic"
    other.write_text("犬\n猫\n", "utf-8")
    with pytest.raises(UserError, match=r"other\.dic: no nouns found"):
        load_nouns(other)


def test_a_file_in_another_encoding(tmp_path):
    euc = tmp_path / "euc.dic"
    euc.write_bytes(LINES.encode("euc-jp"))
    with pytest.raises(UserError, match=r"euc\.dic: not UTF-8"):
        load_nouns(euc)


@pytest.mark.parametrize("surface", ["", "林", "林檎林檎", "\0", "犬\0", "\ud800", "𠮷" * 50])
def test_lookup_of_any_text_is_exact(surface):
    assert all(entry.feature.split(",")[4] for entry in default_dictionary().lookup(surface))
    assert bool(default_dictionary().lookup(surface)) == (surface == "林")


def test_lookup_gives_every_homograph():
    assert {e.feature.split("代表表記:")[1].split()[0] for e in default_dictionary().lookup("かき")} >= {
        "柿/かき",
        "牡蠣/かき",
    }


def test_a_folder_without_a_dictionary(tmp_path):
    with pytest.raises(UserError, match=r"no compiled JumanDIC here"):
        CompiledDictionary(tmp_path)


def test_a_file_that_is_no_dictionary(tmp_path):
    (tmp_path / "sys.dic").write_bytes(b"x" * 100)
    with pytest.raises(UserError, match=r"sys\.dic: not a MeCab dictionary"):
        CompiledDictionary(tmp_path)
