"""The wheel holds sozo and nothing else, whatever copy it is built from, and works beside names of the user's."""

import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import house
from built import sdist_difference, wheel_difference
from documents import ROOT, blocks, packages
from fakes import list_text

pytestmark = pytest.mark.studies  # of the whole repository

# Names that a user's own packages and modules may have.
TAKEN = [room for room in house.ROOMS if "/" not in room]
WORDS = ["犬", "理論", "海", "机", "法律", "音楽", "鉄", "怒り", "数学", "花"]
SNIPPET = """
import sys
from sozo.rewards import make_dat_reward

reward = make_dat_reward(noun_checker="jumandic", embedding_model="ja-ginza")
(paid,) = reward(completions=[sys.argv[1]])
assert 8 < paid < 9, paid
"""
# The core's packages as old as pyproject.toml allows them.
OLDEST = [
    f"{requirement.name}=={bound.version}"
    for requirement in packages()
    for bound in requirement.specifier
]
WITHOUT_TORCH = "\nassert not {'torch', 'transformers', 'trl', 'sentence_transformers'} & set(sys.modules)\n"


def git(*arguments):
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, check=True
    ).stdout


def working_tree():
    """A commit of the tracked files as they are now."""
    return git("stash", "create").decode().strip() or "HEAD"


def build_by(hook, source, folder):
    """What pip asks setuptools for, without pip."""
    folder.mkdir(exist_ok=True)
    code = f"import sys; from setuptools.build_meta import {hook}; {hook}(sys.argv[1])"
    return subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=source,
        capture_output=True,
        text=True,
    )


def build(source, folder):
    options = [
        "--no-build-isolation",
        "--no-deps",
        "--quiet",
        "--wheel-dir",
        str(folder),
    ]
    return subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(source)],
        capture_output=True,
        text=True,
    )


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name)
            for name in archive.namelist()
            if "dist-info" not in name
        }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What git would archive of this working tree, unpacked by tar."""
    folder = tmp_path_factory.mktemp("checkout")
    with tarfile.open(
        fileobj=io.BytesIO(git("archive", "--format=tar.gz", working_tree()))
    ) as file:
        file.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    done = build(checkout, folder)
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    return path


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with packages and modules of its own that have the rooms' names, and a file of answers."""
    for name in TAKEN:
        (tmp_path / f"{name}.py").write_text(
            f"raise SystemExit('this is the user\\'s own {name}.py')\n"
        )
        (tmp_path / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (tmp_path / name / file).write_text(
                f"raise SystemExit('this is the user\\'s own package {name}')\n"
            )
    (tmp_path / "answers.jsonl").write_text(
        json.dumps({"text": list_text(WORDS)}) + "\n"
    )
    return tmp_path


def without_checkout():
    """The environment's variables, but for the path to this checkout, which pip would take for an installed sozo."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(python, folder, *arguments, **environment):
    command = [str(python), *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env=without_checkout() | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def check_commands(python, folder, **environment):
    """README's snippet, and the commands that need the core and the extra offline alone."""
    (folder / "snippet.py").write_text(SNIPPET + environment.pop("and_then", ""))
    settings = [
        "--noun-checker",
        "jumandic",
        "--embedding-model",
        "ja-ginza",
        "--output",
        "out",
    ]
    for arguments, expected in (
        (["snippet.py", list_text(WORDS)], ""),
        (["-m", "sozo", "--version"], "sozo 0"),
        (["-m", "sozo", "--help"], "agreement"),
        (["-m", "sozo", "score", "dat", "answers.jsonl", *settings], "1 of 1"),
    ):
        done = run(python, folder, *arguments, **environment)
        assert done.returncode == 0, (arguments, done.stderr)
        assert expected in done.stdout, arguments


def check_it_names(extra, python, folder, *words):
    """A command that needs this extra, which is not installed, is refused in one line."""
    done = run(python, folder, "-m", "sozo", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"pip install 'sozo[{extra}]'" in done.stderr


def test_the_wheel_holds_what_git_tracks(wheel, checkout):
    assert wheel_difference(wheel, working_tree()) == (set(), set())
    held = contents(wheel)
    assert {
        name
        for name, content in held.items()
        if content != (checkout / "src" / name).read_bytes()
    } == set()
    assert "sozo/py.typed" in held


def test_the_sdist_holds_what_builds_the_same_wheel(wheel, checkout, tmp_path):
    done = build_by("build_sdist", checkout, tmp_path)
    assert done.returncode == 0, done.stderr
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert sdist_difference(sdist, working_tree()) == (set(), set())
    assert build(sdist, tmp_path).returncode == 0
    assert contents(next(tmp_path.glob("*.whl"))) == contents(wheel)


def test_a_copy_whose_links_became_files_is_refused(checkout, tmp_path):
    with zipfile.ZipFile(
        io.BytesIO(git("archive", "--format=zip", working_tree()))
    ) as file:  # Python's own, like pip's, writes a link's target into a plain file
        file.extractall(tmp_path / "copy")
    done = build(tmp_path / "copy", tmp_path)
    assert done.returncode != 0
    assert "must be a link to a folder and is a plain file" in done.stderr
    assert "git+URL or from the tar.gz" in done.stderr
    assert not list(tmp_path.glob("*.whl"))
    paths = {"PYTHONPATH": str(tmp_path / "copy" / "src")}
    for command in (["-m", "sozo"], ["copy/recipes/doctor.py"]):
        done = run(sys.executable, tmp_path, *command, **paths)
        assert done.returncode != 0
        assert "must be a link to a folder and is a plain file" in done.stderr


@pytest.mark.launches
def test_the_wheel_and_readmes_lines_work_beside_names_of_the_users(wheel, elsewhere):
    # Its own environment without this checkout; the packages it needs are lent by this one.
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(elsewhere / "site")
    lent = elsewhere / "lent"
    lent.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not path.name.startswith(("__editable__", "sozo")) and path.suffix != ".pth":
            (lent / path.name).symlink_to(path)
    paths = os.pathsep.join(map(str, (elsewhere / "site", lent)))
    check_commands(sys.executable, elsewhere, PYTHONPATH=paths)
    (trainer,) = (
        block
        for block in blocks(ROOT / "README.md", "python")
        if "GRPOTrainer" in block
    )
    (elsewhere / "mine.py").write_text(trainer)
    done = run(sys.executable, elsewhere, "mine.py", PYTHONPATH=paths)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "rewards/dat_reward/mean" in done.stdout
    for words in (
        ["recipes", "copy", "any/wide"],
        ["study", "recipes/any/wide.yaml", "--model", "runs/mine", "--dry-run"],
    ):  # README's own next commands take what that left
        done = run(sys.executable, elsewhere, "-m", "sozo", *words, PYTHONPATH=paths)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def works(command):
    """Whether a Python is here: pyenv has commands of versions that are not."""
    found = shutil.which(command)
    return found and not subprocess.run([found, "--version"], check=False).returncode


def pip_install(python, *what):
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *what,
    ]
    done = subprocess.run(
        command, env=without_checkout(), capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "pins"),
    [
        ("python3.11", []),
        ("python3.12", []),
        ("python3.13", []),
        ("python3.14", []),
        ("python3.11", OLDEST),
        ("python3.11", ["pyarrow==16.1.0"]),
    ],
    ids=["3.11", "3.12", "3.13", "3.14", "oldest", "flexeval's pyarrow"],
)
def test_the_core_and_offline_are_enough(
    command, pins, wheel, elsewhere, tmp_path_factory
):
    if not works(command):
        pytest.skip(f"no {command} here")
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([command, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip_install(python, f"sozo @ {wheel.as_uri()}", *pins)
    check_it_names("offline", python, elsewhere, "words", *WORDS)
    pip_install(python, f"sozo[offline] @ {wheel.as_uri()}", *pins)
    check_commands(python, elsewhere, and_then=WITHOUT_TORCH)
    check_it_names("report", python, elsewhere, "report", "out")


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        "verl==0.9.1",
        "flexeval==0.18.3",
        "verifiers==0.4.0",
        "inspect-ai==0.3.285",
        "lm-eval==0.4.13",
        "openrlhf==0.11.2",
    ],
)
def test_the_core_resolves_beside_trainers_and_harnesses(other, wheel, tmp_path):
    # OpenRLHF's flash-attn has no wheel on the index, and its sdist builds nowhere without torch.
    with zipfile.ZipFile(tmp_path / "flash_attn-2.8.3-py3-none-any.whl", "w") as stub:
        folder = "flash_attn-2.8.3.dist-info"
        stub.writestr(
            f"{folder}/METADATA",
            "Metadata-Version: 2.1\nName: flash-attn\nVersion: 2.8.3\n",
        )
        stub.writestr(
            f"{folder}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        stub.writestr(f"{folder}/RECORD", "")
    options = ["--dry-run", "--ignore-installed", "--find-links", str(tmp_path)]
    pip_install(sys.executable, *options, f"sozo[offline] @ {wheel.as_uri()}", other)
