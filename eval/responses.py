"""Texts in, scored rows out, part by part: from a generator, a file or an older table. Every result rests on this.

A part is there whole or not at all, and what it holds depends on its number alone. So a killed call is repeated to go
on, any number of processes can share the work, and the table is the same; memory holds one part at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from data.answers_file import ResponsesFile, read_rows
from data.parts import Columns, Part, is_there, parts_of, write_missing, write_part
from data.processes import Processes
from data.progress import responses_bar
from data.schema import count_rows, iter_tables, part_paths, utf8_safe
from generate.protocol import Generator
from rewards.tasks.dat.scorer import DatScorer, DatScores

PART_ROWS = 16_384


def sample_responses(
    generator: Generator,
    scorer: DatScorer,
    folder: Path,
    n: int,
    *,
    seed: int,
    batch_size: int,
    processes: Processes | None = None,
) -> None:
    """Draw `n` responses, score them and write one part per batch into `folder`.

    Args:
        generator: Draws batch k as a function of (seed, k) alone.
        scorer: Gives every text a score or a reason.
        folder: Where the parts go; the caller vouches that it belongs to these settings.
        n: Responses in all.
        seed: The run's seed.
        batch_size: Responses per batch.
        processes: Process r of w draws the batches with number % w == r; None draws all.

    Raises:
        ValueError: A number is out of range, or a part is there that cannot be used.
        OSError: The generator fails, or a part cannot be written.

    >>> import tempfile
    >>> from data.nouns import load_nouns
    >>> from data.schema import read_responses
    >>> from generate import RandomNouns
    >>> from rewards.tasks.dat.scorer import ScorerSettings
    >>> folder = Path(tempfile.mkdtemp())
    >>> scorer = ScorerSettings("jumandic").build()
    >>> sample_responses(RandomNouns(load_nouns()), scorer, folder, 5, seed=1, batch_size=2)
    >>> [part.name for part in part_paths(folder)], [row.id for row in read_responses(folder)][-1]
    (['part-00000.parquet', 'part-00001.parquet', 'part-00002.parquet'], '00000004')
    """
    parts = parts_of(folder, n, batch_size)

    def draw(number: int) -> Columns:
        return _draw(generator, scorer, parts[number].rows, seed=seed, batch=number, first=number * batch_size)

    write_missing(parts, draw, f"sampling {generator.name}", processes or Processes())


def sample_trials(
    generator: Generator, scorer: DatScorer, folder: Path, trials: int, *, seed: int, batch_size: int
) -> None:
    """Draw batches, as `sample_responses` does, until `trials` of the responses are valid (the benchmark).

    Raises:
        ValueError: Of the first 20 x `trials` responses (2,048 at least) too few are valid; also as `sample_responses`.
        OSError: As `sample_responses`.
    """
    parts, valid, drawn = parts_of(folder, max(20 * trials, 2048), batch_size), 0, 0
    with responses_bar(f"sampling {generator.name}", trials, count_valid=True) as advance:
        for number, part in enumerate(parts):
            if not is_there(part):
                first = number * batch_size
                columns = _draw(generator, scorer, part.rows, seed=seed, batch=number, first=first)
                write_part(part.path, columns)
            (table,) = iter_tables(part.path, ("score",))
            good = part.rows - table["score"].null_count
            valid, drawn = valid + good, drawn + part.rows
            advance(part.rows, good)
            if valid >= trials:
                return
    raise ValueError(
        f"only {valid} of {drawn} responses are valid, and {trials} trials need {trials}: see the reasons in {folder}, "
        "train the model on the task first, or measure it as it is with num_responses"
    )


def score_file(
    file: ResponsesFile, scorer: DatScorer, folder: Path, *, source: str, part_rows: int = PART_ROWS
) -> None:
    """Score a checked JSONL file into parts of `part_rows` rows.

    Args:
        file: From `check_file`.
        scorer: Gives every text a score or a reason.
        folder: Where the parts go; the caller vouches that it belongs to this file and this scorer.
        source: The table's column of that name.
        part_rows: Rows per part.

    Raises:
        ValueError: The file changed since it was checked, or a part is there that cannot be used.
    """
    parts = parts_of(folder, file.rows, part_rows)
    position, rows = 0, read_rows(file.path)

    def score(number: int) -> Columns:
        nonlocal position, rows
        if position != number:  # parts that are there already
            rows = read_rows(file.path, skip=number * part_rows)
        position = number + 1
        chunk = list(islice(rows, parts[number].rows))
        if len(chunk) < parts[number].rows:
            raise _changed(file)
        scores = scorer.score([text for _, text in chunk])
        return {"id": [row_id for row_id, _ in chunk], "source": [source] * len(chunk), **_scored(scores)}

    write_missing(parts, score, "scoring", Processes())
    if position == len(parts) and next(rows, None) is not None:
        raise _changed(file)


def rescore_table(table: Path, scorer: DatScorer, folder: Path) -> None:
    """Score a table's texts again: part by part into `folder`, under the same names, everything else as it was.

    Raises:
        ValueError: A part of the table, or one that is there already, cannot be used.
    """
    sources = part_paths(table)
    parts = [Part(folder / source.name, count_rows(source)) for source in sources]

    def score(number: int) -> Columns:
        (rows,) = iter_tables(sources[number])
        kept = {name: rows[name].combine_chunks() for name in ("id", "source", "seed", "temperature", "finish_reason")}
        return {**kept, **_scored(scorer.score(rows["text"].to_pylist()))}

    write_missing(parts, score, "scoring", Processes())


def _draw(generator: Generator, scorer: DatScorer, n: int, *, seed: int, batch: int, first: int) -> Columns:
    """Batch number `batch`, whose first row is number `first` of the table."""
    drawn = generator.generate(n, seed, batch)
    return {
        "id": [f"{number:08d}" for number in range(first, first + n)],
        "source": [generator.name] * n,
        "seed": [seed] * n,
        "temperature": [generator.temperature] * n,
        "finish_reason": [completion.finish_reason for completion in drawn],
        **_scored(scorer.score([completion.text for completion in drawn])),
    }


def _scored(scores: DatScores) -> Columns:
    """The table's columns that a scorer fills, as Arrow arrays where that spares a million Python objects."""
    import pyarrow as pa

    invalid = scores.codes != 0
    texts = [utf8_safe(text) for text in scores.texts]
    words: list[Sequence[str] | None] = [scores.words(i) for i in range(len(scores))]
    for i, (text, stored) in enumerate(zip(scores.texts, texts, strict=True)):
        cut = words[i]
        if text is not stored and cut is not None:
            words[i] = [utf8_safe(word) for word in cut]
    return {
        "text": texts,
        "words": words,
        "score": pa.array(scores.scores, mask=invalid),
        "reason": [scores.reason(i) if bad else None for i, bad in enumerate(invalid.tolist())],
    }


def _changed(file: ResponsesFile) -> ValueError:
    return ValueError(f"{file.path}: changed while it was being read; run again with a file that stays as it is")
