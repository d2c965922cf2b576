"""`sozo` as a user runs it."""

import os
import sys

import warm


def sozo(folder, *words, **environment):
    """The finished command, run in `folder`; conftest.py makes it run this checkout's code."""
    return warm.run(
        [sys.executable, "-m", "sozo", *words], cwd=folder, env=os.environ | environment
    )


def check_refused(folder, message, *words):
    """The command is refused in one line with `message`, before it writes its `--output` folder `out`."""
    done = sozo(folder, *words, "--output", "out", OPENAI_API_KEY="none")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (
        done.stderr
    )
    assert message in done.stderr
    assert not (folder / "out").exists()
