"""`sozo` as a user runs it."""

import os
import sys
from contextlib import nullcontext
from unittest.mock import patch

import typer

import warm
from sozo.eval.cli import make_app
from sozo.eval.flags import expand_flags


def sozo(folder, *words, **environment):
    """The finished command, run in `folder`; conftest.py makes it run this checkout's code."""
    return warm.run(
        [sys.executable, "-m", "sozo", *words], cwd=folder, env=os.environ | environment
    )


def here(*words):
    """The status of the command in this process; what it is refused with is raised, and not printed."""
    commands = typer.main.get_command(make_app())
    flags = expand_flags([*map(str, words)], commands)
    with patch("sozo.eval.flags.one_line_errors", nullcontext):
        return commands(flags, standalone_mode=False)
