"""Texts in, scored rows out, live (`sample`) or from a file (`score_file`): the one operation behind every result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from data.schema import Response, utf8_safe, write_columns
from eval.generate import Generator
from eval.jsonl import ResponsesFile, read_rows
from eval.progress import responses_bar
from rewards.dat import DatScorer, DatScores

PART_ROWS = 16_384


def score_file(
    file: ResponsesFile, scorer: DatScorer, folder: Path, *, source: str, part_rows: int = PART_ROWS
) -> None:
    """Score a checked JSONL file into `folder/part-00000.parquet`, `part-00001.parquet`, ...

    Parts that are there are kept, so a killed call is repeated to go on, and ends in the same table. Memory holds one
    part at a time.

    Args:
        file: From `check_file`.
        scorer: Gives every text a score or a reason.
        folder: Where the parts go; the caller vouches that it belongs to this file and this scorer.
        source: The table's column of that name.
        part_rows: Rows per part.

    Raises:
        ValueError: The file changed since it was checked, or a part there has another number of rows.
    """
    sizes = [min(part_rows, file.rows - start) for start in range(0, file.rows, part_rows)]
    done = _complete_parts(folder, sizes)
    rows = read_rows(file.path, skip=sum(sizes[:done]))
    with responses_bar("scoring", file.rows, sum(sizes[:done])) as advance:
        for number in range(done, len(sizes)):
            chunk = list(islice(rows, sizes[number]))
            if len(chunk) < sizes[number]:
                raise _changed(file)
            scores = scorer.score([text for _, text in chunk])
            write_columns(_part(folder, number), _columns([row_id for row_id, _ in chunk], source, scores))
            advance(len(chunk), int(np.count_nonzero(scores.codes == 0)))
    if next(rows, None) is not None:
        raise _changed(file)


def sample(
    generator: Generator, scorer: DatScorer, n: int, *, seed: int, batch_size: int, first_batch: int = 0
) -> Iterator[list[Response]]:
    """Draw `n` responses and score them, one list per batch.

    A batch's randomness depends on `seed` and its index alone: starting at `first_batch` gives exactly the batches that
    an unbroken call gives from there.

    Raises:
        ValueError: `n` or `first_batch` is negative, or `batch_size` is below one.

    >>> from rewards.dat import ScorerSettings
    >>> from eval.generate import RandomNouns
    >>> from data.nouns import load_nouns
    >>> batches = sample(RandomNouns(load_nouns()), ScorerSettings("jumandic").build(), 5, seed=1, batch_size=2)
    >>> [[response.id for response in batch] for batch in batches]
    [['00000000', '00000001'], ['00000002', '00000003'], ['00000004']]
    """
    if n < 0 or first_batch < 0 or batch_size < 1:
        raise ValueError(f"cannot draw {n} responses in batches of {batch_size} from batch {first_batch} on")
    for start in range(first_batch * batch_size, n, batch_size):
        drawn = generator.generate(min(batch_size, n - start), seed, start // batch_size)
        scores = scorer.score([completion.text for completion in drawn])
        yield [
            Response(
                id=f"{start + i:08d}",
                source=generator.name,
                seed=seed,
                text=completion.text,
                words=result.words,
                score=result.score,
                reason=result.reason,
                temperature=generator.temperature,
                finish_reason=completion.finish_reason,
            )
            for i, (completion, result) in enumerate(zip(drawn, scores, strict=True))
        ]


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05d}.parquet"


def _complete_parts(folder: Path, sizes: Sequence[int]) -> int:
    """How many parts are there, from the first on. A part under its name is complete: it was renamed when it was."""
    import pyarrow.parquet as pq

    for number, size in enumerate(sizes):
        part = _part(folder, number)
        if not part.exists():
            return number
        try:
            rows = pq.read_metadata(part).num_rows
        except Exception as error:
            raise ValueError(f"{part}: not a readable parquet file; delete it and run again") from error
        if rows != size:
            raise ValueError(f"{part}: has {rows} rows where {size} belong; give another --output")
    return len(sizes)


def _columns(ids: list[str], source: str, scores: DatScores) -> dict[str, Any]:
    """The table's columns of one batch, as Arrow arrays where that spares a million Python objects."""
    import pyarrow as pa

    invalid = scores.codes != 0
    texts = [utf8_safe(text) for text in scores.texts]
    words: list[Sequence[str] | None] = [scores.words(i) for i in range(len(scores))]
    for i, (text, stored) in enumerate(zip(scores.texts, texts, strict=True)):
        cut = words[i]
        if text is not stored and cut is not None:
            words[i] = [utf8_safe(word) for word in cut]
    return {
        "id": ids,
        "source": pa.repeat(pa.scalar(source), len(ids)),
        "text": texts,
        "words": words,
        "score": pa.array(scores.scores, mask=invalid),
        "reason": [scores.reason(i) if bad else None for i, bad in enumerate(invalid.tolist())],
    }


def _changed(file: ResponsesFile) -> ValueError:
    return ValueError(f"{file.path}: changed while it was being read; run again with a file that stays as it is")
