"""What packages add by entry points: suite, studies and a third party's, beside each other or not at all."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

import warm
from core import copy_core, install
from fakes import read_answer_table
from joined import declare
from sentences import refused, says
from sozo.tasks import task_types

pytestmark = pytest.mark.studies  # of the whole repository

ROOT = Path(__file__).parents[2]
STUDIES = {"agreement", "correlate", "nouns", "rate"}
SUITE = {"form", "judge", "people", "words"}
TASKS = {
    "sipen",
    "pbig",
    "hivemind",
    "general",
    "sentences",
}  # of suite: below `sozo score`
PACKAGE = """
from pathlib import Path
from typing import Annotated

import typer

from sozo.scoring.measure import Measure
from sozo.tasks.task import Item, Row, Task


class Short(Task):
    name, title = "short", "Short answers"
    measures = (Measure("short", 2),)

    def items(self):
        return [Item("1", "あなたの好きなものは?")]

    def score(self, items, answers):
        return [Row({"short": 1 / len(answer.text)}) for answer in answers]


def greet(
    name: Annotated[str, typer.Option(help="Whom.")], times: Annotated[list[int], typer.Option(help="How often.")]
) -> None:
    \"\"\"Say hello.\"\"\"
    typer.echo(f"hello {name} {sum(times)}")
"""
PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "their-package"
version = "1.0"
[project.entry-points."sozo.commands"]
greet = "theirs:greet"
[project.entry-points."sozo.tasks"]
short = "theirs:Short"
[tool.setuptools]
py-modules = ["theirs"]
"""


RUN = "from sozo.eval.cli import run_cli; run_cli()"


def sozo(*words, paths=(), code=RUN):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    return warm.run([sys.executable, "-c", code, *map(str, words)], env=environment)


def commands(done):
    assert done.returncode == 0, done.stderr
    return {
        line.split()[0]
        for line in done.stdout.partition("Commands:")[2].splitlines()
        if line[2:3].strip()
    }


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A package of a third party, built and installed."""
    source, target = (
        tmp_path_factory.mktemp("theirs"),
        tmp_path_factory.mktemp("installed"),
    )
    (source / "theirs.py").write_text(PACKAGE, "utf-8")
    (source / "pyproject.toml").write_text(PYPROJECT)
    return install(source, target)


def test_a_package_brings_a_task_and_a_command_beside_ours(theirs, tmp_path):
    assert {"greet", "dat"} | STUDIES | SUITE <= commands(
        sozo("--help", paths=[theirs])
    )
    assert {"short", "dat"} | TASKS <= commands(sozo("score", "--help", paths=[theirs]))
    assert (
        sozo("greet", "--name", "Ai", "--times", "1", "2", paths=[theirs]).stdout
        == "hello Ai 3\n"
    )
    (tmp_path / "a.jsonl").write_text(
        '{"item": "1", "text": "猫"}\n{"item": "1", "text": "三味線と猫"}\n', "utf-8"
    )
    done = sozo(
        "score",
        "short",
        tmp_path / "a.jsonl",
        "--output",
        tmp_path / "run",
        paths=[theirs],
    )
    assert done.returncode == 0, done.stderr
    assert "0.60" in done.stdout


@pytest.mark.parametrize("name", ["correlate", "greet"])
def test_two_packages_do_not_bring_one_command(name, theirs, tmp_path):
    other = declare(tmp_path, "other", f"[sozo.commands]\n{name} = theirs:greet\n")
    done = sozo("--help", paths=[theirs, other])
    assert done.returncode == 2
    assert says(f"joined: two packages bring {name}", done.stderr)


@pytest.mark.parametrize(
    ("entries", "row"),
    [
        (
            "[sozo.commands]\nreport = theirs:greet\n",
            "joined: a command that sozo has",
        ),
        ("[sozo.commands]\ndat = theirs:greet\n", "joined: a task's command"),
        ("[sozo.tasks]\ndat = named:Dat\n", "joined: a task that sozo has"),
    ],
)
def test_what_cannot_join_is_refused_by_name(entries, row, theirs, tmp_path):
    (tmp_path / "named.py").write_text(NAMED)
    done = sozo("--help", paths=[theirs, declare(tmp_path, "other", entries)])
    assert done.returncode == 2
    assert says(row, done.stderr)


NAMED = """
from sozo.scoring.measure import Measure
from sozo.tasks.task import Task


class Dat(Task):
    name, measures = "dat", (Measure("dat", 2),)


class Empty(Task):
    name, measures = "empty", ()
"""


def test_sozo_tasks_is_no_other_door(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "named.py").write_text(NAMED)
    (tmp_path / "ends.py").write_text("raise SystemExit(0)")
    for path in ("named.Dat", "ends.Task"):
        monkeypatch.setenv("SOZO_TASKS", path)
        with refused(f"SOZO_TASKS: {path}"):
            task_types()
    monkeypatch.setenv("SOZO_TASKS", "named.Empty")
    assert "empty" not in task_types()


@pytest.mark.parametrize(
    ("kind", "module", "row"),
    [
        ("commands", "raise ValueError('a\\n\\x1b[31mb')", "a package with a bug"),
        ("commands", "import not_there", "a package that lacks another"),
        ("commands", "raise SystemExit('no licence')", "a package that exits"),
        ("tasks", "from sozo.tasks.dat.task import DatScorer as greet", "no task"),
        ("tasks", f"{NAMED}\ngreet = Empty", "a task without measures"),
    ],
)
def test_a_package_that_fails_is_one_line_and_the_rest_stays(
    kind, module, row, tmp_path
):
    other = declare(tmp_path, "other", f"[sozo.{kind}]\ngreet = broken:greet\n")
    (tmp_path / "broken.py").write_text(module)
    done = sozo("--help", paths=[other])
    assert commands(done) >= STUDIES | SUITE
    assert says(f"joined: {row}", done.stderr)
    assert done.stderr.count("greet") == 1


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A copy of the core alone."""
    return copy_core(tmp_path_factory.mktemp("core"))


def test_the_core_runs_alone(core, tmp_path):
    """Beside metadata that know them."""
    done = sozo("--help", paths=[core / "src"])
    assert not (STUDIES | SUITE) & commands(done)
    assert {"run", "report", "dat"} <= commands(done)
    assert done.stderr == ""
    assert commands(sozo("score", "--help", paths=[core / "src"])) == {
        "dat",
        "jcq",
        "sat",
    }
    (tmp_path / "a.jsonl").write_text('{"text": "1. 犬"}\n', "utf-8")
    for name in ("a", "b"):
        words = [
            "--source",
            name,
            "--output",
            tmp_path / "runs" / name,
            "--noun-checker",
            "jumandic",
        ]
        done = sozo("score", "dat", tmp_path / "a.jsonl", *words, paths=[core / "src"])
        assert done.returncode == 0, done.stderr
    done = sozo(
        "report",
        tmp_path / "runs",
        "--output",
        tmp_path / "r.html",
        paths=[core / "src"],
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.html").is_file()


def test_no_file_of_the_core_names_what_joins_it(core):
    files = [
        path
        for link in (core / "src" / "sozo").iterdir()
        if link.is_symlink()
        for path in link.resolve().rglob("*.py")
    ]
    names = [
        path
        for path in files
        if re.search(r"sozo\.(studies|suite)", path.read_text("utf-8"))
    ]
    assert [path.relative_to(core).as_posix() for path in names] == ["data/joined.py"]


def test_a_run_of_a_task_that_is_not_there_is_told(core, tmp_path):
    """Where the core is alone."""
    file = tmp_path / "a.jsonl"
    file.write_text('{"item": "trial-01-1", "text": "はい"}\n', "utf-8")
    run = tmp_path / "runs" / "sipen"
    done = sozo("score", "sipen", file, "--output", run)
    assert done.returncode == 0, done.stderr
    done = sozo("answers", tmp_path / "runs", paths=[core / "src"])
    assert done.returncode == 2
    assert says("tasks: a task that is not installed", done.stderr)


WRITER = """
from sozo.data.schema import Completion


class Parrot:
    temperature = None  # whatever was asked

    def __init__(self, who):
        self.name, self.limit = who.source, who.max_new_tokens

    def answer(self, prompts, seed, batch):
        return [Completion(f"1. {seed} of {batch}") for _ in prompts]

    def describe(self):
        return {"generator": "parrot", "limit": self.limit}
"""


def test_a_package_brings_who_writes(tmp_path):
    other = declare(tmp_path, "other", "[sozo.generators]\nparrot = birds:Parrot\n")
    (tmp_path / "birds.py").write_text(WRITER)
    dat = ["dat", "--noun-checker", "jumandic", "--num-answers", "2"]
    named = [
        "--model",
        "any/thing",
        "--backend",
        "parrot",
        "--sampling",
        "temperature=0.5",
    ]
    sources = "parrot", "any/thing temperature=0.5"
    for k, who in enumerate((["--model", "parrot"], named)):
        run = tmp_path / str(k)
        done = sozo(*dat, *who, "--output", run, paths=[other])
        assert done.returncode == 0, done.stderr
        config = json.loads((run / "config.json").read_text("utf-8"))
        described = {"temperature": None, "generator": "parrot", "limit": 256}
        assert config["loaded"]["decoder"] == described
        assert config["settings"]["backend"] == "parrot"
        assert config["settings"].get("temperature") == (None, 0.5)[k]  # as asked
        assert config["environment"]["packages"]["other"] == "1.0"
        rows = list(read_answer_table(run))
        expected = [(sources[k], "1. 0 of 0")] * 2
        assert [(row.source, row.text) for row in rows] == expected
    done = sozo(*dat, *named[:-1], "top_k=2", "--output", tmp_path / "k", paths=[other])
    assert done.returncode == 2
    assert says("sampling: a package's generator knows no top_k", done.stderr)
    done = sozo(*dat, *who, "--output", tmp_path / "no")
    assert done.returncode == 2
    assert says("settings: the backend of a package that is not there", done.stderr)


TRAINER = """
def mine():
    from sozo.training import sft_dpo as table

    def train(script, training, model):
        return f"{script.top_k} rows into {training.output_dir}"

    return train, table.SftArguments, table.SftSettings

def plain():
    from dataclasses import make_dataclass
    from sozo.training.arguments import CommonArguments
    train, _, settings = mine()
    return train, make_dataclass("Own", (), bases=(CommonArguments,)), settings
"""
CPU = "--use_cpu", "true", "--bf16", "false"
PLAN = """
import sys
from sozo.training.command import launch

launch("mine", sys.argv[1:])
launch("plain", sys.argv[5:])
"""
LAUNCH = """
from pathlib import Path
import sys
from sozo.data.errors import one_line_errors

with one_line_errors("train"):
    from sozo.training.config import parse
    from sozo.training.methods import recipe

    train, *settings = recipe(sys.argv[1])
    print(train(*parse(*settings, ["--config", *sys.argv[2:]])))
"""


def test_a_package_brings_how_to_train(tmp_path):
    """By the same settings, YAML and flags."""
    both = "mine = trainers:mine\nplain = trainers:plain\n"
    other = declare(tmp_path, "other", f"[sozo.methods]\n{both}")
    (tmp_path / "trainers.py").write_text(TRAINER)
    yaml, out = ROOT / "recipes/tiny/sft.yaml", tmp_path / "out"
    words = (yaml, "--answers", tmp_path, "--output_dir", out)
    done = sozo("mine", *words, "--top_k", "64", paths=[other], code=LAUNCH)
    assert done.stdout == f"64 rows into {out}\n", done.stderr
    dry = "--model_name_or_path", "tiny", *CPU, "--output_dir", out, "--dry-run"
    given = "--answers", tmp_path, "--top_k", "64"
    done = sozo(*given, *dry, paths=[other], code=PLAN)
    assert done.stdout.startswith("192 examples / 8 a step = 24 optimizer"), done.stderr
    assert says("methods: no epoch", done.stdout), done.stderr
    done = sozo("mine", *words, code=LAUNCH)
    assert says("methods: no such method", done.stderr)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            "[sozo.generators]\nvllm",
            ["dat", "--model", "tiny", "--output", "no"],
        ),
        ("[sozo.methods]\nsft", ["mine"]),
    ],
    ids=["generator", "method"],
)
def test_a_name_that_sozo_has_is_refused(entry, words, tmp_path, request):
    other = declare(tmp_path, "other", f"{entry} = joined_nowhere:x\n")
    (tmp_path / "joined_nowhere.py").write_text("x = None\n")
    code = LAUNCH if words == ["mine"] else RUN
    done = sozo(*words, paths=[other], code=code)
    assert done.returncode == 2, done.stderr
    assert says(f"joined: a {request.node.callspec.id} that sozo has", done.stderr)
