"""The noun list of the random baseline: 22,128 words; and the dictionary that they come from."""

import pytest

from sozo.data.errors import UserError
from sozo.data.jumandic import CompiledDictionary, default_dictionary


def test_list_of_the_compiled_dictionary(nouns):
    assert len(nouns) == 22_128
    assert list(nouns) == sorted(set(nouns))
    assert {"林檎", "水", "愛育", "秋", "柿", "牡蠣"} <= set(nouns)  # homographs are two words, spellings are one
    assert not {"りんご", "愛す", "苹果", "富士山"} & set(nouns)


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
