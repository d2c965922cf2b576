"""From a response table to training data, exactly as the paper (sections 5.1.1 and 5.1.2).

The table is put in one order: score from high to low, an invalid response counting 0 and staying in, ties by id from
low to high. SFT imitates its first k responses; DPO prefers the first k to the last k, paired at random from a seed.
When more than k responses are invalid, the last k are all invalid ones: that is the paper's rule.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.errors import UserError
from data.prompts import dat_messages, plain, prompt
from data.schema import iter_tables

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Selected:
    """Some responses of a table, in the order in which they are trained on.

    Args:
        ids: Their ids.
        texts: Their texts.
        scores: Their DAT scores, 0 to 2; 0 for an invalid one.
        num_invalid: How many are invalid.
        of: Responses in the whole table.
    """

    ids: list[str]
    texts: list[str]
    scores: np.ndarray
    num_invalid: int
    of: int

    def facts(self) -> dict[str, Any]:
        """What identifies the data: a run that goes on with other data must not pass for the same."""
        digest = hashlib.sha256()
        for word in (word for pair in zip(self.ids, self.texts, strict=True) for word in pair):
            digest.update(len(word).to_bytes(8, "big") + word.encode())
        return {
            "responses": len(self.ids),
            "of": self.of,
            "invalid": self.num_invalid,
            "lowest_score": round(float(self.scores.min()), 6),
            "highest_score": round(float(self.scores.max()), 6),
            "sha256": digest.hexdigest(),
        }

    def summary(self) -> str:
        """One line for people."""
        return (
            f"{len(self.ids):,} of {self.of:,} responses, scores {self.scores.min():.4f} to {self.scores.max():.4f}, "
            f"{self.num_invalid:,} invalid"
        )


@dataclass(frozen=True)
class Pairs:
    """As many chosen as rejected responses; pair i is the i-th of both."""

    chosen: Selected
    rejected: Selected


def select_top(responses: Path, k: int) -> Selected:
    """The k responses with the highest scores, for SFT.

    Args:
        responses: A response table (see `data.schema.part_paths`).
        k: How many.

    Raises:
        UserError: No table, one of another schema version, with fewer than k rows or with rows nobody has scored.
    """
    table = _ranked(responses, k, "top_k")
    top = _take(table, np.arange(k))
    if top.num_invalid:
        logger.warning("%s of the %s best responses of %s are invalid", top.num_invalid, k, responses)
    return top


def select_pairs(responses: Path, num_pairs: int, *, seed: int) -> Pairs:
    """The responses with the highest scores, each paired with one of those with the lowest, for DPO.

    Warns when the two overlap in score: a pair of equal scores teaches nothing true.

    Args:
        responses: A response table (see `data.schema.part_paths`).
        num_pairs: How many pairs; the table needs twice as many rows.
        seed: Decides who is paired with whom.

    Raises:
        UserError: As `select_top`; the table needs twice `num_pairs` rows.
    """
    table = _ranked(responses, 2 * num_pairs, "num_pairs", each=2)
    last = table.num_rows - 1 - np.random.default_rng(seed).permutation(num_pairs)
    pairs = Pairs(_take(table, np.arange(num_pairs)), _take(table, last))
    worst, best = float(pairs.chosen.scores.min()), float(pairs.rejected.scores.max())
    if worst <= best:
        logger.warning(
            "chosen and rejected responses overlap in score: the lowest chosen one has %.4f, the highest rejected one "
            "%.4f (%s chosen ones are invalid); take fewer than %s pairs, or sample more responses",
            *(worst, best, pairs.chosen.num_invalid, num_pairs),
        )
    return pairs


def sft_rows(texts: Sequence[str], *, conversational: bool) -> list[dict[str, Any]]:
    """Prompt-completion rows: the DAT prompt and one response each.

    Args:
        texts: The responses to imitate.
        conversational: The tokenizer has a chat template; else the plain prompt comes before the response.
    """
    ask, answer = _turns(conversational)
    return [{"prompt": ask, "completion": answer(text)} for text in texts]


def dpo_rows(chosen: Sequence[str], rejected: Sequence[str], *, conversational: bool) -> list[dict[str, Any]]:
    """Preference rows: the DAT prompt, a response to prefer and one to avoid (see `sft_rows`)."""
    ask, answer = _turns(conversational)
    return [
        {"prompt": ask, "chosen": answer(good), "rejected": answer(bad)}
        for good, bad in zip(chosen, rejected, strict=True)
    ]


def _turns(conversational: bool) -> tuple[Any, Any]:
    if conversational:
        return dat_messages(), lambda text: [{"role": "assistant", "content": text}]
    return plain(prompt("dat")), lambda text: text


def _ranked(responses: Path, needed: int, setting: str, each: int = 1) -> Any:
    """The table from its best row to its worst, an invalid row's score being 0. Refuses one that cannot serve."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        table = pa.concat_tables(iter_tables(responses, columns=("id", "text", "score", "reason"))).combine_chunks()
    except (FileNotFoundError, ValueError) as error:
        raise UserError(str(error)) from error
    if table.num_rows < needed:
        raise UserError(
            f"{responses} holds {table.num_rows} responses, but {setting} {needed // each} needs {needed}; "
            f"sample more, or take {setting} {table.num_rows // each} or less"
        )
    unscored = pc.sum(pc.and_(pc.is_null(table["score"]), pc.is_null(table["reason"]))).as_py()
    if unscored:
        raise UserError(f"{responses} holds {unscored} responses without score or reason; score them first")
    if (repeated := table.num_rows - pc.count_distinct(table["id"]).as_py()) > 0:
        raise UserError(f"{responses} holds {repeated} responses twice (by id); it may be a folder of two tables")
    table = table.set_column(2, "score", pc.fill_null(table["score"], 0.0))
    return table.take(pc.sort_indices(table, [("score", "descending"), ("id", "ascending")]))


def _take(table: Any, rows: np.ndarray) -> Selected:
    """The rows of the ranked table as Python objects; no others become any."""
    chosen = table.take(rows)
    return Selected(
        ids=chosen["id"].to_pylist(),
        texts=chosen["text"].to_pylist(),
        scores=chosen["score"].to_numpy(),
        num_invalid=len(chosen) - chosen["reason"].null_count,
        of=table.num_rows,
    )
