"""What the pages say to install has a solution, and the pins are ones that pyproject.toml allows."""

import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from test_documents import ROOT, SHELL

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
INSTALLS = sorted({tuple(words[2:]) for words in SHELL if words[:2] == ["pip", "install"]})


def pins(name):
    lines = [line for line in (ROOT / name).read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(package): version for package, version in (line.split("==") for line in lines)}


def parts(words):
    """The file of pins and the extras of a documented command."""
    (extras,) = (re.fullmatch(r"\.\[(.+)\]", word)[1].split(",") for word in words if word.startswith("."))
    return words[words.index("-c") + 1], extras


def test_every_extra_of_the_pages_exists():
    assert {extra for words in INSTALLS for extra in parts(words)[1]} >= {"offline", "paper", "vllm", "gemma"}
    assert all(extra in EXTRAS for words in INSTALLS for extra in parts(words)[1])


@pytest.mark.parametrize(
    ("file", "extras"),
    [("constraints.txt", ["offline", "dev", "gemma"]), ("constraints-vllm.txt", ["vllm", "offline", "paper"])],
)
def test_the_pins_are_allowed_and_complete(file, extras):
    pinned = pins(file)
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]:
        requirement = Requirement(line)
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, line


def test_vllm_has_pins_of_its_own():
    # With the numpy and the fastapi that development uses there is no solution for any vLLM.
    assert all("vllm" not in parts(words)[1] or parts(words)[0] == "constraints-vllm.txt" for words in INSTALLS)
    ours, theirs = pins("constraints.txt"), pins("constraints-vllm.txt")
    assert {name for name in ours if name in theirs and ours[name] != theirs[name]} == {"fastapi", "numpy"}


@pytest.mark.slow
@pytest.mark.parametrize("words", INSTALLS, ids=" ".join)
def test_what_is_documented_can_be_installed(words):
    # A minute or three each: pip reads the metadata of every package from the index, and installs nothing.
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", *words]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stderr[-2000:]
