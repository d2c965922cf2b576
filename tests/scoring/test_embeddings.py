"""Encoders and the cache of unit vectors: every word encoded once, bad vectors told apart, no key leaked."""

import csv
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import numpy as np
import pytest
from huggingface_hub.errors import RepositoryNotFoundError

from fakes import FakeEncoder, list_text
from sentences import refused
from sozo.data.errors import UserError
from sozo.data.foreign import nfkc
from sozo.data.jumandic import nouns_of
from sozo.data.schema import Reason
from sozo.scoring.embeddings import (
    OpenAIEncoder,
    SentenceTransformerEncoder,
    WordVectors,
    make_encoder,
)
from sozo.tasks.dat.scorer import DatScorer

# WordVectors


def test_a_word_is_encoded_once_and_short_words_come_first():
    # The squares of tiny and huge numbers leave float32.
    encoder = FakeEncoder({"犬": [3, 4], "子犬": [0, -1e-30], "柴犬たち": [1e30, 0]})
    vectors = WordVectors(encoder)
    rows = vectors.rows(["柴犬たち", "犬", "子犬", "犬"])
    assert rows == [2, 0, 1, 0]
    assert vectors.rows(["犬", "柴犬たち"]) == [0, 2]
    assert vectors.rows([]) == []
    assert encoder.batches == [["犬", "子犬", "柴犬たち"]]
    np.testing.assert_allclose(vectors.matrix, [[0.6, 0.8], [0, -1], [1, 0]])
    assert vectors.matrix.dtype == np.float32


@pytest.mark.parametrize("bad", [[0, 0], [np.nan, 1], [-np.inf, np.inf]])
def test_a_bad_vector_has_no_row(bad):
    encoder = FakeEncoder({"犬": [1, 0], "猫": bad})
    vectors = WordVectors(encoder)
    assert vectors.rows(["猫", "犬", "猫"]) == [-1, 0, -1]
    assert np.isfinite(vectors.matrix).all()
    assert vectors.rows(["猫"]) == [-1]
    assert encoder.calls == 1


def test_an_encoder_without_any_vector_is_broken(tmp_path):
    words = [f"犬{k}" for k in range(10)]
    broken = FakeEncoder(dict.fromkeys(words, (0, 0)), name="my-model")
    with refused("embeddings: no usable vector"):
        WordVectors(broken, tmp_path).rows(words)
    assert WordVectors(broken).rows(words[:9]) == [-1] * 9
    # It has left nothing on disk.
    mended = FakeEncoder(dict.fromkeys(words, (1, 0)), name="my-model")
    assert WordVectors(mended, tmp_path).rows(words) == list(range(10))


def test_ten_rare_words_are_no_broken_encoder_but_numbers_that_are_not_finite_are():
    rare, broken = [f"犬{k}" for k in range(10)], [f"猫{k}" for k in range(10)]
    encoder = FakeEncoder({"水": [1, 0]} | {word: [np.nan, 0] for word in broken})
    assert (
        WordVectors(encoder).rows(rare) == [-1] * 10
    )  # the first batch: a common word has a vector
    vectors = WordVectors(encoder)
    assert vectors.rows(["水"]) == [0]
    assert (
        vectors.rows(rare) == [-1] * 10
    )  # late in a run, one answer of rare words must not end the training
    with refused("embeddings: no finite vector"):
        vectors.rows(broken)


def test_another_shape_is_an_error():
    class Wrong(FakeEncoder):
        def encode(self, words):
            return np.ones((1, 2))

    with refused("embeddings: another shape"):
        WordVectors(Wrong({}, name="wrong")).rows(["犬", "猫"])


# The disk cache

KNOWN = {"犬": [3, 4], "猫": [0, 2], "無": [0, 0]}


def test_a_second_run_needs_no_encoder(tmp_path):
    known = KNOWN | {
        f"犬{k}": [k + 1, 1] for k in range(1234)
    }  # more words than one query holds
    first, encoder = (
        WordVectors(FakeEncoder(known), tmp_path / "cache"),
        FakeEncoder(known),
    )
    rows, second = first.rows(list(known)), WordVectors(encoder, tmp_path / "cache")
    assert [row < 0 for row in second.rows(list(known))] == [row < 0 for row in rows]
    assert rows.count(-1) == 1
    np.testing.assert_array_equal(first.unit(list(known)), second.unit(list(known)))
    assert encoder.calls == 0


@pytest.mark.parametrize("other", [{"revision": "2"}, {"name": "fake-encoder"}])
def test_another_encoder_or_revision_shares_nothing(tmp_path, other):
    WordVectors(FakeEncoder(KNOWN), tmp_path).rows(["犬"])
    encoder = FakeEncoder({"犬": [1, 0]}, **other)
    assert WordVectors(encoder, tmp_path).unit(["犬"]).tolist() == [[1, 0]]
    assert encoder.calls == 1


def test_two_writers_at_once(tmp_path):
    words = {f"犬{k}": [k + 1, 1] for k in range(300)}
    caches = [WordVectors(FakeEncoder(words), tmp_path) for _ in range(2)]

    def write(cache, order):
        for start in range(0, 300, 20):
            cache.rows(order[start : start + 20])

    with ThreadPoolExecutor(2) as pool:
        any(pool.map(write, caches, (list(words), list(reversed(words)))))
    [file] = tmp_path.glob("*.sqlite")
    with sqlite3.connect(file) as db:
        assert db.execute("SELECT COUNT(*) FROM vectors").fetchone() == (300,)
    db.close()


# ja-ginza

LOOKUPS = Path(__file__).parents[1] / "files/lookups.csv"

FAR_APART = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]


def test_words_are_looked_up_by_the_spellings_of_the_table(jumandic_checker, ginza):
    """Fifty nouns in kanji, hiragana, katakana and half width, which people's lists are read as full; each row was read."""
    with LOOKUPS.open(encoding="utf-8", newline="") as file:
        table = {nfkc(row["word"]): row["looked_up_by"] for row in csv.DictReader(file)}
    by = {
        word: "+".join(ginza.forms(word)) or "ambiguous" * (len(nouns_of(word)) > 1)
        for word in table
    }
    assert by == table
    (said,) = DatScorer(jumandic_checker, ginza).score(
        [list_text([*FAR_APART[:9], "かみ"])]
    )
    assert said.reason is Reason.AMBIGUOUS


def test_a_word_that_ginza_lacks_is_cut_into_words_of_two_characters(ginza):
    # Neither 電気自動車 nor 動車 is in the vocabulary.
    whole, *parts = ginza.encode(["電気自動車", "電気", "自動車"])
    np.testing.assert_allclose(whole, np.mean(parts, axis=0), atol=1e-6)
    without = ["犬𪚲", "𪚲", "犬dog", "たんぽぽ", "優しさ", "ようろれい", ""]
    assert not ginza.encode(without).any()


def test_a_text_has_the_mean_of_its_kanji_and_katakana_words(ginza):
    texts = make_encoder(texts=True)
    assert (texts.name, f"{texts.revision}-forms") == ("ja-ginza-texts", ginza.revision)
    found = texts.encode(
        ["犬、法律。", "犬と3Dの法律だ。", "そして犬が法律になった!", "犬"]
    )
    dog, law = ginza.encode(["犬", "法律"])
    np.testing.assert_allclose(found, [(dog + law) / 2] * 3 + [dog], atol=1e-6)
    assert not texts.encode(["", "。。。", "123 dog", "うみへいった。"]).any()


# An OpenAI-compatible endpoint: what else it may do is in `test_provider_behaviours.py`


def test_openai_vectors_are_ordered_by_index(endpoint):
    encoder = make_encoder("openai:text-embedding-3-large")
    found = encoder.encode(["犬", "子犬", "柴犬", "犬"]).tolist()
    assert found == [[1, 0], [2, 1], [2, 2], [1, 0]]
    [(authorization, request)] = endpoint.requests
    assert authorization == "Bearer sk-very-secret"
    assert request == {
        "model": "text-embedding-3-large",
        "input": ["犬", "子犬", "柴犬"],
        "encoding_format": "float",
    }


def test_openai_batches(endpoint):
    # 300 texts of 1,204 bytes are more tokens, at worst, than an endpoint takes at a time.
    words = [f"{k:04}" + "犬" * 400 for k in range(300)]
    numbers = OpenAIEncoder("m").encode(words)[:, 1].tolist()
    assert numbers == [*range(249), *range(51)]


def test_openai_batches_are_halved_until_the_server_takes_them(endpoint):
    endpoint.most = 100
    encoder = OpenAIEncoder("m")
    words = ["犬" * (1 + k % 7) + str(k) for k in range(700)]
    for _ in range(2):
        assert encoder.encode(words)[:, 0].tolist() == [len(word) for word in words]
        tried = [len(request["input"]) for _, request in endpoint.requests]
        assert len(tried) <= 10
        endpoint.requests.clear()
    assert max(tried) <= 100  # learned
    endpoint.most = 0
    with refused("embeddings: HTTP 413"):
        encoder.encode(words)


# sentence-transformers


def test_a_sentence_transformers_folder(tiny_bert):
    encoder = make_encoder(tiny_bert)
    assert encoder.name == tiny_bert
    assert encoder.revision
    vectors = encoder.encode(["犬", "子犬", "猫"])
    assert vectors.shape == (3, 32)
    assert vectors.dtype == np.float32
    # Padding must not change a word's vector.
    np.testing.assert_allclose(encoder.encode(["犬"])[0], vectors[0], atol=1e-5)
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-3


def test_a_model_that_cannot_be_loaded_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with refused("embeddings: a folder without a model"):
        make_encoder(str(tmp_path))


@pytest.mark.parametrize("answers", [True, False])
def test_a_silent_hub_is_asked_once_and_one_that_answers_decides(answers, monkeypatch):
    asked, loaded = [], []

    def model_info(name, **options):
        asked.append(name)
        if answers:
            raise RepositoryNotFoundError(
                "404",
                response=httpx2.Response(
                    404, request=httpx2.Request("GET", "http://h")
                ),
            )
        raise ConnectionError("no route to host")

    def load(name, local_files_only, **options):
        loaded.append(local_files_only)
        raise OSError("not there\nat all")

    monkeypatch.setattr("huggingface_hub.model_info", model_info)
    monkeypatch.setattr("sentence_transformers.SentenceTransformer", load)
    with refused("embeddings: a model that is not there"):
        make_encoder("org/nosuch")
    assert (asked, loaded) == (["org/nosuch"], [not answers])


def test_a_model_is_loaded_whole_under_zero3(tiny_bert):
    """DeepSpeed ZeRO-3 would shard the encoder with the policy: its weights would be empty."""
    from transformers.integrations import HfDeepSpeedConfig
    from transformers.integrations.deepspeed import (
        is_deepspeed_zero3_enabled,
        unset_hf_deepspeed_config,
    )

    config = HfDeepSpeedConfig(
        {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1}
    )
    try:
        assert is_deepspeed_zero3_enabled()
        encoder = SentenceTransformerEncoder(tiny_bert)
        assert is_deepspeed_zero3_enabled()  # the policy is still to be sharded
        with pytest.raises(UserError):
            SentenceTransformerEncoder(f"{tiny_bert}/none")
        assert is_deepspeed_zero3_enabled()
    finally:
        unset_hf_deepspeed_config()
    assert config is not None
    assert all(
        p.numel() > 0 and not hasattr(p, "ds_id") for p in encoder._model.parameters()
    )
    np.testing.assert_array_equal(
        encoder.encode(["犬"]), SentenceTransformerEncoder(tiny_bert).encode(["犬"])
    )
