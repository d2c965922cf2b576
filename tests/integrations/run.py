"""Each integration in the real package, in an environment of its own: python tests/integrations/run.py [TOOL ...]

Environments are made once, in .integrations/, and take up to 10 GB; sozo's wheel is built and installed anew each time.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINS = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
TORCH = next(pin for pin in PINS if pin.startswith("torch=="))
# What is installed for each; verl and OpenRLHF without what they train with, for which stubs.py stands in.
TOOLS = {
    "verifiers": ["verifiers==0.4.0"],
    "inspect_ai": ["inspect-ai==0.3.285"],
    "lm_eval": ["lm-eval==0.4.13", TORCH],
    "flexeval": ["flexeval==0.18.3", TORCH],
    "verl": ["--no-deps", "verl==0.9.1"],
    "openrlhf": ["--no-deps", "openrlhf==0.11.2"],
}
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def environment(tool, wheel):
    """The Python of an environment with the tool and the wheel."""
    folder = ROOT / ".integrations" / tool
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, *PIP, "install", *TOOLS[tool]], check=True)
        subprocess.run(
            [python, *PIP, "install", "--no-warn-conflicts", f"{wheel}[offline]"],
            check=True,
        )
        (folder / "ready").touch()
    subprocess.run(
        [python, *PIP, "install", "--no-deps", "--force-reinstall", wheel], check=True
    )
    return python


def main(tools):
    """A line for each tool; exit status 1 if one differs from the core or could not be asked."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.rmtree(
            ROOT / "build", ignore_errors=True
        )  # a file deleted since would be in the wheel
        subprocess.run(
            [sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", folder, ROOT],
            check=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        for tool in tools or TOOLS:
            python = environment(tool, wheel)
            command = [python, ROOT / "tests" / "integrations" / "conformance.py", tool]
            # In a folder of its own: neither the checkout nor a user's modules are on the path.
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
            )
            try:
                line = json.loads(done.stdout.splitlines()[-1])
            except (ValueError, IndexError):
                line = {"tool": tool, "different": "not asked"}
            if line["different"] != 0 or done.returncode:
                failed.append(tool)
                sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
            print(
                ", ".join(f"{name} {value}" for name, value in line.items()), flush=True
            )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
