"""`sozo train`: a model by SFT, DPO or GRPO, or by a method that a package brings; what it would do, without doing it."""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer

from sozo.data.errors import UserError, one_line_errors
from sozo.data.preemption import obey_sigterm
from sozo.data.processes import end_with_launcher, is_first

_DRY_RUN = "--dry-run"
_HELP = {"-h", "--help", "--help-all"}


def train(context: typer.Context) -> None:
    """Train a model: sozo train grpo --config FILE.yaml (sft, dpo).

    `sozo train METHOD --help` lists the settings, `sozo recipes` the files to begin with. On several processes:
    accelerate launch --config_file FILE.yaml -m sozo train METHOD --config FILE.yaml
    """
    if not context.args or context.args[0] in _HELP:
        typer.echo(context.get_help())
        return
    method, *words = context.args
    launch(method, words)


def launch(method: str, words: Sequence[str] | None = None) -> None:
    """Train by `method` as the words of a command line say (None: this process's own).

    `--dry-run` says what the run would do and what is missing for it, and runs nothing; it needs no GPU. Its exit
    status is 1 if something is missing.
    """
    end_with_launcher()
    obey_sigterm()
    words = list(sys.argv[1:] if words is None else words)
    # TRL's own default sets the old name.
    warnings.filterwarnings("ignore", message="`gradient_checkpointing` is deprecated")
    with one_line_errors("error"):
        if _HELP.intersection(words):
            from sozo.training.help import method_help

            typer.echo(method_help(method, every="--help-all" in words))
            return
        from sozo.training.methods import OWN, recipe

        dry = _DRY_RUN in words
        words = [word for word in words if word != _DRY_RUN]
        if method in OWN:
            from sozo.training.names import check_names

            check_names(method, words)
        if dry:
            _plan(method, words)
            return
        from sozo.training.absent import absent
        from sozo.training.config import parse

        run, own, settings = recipe(method)
        asked: tuple[Any, Any, Any] = parse(own, settings, words)
        for line in absent(*asked[1:]):
            raise UserError(line)
        folder = run(*asked)
        if is_first():
            typer.echo(f"The trained model is in {folder}")


def _plan(method: str, words: list[str]) -> None:
    from sozo.training.plan import plan

    # By all processes: TRL's settings connect them.
    lines, lacking = plan(method, words)
    if is_first():
        typer.echo("\n".join([*lines, *(f"missing: {line}" for line in lacking)]))
    if lacking:
        raise SystemExit(1)
