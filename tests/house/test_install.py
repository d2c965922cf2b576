"""What the pages say to install has a solution, pins are allowed by pyproject.toml, imports are declared."""

import ast
import re
import subprocess
import sys

import pytest
from packaging.utils import canonicalize_name

import house
from documents import EXTRAS, ROOT, SHELL, packages
from sentences import refused
from sozo.data.errors import one_line_errors, require
from sozo.data.extras import EXTRA_OF, install_command

pytestmark = pytest.mark.studies  # of the whole repository

INSTALLS = sorted(
    {
        tuple(words[2:])
        for words in SHELL
        if words[:2] == ["pip", "install"] and "-e" in words
    }
)
DISTRIBUTIONS = {"yaml": "pyyaml", "pkg_resources": "setuptools"}


def names(*extras):
    return {canonicalize_name(requirement.name) for requirement in packages(*extras)}


def pins(name):
    lines = [
        line
        for line in (ROOT / name).read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return {
        canonicalize_name(package): version
        for package, version in (line.split("==") for line in lines)
    }


def parts(words):
    """The file of pins and the extras of a documented command."""
    (extras,) = (
        re.fullmatch(r"\.\[(.+)\]", word)[1].split(",")
        for word in words
        if word.startswith(".")
    )
    return words[words.index("-c") + 1], extras


def imports(room):
    """The packages that a room's files import anywhere."""
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module.partition(".")[0]


@pytest.mark.parametrize(
    "room",
    [*house.ROOMS, "examples", "benchmarks"],
)
def test_what_is_imported_is_declared(room):
    beside = {path.stem for path in (ROOT / room).rglob("*.py")} | {
        path.name for path in (ROOT / room).iterdir()
    }
    imported = (
        set(imports(room))
        - set(sys.stdlib_module_names)
        - beside
        - {"sozo", "launch", "study", "sat_attacks", "diverse_attacks"}
        - {"sent_by_others", "gpu"}
    )
    declared = names() | names(*EXTRAS)
    assert {
        name
        for name in imported
        if canonicalize_name(DISTRIBUTIONS.get(name, name)) not in declared
    } == set()


def test_a_message_names_the_extra_that_brings_a_package():
    for package, extra in EXTRA_OF.items():
        assert canonicalize_name(DISTRIBUTIONS.get(package, package)) in names(extra), (
            package
        )
    of_extras = {
        package
        for room in set(house.ROOMS) - {"rewards", "recipes"}
        for package in imports(room)
    }
    core = {"yaml" if name == "pyyaml" else name for name in names()}
    assert (
        of_extras - set(sys.stdlib_module_names) - core - {"sozo", "click"}
        <= EXTRA_OF.keys()
    )


def test_the_core_is_light():
    assert not names() & {
        "torch",
        "transformers",
        "trl",
        "setuptools",
        "jinja2",
        "matplotlib",
        "pandas",
    }
    assert not any("<" in str(requirement.specifier) for requirement in packages())


def test_every_extra_of_the_pages_exists():
    assert INSTALLS
    assert all(extra in EXTRAS for words in INSTALLS for extra in parts(words)[1])


@pytest.mark.parametrize(
    ("file", "extras"),
    [("constraints.txt", ["dev"]), ("constraints-vllm.txt", ["vllm", "all"])],
)
def test_the_pins_are_allowed_and_complete(file, extras):
    pinned = pins(file)
    for requirement in [*packages(), *packages(*extras)]:
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, (
            requirement
        )


def test_vllm_has_pins_of_its_own():
    # With the numpy and the fastapi that development uses there is no solution for any vLLM.
    assert all(
        "vllm" not in parts(words)[1] or parts(words)[0] == "constraints-vllm.txt"
        for words in INSTALLS
    )
    ours, theirs = pins("constraints.txt"), pins("constraints-vllm.txt")
    assert {name for name in ours if name in theirs and ours[name] != theirs[name]} == {
        "fastapi",
        "numpy",
    }


@pytest.mark.parametrize(("package", "extra"), [("trl", "train"), ("pyknp", "juman")])
def test_a_missing_extra_is_one_line_that_names_it(package, extra, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as ended, one_line_errors("sozo"):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err
        == f"sozo: this needs the package {package}: {install_command(extra)}\n"
    )
    with refused(f"errors: the page needs {package}"):
        require(package, "the page")


def test_a_failed_import_that_no_extra_mends_is_a_bug():
    # trl is installed: its own import fails.
    with pytest.raises(ModuleNotFoundError), one_line_errors("sozo"):
        raise ModuleNotFoundError("No module named 'trl'", name="trl")


@pytest.mark.parametrize(
    ("clone", "extras", "command"),
    [
        (
            True,
            ["train", "offline"],
            "pip install -c constraints.txt -e '.[train,offline]'",
        ),
        (True, ["vllm"], "pip install -c constraints-vllm.txt -e '.[vllm]'"),
        (False, ["e5"], "pip install 'sozo[e5]'"),
    ],
)
def test_the_command_fits_a_clone_and_a_wheel(
    clone, extras, command, tmp_path, monkeypatch
):
    monkeypatch.setattr("sozo.data.extras.CLONE", ROOT if clone else tmp_path)
    assert install_command(*extras).removeprefix(".venv/bin/") == command


@pytest.mark.slow
@pytest.mark.parametrize("words", INSTALLS, ids=" ".join)
def test_what_is_documented_can_be_installed(words):
    # A minute or three each: pip reads the metadata of every package from the index, and installs nothing.
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        *words,
    ]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert result.returncode == 0, result.stderr[-2000:]
