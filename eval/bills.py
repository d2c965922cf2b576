"""The money of one command: its runs have one budget, and what they were paid is said however the command ends."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.record import read_json
from sozo.eval.terminal import print_lines
from sozo.models.settings import GeneratorSettings
from sozo.scoring.endpoint.bill import BILL, Budget, Paid, read_bills
from sozo.scoring.numbers import cost_line
from sozo.tasks.task import Task


@contextmanager
def billed(
    tasks: Sequence[Task],
    folders: Sequence[Path],
    generator: GeneratorSettings | None = None,
) -> Iterator[None]:
    """One budget for the runs in these folders, in which counts what they were paid before."""
    settings = [s for task in tasks if (s := task.judge_settings)]
    spending = generator or (settings[0] if settings else None)
    bills = [folder / BILL for folder in folders]
    prices = {
        "model": generator.price() if generator else None,
        "judge": settings[0].price() if settings else None,
    }
    limit = spending.max_cost if spending else None
    before = read_bills(bills, prices, limited=limit is not None)
    for folder in folders if limit is not None else ():
        _refuse_unbilled(folder)
    spent = sum(paid.cost_at_most for paid in before.values())
    budget = Budget(limit, spent, spending.budget_file if spending else None)
    for task in tasks:
        task.budget = budget
    try:
        yield
    finally:
        print_lines(_said(read_bills(bills, prices)))
        if shared := budget.shared:
            paid = f"{shared.dollars:,.4f} of {limit:,.4f} dollars, at most"
            print_lines([f"{shared.path}: {paid}, of all commands that name it"])


def _refuse_unbilled(folder: Path) -> None:
    """A UserError for answers of a server whose bill is gone: a budget would begin anew."""
    if (folder / BILL).exists() or not (folder / "config.json").is_file():
        return
    decoder = read_json(folder / "config.json").get("loaded", {}).get("decoder") or {}
    if "server" in decoder and any(folder.glob("answers/*")):
        remedy = "restore it, leave max_cost out, or take another folder"
        raise UserError(
            f"{folder}: holds answers of {decoder['server']} and no {BILL}, which says what they cost; {remedy}"
        )


def _said(paid: dict[str, Paid]) -> Iterator[str]:
    for payee, took in sorted(paid.items(), reverse=True):  # the model first
        counted = took.prompt_tokens, took.completion_tokens
        cost = cost_line(*counted, took.cost, took.unknown_cost)
        requests = f"{took.requests:,} requests, {took.refused:,} of them refused and {took.lost:,} lost"
        yield f"Paid for the {payee}: {requests}: {cost}"
    sums = [
        sum(getattr(took, name) for took in paid.values())
        for name in ("cost", "cost_at_most")
    ]
    if sums[1]:
        yield "Paid in all: {:,.4f} dollars, {:,.4f} at most".format(*sums)
