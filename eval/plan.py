"""What `--dry-run` says: what is asked of models and judges, what that costs, and what is missing. Nothing is written."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.parts import is_there, parts_of
from sozo.eval.answered import by_judges, read_answers
from sozo.eval.draw import SamplingOptions, asked_item
from sozo.models.generators import ModelWriter, Writer
from sozo.models.needs import not_here
from sozo.scoring.endpoint.bill import Price
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.judges.endpoint import endpoint_judge
from sozo.scoring.judges.ledger import latest, read_judgements
from sozo.tasks.judged import LEDGER, JudgedTask
from sozo.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom a run asks, and how much."""

    who: str
    model: str
    backend: str
    prompts: Sequence[str]
    longest: int  # most tokens of a prompt beside this text
    most: int  # tokens of a reply
    price: Price | None
    expected: int  # of the prompts, if every answer is usable

    def expecting(self, tokens: int) -> "Asked":
        """The same if every answer is usable and has so many tokens."""
        most = tokens if self.who == "model" else self.most
        longest = min(self.longest, tokens)
        prompts = self.prompts[: self.expected]
        return replace(self, prompts=prompts, most=most, longest=longest)

    @property
    def tokens(self) -> tuple[int, int]:
        """In and out, at most."""
        count, _ = _counter(self.model)
        asked = len(self.prompts)
        read = sum(map(count, self.prompts)) + asked * self.longest
        return read, asked * self.most

    @property
    def cost(self) -> float | None:
        """Dollars at most; None without a price."""
        return self.price.cost(*self.tokens) if self.price else None

    def line(self) -> str:
        """For people."""
        _, how = _counter(self.model)
        asked = len(self.prompts)
        tokens = "{:,} tokens in and {:,} out".format(*self.tokens)
        line = f"{self.who} {self.model}: at most {asked:,} requests, {tokens} ({how})"
        if self.cost is not None:
            line += f", {self.cost:,.2f} dollars"
        return line


@cache
def _counter(model: str) -> tuple[Callable[[str], int], str]:
    """What counts a text's tokens, and how."""
    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    except Exception:  # whatever its reason, it is not here
        return len, "a token a character"
    return lambda text: len(tokenizer.tokenize(text)), "by its tokenizer"


def plan(
    runs: Sequence[tuple[str, Task, Writer | Path, Path]],
    sampling: SamplingOptions,
    price: Price | None,
    expected: int | None = None,
) -> tuple[list[str], list[str]]:
    """A line for each of whom runs ask, and one for all that is missing.

    A run is its name, its task, who answers or where the answers are, and its folder. `price` is of models' tokens,
    `expected` how many an answer is expected to have.
    """
    lines, lacking, settings = list[str](), list[str](), list[Any]()
    local = dict[str, str]()
    every = list[Asked]()
    for name, task, by, folder in runs:
        settings += [asdict(task.settings), dict(getattr(by, "record", {}))]
        try:
            for asked in _asked(task, by, folder, sampling, price):
                if asked.backend in ("transformers", "vllm"):
                    local[asked.model] = asked.backend
                lines.append(f"{name}: {asked.line()}")
                every.append(asked)
                if asked.backend == "openai":
                    _look_for_key(asked, task, by)
        except UserError as error:
            lacking.append(str(error))
    priced = [asked for asked in every if asked.price]
    if len(priced) > 1:
        total = sum(asked.cost or 0.0 for asked in priced)
        lines.append(f"in all at most {total:,.2f} dollars")
    if priced and expected is not None:
        total = sum(asked.expecting(expected).cost or 0.0 for asked in priced)
        how = f"all answers usable, each of {expected:,} tokens"
        lines.append(f"expected ({how}): {total:,.2f} dollars")
    lacking += not_here(settings, set(local), local.values())
    return lines, list(dict.fromkeys(lacking))


def _asked(
    task: Task,
    by: Writer | Path,
    folder: Path,
    sampling: SamplingOptions,
    price: Price | None,
) -> Iterator[Asked]:
    """The model, if one answers, and the judge, if there is one, about what is not in the run's folder yet."""
    items = task.items()
    longest = 0
    if isinstance(by, Path):
        known = {item.id: item for item in items}
        answers = [(known[a.item], a.text) for a in read_answers(task, by, None)]
    else:
        sampling = sampling.settled(task, items)
        rows = sampling.count(items)
        answers = [(asked_item(items, sampling, k)[1], "") for k in range(rows)]
    if isinstance(by, ModelWriter):
        longest = by.max_new_tokens
        parts = parts_of(folder / "answers", rows, sampling.batch_size)
        there = sum(part.rows for part in parts if is_there(part))
        if (folder / "metrics.json").is_file():
            there = rows  # enough are usable
        prompts = [
            by.sampling.asked(item.prompt)
            for item, _ in answers[there:]
            if not item.read
            for _ in range(by.sampling.replies)
        ]
        backend = str(by.record["backend"])
        expected = max(0, (sampling.num_usable or rows) - there) * by.sampling.replies
        own = by.model, backend, prompts, 0, longest, price, expected
        yield Asked("model", *own)
    for each, place in by_judges(task, folder):
        if not (isinstance(each, JudgedTask) and (settings := each.judge_settings)):
            continue
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
        limit, price = settings.judge_max_tokens, settings.price()
        backend = settings.judge_backend
        own = judge, backend, prompts, longest, limit, price, len(prompts)
        yield Asked("judge", *own)


def _look_for_key(asked: Asked, task: Any, by: Any) -> None:
    """UserError where the key of whom is asked is not in the environment; nobody is asked."""
    if asked.who == "judge":
        endpoint_judge(replace(task.judge_settings, judge_model=asked.model))
    else:
        Endpoint(by.model, by.base_url, profile=by.profile)
