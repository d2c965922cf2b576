"""A table of DAT answers on disk (a part, a folder of parts or a run's folder), read as a whole.

Of a run of so many `num_usable` only the rows up to the usable answer of this number count.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sozo.data.schema import iter_tables
from sozo.scoring.parse import NUM_WORDS

if TYPE_CHECKING:
    import pyarrow as pa


def read_table(answers: Path, num_usable: int | None = None) -> "pa.Table":
    """The rows that count: id, source, words, score and reason."""
    import pyarrow as pa

    table = pa.concat_tables(
        iter_tables(answers, ("id", "source", "words", "score", "reason"))
    )
    usable = np.flatnonzero(table["score"].is_valid().to_numpy())
    return (
        table
        if num_usable is None or len(usable) < num_usable
        else table.slice(0, int(usable[num_usable - 1]) + 1)
    )


def usable_rows(table: "pa.Table") -> "pa.Table":
    """Those with a score."""
    return table.filter(table["score"].is_valid())


def usable_scores(answers: Path) -> np.ndarray:
    """Scores of all usable answers, float32, shape (usable,)."""
    parts = [
        table["score"].drop_null().to_numpy()
        for table in iter_tables(answers, ("score",))
    ]
    return np.concatenate(parts).astype(np.float32)


def usable_lists(answers: Path, num_usable: int | None = None) -> list[list[str]]:
    """The words of each usable answer."""
    return usable_rows(read_table(answers, num_usable))["words"].to_pylist()


def read_lists(
    answers: Path, num_usable: int | None = None
) -> tuple[list[str], np.ndarray]:
    """The different words of usable answers, and each answer's words as numbers in that list.

    The numbers are int32 of shape (usable answers, 10).
    """
    import pyarrow.compute as pc

    words = usable_rows(read_table(answers, num_usable))["words"].combine_chunks()
    numbered = pc.list_flatten(words).dictionary_encode()
    return numbered.dictionary.to_pylist(), np.array(numbered.indices).reshape(
        -1, NUM_WORDS
    )
