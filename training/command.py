"""`sozo train`: a model by SFT, DPO or GRPO, or by a method that a package brings; what it would do, without doing it."""

import sys
import warnings
from collections.abc import Sequence

import typer

from sozo.data.errors import UserError, one_line_errors
from sozo.data.preemption import obey_sigterm
from sozo.data.processes import end_with_launcher, is_first

_DRY_RUN = "--dry-run"
_HELP = {"-h", "--help"}


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
        from sozo.training.names import check_names, method_help

        if _HELP.intersection(words):
            typer.echo(method_help(method))
            return
        settings = [word for word in words if word != _DRY_RUN]
        check_names(method, settings)
        _run(method, settings, dry=_DRY_RUN in words)


def _run(method: str, words: Sequence[str], *, dry: bool) -> None:
    from sozo.training.methods import recipe

    run, *groups = recipe(method)
    if dry:
        from sozo.training.plan import plan

        # By all processes: TRL's settings connect them.
        lines, lacking = plan(method, words)
        lines += [f"missing: {line}" for line in lacking]
    else:
        from sozo.training.config import resolve

        settings = resolve(*groups, words)
        for line in settings.absent():
            raise UserError(line)
        lines = [f"The trained model is in {run(*settings.made())}"]
        lacking = []
    if is_first():
        typer.echo("\n".join(lines))
    if lacking:
        raise SystemExit(1)
