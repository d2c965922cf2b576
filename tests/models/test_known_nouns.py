"""Nouns ranked by a model's own log-probability of their spelling, and the recipe that writes them."""

import json
import sys
from types import SimpleNamespace

import pytest
import torch

import rank_nouns
from sentences import refused
from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import prompt
from sozo.models.tiny import ensure_tiny
from sozo.models.weights import load_model
from sozo.scoring.parse import write_list
from sozo.training import known_nouns
from sozo.training.known_nouns import frequent_nouns, log_probabilities

NOUNS = list(tiny_nouns()[:12])
ASKED = f"{prompt('dat')}\n"


@pytest.fixture(scope="module")
def tiny():
    return load_model(str(ensure_tiny()))


def plainly(model, tokenizer, words, noun):
    """The sum of ln p over the noun and what stands between it and the next one, a token after the other."""
    parts = (ASKED, write_list([*words, noun, NOUNS[5]]))
    ids = [
        token
        for part in parts
        for token in tokenizer.encode(part, add_special_tokens=False)
    ][:-1]
    total = 0.0
    for place in (
        len(ids) - 2,
        len(ids) - 1,
    ):  # a noun is one token of the tiny model's
        with torch.no_grad():
            logits = model(torch.tensor([ids[:place]])).logits[0, -1].double()
        total += float(logits.log_softmax(-1)[ids[place]])
    return total


def test_it_is_the_sum_over_the_nouns_tokens_and_the_line_break(tiny):
    model, tokenizer = tiny
    asked = tokenizer.encode(ASKED, add_special_tokens=False)
    found = {}
    for batch in log_probabilities(
        model, tokenizer, NOUNS, asked, lists=1, batch_size=5
    ):
        found |= batch
    assert found.keys() == set(NOUNS)
    for noun in NOUNS:
        assert found[noun] == pytest.approx(
            plainly(model, tokenizer, [], noun), abs=1e-4
        )


def test_the_nouns_of_fewest_tokens_and_then_of_the_most_frequent_ones(monkeypatch):
    spelled = dict(zip(NOUNS, range(40, 52), strict=True))
    spellings = {noun: (number,) for noun, number in spelled.items()}
    spellings[NOUNS[0]] = (3, 9)  # two tokens come behind one, however frequent
    spellings[NOUNS[1]] = (3, 8)
    spellings[NOUNS[2]] = (8, 3, 3)
    given = spellings | {"犬": (99, 0), "猫": None, "鳥": (7,), "魚": (7,)}
    monkeypatch.setattr(known_nouns, "checked_nouns", lambda language: list(given))
    monkeypatch.setattr(
        known_nouns, "spellings_of", lambda _, nouns: [given[noun] for noun in nouns]
    )
    unknown = SimpleNamespace(unk_token_id=99)
    assert frequent_nouns(unknown, "ja", 11) == sorted({*NOUNS} - {NOUNS[2]})
    assert frequent_nouns(unknown, "ja", 10) == sorted(NOUNS[1:2] + NOUNS[3:])
    # With unknown characters, joined with the line break, spelled as another one: none of these.
    assert frequent_nouns(unknown, "ja", 99) == sorted(NOUNS)
    for noun in NOUNS[:3]:
        given.pop(noun)
    with refused("known_nouns: fewer nouns than a list has"):
        frequent_nouns(unknown, "ja", 2500)


def test_no_english_noun_that_is_another_part_of_speech_and_of_tiny_its_own(tiny):
    tokenizer = tiny[1]
    assert set(frequent_nouns(tokenizer, "ja", 99)) < set(tiny_nouns())
    english = known_nouns.checked_nouns("en")
    assert {"umbrella", "run"} < set(english)
    with refused("known_nouns: a Japanese model's English nouns"):
        frequent_nouns(tokenizer, "en", 99)


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["rank_nouns.py", "tiny", *map(str, words)])
    rank_nouns.main()
    return capsys.readouterr().out


def test_the_recipe_goes_on_after_a_kill_and_takes_the_first(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(
        known_nouns, "read_nouns", lambda name, language: [*NOUNS, "dog", "ｱ!"]
    )
    folder = tmp_path / "nouns"
    out = run(monkeypatch, capsys, "--output_dir", folder, "--first", 10)
    lines = (folder / "nouns.jsonl").read_text("utf-8").splitlines()
    ranked = sorted(map(json.loads, lines), key=lambda row: -row["nats"])
    assert {row["noun"] for row in ranked} == set(NOUNS)  # in Japanese script alone
    assert (folder / "nouns.txt").read_text("utf-8").split() == [
        row["noun"] for row in ranked[:10]
    ]
    assert out.startswith(f"{folder / 'nouns.txt'}: 10 of 12 nouns, ")
    # Killed while it wrote the seventh line.
    (folder / "metrics.json").unlink()
    (folder / "nouns.jsonl").write_text("\n".join([*lines[:6], lines[6][:5]]), "utf-8")
    assert run(monkeypatch, capsys, "--output_dir", folder, "--first", 10) == out
    # Resumed, a noun shares its batch with others, and its last digits may differ.
    again = (folder / "nouns.jsonl").read_text("utf-8").splitlines()
    assert len(again) == len(lines)
    resumed, whole = (
        {row["noun"]: row["nats"] for row in map(json.loads, each)}
        for each in (again, lines)
    )
    assert resumed == pytest.approx(whole, abs=1e-5)


def test_nouns_of_more_tokens_are_left_out(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(known_nouns, "read_nouns", lambda name, language: NOUNS)
    monkeypatch.setattr(
        rank_nouns,
        "spell",
        lambda tokenizer, nouns: [(7,) * (1 + nouns.index(n)) for n in nouns],
    )
    out = run(
        monkeypatch,
        capsys,
        "--output_dir",
        tmp_path,
        "--first",
        10,
        "--most_tokens",
        11,
    )
    assert "10 of 11 nouns" in out
    assert NOUNS[11] not in (tmp_path / "nouns.jsonl").read_text("utf-8")


def test_what_cannot_be_is_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(known_nouns, "read_nouns", lambda name, language: NOUNS)
    with refused("rank_nouns: more than there are"):
        run(monkeypatch, capsys, "--output_dir", tmp_path / "a", "--first", 13)
    with refused("rank_nouns: a half precision"):
        run(
            monkeypatch,
            capsys,
            "--output_dir",
            tmp_path / "a",
            "--first",
            10,
            "--dtype",
            "bfloat16",
        )
