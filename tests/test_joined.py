"""What packages add by entry points: studies and a third party's task and command, beside each other or not at all."""

import os
import re
import sys
from pathlib import Path

import pytest

import warm
from core import copy_core, install

pytestmark = pytest.mark.studies  # of the whole repository

ROOT = Path(__file__).parents[1]
STUDIES = {"agreement", "correlate", "encoders", "experts"}
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


def sozo(
    *words, paths=(), code="from sozo.eval.cli import run_cli; run_cli()", **environment
):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        **environment,
    }
    command = [sys.executable, "-c", code, *map(str, words)]
    return warm.run(command, env=environment)


def commands(done):
    assert done.returncode == 0, done.stderr
    return {
        line.split()[0]
        for line in done.stdout.partition("Commands:")[2].splitlines()
        if line[2:3].strip()
    }


def declare(folder, package, entries):
    """What an installed package leaves for others to find."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(entries)
    return folder


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


def test_a_package_brings_a_task_and_a_command_beside_the_studies(theirs, tmp_path):
    assert {"greet", "short", "dat"} | STUDIES <= commands(
        sozo("--help", paths=[theirs])
    )
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
    assert f"both bring {name}; uninstall one of them" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            "[sozo.commands]\nreport = theirs:greet\n",
            "other brings a command report, which sozo has; uninstall it",
        ),
        (
            "[sozo.commands]\ndat = theirs:greet\n",
            "other brings a command dat, which sozo has; uninstall it",
        ),
        (
            "[sozo.tasks]\nx = sozo.tasks.dat.task:DatScorer\n",
            "other names .*, which is no subclass of",
        ),
    ],
)
def test_what_cannot_join_is_refused_by_name(entries, message, theirs, tmp_path):
    done = sozo("--help", paths=[theirs, declare(tmp_path, "other", entries)])
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert re.search(message, done.stderr), done.stderr


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("raise ValueError('a\\n\\x1b[31mb')", "ValueError: a [31mb"),
        ("import not_there", "No module named 'not_there'"),
    ],
)
def test_a_package_that_fails_is_one_line_and_the_rest_stays(module, said, tmp_path):
    other = declare(tmp_path, "other", "[sozo.commands]\ngreet = broken:greet\n")
    (tmp_path / "broken.py").write_text(module)
    done = sozo("--help", paths=[other])
    assert commands(done) >= STUDIES
    assert "greet is missing: other cannot be loaded" in done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A copy of the core alone."""
    return copy_core(tmp_path_factory.mktemp("core"))


def test_the_core_runs_without_studies(core, tmp_path):
    """Beside metadata that know them."""
    done = sozo("--help", paths=[core / "src"])
    assert not STUDIES & commands(done)
    assert {"run", "report", "dat"} <= commands(done)
    assert done.stderr == ""
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


def test_no_file_of_the_core_names_studies(core):
    files = [
        path
        for link in (core / "src" / "sozo").iterdir()
        if link.is_symlink()
        for path in link.resolve().rglob("*.py")
    ]
    names = [path for path in files if "sozo.studies" in path.read_text("utf-8")]
    assert [path.relative_to(core).as_posix() for path in names] == ["data/joined.py"]


def test_older_metadata_are_told(tmp_path):
    """An environment that was installed before a command came."""
    code = """
from sozo.data import joined
known = joined.entry_points(group=joined.COMMANDS)
joined.entry_points = lambda: type(known)(entry for entry in known if entry.name != "correlate")
from sozo.eval.cli import run_cli; run_cli()
"""
    done = sozo("--help", code=code)
    assert commands(done) & STUDIES == STUDIES - {"correlate"}
    line = "sozo.commands: correlate is missing: the installation is older than pyproject.toml; run make install\n"
    assert done.stderr == line
