"""What `--dry-run` says: what is asked of models and judges, and what that costs. Nothing is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sozo.data.parts import is_there
from sozo.eval.draw import Evaluation, asked_item
from sozo.eval.run import by_judges, read_answers
from sozo.models.generators import ModelWriter
from sozo.scoring.endpoint.bill import Price, check_limit
from sozo.scoring.judges.ledger import latest, read_judgements
from sozo.tasks.judged import LEDGER, JudgedTask
from sozo.tasks.task import Item, Task


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom a run asks, and how much."""

    who: str
    model: str
    prompts: Sequence[str]
    longest: int  # most tokens of a prompt beside this text
    most: int  # tokens of a reply
    price: Price | None
    usable: int  # of the prompts, if every answer is usable

    def tokens(self, expected: int | None = None) -> tuple[int, int]:
        """In and out, a token a character: at most, or if every answer is usable and has so many tokens."""
        prompts, longest, most = self.prompts, self.longest, self.most
        if expected is not None:
            prompts, longest = prompts[: self.usable], min(longest, expected)
            most = expected if self.who == "model" else most
        return sum(map(len, prompts)) + len(prompts) * longest, len(prompts) * most

    def cost(self, expected: int | None = None) -> float:
        """Dollars for these tokens; 0 without a price."""
        return self.price.cost(*self.tokens(expected)) or 0.0 if self.price else 0.0

    def line(self) -> str:
        """For people."""
        tokens = "{:,} tokens in and {:,} out (a token a character)".format(
            *self.tokens()
        )
        cost = f", {self.cost():,.2f} dollars" if self.price else ""
        requests = f"at most {len(self.prompts):,} requests"
        return f"{self.who} {self.model}: {requests}, {tokens}{cost}"


def plan(
    runs: Sequence[Evaluation], price: Price | None, expected: int | None = None
) -> Iterator[str]:
    """A line for each of whom runs ask, and what all of it costs.

    `price` is of the models' tokens, `expected` how many an answer is expected to have.
    """
    priced = list[Asked]()
    for run in runs:
        for asked in _of_run(run, price):
            yield f"{run.name}: {asked.line()}"
            priced += [asked] if asked.price else []
    if len(priced) > 1:
        total = sum(asked.cost() for asked in priced)
        yield f"in all at most {total:,.2f} dollars"
    if priced and expected is not None:
        total = sum(asked.cost(expected) for asked in priced)
        how = f"all answers usable, each of {expected:,} tokens"
        yield f"expected ({how}): {total:,.2f} dollars"


def plan_scoring(task: Task, file: Path, folder: Path) -> Iterator[str]:
    """The same of answers that exist already, and of their folder."""
    items = {item.id: item for item in task.items()}
    answers = [(items[a.item], a.text) for a in read_answers(task, file, None)]
    for asked in _judges(task, folder, answers, 0):
        yield f"{file}: {asked.line()}"


def _of_run(run: Evaluation, price: Price | None) -> Iterator[Asked]:
    """The model, if it is one, and the judges, about what is not in the run's folder yet."""
    writer, sampling, longest = run.writer, run.sampling, 0
    rows = sampling.count(run.items)
    items = [asked_item(run.items, sampling, k)[1] for k in range(rows)]
    if isinstance(writer, ModelWriter):
        longest = writer.max_new_tokens
        there = sum(part.rows for part in run.parts if is_there(part))
        if (run.folder / "metrics.json").is_file():
            there = rows  # enough are usable
        times = writer.sampling.best_of or 1
        prompts = [
            item.prompt for item in items[there:] if not item.read for _ in range(times)
        ]
        usable = max(0, (sampling.num_usable or rows) - there) * times
        yield Asked("model", writer.model, prompts, 0, longest, price, usable)
    yield from _judges(run.task, run.folder, [(item, "") for item in items], longest)


def _judges(
    task: Task, folder: Path, answers: Sequence[tuple[Item, str]], longest: int
) -> Iterator[Asked]:
    """The judges about answers, each of `longest` tokens more, that have no verdict in the run's folder."""
    for each, place in by_judges(task, folder):
        if not (isinstance(each, JudgedTask) and (settings := each.judge_settings)):
            continue
        most, price = settings.judge_max_tokens, settings.price()
        check_limit(settings.max_cost, "judge", price, most)
        ledger, judge = place / LEDGER, settings.judge_model
        lines = read_judgements(ledger, ()) if ledger.is_file() else []
        judged = latest(line for line in lines if line.judge == judge)
        # It holds question and answer; which is which makes no difference to its length.
        prompts = [
            rubric.prompt("", item.columns.get("question", item.prompt) + text)
            for rubric in each.asked_by
            for item, text in answers
        ][len(judged) :]
        if (place / "metrics.json").is_file() and not each.again:
            prompts = []  # what is left is not for a judge
        how = longest, most, price, len(prompts)
        yield Asked("judge", judge, prompts, *how)
