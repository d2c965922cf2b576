"""A model that writes no usable list: what it wrote is read leniently and shown, and nobody draws or trains in vain."""

import pytest
from transformers import set_seed

from fakes import AXES, FakeNouns, axis_encoder, list_text
from grpo_runs import recipe, run
from sampling_worker import dat_by
from scripted_grpo import scripted
from sentences import says
from sozo.data.jsonl import write_objects
from sozo.eval.run import score_answers
from sozo.eval.terminal import print_run
from sozo.models.tiny import (
    build_model,
    build_tokenizer,
    noun_vectors,
    save,
    tiny_nouns,
)
from sozo.scoring.parse import split_list
from sozo.tasks.dat.found import found_words
from sozo.tasks.dat.scorer import DatScorer
from sozo.training.grpo_trainer import MixTrainer
from sozo.training.tracking import RunRecorder

JA, EN = (
    "犬猫水山川本車空海石",
    [
        "cat",
        "moon",
        "law",
        "sea",
        "shoe",
        "music",
        "illness",
        "desk",
        "weather",
        "holiday",
    ],
)
GOOD = list_text(JA)


def each(form, words=JA, first=1):
    """A line for each word; `form` has its number as k and it as w."""
    return "\n".join(form.format(k=k, w=word) for k, word in enumerate(words, first))


CIRCLED = "\n".join(f"{chr(ord('①') + k)}{word}" for k, word in enumerate(JA))
WIDE = "\n".join(
    f"{k}．{word}" for k, word in zip([*"１２３４５６７８９", "１０"], JA, strict=True)
)

# What chat models write: the text, its language, and how many words a lenient reader finds in it.
WRITTEN = {
    "as asked": (GOOD, "ja", 10),
    "a number and a space": (each("{k} {w}", EN), "en", 10),
    "a bracket": (each("{k}) {w}"), "ja", 10),
    "no space": (each("{k}.{w}"), "ja", 10),
    "empty lines between": (each("{k}. {w}\n"), "ja", 10),
    "full width": (WIDE, "ja", 10),
    "circled": (CIRCLED, "ja", 10),
    "stars": (each("* {w}", EN), "en", 10),
    "middle dots": (each("・{w}"), "ja", 10),
    "bold lines": (each("**{k}. {w}**"), "ja", 10),
    "in brackets of Japanese": (each("{k}. 「{w}」"), "ja", 10),
    "readings": (each("{k}. {w}（よみ）"), "ja", 10),
    "glosses behind a colon": (each("{k}. {w}：これは名詞です。"), "ja", 10),
    "glosses behind a dash": (each("{k}. {w} – a noun, far off", EN), "en", 10),
    "glosses below": (each("{k}. {w}\n   これは名詞です。"), "ja", 10),
    "a fence with a language": (f"```text\n{each('{w}')}\n```", "ja", 10),
    "in one line with commas": (", ".join(EN) + ".", "en", 10),
    "spaces": (" ".join(JA), "ja", 10),
    "a preface": (f"はい、10個です。\n{GOOD}", "ja", 10),
    "a preface in the same line": (f"はい、10個です。{'、'.join(JA)}。", "ja", 10),
    "two prefaces, unnumbered": (
        f"はい、わかりました。\n以下に10個の単語を挙げます：\n\n{each('{w}')}",
        "ja",
        10,
    ),
    "a preface and an end": (
        f"Here are ten words:\n{each('{k}. {w}', EN)}\n\nI hope this helps!",
        "en",
        10,
    ),
    "reasoning": (f"<think>犬、猫…\n1. 馬</think>\n{each('{w}')}", "ja", 10),
    "a template's end": (f"{each('- {w}')}<|im_end|>", "ja", 10),
    # No ten words, and no guess.
    "nine": (each("{k}. {w}", JA[:9]), "ja", 9),
    "eleven": (each("- {w}", JA + "木"), "ja", 11),
    "a sentence": ("申し訳ありませんが、お答えできません。", "ja", None),
    "nothing": ("", "ja", 0),
    "reasoning without an end": (f"<think>{GOOD}", "ja", 0),
}


@pytest.mark.parametrize("shape", WRITTEN)
def test_ten_words_are_found_in_what_chat_models_write(shape):
    text, language, count = WRITTEN[shape]
    found = found_words(text, language)
    if count is None:
        assert len(found) != 10
    else:
        assert len(found) == count
    if count == 10:
        assert found == list(EN if language == "en" else JA)


def test_what_the_strict_parser_takes_the_lenient_reader_finds():
    for text, _, _ in WRITTEN.values():
        if (strict := split_list(text)) is not None:
            assert len(found_words(text)) == len(strict) == 10
    assert split_list(WRITTEN["a preface"][0]) is None  # it stays strict


# What `sozo dat` shows


def scored(folder, texts, task=None):
    write_objects(folder / "texts.jsonl", [{"text": text} for text in texts])
    task = task or dat_by(DatScorer(FakeNouns(AXES), axis_encoder()))
    return score_answers(task, folder / "texts.jsonl", folder / "run", source="a")


def test_ten_words_found_stand_beside_as_asked_and_change_no_score(tmp_path):
    # 10 usable; 7 hold ten words in another form, 2 have a word that is no noun, 1 says something else.
    texts = (
        [GOOD] * 10
        + [each("{k}) {w}")] * 7
        + [list_text(JA[:9] + "走")] * 2
        + ["できません"]
    )
    run_ = scored(tmp_path, texts)
    plain = scored(tmp_path / "plain", [GOOD] * 10 + ["できません"] * 10)
    assert run_.metrics["ten_words"] == 19
    assert run_.metrics["measures"]["dat/usable"]["value"] == 0.5
    assert run_.metrics["measures"] == plain.metrics["measures"]
    assert plain.metrics["ten_words"] == 10
    notes = run_.task.view.notes(run_.result)
    assert says("dat: ten words found", notes[0])
    other, no_noun = each("{k}) {w}"), list_text(JA[:9] + "走")
    assert notes[1:5] == [f"format: {other!r}"] * 2 + [f"not_noun: {no_noun!r}"] * 2


@pytest.mark.parametrize(
    ("others", "shown"), [(1, False), (2, True)]
)  # of 20: five points, and more
def test_they_are_shown_where_they_differ_by_more_than_five_points(
    others, shown, tmp_path
):
    run_ = scored(tmp_path, [GOOD] * (20 - others) + [each("{w}")] * others)
    assert run_.metrics["ten_words"] == 20
    assert bool(run_.task.view.notes(run_.result)) == shown


def test_where_nothing_is_usable_the_texts_are_always_shown_without_their_control_characters(
    tmp_path, capsys
):
    texts = ["\x1b[31m[bold]犬[/bold]\r\n:dog:\u202e" + "あ" * 5000, "x", "y"]
    run_ = scored(tmp_path, texts)
    assert run_.metrics["ten_words"] == 0
    notes = run_.task.view.notes(run_.result)
    assert len(notes) == 4  # of the three texts two
    assert notes[1].startswith("format: '\\x1b[31m[bold]犬[/bold]\\r\\n:dog:\\u202eあ")
    assert all(line.isprintable() and len(line) < 400 for line in notes)
    print_run(run_)
    printed = capsys.readouterr().out
    assert "\\x1b[31m[bold]犬[/bold]" in printed
    assert "\x1b" not in printed


# Training

PAID = [list_text("犬猫水山川本車空海" + last) for last in "石木花"] + ["x"]


def train(folder, rewards, texts=PAID, **settings):
    """A trainer of 14 steps, ended or not, and what a run keeps beside it."""
    trainer = scripted(
        folder, texts, rewards=rewards, kind=MixTrainer, **{"max_steps": 14} | settings
    )
    recorder = RunRecorder()
    trainer.add_callback(recorder)
    trainer.train()
    return trainer, recorder


def by_step(pay):
    """A reward of `pay(step)` for each answer but the last, which gets nothing."""
    steps = iter(range(1000))

    def reward(completions, **kwargs):
        value = pay(next(steps))
        return [value] * (len(completions) - 1) + [0.0]

    return reward


def none_at_all(completions, **kwargs):
    return [None] * len(completions)


@pytest.mark.parametrize(
    ("rewards", "steps"),
    [
        # Less than nothing is a reward, too.
        ([by_step(lambda step: -1.0 if step % 10 == 4 else 0.0)], None),
        # Another reward pays.
        ([by_step(lambda step: 0.0), by_step(lambda step: 1.0)], None),
        ([by_step(lambda step: 0.0), none_at_all], 10),
    ],
)
def test_what_was_paid_in_between_begins_the_count_anew(rewards, steps, tmp_path):
    trainer, recorder = train(tmp_path, rewards)
    assert (recorder.in_vain, trainer.state.global_step) == (
        steps is not None,
        steps or 14,
    )


# By the command


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """The embedded model before its warm-up: it knows the nouns, and no list."""
    folder = tmp_path_factory.mktemp("cold") / "model"
    set_seed(0)
    nouns = tiny_nouns()
    tokenizer = build_tokenizer(nouns)
    save(folder, build_model(len(tokenizer), noun_vectors(nouns)), tokenizer)
    return folder


def test_grpo_of_a_model_without_lists_ends_in_one_line(cold, tmp_path):
    settings = {"max_steps": 20, "report_to": "none", "model_name_or_path": cold}
    settings |= {"per_device_train_batch_size": 8}
    command = recipe(output_dir="out", **settings)
    done = run(command, tmp_path)
    assert done.returncode != 0
    assert says("grpo: nothing was paid", done.stderr)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_refused_words_are_counted_and_named(tmp_path, jumandic_checker, ginza):
    refused = (("走る", "石"), ("走る", "美しい"), ("石", "空"))
    texts = [list_text([*JA[:8], *words]) for words in refused]
    task = dat_by(DatScorer(jumandic_checker, ginza))
    run_ = scored(tmp_path, [*texts, *[GOOD] * 21], task)
    # The third list is refused for 空, which stands in it twice: by itself no word of it is.
    assert run_.metrics["refused"] == {"走る": 2, "美しい": 1}
    words, remedy = run_.task.view.notes(run_.result)[-3:-1]
    assert says("dat: words that were refused", words)
    assert says("dat: a checker that takes more nouns", remedy)
