"""The answers of response tables in order, prompt by prompt, and some of them taken."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.tasks import read_run, refuse_training
from sozo.tasks.finished import Finished
from sozo.tasks.task import Item


@dataclass(frozen=True)
class Selected:
    """Some answers, in the order in which they are trained on."""

    ids: list[str]
    prompts: list[str]  # what each answers
    texts: list[str]
    scores: np.ndarray  # by their task's first measure; 0 for an invalid one
    num_invalid: int
    of: int  # answers in all tables

    @property
    def num_prompts(self) -> int:
        """Different prompts."""
        return len(set(self.prompts))

    def facts(self) -> dict[str, Any]:
        """What identifies the data: a run that continues with other data must not pass for the same."""
        several = self.num_prompts > 1
        columns = (self.ids, self.texts, self.prompts) if several else (self.ids, self.texts)
        digest = hashlib.sha256()
        for word in chain.from_iterable(zip(*columns, strict=True)):
            digest.update(len(word).to_bytes(8, "big") + word.encode())
        return {
            "responses": len(self.ids),
            "of": self.of,
            "invalid": self.num_invalid,
            "lowest_score": round(float(self.scores.min()), 6),
            "highest_score": round(float(self.scores.max()), 6),
            "sha256": digest.hexdigest(),
            **({"prompts": self.num_prompts} if several else {}),
        }

    def summary(self) -> str:
        """One line for people."""
        prompts = f" to {self.num_prompts:,} prompts" if self.num_prompts > 1 else ""
        scores = f"{self.scores.min():.4f} to {self.scores.max():.4f}"
        return f"{len(self.ids):,} of {self.of:,} responses{prompts}, scores {scores}, {self.num_invalid:,} invalid"


class Ranked:
    """All answers, or all `valid` ones, those to one prompt side by side from best to worst.

    Tables that cannot serve are refused.
    """

    def __init__(self, responses: Path | Sequence[str | Path], *, valid: bool = False) -> None:
        paths = [responses] if isinstance(responses, Path) else [Path(path) for path in responses]
        self.where = ", ".join(map(str, paths))
        self.runs = [read_run(path) for path in paths]
        of_prompts = [pair for run in self.runs for pair in _tables(run, valid)]
        self.prompts = [prompt for prompt, _ in of_prompts]
        # One of Arrow for each prompt: id, text, score (an invalid answer's is 0), reason.
        self.tables = [table for _, table in of_prompts]
        self.counts = [table.num_rows for table in self.tables]  # answers to each prompt

    def shares(self, wanted: int, setting: str, each: int = 1) -> np.ndarray:
        """How many of `wanted`, each of which takes `each` answers, every prompt gives: as its share of all answers."""
        counts = np.array(self.counts)
        most, total = counts // each, int(counts.sum())
        if most.sum() < wanted:
            several = f" to {len(counts)} prompts" if len(counts) > 1 else ""
            raise UserError(
                f"{self.where} holds {total} responses{several}, but {setting} {wanted} needs {wanted * each}"
                f"{', of the same prompt each pair' if several and each > 1 else ''}; "
                f"sample more, or take {setting} {most.sum()} or less"
            )
        exact = wanted * counts / total
        shares = np.minimum(np.floor(exact).astype(int), most)
        while missing := wanted - int(shares.sum()):
            # To those furthest below their share; the stable order makes it the same in every process.
            behind = np.where(shares < most, exact - shares, -np.inf)
            shares[np.argsort(-behind, kind="stable")[: min(missing, np.isfinite(behind).sum())]] += 1
        return shares

    def take(self, rows: Sequence[np.ndarray]) -> Selected:
        """These rows of each table as Python objects; no others become any."""
        import pyarrow as pa

        parts = [table.take(numbers) for table, numbers in zip(self.tables, rows, strict=True)]
        prompts = [prompt for prompt, part in zip(self.prompts, parts, strict=True) for _ in range(part.num_rows)]
        chosen = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
        ids, texts, scores = chosen["id"].to_pylist(), chosen["text"].to_pylist(), chosen["score"].to_numpy()
        return Selected(ids, prompts, texts, scores, len(chosen) - chosen["reason"].null_count, sum(self.counts))


def _tables(run: Finished, valid: bool) -> list[tuple[str, Any]]:
    """Of one run, each prompt that has answers, and a sorted table of them."""
    import pyarrow.compute as pc

    path, table = run.folder, run.table().combine_chunks()
    if unscored := pc.sum(pc.and_(pc.is_null(table["score"]), pc.is_null(table["reason"]))).as_py():
        raise UserError(f"{path} holds {unscored} responses without score or reason; score them first")
    if (repeated := table.num_rows - pc.count_distinct(table["id"]).as_py()) > 0:
        raise UserError(f"{path} holds {repeated} responses twice (by id); it may be a folder of two tables")
    items = [Item(name, run.prompts[name]) for name in sorted(pc.unique(table["item"]).to_pylist())]
    refuse_training(items)
    if valid:
        table = table.filter(pc.is_null(table["reason"]))
    scores = pc.fill_null(table["score"], 0.0)
    table = table.set_column(table.schema.get_field_index("score"), "score", scores)
    # One item is the case of large tables, which need not be sorted by it.
    by_item = [("item", "ascending")] if len(items) > 1 else []
    table = table.take(pc.sort_indices(table, [*by_item, ("score", "descending"), ("id", "ascending")]))
    counts = pc.value_counts(table["item"]).field("counts").to_numpy()
    starts = np.cumsum(counts) - counts
    slices = (table.slice(start, count) for start, count in zip(starts, counts, strict=True))
    return list(zip((item.prompt for item in items), slices, strict=True))
