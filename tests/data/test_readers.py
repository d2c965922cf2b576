"""One reader for JSON and one for YAML: whatever stands in a file or a flag, what fails is one line; and what is shown.

A folder that cannot be written to, a terminal that cannot show a letter: no traceback either.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

from bad_files import BAD_YAML, DEEP, DIGITS, one_line
from command_line import sozo
from fakes import list_text
from sentences import refused
from sozo.data.foreign import parse_json
from sozo.data.prompts.form import read_form
from sozo.data.record import read_json
from sozo.data.settings import _NOT_HERE, from_json, hint, read_yaml
from sozo.data.study_folder import read_study
from sozo.data.wandb_run import training_summary
from sozo.data.yaml_loader import parse_yaml
from sozo.eval.cli import make_app
from sozo.eval.report.render import render
from sozo.models.tiny import ensure_tiny
from sozo.models.vocabulary import restore_vocabulary
from sozo.models.weights import load_model, pinned
from sozo.rewards.reward import Reward
from sozo.scoring.embeddings.word_vectors import WordVectors
from sozo.scoring.final_text import count_unknown
from sozo.training.arguments import GrpoArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings

BAD_JSON = (
    DIGITS,
    DEEP,
    DEEP + "]" * 3_000,
    '{"a": 1, "a": 1}',
    "{",
    "NaN",
    "\ufeff{}",
)
GOOD_YAML = {
    "run_name: 2024-11-31": {"run_name": "2024-11-31"},
    "run_name: 2024-11-30 12:00:00": {"run_name": "2024-11-30 12:00:00"},
    "a: &x {b: 1}\nc: {<<: *x, b: 2, d: 3}": {"a": {"b": 1}, "c": {"b": 2, "d": 3}},
    "a: &x [1]\nb: *x": {"a": [1], "b": [1]},
    "a: no": {"a": False},
}


@pytest.mark.parametrize("text", BAD_JSON)
def test_json_that_is_none_is_one_line(text, tmp_path):
    one_line(parse_json, text)
    if text[0] != "\ufeff":
        for name in ("config.json", "study.json", "run_config.json"):
            (tmp_path / name).write_text(text)
        for reader in (read_json, lambda path: read_study(path.parent)):
            assert str(tmp_path) in one_line(reader, tmp_path / "study.json")
    assert "reward" in one_line(from_json, text, "reward")
    assert "chat_template_kwargs" in one_line(read_form, None, text)


@pytest.mark.parametrize("text", BAD_YAML)
def test_yaml_that_is_none_is_one_line(text, tmp_path):
    (tmp_path / "x.yaml").write_text(text)
    one_line(read_yaml, tmp_path / "x.yaml")


@pytest.mark.parametrize("text", GOOD_YAML)
def test_yaml_as_it_is_meant(text):
    assert parse_yaml(text) == GOOD_YAML[text]


def test_a_binary_file_is_one_line(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    one_line(read_yaml, tmp_path / "x.yaml")
    one_line(read_yaml, tmp_path)
    one_line(read_json, tmp_path)


# --- a recipe ---

WRONG = {
    "report_to: no": "report_to",
    "run_name: [1]": "run_name",
    "env: {A: 1}": "unknown setting: env",
    "tasks: 5": "tasks",
    "learning_rate: 1\nlearning_rate: 2": "learning_rate",
    f"seed: {DIGITS}": "digits",
}


def recipe(tmp_path, text):
    file = tmp_path / "run.yaml"
    rest = [
        line
        for line in ("tasks: [dat]", "num_prompts: 4096")
        if line.partition(" ")[0] not in text
    ]
    file.write_text("\n".join(["use_cpu: true", "bf16: false", text, *rest]), "utf-8")
    read = parse(
        GrpoArguments,
        GrpoSettings,
        ["--config", str(file), "--output_dir", str(tmp_path / "run")],
    )
    read[0].epoch(read[1])
    return read


@pytest.mark.parametrize("text", WRONG)
def test_a_value_of_another_kind_is_refused_before_a_model_is_loaded(text, tmp_path):
    assert WRONG[text] in one_line(recipe, tmp_path, text)


def test_what_was_fine_stays(tmp_path):
    text = "report_to: none\nrun_name: 2024-11-31\nlearning_rate: 1e-5\nmax_steps: 3\nlora_target_modules: all-linear\n"
    text += "use_peft: true\n"
    _, training, model = recipe(tmp_path, text + "warmup_steps: 0\nadam_epsilon: 1")
    assert (training.run_name, training.report_to, training.learning_rate) == (
        "2024-11-31",
        [],
        1e-5,
    )
    assert model.lora_target_modules == "all-linear"


# --- models ---


def test_a_model_whose_config_is_none_is_one_line(tmp_path):
    for text in (DEEP, DIGITS, "{"):
        (tmp_path / "config.json").write_text(text)
        one_line(load_model, str(tmp_path))
        one_line(
            lambda: (
                pinned(str(tmp_path) + "/../" + tmp_path.name, None)
                and load_model(str(tmp_path))
            )
        )


def test_where_a_cut_model_came_from_is_said_wrongly(tmp_path):
    folder, tiny = tmp_path / "cut", str(ensure_tiny("tiny"))
    AutoModelForCausalLM.from_pretrained(tiny).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"cut_from": 5}))
    assert "cut_vocabulary" in one_line(
        restore_vocabulary, str(folder), "tiny", tmp_path / "out"
    )
    assert not (tmp_path / "out").exists()


def test_a_trainers_state_may_hold_no_number(tmp_path):
    (tmp_path / "trainer_state.json").write_text(
        '{"log_history": [{"loss": NaN, "grad_norm": 1.5, "step": 1}]}'
    )
    assert training_summary(tmp_path) == {"train/grad_norm": 1.5}
    for text in (DEEP, "[]", '{"log_history": 5}', "{"):
        (tmp_path / "trainer_state.json").write_text(text)
        assert "trainer_state.json" in one_line(training_summary, tmp_path)


# --- a column of the dataset ---


def test_any_name_of_a_column():
    class Length(Reward):
        def alone(self, items, answers):
            return [
                self.scored(item, answer.text, len(item.columns["self"]))
                for item, answer in zip(items, answers, strict=True)
            ]

    columns = {"self": ["ab", "c"], "cls": [1, 2], "reward": [1, 2], "items": [0, 0]}
    paid = Length("length", "length")(
        prompts=["a", "b"], completions=["x", "y"], **columns
    )
    assert paid == [2.0, 1.0]


# --- what cannot be written to ---


def test_a_cache_that_is_no_database(tmp_path):
    class Encoder:
        name, revision = "x", "1"

    vectors = WordVectors(Encoder(), tmp_path)
    vectors._disk.path.write_text("mine " * 1_000)
    assert str(tmp_path) in one_line(vectors.rows, ["犬"])
    assert vectors._disk.path.read_text() == "mine " * 1_000


ANSWERS = json.dumps({"text": "1. 犬"}) + "\n"


SCORE = ["score", "dat", "a.jsonl", "--noun-checker", "jumandic", "--output"]


def test_a_terminal_that_cannot_show_a_letter(tmp_path):
    (tmp_path / "a.jsonl").write_text(ANSWERS)
    words = [*SCORE, "犬", "--source", "犬é🙂"]
    done = sozo(tmp_path, *words, PYTHONIOENCODING="ascii")
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_takes_nothing_is_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text(ANSWERS)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sozo", *SCORE, "o"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert b"Traceback" not in done.stderr
    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1


# --- what a folder or a file says ---

EVIL = "\x1b]0;x\x07\x1b[31mred\x9b1m\u202egnp\u2066\u200f\r\x08"


def clean(text):
    return not any(
        letter in text
        for letter in EVIL
        if not letter.isalnum() and letter not in "[];"
    )


def test_names_are_shown_without_what_steers_a_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
    rows = [{"text": list_text(words)}, {"text": "x"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    scored = ([*SCORE, name, "--source", EVIL + name] for name in "12")
    for words in (*scored, ["compare", "1", "2"]):
        done = CliRunner().invoke(make_app(), words)
        assert done.exit_code == 0, done.output
        assert clean(done.output)
        assert "red" in done.stdout
    done = CliRunner().invoke(make_app(), ["compare", f"none{EVIL}"])
    assert done.exit_code == 2
    assert clean(done.output)


def test_what_a_model_or_a_judge_says_steers_no_log_and_no_page(caplog, tmp_path):
    assert count_unknown(["<\x1b]0;x\x07\u202e\x9b>1. 犬"], "dat") == 1
    assert "begin or end with <]0;x>" in caplog.text
    (tmp_path / "t.html").write_text("<p>{{ name }}</p>")
    assert render(tmp_path / "t.html", name="a\x1b[31m\u202eb") == b"<p>a[31mb</p>"


# --- the words of other tools ---


@pytest.mark.parametrize("name", ["torch_dtype", "max_new_tokens"])
def test_a_setting_of_another_tool_is_told_by_ours(name, tmp_path):
    with refused(f"settings: {name} of another tool"):
        recipe(tmp_path, f"{name}: 1")


def test_a_word_of_ours_comes_only_where_it_exists():
    assert hint("torch_dtype", ["torch_compile"]) == " (did you mean torch_compile?)"
    assert hint("learning_rat", ["learning_rate"]) == " (did you mean learning_rate?)"
    assert _NOT_HERE["max_prompt_length"] in hint("max_prompt_length", ["max_length"])
