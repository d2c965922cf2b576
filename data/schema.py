"""The table of answers, parquet parts of every task: where generators, scorers, trainers and reports meet.

A row of DAT carries a score or a reason, never both and never neither (unless it is not scored yet).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.errors import UserError
from sozo.data.foreign import MOST_TABLE, MOST_TIMES, brief
from sozo.data.record import write_whole

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SCHEMA_VERSION = 2
ERROR = "error"  # how an answer ends that never came, and why it is not scored
_BATCH = 128  # rows that are read at once
_VERSION_KEY = b"sozo_schema_version"


class Reason(StrEnum):
    """Why an answer scores nothing, in the order in which the rules are applied: the first that fails is given."""

    FORMAT = "format"
    NOT_JAPANESE = "not_japanese"
    NOT_ENGLISH = "not_english"  # where words are asked for in English
    SYMBOL = "symbol"
    NOT_NOUN = "not_noun"
    REPEATED_WORD = "repeated_word"
    NO_VECTOR = "no_vector"
    AMBIGUOUS = "ambiguous"  # no vector, since it may be several nouns: かみ


@dataclass(frozen=True, slots=True)
class Completion:
    """One text that a generator wrote, and how it ended."""

    text: str
    # `stop` or `length`, or an endpoint's own word; None where it means nothing
    finish_reason: str | None = None


def never_came(answer: Any) -> bool:
    """Whether an answer is none: its server gave this one prompt no text. That is no zero."""
    return not answer.text and answer.finish_reason == ERROR


def utf8_safe(text: str) -> str:
    """`text` with lone surrogates written out as escapes, so that it can be stored as UTF-8.

    >>> utf8_safe("犬\\ud800")
    '犬\\\\ud800'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def arrow_schema() -> "pa.Schema":
    """Columns of the table.

    `item` is the id of what the answer answers, `score` the value of the task's first measure, `values` those of all
    measures by their names (null where `score` says it all), `facts` what else is known, as JSON, and `words` DAT's.
    """
    import pyarrow as pa

    text = pa.string()
    number = pa.float64()
    columns = {
        "id": text,
        "item": text,
        "source": text,
        "seed": pa.int64(),
        "text": text,
        "words": pa.list_(text),
    }
    columns |= {
        "score": number,
        "values": pa.map_(text, number),
        "reason": text,
        "facts": text,
    }
    columns |= {"temperature": pa.float32(), "finish_reason": text}
    return pa.schema(columns, metadata={_VERSION_KEY: str(SCHEMA_VERSION).encode()})


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write one parquet part from columns, whole or not at all; those left out are null, and an `item` is ``""``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema()
    if unknown := set(columns) - set(schema.names):
        raise ValueError(
            f"{path}: no such column in the answer table: {', '.join(sorted(unknown))}"
        )
    rows = len(next(iter(columns.values())))
    columns = {"item": [""] * rows, **columns}
    empty = [None] * rows
    buffer = pa.BufferOutputStream()
    pq.write_table(
        pa.table(
            {name: columns.get(name, empty) for name in schema.names}, schema=schema
        ),
        buffer,
    )
    write_whole(path, buffer.getvalue())


def part_paths(path: Path) -> list[Path]:
    """The parquet parts of a table, in order: `path` itself, or part-*.parquet in it or in its folder `answers`."""
    if path.is_file():
        return [path]
    for folder in (path, path / "answers"):
        if parts := sorted(folder.glob("part-*.parquet")):
            return parts
    looked = "looked for part-*.parquet and answers/part-*.parquet"
    deeper = [part for up in ("*", "*/*") for part in path.glob(f"{up}/answers/part-*")]
    below = f"; there is one in {min(deeper).parents[1]}" if deeper else ""
    raise UserError(f"{path}: no answer table here ({looked}){below}")


def count_rows(part: Path) -> int:
    """Rows of one part, from its footer."""
    with _opened(part) as file:
        _check_version(part, file)
        return int(file.metadata.num_rows)


def iter_tables(
    path: Path, columns: Sequence[str] | None = None
) -> Iterator["pa.Table"]:
    """The table part by part, so that its size never has to fit in memory. Refuses another schema version."""
    for part in part_paths(path):
        with _opened(part) as file:
            _check_version(part, file)
            table = _whole(part, file, columns)
        yield table


def parquet_rows(path: Path, columns: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """The rows of anybody's parquet file, with the columns of these names alone if there are any such."""
    with _opened(path) as file:
        known = [name for name in file.schema_arrow.names if name in columns]
        for batch in _batches(path, file, known or None):
            yield from batch.to_pylist()


def is_table(path: Path) -> bool:
    """Whether this is a folder, or a part of an answer table of ours."""
    if path.suffix != ".parquet" or not path.is_file():
        return path.is_dir()
    with _opened(path) as file:
        return _VERSION_KEY in (file.schema_arrow.metadata or ())


def _batches(
    part: Path, file: "pq.ParquetFile", columns: Sequence[str] | None
) -> Iterator["pa.RecordBatch"]:
    """What is read of a file, batch by batch, each checked; UserError where a small file unpacks to much.

    The footer says how large it is; what a dictionary repeats is counted as it comes.
    """
    bound = max(MOST_TABLE, MOST_TIMES * part.stat().st_size)
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    # Of a group alone: pyarrow aborts where a damaged footer says nothing of a column.
    size = sum(abs(group.total_byte_size) for group in groups)
    read = 0
    batches = file.iter_batches(
        _BATCH, columns=None if columns is None else list(columns)
    )
    while size <= bound and read <= bound:
        batch = next(batches, None)
        if batch is None:
            return
        batch.validate(full=True)  # so that texts are UTF-8
        read += sum(map(_size, batch.columns))
        yield batch
    raise UserError(
        f"{part}: unpacks to more than {bound:,} bytes; leave out what is no answer, or write it without compression"
    )


def _size(column: "pa.Array") -> int:
    """Bytes of a column, of one that names what a dictionary holds as if each row held it."""
    dictionary = getattr(column, "dictionary", None)
    return int((column if dictionary is None else column.dictionary_decode()).nbytes)


def _whole(
    part: Path, file: "pq.ParquetFile", columns: Sequence[str] | None
) -> "pa.Table":
    import pyarrow as pa

    batches = list(_batches(part, file, columns))
    schema = file.schema_arrow
    if columns:
        schema = pa.schema([schema.field(name) for name in columns], schema.metadata)
    return pa.Table.from_batches(batches, schema)


@contextmanager
def _opened(part: Path) -> Iterator["pq.ParquetFile"]:
    import pyarrow.parquet as pq

    if part.exists() and not part.is_file():
        raise UserError(f"{part}: is a pipe, a device or a folder; give a file")
    try:
        # pyarrow takes no name that is not UTF-8.
        with part.open("rb") as bytes_of, pq.ParquetFile(bytes_of) as file:
            yield file
    except UserError:
        raise
    except Exception as error:
        cause = brief(" ".join(str(error).split()))
        raise UserError(
            f"{part}: not a readable parquet file ({cause}); move it away and write it again"
        ) from error


def _check_version(part: Path, file: "pq.ParquetFile") -> None:
    version = (file.schema_arrow.metadata or {}).get(_VERSION_KEY, b"none").decode()
    if version != str(SCHEMA_VERSION):
        columns = brief(", ".join(file.schema_arrow.names))
        other = f"answer table of schema version {version}; this sozo reads {SCHEMA_VERSION}"
        raise UserError(
            f"{part}: {other}, and `sozo score` answers of others (columns {columns})"
        )
