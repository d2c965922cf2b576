"""sentences: what is one sentence with two words, what is new among answers, and what rules that read nothing get."""

import csv
import json
import runpy
import sys
from pathlib import Path

import pytest

from sentences import refused
from small_models import save_characters
from sozo.data.schema import iter_tables, part_paths, write_columns
from sozo.eval.run import score_answers
from sozo.models.likelihood import bits_per_character
from sozo.models.weights import load_model
from sozo.rewards.task import reward_of
from sozo.scoring.nouns import make_noun_checker
from sozo.suite.sentences import task as module
from sozo.suite.sentences.sentence import read_sentence
from sozo.suite.sentences.task import (
    SPLITS,
    TRAIN,
    Sentences,
    SentencesSettings,
)
from sozo.tasks import refuse_training
from sozo.tasks.task import Answer, Complete, Item

ROOT = Path(__file__).parents[2]
PAIRS = list(
    csv.DictReader(
        Path(module.__file__).with_name("pairs.csv").read_text("utf-8").splitlines()
    )
)
JA, EN = ("鏡", "郵便"), ("mirror", "mail")
GOOD = "鏡の前に置いた郵便を、猫がそっと運んだ。"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GOOD, None),
        ("<think>鏡と郵便か。</think>" + GOOD, None),
        ("「鏡を見て。」と母は郵便を持ったまま小さな声で言った。", None),
        ("彼女は手を止めて言った、「鏡より郵便が先よ。」", None),
        ("お鏡の前に郵便たちを並べて、父は一人で笑った！", None),
        ("", "no_text"),
        ("<think>" + GOOD, "no_text"),
        ("鏡が割れた。郵便は昨日の夜に届いていた。", "not_one"),
        ("「鏡が割れた。郵便も来た。」と母は小さな声で言った。", "not_one"),
        (GOOD + "\n" + GOOD, "not_one"),
        ("鏡の前に置いた郵便を、猫がそっと運んだ", "no_end"),
        ("- " + GOOD, "decorated"),
        ("以下の文です：" + GOOD, "decorated"),
        ("1. " + GOOD, "decorated"),
        ("A." + GOOD, "decorated"),
        ("3.5メートルの鏡の前に、猫が郵便をそっと運んだ。", None),
        ("鏡と郵便がある。", "wrong_length"),
        (GOOD[:-1] + "と、祖母が楽しそうに何度も話した" * 8 + "。", "wrong_length"),
        ("手鏡の前に置いた手紙を、猫がそっと運んだ。", "without_word"),
        ("郵便局で買った鏡台を、猫がそっと運んだ。", "inside_word"),
        ("鏡と郵便と鏡と郵便と鏡と郵便と鏡と郵便を見た。", "said_again"),
        ("鏡のそばの郵便のそばの机のうえの猫のまえの花。", "word_list"),
        ("The 鏡 in the hall came with the 郵便 of today!", "other_language"),
    ],
)
def test_one_japanese_sentence_with_both_words(text, reason):
    assert read_sentence(text, "", JA, "ja")[0] == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The mirror in the hall came by mail yesterday.", None),
        ("Mr. Smith hung three mirrors where the mail used to lie.", None),
        ('She said, "The mirror came in the mail."', None),
        ('"The mirror came in the mail!" she said at 5 p.m. and left.', None),
        ("I waited... and the mirror’s frame, 3.5 feet long, came by mail.", None),
        ("The U.S. mail arrived while the mirror was on the wall.", None),
        ("The mirror in Washington D.C. hid the mail of us all.", None),
        ("No. 5 in the row had a mirror and the mail in it.", None),
        ("The mirror hung in Washington D.C. The mail came late.", "not_one"),
        ("The mirror was big, tall etc. Mail came for all of us.", "not_one"),
        ("Did he say no. The mirror and the mail are all here.", "not_one"),
        ("A. Smith hung a mirror where the mail used to lie.", None),
        ("Here is a sentence: The mirror came by mail yesterday.", "decorated"),
        ("**The mirror in the hall came by mail yesterday.**", "decorated"),
        ("The window in the hall came by mail the day before.", "without_word"),
        ("The mirrored hall had an e-mail on the wall today.", "inside_word"),
        ("A simple story of a mirror and a mail.", "word_list"),
        ("The a mirror hall of in came yesterday by the mail.", "word_list"),
        ("鏡 mirror 郵便 mail 家で猫がずっと待っていた the of.", "other_language"),
    ],
)
def test_one_english_sentence_with_both_words(text, reason):
    assert read_sentence(text, "", EN, "en")[0] == reason


def test_a_frame_is_what_is_left_without_nouns_in_either_order():
    one, other, far = (
        read_sentence(text, "", JA, "ja")[1].frame
        for text in (
            GOOD,
            "郵便の前に置いた鏡を、犬がそっと運んだ。",
            "鏡は郵便より重くて高いと思われた。",
        )
    )
    assert one == other == "のに置いたをがそっと運んだ"
    assert far != one
    read = read_sentence("Mirrors reflect the mail and my sleepy dogs.", "", EN, "en")[
        1
    ]
    assert read.frame == "reflect the and my sleepy"
    assert read.words == ["reflect", "sleepy", "dog"]


def test_marks_are_no_content_words():
    plain, marked = (
        read_sentence(text, "", JA, "ja")[1].words
        for text in (GOOD, GOOD.replace("、", "、☆♪🐶"))
    )
    assert marked == plain


def test_the_pairs():
    nouns = {
        split: {
            row[name]
            for row in PAIRS
            for name in ("first", "second")
            if (row["language"], row["split"]) == ("ja", split)
        }
        for split in SPLITS
    }
    japanese = sorted(set.union(*nouns.values()))
    assert len(japanese) == sum(map(len, nouns.values()))  # no noun is in two splits
    assert all(
        verdict.is_noun and not verdict.glued
        for verdict in make_noun_checker("jumandic").check(japanese)
    )
    for noun in japanese:  # MeCab sees each as a word by itself
        text = f"この町では、古い{noun}の話を誰もが知っていた。"
        assert read_sentence(text, "", (noun, "町"), "ja")[0] is None, noun


@pytest.mark.parametrize("wrong", ["sentences_language", "sentences_split"])
def test_what_is_no_setting(wrong):
    with refused(f"sentences: {wrong}"):
        Sentences(SentencesSettings(**{wrong: "fr"})).items()


@pytest.mark.parametrize("language", ["ja", "en"])
def test_pairs_that_are_not_for_training_are_refused(language):
    train, *others = (
        Sentences(SentencesSettings(language, split)).items() for split in SPLITS
    )
    refuse_training(train)
    for held_out in others:
        for item in (held_out[0], Item("", f"お願い。\n{held_out[-1].prompt}")):
            with refused("sentences: a pair of another split"):
                refuse_training([item])


def asked(split=TRAIN, items=4):
    return Sentences(SentencesSettings("ja", split, items))


def sentence(item, template):
    return template.format(a=item.columns["first"], b=item.columns["second"])


def written(folder, rows):
    """A file of answers, each to an item."""
    lines = [json.dumps({"item": item.id, "text": text}) + "\n" for item, text in rows]
    (folder / "a.jsonl").write_text("".join(lines), "utf-8")
    return folder / "a.jsonl"


OWN = (
    "{a}の前に置いた{b}を、猫がそっと運んだ。",
    "{a}が嫌いな父も、{b}だけは毎朝かならず確かめる。",
    "もし{a}がしゃべれたら、{b}の悪口を言うに違いない。",
    "遠い国では{a}を{b}と取りかえるのが礼儀らしい。",
)


def test_values_by_hand():
    """Item 0: a sentence twice, one of its own, one unusable. Item 1: the first frame again."""
    task = asked()
    first, second, *_ = task.items()
    said = sentence(first, OWN[0])
    texts = [said, f"<think>迷う。</think>{said}", sentence(first, OWN[1]), "いやだ。"]
    items = [first] * 4 + [second]
    texts.append(sentence(second, OWN[2]))
    reward = reward_of(task)
    columns = {
        name: [item.columns[name] for item in items] for name in first.columns
    } | {"item": [item.id for item in items], "prompts": [i.prompt for i in items]}
    assert reward(completions=texts, **columns) == [0.5, 0.5, 1, 0, 1]
    words = reward_of(task, measure="sentences/content_words")
    # 置く, 猫, そっと, 運ぶ are in two answers; 嫌い, 父, 毎朝, かならず, 確かめる in one.
    assert words(completions=texts, **columns)[:4] == pytest.approx([2, 2, 5, 0])


def test_a_frame_that_most_items_share_is_not_usable(tmp_path):
    task, rows = asked(), []
    for k, item in enumerate(task.items()):
        last = OWN[3].replace("遠い", "遠い遠い"[: 2 + k])
        for frame in (OWN[0], OWN[1] if k < 2 else OWN[2], last):
            rows.append((item, sentence(item, frame)))
    run = score_answers(task, written(tmp_path, rows), tmp_path / "run")
    values = [(a.reason, a.values["sentences"]) for a in run.result.answers()]
    # The first frame is all four items'; two items have the second, two the third; one each has the last.
    assert values[0::3] == [("shared_frame", 0)] * 4
    assert values[1::3] == [(None, 0.5)] * 4
    assert run.metrics["reasons"]["shared_frame"] >= 4


def test_most_items_are_most_of_all_that_were_asked():
    """Two of four items have one frame, and the other two no usable answer."""
    task = asked()
    items = task.items()
    texts = [sentence(item, OWN[0]) for item in items[:2]] + ["いやだ。"] * 2
    answers = [Answer(str(k), items[k].id, text) for k, text in enumerate(texts)]
    rows = task.with_others(items, answers, task.score(items, answers))
    reasons = [row.reason for row in rows]
    assert reasons[:2] == [None, None]
    assert reasons[2:] == ["wrong_length"] * 2


def test_parts_are_scored_together_in_the_end(tmp_path):
    """A run is drawn in parts, and a frame is shared with answers of other parts."""
    task = asked()
    rows = [(item, sentence(item, frame)) for item in task.items() for frame in OWN[:2]]
    whole = score_answers(task, written(tmp_path, rows), tmp_path / "run")
    (path,) = part_paths(whole.folder)
    (table,) = iter_tables(whole.folder)
    for number in range(4):
        part = table.slice(2 * number, 2).to_pydict()
        part |= {"reason": [None] * 2, "values": [{"sentences": 1.0}] * 2}
        write_columns(path.with_name(f"part-0000{number}.parquet"), part)
    metrics = task.finish(Complete(whole.folder, "a.jsonl"))
    assert metrics == whole.metrics
    assert metrics["reasons"] == {"shared_frame": 8}
    assert len(part_paths(whole.folder)) == 4


def test_fluency_is_of_usable_sentences_by_the_model_that_is_named(tmp_path):
    task = asked(items=2)
    first, second = task.items()
    texts = [sentence(first, OWN[0]), sentence(second, OWN[1])]
    folder = str(save_characters(tmp_path / "model", texts))
    rows = [(first, texts[0]), (second, texts[1]), (first, "いやだ。")]
    named = Sentences(SentencesSettings("ja", TRAIN, 2, folder))
    run = score_answers(named, written(tmp_path, rows), tmp_path / "run")
    bits = [a.values.get("sentences/bits_per_character") for a in run.result.answers()]
    expected = bits_per_character(*load_model(folder), texts)
    assert bits[:2] == pytest.approx(expected, rel=1e-4)
    assert bits[2] is None


def attacked(language, capsys, monkeypatch):
    words = ["sentences.py", "--language", language, "--items", "24"]
    monkeypatch.setattr(sys, "argv", words)
    runpy.run_path(str(ROOT / "benchmarks" / "sentences.py"), run_name="__main__")
    printed = capsys.readouterr().out
    cells = [line.split("|") for line in printed.splitlines()[2:]]
    return {row[1].strip(): (float(row[2].strip(" %")), float(row[3])) for row in cells}


@pytest.mark.parametrize("language", ["ja", "en"])
def test_rules_that_read_nothing(language, capsys, monkeypatch):
    rows = attacked(language, capsys, monkeypatch)
    nothing = (
        "one frame",
        "one frame, words in either order",
        "eight frames in rotation",
        "the prompt again",
        "the same sentence whatever is asked",
        "a list of words",
        "the two words glued, again and again",
        "inside longer words",
        "many sentences",
        "another language",
    )
    assert {name: rows[name] for name in nothing} == dict.fromkeys(nothing, (0, 0))
    assert rows["one frame with a random third noun"][0] < 2
    assert (
        rows["words joined by と" if language == "ja" else "words joined by and"][0] < 5
    )
    assert rows["shuffled words of a sentence"][0] < 45
    # What no rule here sees, and fluency does: suite/README.md says so.
    assert (
        rows[
            "random nouns and particles"
            if language == "ja"
            else "random nouns and function words"
        ][0]
        > 90
    )
    usable, new = rows["512 frames put together from parts"]
    assert usable > 95
    assert new < 0.8
