"""Whether a built wheel and sdist hold what git tracks of the package, and nothing else.

`python tests/built.py dist` names what is missing and what slipped in, and ends with 1 if anything is or did.
"""

import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from posixpath import dirname, join, normpath

ROOT = Path(__file__).parents[1]
ABOUT = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt")
# What builds the wheel again; recipes' scripts, tests, benchmarks and pages are in the clone alone.
BESIDE = ("LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py")
OF_SETUPTOOLS = (
    "PKG-INFO",
    "setup.cfg",
    *(
        f"src/sozo.egg-info/{name}"
        for name in (
            "PKG-INFO",
            "SOURCES.txt",
            "dependency_links.txt",
            "entry_points.txt",
            "requires.txt",
            "top_level.txt",
        )
    ),
)


def package(commit):
    """The package's files as a commit has them, links to rooms followed: sozo/data/errors.py."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        members = file.getmembers()
    places = {"src/sozo": "sozo"}  # where files lie -> where they are installed
    for member in members:
        if member.issym() and member.name.startswith("src/sozo/"):
            room = normpath(join(dirname(member.name), member.linkname))
            places[room] = member.name.removeprefix("src/")
    names = {
        installed + member.name.removeprefix(place)
        for place, installed in places.items()
        for member in members
        if member.isfile() and member.name.startswith(f"{place}/")
    }
    return {name for name in names if not is_left_out(name)}


def is_left_out(name):
    """Whether a file of recipes/ is of the clone alone: YAML, JSONL and scripts for Slurm are packaged."""
    packaged = (".yaml", ".jsonl", ".sbatch", ".sh")
    return name.startswith("sozo/recipes/") and not name.endswith(packaged)


def wheel_difference(path, commit="HEAD"):
    """What the wheel lacks, and what slipped into it: two sets of names."""
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    about = "-".join(Path(path).name.split("-")[:2]) + ".dist-info"
    expected = package(commit) | {f"{about}/{name}" for name in ABOUT}
    expected.add(f"{about}/licenses/LICENSE")
    return expected - names, names - expected


def sdist_difference(path, commit="HEAD"):
    """What the sdist lacks, and what slipped into it: two sets of names."""
    with tarfile.open(path) as archive:
        names = {
            member.name.partition("/")[2] for member in archive if not member.isdir()
        }
    expected = {f"src/{name}" for name in package(commit)}
    expected.update(BESIDE, OF_SETUPTOOLS)
    return expected - names, names - expected


def main(folder):
    (wheel,) = Path(folder).glob("*.whl")
    (sdist,) = Path(folder).glob("*.tar.gz")
    wrong = 0
    for path, difference in ((wheel, wheel_difference), (sdist, sdist_difference)):
        for what, names in zip(("lacks", "has"), difference(path), strict=True):
            for name in sorted(names):
                print(f"{path.name} {what} {name}")
                wrong += 1
    print("the wheel and the sdist hold what git tracks" if not wrong else "")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
