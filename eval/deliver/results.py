"""Where a finished run's results go beside their folder: the W&B run of the model's training, the model's card."""

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
    """Send the results where `options` says, with a line for people about each place; an unfinished run goes nowhere.

    `model` is as the user named it (empty: none), W&B writes in `folder`; for `home` see `log_results`.
    """
    if not (run.folder / "metrics.json").is_file():
        return
    if line := log_results(run, model, wanted=options.wandb, folder=folder, home=home):
        yield line
    if options.model_card and model and Path(model).is_dir():
        yield f"model card: {write_card(Path(model), run)}"
