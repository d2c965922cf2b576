"""A table of DAT responses on disk (a part, a folder of parts or a run's folder), read as a whole.

Of a run of so many `num_valid` only the rows up to the valid response of this number count.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sozo.data.schema import iter_tables
from sozo.scoring.parse import NUM_WORDS

if TYPE_CHECKING:
    import pyarrow as pa


def read_table(responses: Path, num_valid: int | None = None) -> "pa.Table":
    """The rows that count: id, source, words, score and reason."""
    import pyarrow as pa

    table = pa.concat_tables(
        iter_tables(responses, ("id", "source", "words", "score", "reason"))
    )
    valid = np.flatnonzero(table["score"].is_valid().to_numpy())
    return (
        table
        if num_valid is None or len(valid) < num_valid
        else table.slice(0, int(valid[num_valid - 1]) + 1)
    )


def valid_rows(table: "pa.Table") -> "pa.Table":
    """Those with a score."""
    return table.filter(table["score"].is_valid())


def valid_scores(responses: Path) -> np.ndarray:
    """Scores of all valid responses, float32, shape (valid,)."""
    parts = [
        table["score"].drop_null().to_numpy()
        for table in iter_tables(responses, ("score",))
    ]
    return np.concatenate(parts).astype(np.float32)


def valid_lists(responses: Path, num_valid: int | None = None) -> list[list[str]]:
    """The words of each valid response."""
    return valid_rows(read_table(responses, num_valid))["words"].to_pylist()


def read_lists(
    responses: Path, num_valid: int | None = None
) -> tuple[list[str], np.ndarray]:
    """The different words of valid responses, and each response's words as numbers in that list.

    The numbers are int32 of shape (valid responses, 10).
    """
    import pyarrow.compute as pc

    words = valid_rows(read_table(responses, num_valid))["words"].combine_chunks()
    numbered = pc.list_flatten(words).dictionary_encode()
    return numbered.dictionary.to_pylist(), np.array(numbered.indices).reshape(
        -1, NUM_WORDS
    )
