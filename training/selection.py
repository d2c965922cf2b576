"""From answer tables to training data, the top and the bottom as in the paper (sections 5.1.1 and 5.1.2), and for any task.

The answers to one prompt, of whichever tables, stand in one order: score from high to low, an unusable answer counting 0
and staying in, ties by id from low to high, then by text. SFT imitates the first; DPO prefers the first to the last,
paired at random from a seed. That ties go by id and pairs at random is ours: the paper says neither. Each of several
prompts gives its share of all answers. With enough unusable answers all those rejected are unusable: so the paper has it.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from sozo.data.errors import UserError
from sozo.data.jsonl import read_numbered
from sozo.data.prompts import as_completion
from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.data.run_folder import first_difference
from sozo.data.schema import ERROR
from sozo.scoring.final_text import Ending
from sozo.tasks import read_run, refuse_training
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Item
from sozo.training.hub import HUB, HubPrompts

# What never came teaches nothing, and of a reply in no form there is no text.
_NO_ANSWER = {ERROR, Ending.FORM}


class Answer(NamedTuple):
    """An answer of a table."""

    prompt: Any  # what it answers: a text, or turns
    id: str
    text: str
    score: float  # by what its task is known by; 0 for an unusable one
    usable: bool
    task: str


@dataclass(frozen=True)
class Selected:
    """Some answers, in the order in which they are trained on."""

    ids: Sequence[str]
    prompts: Sequence[Any]
    tasks: Sequence[str]
    texts: Sequence[str]
    scores: np.ndarray
    num_unusable: int
    of: int  # different answers in all tables; of those beside them, what is taken

    @classmethod
    def of_answers(cls, answers: Iterable[Answer], of: int) -> Self:
        """Prompt by prompt."""
        rows = sorted(answers, key=lambda row: str(row.prompt))
        prompts, ids, texts, scores, usable, tasks = map(list, zip(*rows, strict=True))
        unusable = usable.count(False)
        return cls(ids, prompts, tasks, texts, np.array(scores), unusable, of)

    def facts(self) -> dict[str, Any]:
        """What identifies the data: a run that continues with other data must not pass for the same."""
        digest = hashlib.sha256()
        for row in zip(self.ids, self.texts, self.prompts, strict=True):
            for text in map(str, row):
                digest.update(len(text).to_bytes(8, "big") + text.encode())
        return {
            "answers": len(self.ids),
            "of": self.of,
            "prompts": len(set(self.prompts)),
            "unusable": self.num_unusable,
            "lowest_score": round(float(self.scores.min()), 6),
            "highest_score": round(float(self.scores.max()), 6),
            "sha256": digest.hexdigest(),
        }

    def summary(self) -> str:
        """One line for people."""
        tasks = ", ".join(f"{n:,} {task}" for task, n in Counter(self.tasks).items())
        scores = f"{self.scores.min():.4f} to {self.scores.max():.4f}"
        return (
            f"{len(self.ids):,} of {self.of:,} answers ({tasks}) to {len(set(self.prompts)):,} prompts, "
            f"scores {scores}, {self.num_unusable:,} unusable"
        )


class Pairs(NamedTuple):
    """As many chosen as rejected answers; pair i is the i-th of both, which answer the same prompt."""

    chosen: Selected
    rejected: Selected


def select_top(
    answers: Path | Sequence[str | Path],
    k: int,
    beside: Mapping[str, int] | None = None,
    step: int = 1,
) -> Selected:
    """The k answers with the highest scores, for SFT; beside them of each of `beside` so many, or what there is.

    `answers` is a finished run's folder or a table of DAT answers (see `data.schema.part_paths`), or several. One
    that is not there, too small or not scored is refused, and so are prompts that must never be trained on. Beside them
    stand usable answers of a run, or rows of one's own. All together are a multiple of `step`: the lowest of the k are
    left out.
    """
    others: list[Answer] = []
    for name, most in (beside or {}).items():
        if is_run(name):
            usable = Ranked([name], usable=True)
            others += usable.best(min(most, usable.count), "beside")
        else:
            others += islice(_own_rows(name), most)
    ranked = Ranked(answers)
    top = ranked.best(k - (k + len(others)) % step, "top_k")
    return Selected.of_answers(top + others, ranked.count + len(others))


def select_pairs(
    answers: Path | Sequence[str | Path],
    num_pairs: int,
    *,
    seed: int,
    rule: Literal["paper", "usable"] = "paper",
) -> Pairs:
    """The answers with the highest scores, each paired by `seed` with one of the lowest to the same prompt, for DPO.

    Tables and errors are those of `select_top`; the rule `usable` takes usable answers only. A pair of equal answers is
    left out for the next best, and fewer pairs than asked are an error.
    """
    ranked = Ranked(answers, usable=rule != "paper")
    random = np.random.default_rng(seed)
    pairs: list[tuple[Answer, Answer]] = []
    shares = ranked.shares(num_pairs, "num_pairs", each=2)
    for group, share in zip(ranked.groups, shares, strict=True):
        pairs += _paired(group, share, random)
    if len(pairs) < num_pairs:
        raise UserError(
            f"{ranked.where}: {len(pairs)} of num_pairs {num_pairs} remain without those of the same answer on both "
            "sides; sample answers that differ"
        )
    sides = zip(*pairs, strict=True)
    return Pairs(*(Selected.of_answers(side, ranked.count) for side in sides))


def _paired(
    group: Sequence[Answer],
    share: int,
    random: np.random.Generator,
) -> list[tuple[Answer, Answer]]:
    """The first `share` pairs of texts that differ, by taking as many more as needed.

    The best against the worst, as in the paper; paired at random, of which it says nothing.
    """
    size = share
    while True:
        differ = []
        for good, place in zip(group, random.permutation(size), strict=False):
            bad = group[-1 - place]
            if good.text != bad.text:
                differ.append((good, bad))
        if len(differ) >= share or size == len(group) // 2:
            return differ[:share]
        size = min(size + share - len(differ), len(group) // 2)


def training_rows(
    answers: Mapping[str, Selected],
    *,
    conversational: bool,
    form: PromptForm = PLAIN,
) -> list[dict[str, Any]]:
    """Rows as TRL takes them: a prompt, and of each column (`completion`, or `chosen` and `rejected`) the answer."""
    (first, *_) = answers.values()
    # TRL reads them row by row.
    more = {"chat_template_kwargs": dict(form.arguments)} if form.arguments else {}
    rows = []
    for place, prompt in enumerate(first.prompts):
        row = {"prompt": form.prompt(prompt, conversational=conversational)} | more
        for name, one in answers.items():
            row[name] = as_completion(one.texts[place], conversational=conversational)
        rows.append(row)
    return rows


def is_run(name: str) -> bool:
    """Whether a folder holds a run or parts of its table, and no rows of one's own."""
    folder = Path(name)
    return (folder / "metrics.json").exists() or any(folder.glob("part-*.parquet"))


def to_stand_beside(name: str, most: int) -> int:
    """How many rows of a name of `beside` a plan counts: of a file or folder of one's own those there are; else `most`."""
    if is_run(name) or not Path(name).exists():
        return most
    return len(list(islice(_own_rows(name), most)))


class Ranked:
    """All answers of some tables, or all `usable` ones: for each prompt the different ones, the best first (`groups`).

    An answer that stands in several tables (of equal prompt, id and text) is one. Tables that cannot serve are refused,
    and so are scores of one prompt that are known to be on several scales.
    """

    def __init__(
        self,
        answers: Path | Sequence[str | Path],
        *,
        usable: bool = False,
    ) -> None:
        paths = [answers] if isinstance(answers, Path) else list(map(Path, answers))
        self.where = ", ".join(map(str, paths))
        runs = list(map(read_run, paths))
        _refuse_scales(runs)
        rows = []
        for run in runs:
            for row in _answers(run):
                if row.usable or not usable:
                    rows.append(row)
        rows.sort(key=lambda row: (row.prompt, -row.score, row.id, row.text, row.task))
        unique: dict[tuple[str, str, str], Answer] = {}
        for row in rows:
            unique.setdefault(row[:3], row)
        groups = groupby(unique.values(), key=lambda row: row.prompt)
        self.groups = [list(group) for _, group in groups]
        self.count = len(unique)

    def shares(
        self,
        wanted: int,
        setting: str,
        each: int = 1,
    ) -> list[int]:
        """How many of `wanted`, each of which takes `each` answers, every prompt gives: as its share of all answers."""
        counts = np.array(list(map(len, self.groups)), int)
        most = counts // each
        if most.sum() < wanted:
            raise UserError(
                f"{self.where}: {self.count} answers to {len(counts)} prompts are enough for {setting} {most.sum()}, "
                f"not for {wanted}; sample more"
            )
        exact = wanted * counts / max(1, self.count)
        shares = np.minimum(np.floor(exact).astype(int), most)
        while shares.sum() < wanted:  # the first of those furthest below their share
            shares[np.where(shares < most, exact - shares, -np.inf).argmax()] += 1
        return shares.tolist()  # type: ignore[no-any-return]

    def best(
        self,
        count: int,
        setting: str,
    ) -> list[Answer]:
        """The first answers, so many in all."""
        best: list[Answer] = []
        shares = self.shares(count, setting)
        for group, share in zip(self.groups, shares, strict=True):
            best += group[:share]
        return best


def _answers(run: RunResult) -> Iterator[Answer]:
    """The answers of a run; a UserError where they cannot be sorted or must not be trained on."""
    if run.known_by.better < 0:
        raise UserError(
            f"{run.folder}: of {run.known_by.name} less is better, and what is selected are the highest scores"
        )
    refuse_training([Item(name, prompt) for name, prompt in run.prompts.items()])
    names = "item", "id", "text", "score", "reason"
    columns = (run.table()[name].to_pylist() for name in names)
    for item, name, text, score, reason in zip(*columns, strict=True):
        if reason in _NO_ANSWER:
            continue
        if item not in run.prompts:
            raise UserError(
                f"{run.folder} answers {item!r}, which {run.task} does not ask; give the folder of the whole run"
            )
        if score is None and reason is None:
            raise UserError(
                f"{run.folder} holds answers without score or reason; score them first"
            )
        worth = 0.0 if score is None else score
        yield Answer(run.prompts[item], name, text, worth, reason is None, run.task)


def _refuse_scales(runs: Iterable[RunResult]) -> None:
    known: dict[tuple[str, str], tuple[RunResult, Any]] = {}
    for run in runs:
        scale = {"measure": run.known_by.name, **run.scale}
        prompts = {*run.prompts.values()}
        for prompt, (name, value) in product(prompts, scale.items()):
            first, other = known.setdefault((prompt, name), (run, value))
            # Which other items were asked beside it does not matter here; of bare parts nothing is known.
            if name not in run.same and first_difference(other, value, name):
                raise UserError(
                    f"{first.folder} and {run.folder} answer one prompt and were scored otherwise ({name}); "
                    "score one of them as the other"
                )


def _own_rows(source: str) -> Iterator[Answer]:
    """The rows of a JSONL file, of a folder of data files or of `hub:NAME`.

    A row has `messages`, of which the last is the answer, or `prompt` and `completion`, each a text or messages.
    """
    hub = source.startswith(HUB) or Path(source).is_dir()
    rows = HubPrompts.named(source).rows() if hub else read_numbered(Path(source))
    for _, where, row in rows:
        names = ["messages"] if row.get("messages") else ["prompt", "completion"]
        try:
            *asked, (_, text) = [turn for one in names for turn in _turns(row[one])]
            refuse_training([Item(where, asked[-1][1])])
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{where}: has neither messages that end with an answer, nor prompt and completion"
            ) from error
        yield Answer(tuple(asked), where, text, 0.0, True, Path(source).name)


def _turns(side: Any) -> list[tuple[str, str]]:
    if isinstance(side, str):
        return [("user", side)]
    return [(turn["role"], turn["content"]) for turn in side or ()]
