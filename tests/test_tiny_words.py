"""tiny-words: prompts as tokens, and what its warm start teaches."""

import random
from itertools import pairwise

import pytest

from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import fill, prompt
from sozo.models import tiny_words
from sozo.models.tiny import TINY_WORDS, tiny_folder, tiny_seed
from sozo.scoring.parse import split_list
from sozo.tasks.words.chain import Chain, ChainSettings
from sozo.tasks.words.kana_dat import KanaDat
from sozo.tasks.words.kanji import read_partners
from sozo.tasks.words.lists import WordSettings


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_words.words_tokenizer()


def test_a_prompt_is_its_cue_between_two_tokens(tokenizer):
    def cue(task, text):
        return tokenizer.convert_ids_to_tokens(tokenizer(fill(prompt(task), cue=text)).input_ids)[1:-1]

    noun = next(noun for noun in tiny_nouns() if len(noun) == 3 and all("一" <= kanji <= "龠" for kanji in noun))
    assert cue("cue_dat", noun) == cue("chain", noun) == [noun]
    assert cue("kana_dat", "い") == ["い"]
    assert cue("kanji", "山川水") == ["\n", "山", "川", "水", "\n"]
    assert cue("kanji", noun) == ["\n", *noun, "\n"]
    assert len(tokenizer(prompt("dat")).input_ids) == 1


def test_forms_and_words(tokenizer):
    told = tiny_words.examples(random.Random(0), {"dat": 40, "cue_dat": 40, "kana_dat": 40, "chain": 40, "kanji": 400})
    assert {task: len(rows) for task, rows in told.items()}["kanji"] == 400
    for rows in told.values():
        tokens = [tokenizer(question + text).input_ids for question, text in rows]
        assert len(set(map(len, tokens))) == 1  # so that nothing needs padding
        assert all(tokenizer.unk_token_id not in ids for ids in tokens)
    for _, text in told["cue_dat"] + told["chain"]:
        assert text.startswith("2. ")
        assert text.count("\n") == 8
    key, _ = read_partners(None)
    for question, text in told["kanji"]:
        assert all(text in key[cue] for cue in question.partition("の漢字\n")[2].splitlines()[0])


def test_random_lists_keep_their_task(tokenizer):
    told = tiny_words.examples(random.Random(1), {"kana_dat": 20, "chain": 20, "kanji": 8})
    kana = KanaDat(WordSettings(cue_nouns="tiny"))
    for question, text in told["kana_dat"]:
        asked = question.partition("読みが「")[2][0]
        assert kana.kept([asked], [split_list(text)]).tolist() == [1.0]
    near = tiny_words.near_nouns(Chain(ChainSettings(cue_nouns="tiny")))
    for question, text in told["chain"]:
        words = split_list(f"1. {question.partition('「')[2].partition('」')[0]}\n{text}")
        assert all(word in near[before] for before, word in pairwise(words))


def test_its_seeds_are_folders_of_their_own():
    assert tiny_seed("tiny-words@3") == 3
    assert tiny_folder(f"{TINY_WORDS}@3") != tiny_folder(TINY_WORDS) != tiny_folder()
    assert tiny_folder(f"{TINY_WORDS}@0") == tiny_folder(TINY_WORDS)


def test_kanji_that_share_partners_are_near():
    vectors = tiny_words.kanji_vectors(32)
    assert all(vector.shape == (32,) for vector in vectors.values())
    assert sum(float((vector**2).sum()) ** 0.5 for vector in vectors.values()) / len(vectors) == pytest.approx(1.0)
