"""tiny-words: prompts as tokens, and what its warm start teaches."""

import random
from itertools import islice

import pytest

from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import fill, prompt
from sozo.models import tiny_words
from sozo.models.tiny import EXAMPLES, TINY_WORDS, tiny_folder, tiny_seed
from sozo.tasks.words.kanji import read_partners


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


def test_forms_and_words(tokenizer, monkeypatch):
    monkeypatch.setitem(EXAMPLES, "kanji", 400)
    for task in ("dat", "cue_dat", "kana_dat"):
        monkeypatch.setitem(EXAMPLES, task, 40)
    monkeypatch.setitem(EXAMPLES, "chain", 0)  # takes a second encoder
    told = list(tiny_words.examples(random.Random(0)))
    assert len(told) == 3 * 40 + 400
    for question, text in told:
        ids = tokenizer(question).input_ids + tokenizer(text).input_ids
        assert tokenizer.unk_token_id not in ids
    _, lists = zip(*told[40:80], strict=True)
    assert all(text.startswith("2. ") and text.count("\n") == 8 for text in lists)
    key, _ = read_partners(None)
    for question, text in islice(told, 120, None):
        assert all(text in key[cue] for cue in question.partition("の漢字\n")[2].splitlines()[0])


def test_its_seeds_are_folders_of_their_own():
    assert tiny_seed("tiny-words@3") == 3
    assert tiny_folder(f"{TINY_WORDS}@3") != tiny_folder(TINY_WORDS) != tiny_folder()
    assert tiny_folder(f"{TINY_WORDS}@0") == tiny_folder(TINY_WORDS)


def test_kanji_that_share_partners_are_near():
    vectors = tiny_words.kanji_vectors(32)
    assert all(vector.shape == (32,) for vector in vectors.values())
    assert sum(float((vector**2).sum()) ** 0.5 for vector in vectors.values()) / len(vectors) == pytest.approx(0.5)
