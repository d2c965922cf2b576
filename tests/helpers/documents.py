"""Pages and what they print: commands, usages, blocks of code."""

import argparse
import re
import runpy
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


PAGES = [
    *(ROOT / name for name in ("README.md", "README_ja.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(
        path
        for room in ("recipes", "examples", "benchmarks", "studies", "suite", "data")
        for path in (ROOT / room).rglob("README.md")
    ),
]


SCRIPTS = sorted(
    path for room in ("recipes", "benchmarks") for path in (ROOT / room).rglob("*.*")
)


def name_of(path):
    return str(path.relative_to(ROOT))


def blocks(path, language):
    """The fenced code blocks of a page, without their indentation in a list."""
    found = re.findall(
        rf"^( *)```{language}\n(.*?)^ *```$",
        path.read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return [
        "\n".join(line.removeprefix(indent) for line in text.splitlines())
        for indent, text in found
    ]


def commands(path):
    """The words of every command of a page's shell blocks, comments left out."""
    for block in blocks(path, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def usages(path):
    """The words of every command in a script's docstring or a YAML's first lines."""
    text = (
        path.read_text("utf-8").replace("\\\n", " ")
        if path.suffix in (".py", ".yaml")
        else ""
    )
    for line in text.splitlines():
        if re.match(
            r"(#| ) {3,}(make |sozo |(python|accelerate launch) .*(recipes/|benchmarks/|-m sozo ))",
            line,
        ):
            optional = re.sub(r"\[(--[^]]*)\]", r"\1", line.removeprefix("#"))
            yield shlex.split(optional, comments=True)


def parse_only(path, words, monkeypatch):
    """Run a script up to where it has read its flags."""

    class Parsed(Exception):  # noqa: N818
        pass

    parse_args, known = (
        argparse.ArgumentParser.parse_args,
        argparse.ArgumentParser.parse_known_args,
    )

    def stop_known(self, *args):
        known(self, *args)
        raise Parsed

    def stop(self, *args):
        monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", known)
        parse_args(self, *args)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", stop_known)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.setattr(sys, "argv", [path.name, *words])
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path])
    with pytest.raises(Parsed):
        runpy.run_path(str(path), run_name="__main__")


SHELL = [words for path in PAGES for words in commands(path)] + [
    words for path in SCRIPTS for words in usages(path)
]


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


EXTRAS = PROJECT["optional-dependencies"]


def packages(*extras):
    """The requirements of the core and of extras, with those of the extras that they consist of."""
    lines = (
        [line for extra in extras for line in EXTRAS[extra]]
        if extras
        else PROJECT["dependencies"]
    )
    for requirement in map(Requirement, lines):
        if requirement.name == "sozo":
            yield from packages(*requirement.extras)
        else:
            yield requirement
