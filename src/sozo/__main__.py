"""`python -m sozo` is the command `sozo`."""

from sozo.eval.cli import run_cli

run_cli()
