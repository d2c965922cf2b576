"""Where a finished run's results go beside their folder: the W&B run of the model's training, the model's card."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import UserError, require
from sozo.data.settings import setting
from sozo.eval.deliver.model_card import check_card, write_card
from sozo.eval.deliver.wandb_results import log_results
from sozo.eval.run import TaskRun


@dataclass(frozen=True)
class ResultOptions:
    """Where results go beside their folder, and what is said of them."""

    panel = "Output"
    dry_run: bool = setting(
        False,
        "Ask each server for one token, and say what it would cost and what is missing. Nothing is written.",
    )
    expected_tokens: int | None = setting(
        None, "Of --dry-run: tokens of an answer as you expect it, beside the bound."
    )
    explain: bool = setting(False, "Say below the table what each row means.")
    wandb: bool | None = setting(
        None,
        "Log results into the W&B run that trained the model (default: if there is one; --wandb: else a new run).",
    )
    model_card: bool = setting(
        False,
        "Put results into the metadata of README.md in the model's folder, in place of its earlier ones.",
    )


def check_delivery(models: Sequence[str], options: ResultOptions) -> None:
    """Find what would keep results from where they are wanted, before there are any."""
    if options.wandb:
        require("wandb", "--wandb")
    if not options.model_card:
        return
    folders = [Path(model) for model in models if model and Path(model).is_dir()]
    if not folders:
        raise UserError(
            "--model-card writes README.md in a model's folder; give a folder as --model, or leave it out"
        )
    for folder in folders:
        check_card(folder)


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
    if options.model_card and model and Path(model).is_dir():
        yield f"model card: {write_card(Path(model), run)}"
