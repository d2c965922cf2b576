"""Where a finished run's results go beside their folder: the W&B run of the model's training."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import require
from sozo.data.settings import setting
from sozo.eval.deliver.wandb_results import log_results
from sozo.eval.run import TaskRun


@dataclass(frozen=True)
class ResultOptions:
    """Where results go beside their folder, and what is said of them."""

    panel = "Output"
    dry_run: bool = setting(
        False,
        "Say what it would cost and what is missing. Nobody is asked, and nothing is written.",
    )
    expected_tokens: int | None = setting(
        None, "Of --dry-run: tokens of an answer as you expect it, beside the bound."
    )
    wandb: bool | None = setting(
        None,
        "Log results into the W&B run that trained the model (default: if there is one; --wandb: else a new run).",
    )


def check_delivery(options: ResultOptions) -> None:
    """Find what would keep results from where they are wanted, before there are any."""
    if options.wandb:
        require("wandb", "--wandb")


def deliver(
    run: TaskRun,
    model: str,
    options: ResultOptions,
    folder: Path,
    home: Path | None = None,
) -> Iterator[str]:
    """Send the results where `options` says, with a line for people about each place; an unfinished run goes nowhere.

    `model` is as the user named it (empty: none), W&B writes in `folder`; for `home` see `log_results`.
    """
    if not (run.folder / "metrics.json").is_file():
        return
    if line := log_results(run, model, wanted=options.wandb, folder=folder, home=home):
        yield line
