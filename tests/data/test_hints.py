"""Settings by the words of other tools are told by ours, and nothing is told that helps nobody."""

import sys

import pytest

from sozo.data.errors import UserError
from sozo.data.settings import _NOT_HERE, _OTHERS, hint
from sozo.eval.cli import run_cli
from sozo.training.arguments import GrpoArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings


@pytest.mark.parametrize("name", ["torch_dtype", "lr", "lora_rank", "max_new_tokens"])
def test_a_setting_of_another_tool_is_told_by_ours(name, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(f"tasks: [dat]\n{name}: 1\n")
    with pytest.raises(UserError, match=f"here it is {_OTHERS[name]}"):
        parse(GrpoArguments, GrpoSettings, ["--config", str(file)])


def test_what_has_no_counterpart_says_why():
    assert _NOT_HERE["max_prompt_length"] in hint("max_prompt_length", ["max_length"])


def test_a_word_of_ours_comes_only_where_it_exists():
    assert hint("torch_dtype", ["torch_compile"]) == " (did you mean torch_compile?)"
    assert hint("learning_rat", ["learning_rate"]) == " (did you mean learning_rate?)"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--temperature 0.7", "temperature=0.7"),
        ("--top_k=20 --top-p 0.9", "top_k=20,top_p=0.9"),
        ("--min-p", "min_p=..."),
        ("--best-of 4", "best-of=4"),
        ("--temperature --top-p 0.9", "temperature=...,top_p=0.9"),
        ("--temperature 0.7 --temperature 0.8", "temperature=0.8"),
    ],
)
@pytest.mark.parametrize("command", ["run", "dat"])
def test_a_flag_of_another_tool_for_sampling_is_told_by_ours(
    command, words, told, monkeypatch, capsys
):
    argv = ["sozo", command, "--model", "tiny", "--output", "runs", *words.split()]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as ended:
        run_cli()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == f"error: {command} has it as: --sampling {told}\n"
