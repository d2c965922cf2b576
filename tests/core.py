"""The core without suite and studies: a copy of it is installed in a folder of its own, and its tests are run there.

`python tests/core.py` takes pytest's arguments.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Each room above the core, its link and its tests; what is frozen is of all rooms.
ABOVE = (
    "tests/frozen/",
    *(
        name
        for room in ("suite", "studies")
        for name in (f"{room}/", f"src/sozo/{room}", f"tests/{room}/")
    ),
)


def copy_core(folder):
    """Copy the files that git tracks, less what is above the core and its entry points; links stay links."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith(ABOVE) and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    settings = folder / "pyproject.toml"
    settings.write_text(
        re.sub(
            r'^\w+ = "sozo\.(?:suite|studies)\..*\n',
            "",
            settings.read_text("utf-8"),
            flags=re.MULTILINE,
        ),
        "utf-8",
    )
    return folder


def install(source, target):
    """Install a package without its dependencies."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True)
    return target


def main():
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_core(Path(folder) / "core")
        installed = install(copy, Path(folder) / "installed")
        # The tests look for sozo in src.
        shutil.rmtree(copy / "src")
        (copy / "src").symlink_to(installed)
        for command in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *command], cwd=copy, check=True)
        words = ["-m", "pytest", "-m", "not slow and not suite and not studies", "-rs"]
        environment = os.environ | {"PYTHONPATH": str(installed)}
        return subprocess.run(
            [sys.executable, *words, *sys.argv[1:]],
            cwd=copy,
            env=environment,
            check=False,
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
