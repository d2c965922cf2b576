"""The words of a table of responses as numbers, for whatever looks at all lists at once."""

from pathlib import Path

import numpy as np

from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.dat.summary import counted_tables


def read_lists(responses: Path, trials: int | None = None) -> tuple[list[str], np.ndarray]:
    """The different words of a table's valid responses, and each response's words as numbers in that list.

    The numbers are int32 of shape (valid responses, 10). With `trials`, rows count as in `summarise`.
    """
    import pyarrow.compute as pc

    numbers: dict[str, int] = {}
    lists = [np.zeros(0, np.int32)]
    for table in counted_tables(responses, trials):
        valid = table.filter(pc.is_valid(table["score"]))["words"].combine_chunks()
        words = pc.list_flatten(valid).dictionary_encode()
        known = [numbers.setdefault(word, len(numbers)) for word in words.dictionary.to_pylist()]
        lists.append(np.array(known, np.int32)[words.indices.to_numpy()])
    return list(numbers), np.concatenate(lists).reshape(-1, NUM_WORDS)
