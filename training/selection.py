"""From answer tables to training data, the top and the bottom as in the paper (sections 5.1.1 and 5.1.2), and for any task.

The answers to one prompt, of whichever tables, stand in one order: score from high to low, an unusable answer counting 0
and staying in, ties by id from low to high, then by text. SFT imitates the first; DPO prefers the first to the last,
paired at random from a seed. That ties go by id and pairs at random is ours: the paper says neither. Each of several
prompts gives its share of all answers. With enough unusable answers all those rejected are unusable: so the paper has it.
"""

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

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

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Selected:
    """Some answers, in the order in which they are trained on."""

    ids: list[str]
    prompts: list[Any]  # what each answers: a text, or turns
    tasks: list[str]  # whose answers they are, by name
    texts: list[str]
    scores: np.ndarray  # by what their task is known by; 0 for an unusable one
    num_unusable: int
    of: int  # different answers in all tables; of those beside them, what is taken

    @property
    def num_prompts(self) -> int:
        """Different prompts."""
        return len(set(self.prompts))

    def facts(self) -> dict[str, Any]:
        """What identifies the data: a run that continues with other data must not pass for the same."""
        digest = hashlib.sha256()
        for row in zip(self.ids, self.texts, self.prompts, strict=True):
            for text in map(str, row):
                digest.update(len(text).to_bytes(8, "big") + text.encode())
        return {
            "answers": len(self.ids),
            "of": self.of,
            "prompts": self.num_prompts,
            "unusable": self.num_unusable,
            "lowest_score": round(float(self.scores.min()), 6),
            "highest_score": round(float(self.scores.max()), 6),
            "sha256": digest.hexdigest(),
        }

    def summary(self) -> str:
        """One line for people."""
        prompts = f" to {self.num_prompts:,} prompts" if self.num_prompts > 1 else ""
        scores = f"{self.scores.min():.4f} to {self.scores.max():.4f}"
        tasks = ", ".join(f"{n:,} {task}" for task, n in Counter(self.tasks).items())
        prompts += f" ({tasks})" * ("," in tasks)
        return f"{len(self.ids):,} of {self.of:,} answers{prompts}, scores {scores}, {self.num_unusable:,} unusable"


class Pairs(NamedTuple):
    """As many chosen as rejected answers; pair i is the i-th of both, which answer the same prompt."""

    chosen: Selected
    rejected: Selected


RULES = "paper", "usable"  # all answers, or usable ones alone


def best_and_worst(
    table: Any, pairs: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The best against the worst, as in the paper; paired at random, of which it says nothing.

    Rows of the chosen and of the rejected answers of a sorted table, shape (pairs,).
    """
    return np.arange(pairs), len(table) - 1 - random.permutation(pairs)


class Ranked:
    """All answers, or all `usable` ones, those to one prompt side by side from best to worst.

    An answer that stands in several tables (of equal prompt, id and text) is one, and how many were left out is said.
    Tables that cannot serve are refused.
    """

    def __init__(
        self, answers: Path | Sequence[str | Path], *, usable: bool = False
    ) -> None:
        paths = [answers] if isinstance(answers, Path) else list(map(Path, answers))
        self.where = ", ".join(map(str, paths))
        parts = defaultdict(list)
        for run in map(read_run, paths):
            for item, table in _tables(run, usable):
                parts[run.prompts[item]].append((run, table))
        self.prompts: list[Any] = sorted(parts)
        # One of Arrow for each prompt: id, text, score (an unusable answer's is 0), reason, task.
        self.tables = [_joined(parts[prompt]) for prompt in self.prompts]
        self.counts = np.array(
            [table.num_rows for table in self.tables]
        )  # answers to each prompt
        if again := sum(
            table.num_rows for own in parts.values() for _, table in own
        ) - int(self.counts.sum()):
            logger.warning(
                "%s: left out %s answers that stand there twice (same prompt, id, text)",
                self.where,
                again,
            )

    def shares(self, wanted: int, setting: str, each: int = 1) -> np.ndarray:
        """How many of `wanted`, each of which takes `each` answers, every prompt gives: as its share of all answers."""
        most = self.counts // each
        total = int(self.counts.sum())
        if most.sum() < wanted:
            several = f" to {len(most)} prompts" if len(most) > 1 else ""
            raise UserError(
                f"{self.where} holds {total} answers{several}, but {setting} {wanted} needs {wanted * each}"
                f"{', of the same prompt each pair' if several and each > 1 else ''}; "
                "sample more"
                + (f", or take {setting} {most.sum()} or less" if most.sum() else "")
            )
        exact = wanted * self.counts / total
        shares = np.minimum(np.floor(exact).astype(int), most)
        while missing := wanted - int(shares.sum()):
            # To those furthest below their share; the stable order makes it the same in every process.
            behind = np.where(shares < most, exact - shares, -np.inf)
            shares[
                np.argsort(-behind, kind="stable")[
                    : min(missing, np.isfinite(behind).sum())
                ]
            ] += 1
        return shares

    def add(self, others: "Ranked", shares: np.ndarray) -> None:
        """Behind these stand so many of `others`, which alone count."""
        self.prompts += others.prompts
        self.tables += others.tables
        self.counts = np.append(self.counts, shares)

    def take(self, rows: Sequence[np.ndarray]) -> Selected:
        """These rows of each table as Python objects; no others become any."""
        import pyarrow as pa

        parts = []
        prompts = []
        ordered = sorted(
            zip(self.prompts, self.tables, rows, strict=True),
            key=lambda part: str(part[0]),
        )
        for prompt, table, numbers in ordered:
            parts.append(table.take(numbers))
            prompts += [prompt] * len(numbers)
        chosen = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
        ids, tasks, texts = (
            chosen[name].to_pylist() for name in ("id", "task", "text")
        )
        num_unusable = len(chosen) - chosen["reason"].null_count
        scores = chosen["score"].to_numpy()
        return Selected(
            ids, prompts, tasks, texts, scores, num_unusable, int(self.counts.sum())
        )


class OwnRows(Ranked):
    """The first rows of a JSONL file, of a folder of data files or of `hub:NAME`, each as the one answer to its prompt.

    A row has `messages`, of which the last is the answer, or `prompt` and `completion`, each a text or messages.
    """

    def __init__(self, source: str, most: int) -> None:
        import pyarrow as pa

        name = Path(source).name
        self.where, self.prompts, self.tables = source, [], []
        rows = (
            HubPrompts.named(source).rows()
            if source.startswith(HUB) or Path(source).is_dir()
            else read_numbered(Path(source))
        )
        for _, where, row in islice(rows, most):
            names = ["messages"] if row.get("messages") else ["prompt", "completion"]
            try:
                *asked, (_, text) = [turn for one in names for turn in _turns(row[one])]
                self.prompts.append(tuple(asked))
                refuse_training([Item(where, asked[-1][1])])
            except (IndexError, KeyError, TypeError, ValueError) as error:
                raise UserError(
                    f"{where}: has neither messages that end with an answer, nor prompt and completion"
                ) from error
            own = {
                "id": where,
                "text": text,
                "score": 0.0,
                "reason": None,
                "task": name,
            }
            self.tables.append(pa.Table.from_pylist([own]))
        self.counts = np.ones(len(self.tables), int)


def _turns(side: Any) -> list[tuple[str, str]]:
    if isinstance(side, str):
        return [("user", side)]
    return [(turn["role"], turn["content"]) for turn in side or ()]


def is_run(name: str) -> bool:
    """Whether a folder holds a run or parts of its table, and no rows of one's own."""
    return any(chain(*map(Path(name).glob, ("metrics.json", "part-*.parquet"))))


def to_stand_beside(name: str, most: int) -> int:
    """How many rows of a name of `beside` a plan counts: of a file or folder of one's own those there are; else `most`."""
    if is_run(name) or not Path(name).exists():
        return most
    return len(OwnRows(name, most).counts)


def _tables(run: RunResult, usable: bool) -> Iterator[tuple[str, Any]]:
    """Of one run the answers to each item, in a table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if run.known_by.better < 0:
        raise UserError(
            f"{run.folder}: of {run.known_by.name} less is better, and what is selected are the highest scores"
        )
    path = run.folder
    table = run.table().combine_chunks()
    # What never came teaches nothing, and of a reply in no form there is no text.
    no_answer = pc.is_in(table["reason"], pa.array([ERROR, Ending.FORM]))
    table = table.filter(pc.invert(no_answer))
    if unscored := pc.sum(
        pc.and_(pc.is_null(table["score"]), pc.is_null(table["reason"]))
    ).as_py():
        raise UserError(
            f"{path} holds {unscored} answers without score or reason; score them first"
        )
    if repeated := table.num_rows - pc.count_distinct(table["id"]).as_py():
        raise UserError(
            f"{path} holds {repeated} answers twice (by id); it may be a folder of two tables"
        )
    asked = pc.unique(table["item"]).to_pylist()
    if other := [name for name in asked if name not in run.prompts]:
        raise UserError(
            f"{path} answers {other[0]!r}, which {run.task} does not ask; give the folder of the whole run"
        )
    items = [Item(name, run.prompts[name]) for name in asked]
    refuse_training(items)
    if usable:
        table = table.filter(pc.is_null(table["reason"]))
    scores = pc.fill_null(table["score"], 0.0)
    table = table.set_column(table.schema.get_field_index("score"), "score", scores)
    if len(items) > 1:  # one is the case of large tables
        table = table.sort_by("item")
    start = 0
    for counted in pc.value_counts(table["item"]).to_pylist():
        yield counted["values"], table.slice(start, counted["counts"])
        start += counted["counts"]


def _joined(parts: Sequence[tuple[RunResult, Any]]) -> Any:
    """All different answers to one prompt, sorted; scores that are known to be on several scales are refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known: dict[str, tuple[RunResult, Any]] = {}
    for run, _ in parts:
        for name, value in {"measure": run.known_by.name, **run.scale}.items():
            first, other = known.setdefault(name, (run, value))
            # Which other items were asked beside it does not matter here; of bare parts nothing is known.
            if name not in run.same and first_difference(other, value, name):
                raise UserError(
                    f"{first.folder} and {run.folder} answer one prompt and were scored otherwise ({name}); "
                    "score one of them as the other"
                )
    tables = [
        table.append_column("task", pa.repeat(run.task, table.num_rows))
        for run, table in parts
    ]
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    order = [
        ("score", "descending"),
        ("id", "ascending"),
        ("text", "ascending"),
        ("task", "ascending"),
    ]
    table = table.take(pc.sort_indices(table, order))
    if len(parts) > 1:  # in one table each id is there once
        numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
        first = numbered.group_by(["id", "text"]).aggregate([("row", "min")])["row_min"]
        table = table.take(first.combine_chunks().sort())
    return table


def select_top(
    answers: Path | Sequence[str | Path],
    k: int,
    beside: Mapping[str, int] | None = None,
    step: int = 1,
) -> Selected:
    """The k answers with the highest scores, for SFT; beside them of each of `beside` so many, or what there is.

    `answers` is a finished run's folder or a table of DAT answers (see `data.schema.part_paths`), or several. One
    that is not there, too small or not scored is refused, and so are prompts that must never be trained on. Beside them
    stand usable answers of a run, or `OwnRows`. All together are a multiple of `step`: the lowest of the k are left out.
    """
    others = []
    for name, most in (beside or {}).items():
        other = Ranked([name], usable=True) if is_run(name) else OwnRows(name, most)
        if count := min(most, int(other.counts.sum())):
            others.append((other, other.shares(count, "beside")))
    own = k - (k + sum(int(shares.sum()) for _, shares in others)) % step
    ranked = Ranked(answers)
    shares = ranked.shares(own, "top_k")
    for other, theirs in others:
        ranked.add(other, theirs)
        shares = np.append(shares, theirs)
    top = ranked.take(list(map(np.arange, shares)))
    if len({*zip(top.prompts, top.ids, top.texts, strict=True)}) < len(top.ids):
        raise UserError("beside names answers that are trained on already; take it out")
    if top.num_unusable:
        logger.warning(
            "%s of the %s best answers of %s are unusable",
            top.num_unusable,
            own,
            ranked.where,
        )
    return top


def check_rule(rule: str) -> None:
    """Refuse a rule of pairs that there is not."""
    if rule not in RULES:
        raise UserError(f"pairs must be one of {', '.join(RULES)}, not {rule}")


def select_pairs(
    answers: Path | Sequence[str | Path],
    num_pairs: int,
    *,
    seed: int,
    rule: str = "paper",
) -> Pairs:
    """The answers with the highest scores, each paired by `seed` with one of the lowest to the same prompt, for DPO.

    Tables and errors are those of `select_top`; the rule `usable` takes usable answers only.
    A pair of equal scores teaches nothing true: an overlap is warned of. One of equal answers is left out for the next
    best, and fewer pairs than asked are an error.
    """
    check_rule(rule)
    ranked = Ranked(answers, usable=rule != "paper")
    random = np.random.default_rng(seed)
    chosen = []
    rejected = []
    borders = []
    equal = 0
    for table, share in zip(
        ranked.tables,
        ranked.shares(num_pairs, "num_pairs", each=2).tolist(),
        strict=True,
    ):
        good, bad, left_out = _differing(table, share, random)
        chosen.append(good)
        rejected.append(bad)
        equal += left_out
        if len(good):
            scores = table["score"].to_numpy()
            borders.append((float(scores[good].min()), float(scores[bad].max())))
    told = f"{ranked.where}: {equal} pairs have the same answer on both sides and are left out"
    if (remain := sum(map(len, chosen))) < num_pairs:
        fewer = f", or take num_pairs {remain} or less" if remain else ""
        remedy = f"sample answers that differ{fewer}"
        raise UserError(f"{told}; {remain} of num_pairs {num_pairs} remain; {remedy}")
    if equal:
        logger.warning(told)
    pairs = Pairs(ranked.take(chosen), ranked.take(rejected))
    overlaps = [(lowest, highest) for lowest, highest in borders if lowest <= highest]
    if overlaps:
        of_prompts = (
            f" for {len(overlaps)} of {len(borders)} prompts"
            if len(borders) > 1
            else ""
        )
        logger.warning(
            "chosen and rejected answers overlap in score%s: the lowest chosen one has %.4f, the highest rejected "
            "one %.4f (%s chosen ones are unusable); take fewer than %s pairs, or sample more answers",
            *(of_prompts, *overlaps[0], pairs.chosen.num_unusable, num_pairs),
        )
    return pairs


def _differing(
    table: Any, share: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, int]:
    """The first `share` pairs of two texts that differ, by taking as many more as needed; how many pairs do not."""
    size = share
    texts = np.array(table["text"].to_pylist(), object)
    while True:
        good, bad = best_and_worst(table, size, random)
        differ = np.flatnonzero(texts[good] != texts[bad])
        if len(differ) >= share or size == len(table) // 2:
            return good[differ[:share]], bad[differ[:share]], size - len(differ)
        size = min(size + share - len(differ), len(table) // 2)


def training_rows(
    answers: Mapping[str, Selected], *, conversational: bool, form: PromptForm = PLAIN
) -> list[dict[str, Any]]:
    """Rows as TRL takes them: a prompt, and of each column (`completion`, or `chosen` and `rejected`) the answer."""
    first, *_ = answers.values()
    template = (
        {"chat_template_kwargs": dict(form.arguments)} if form.arguments else {}
    )  # TRL reads it row by row
    rows = [
        {"prompt": form.prompt(text, conversational=conversational), **template}
        for text in first.prompts
    ]
    for name, selected in answers.items():
        for row, text in zip(rows, selected.texts, strict=True):
            row[name] = as_completion(text, conversational=conversational)
    return rows
