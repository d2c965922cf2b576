"""Constants that help texts and pages name are those of the code: changed there, they change here."""

from pathlib import Path

import pytest
import typer

import sozo.eval.draw
import sozo.models.settings
import sozo.tasks.dat.words
from sozo.eval.cli import make_app
from sozo.eval.draw import PAPER_ANSWERS, SamplingOptions
from sozo.models.settings import GeneratorSettings
from sozo.rewards.integrations.serve import MOST_COMPLETIONS
from sozo.tasks import task_type
from sozo.tasks.task import Task
from sozo.training.config import _Parser

pytestmark = pytest.mark.suite  # whose tasks have limits and counts of their own, too

DOCS = Path(__file__).parents[2] / "docs"
CHANGED = (  # where a constant stands, its new value, and how help says it
    ("task.dat", "max_new_tokens", 257, "257 for dat"),
    ("task.jcq", "max_new_tokens", 4097, "4097 for jcq"),
    ("task.sipen", "max_new_tokens", 17, "17 for sipen"),
    ("task", "max_new_tokens", 1025, "1025 for others"),
    ("task.sipen", "temperature", 2e-4, "0.0002 for sipen"),
    ("task", "temperature", 0.9, "0.9 for others"),
    (sozo.models.settings, "USUAL_SLOTS", 255, "default: 255, on a GPU"),
    (sozo.models.settings, "MOST_SLOTS", 1023, "what fits of 1023"),
    (sozo.eval.draw, "TRIALS", 101, "101 trials"),
    (sozo.eval.draw, "PAPER_ANSWERS", 131073, "Table 11: 131073"),
    (sozo.eval.draw, "_STOPS", 254, "the first 254 answers"),
    (sozo.tasks.dat.words, "COUNTED", 6, "first 6 valid words"),
    (sozo.tasks.dat.words, "_TIMES", 99, "times 99"),
)


def help_of_run():
    """The whole help of `sozo run`, on one line."""
    group = typer.main.get_command(make_app())
    command = group.commands["run"]
    for parameter in command.params:
        parameter.hidden = False
    return " ".join(command.get_help(typer.Context(command, info_name="run")).split())


def help_of_step():
    """That of a study's step that samples, on one line."""
    groups = (GeneratorSettings, SamplingOptions, task_type("dat").Settings)
    return " ".join(_Parser(groups).format_help().split())


@pytest.mark.parametrize("build", [help_of_run, help_of_step])
def test_help_follows_the_code(build, monkeypatch):
    before = build()
    for owner, name, value, said in CHANGED:
        if isinstance(owner, str):
            kind = owner.partition(".")[2]
            owner = task_type(kind) if kind else Task
        assert said not in before
        monkeypatch.setattr(owner, name, value)
    after = build()
    assert [said for *_, said in CHANGED if said not in after] == []


def test_help_counts_what_is_packaged():
    text = help_of_run()
    for name, said in (
        ("sat", "the {} packaged ones"),
        ("pbig", "sozo's {} invented technologies"),
        ("hivemind", "the {} packaged ones"),
    ):
        assert said.format(len(task_type(name)().items())) in text
    jcq = task_type("jcq")
    trial = jcq(jcq.Settings(trial=True)).items()
    assert f"{len(trial)} trial questions" in text


def test_pages_say_the_code_s_defaults():
    dat, jcq, sat, sipen = map(task_type, ("dat", "jcq", "sat", "sipen"))
    limits = [kind.max_new_tokens for kind in (dat, jcq, sat)]
    for page, said in (
        ("dat.md", f"until {sozo.eval.draw.TRIALS} answers are"),
        ("dat.md", f"asks it {PAPER_ANSWERS:,} times"),
        ("dat.md", f"--num-answers {PAPER_ANSWERS} "),
        ("frontier.md", f"the paper's {PAPER_ANSWERS:,} were"),
        ("endpoints.md", "up to {:,}, {:,} and {:,} tokens".format(*limits)),
        ("vllm.md", f"limit of {jcq.max_new_tokens:,} tokens"),
        ("sipen.md", f"(temperature {sipen.temperature:g})"),
        ("sipen.md", f"stops after {sipen.max_new_tokens} tokens"),
        ("integrations.md", f"{MOST_COMPLETIONS:,} completions"),
    ):
        assert said in (DOCS / page).read_text("utf-8"), f"{page}: {said}"
