"""Launches, scripts' flags, make's targets and what sentences name: what pages print of them parses."""

import importlib
import re
import shlex

import pytest
from accelerate.commands.launch import launch_command_parser
from typer.main import get_command

from documents import PAGES, ROOT, SHELL, name_of, parse_only
from sozo.eval.cli import make_app

pytestmark = pytest.mark.studies  # of the whole repository

SCRIPT = re.compile(r"(benchmarks|examples|recipes)/[\w/.-]+\.py")


def parts(words):
    """The commands of a line, without variables before them and without what the shell does."""
    part = []
    for word in [*words, "&&"]:
        if word in ("&&", "&"):
            if part:
                yield part
            part = []
        elif part or not (
            re.match(r"[A-Z_]+=", word) or word in ("exec", "/usr/bin/time", "-v")
        ):
            part.append(word)


def inline(path):
    """Commands of ours within a page's sentences."""
    text = re.sub(
        r"^ *```.*?^ *```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for code in re.findall(r"`([^`]+)`", text):
        if re.match(r"(/usr/bin/time -v )?(python|make|accelerate|sozo|trl) ", code):
            yield shlex.split(" ".join(code.split()))


LINES = [part for words in SHELL for part in parts(words)]
INLINE = [
    (name_of(path), part)
    for path in PAGES
    for words in inline(path)
    for part in parts(words)
]
EVERY = LINES + [part for _, part in INLINE]
MAKES = sorted(
    {
        target
        for part in EVERY
        if part[0] == "make"
        for target in part[1:]
        if "=" not in target
    }
)
TRLS = [part[1:] for part in EVERY if part[0] == "trl"]
LAUNCHES = [part[2:] for part in LINES if part[:2] == ["accelerate", "launch"]]
SCRIPTS = sorted(
    {
        tuple(part[1:])
        for part in EVERY
        if part[0] == "python" and SCRIPT.fullmatch(part[1])
    }
)
WITHOUT_FLAGS = {
    "benchmarks/coverage_table.py",
    "benchmarks/reward_share.py",
    "examples/scripted_judge.py",
}


@pytest.mark.parametrize("target", MAKES)
def test_a_target_is_in_the_makefile(target):
    assert re.search(
        rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )


@pytest.mark.parametrize("words", LAUNCHES, ids=" ".join)
def test_a_launch_parses(words):
    text = re.sub(r"\$\(\(.*?\)\)|\$SLURM_\w+", "8", " ".join(words)).replace(
        "$@", "-m sozo"
    )
    parsed = launch_command_parser().parse_args(text.split())
    if parsed.module:
        assert parsed.training_script == "sozo"
    else:
        assert (ROOT / parsed.training_script).is_file()
    assert parsed.config_file is None or (ROOT / parsed.config_file).is_file()


@pytest.mark.parametrize("words", SCRIPTS, ids=" ".join)
def test_a_scripts_flags_parse(words, monkeypatch):
    script, *flags = words
    if re.match(r"recipes/\w+\.py", script) and script.endswith("_dat.py"):
        return  # tests/house/test_documents.py
    monkeypatch.chdir(ROOT)
    if script in WITHOUT_FLAGS:
        assert not [word for word in flags if word.startswith("-")]
    else:
        parse_only(ROOT / script, flags, monkeypatch)


@pytest.mark.parametrize("words", TRLS, ids=" ".join)
def test_a_command_of_trl_parses(words):
    module = importlib.import_module(f"trl.scripts.{words[0].replace('-', '_')}")
    if (
        "--model" in words or "--model_name_or_path" in words
    ):  # else it is named within a sentence
        _, rest = module.make_parser().parse_known_args(words[1:])
        assert rest == []


@pytest.mark.parametrize(
    ("page", "words"), [(p, w) for p, w in INLINE if w[0] == "sozo"]
)
def test_what_a_sentence_says_of_evaluation_exists(page, words, monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "examples.task.Acrostic")
    command = get_command(make_app())
    for word in words[1:]:
        if word.startswith("--"):
            assert word in {
                name for option in command.params for name in option.opts
            } | {"--help"}, word
        elif hasattr(command, "commands") and not word.isupper():  # TASK stands for any
            command = command.commands[word]
