"""Where a finished run's results go beside their folder: the W&B run of the model's training, the model's card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from data.errors import UserError
from eval.deliver.model_card import check_card, write_card
from eval.deliver.wandb_results import log_results
from eval.options import ResultOptions
from eval.run import TaskRun


def check_delivery(models: Sequence[str], options: ResultOptions) -> None:
    """Find what would keep results from where they are wanted, before there are any."""
    if not options.model_card:
        return
    folders = [Path(model) for model in models if model and Path(model).is_dir()]
    if not folders:
        raise UserError("--model-card writes README.md in a model's folder; give a folder as --model, or leave it out")
    for folder in folders:
        check_card(folder)


def deliver(run: TaskRun, model: str, options: ResultOptions, folder: Path, home: Path | None = None) -> Iterator[str]:
    """Send the results where `options` says; a run that is not finished goes nowhere.

    Args:
        run: The run.
        model: Its model, as the user named it; empty if there is none.
        options: Where to.
        folder: Where W&B writes its files.
        home: See `eval.deliver.wandb_results.log_results`.

    Yields:
        A line for people about each place.
    """
    if not (run.folder / "metrics.json").is_file():
        return
    line = log_results(run, model, wanted=options.wandb, folder=folder, home=home)
    if line:
        yield line
    if options.model_card and model and Path(model).is_dir():
        yield f"model card: {write_card(Path(model), run)}"
