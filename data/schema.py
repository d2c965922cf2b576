"""The response row and its parquet table: the one place where generators, scorers, trainers and reports meet.

A row carries a score or a reason, never both and never neither (unless it is not scored yet).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.errors import UserError
from sozo.data.record import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
VALUES = "values"
FAILED = "error"  # how a completion ends that never came, and why its answer is not scored
_VERSION_KEY = b"sozo_schema_version"


class Reason(StrEnum):
    """Why a response scores nothing, in the order in which the rules are applied: the first that fails is given."""

    FORMAT = "format"
    NOT_JAPANESE = "not_japanese"
    NOT_ENGLISH = "not_english"  # where words are asked for in English
    SYMBOL = "symbol"
    NOT_NOUN = "not_noun"
    REPEATED_WORD = "repeated_word"
    NO_VECTOR = "no_vector"


@dataclass(frozen=True, slots=True)
class Response:
    """One text a model wrote, with what the scorer said of it."""

    id: str  # unique inside a table
    source: str  # who wrote it: a model's name, `random`, or a file
    seed: int | None  # of the run that drew it; None when somebody else generated it
    text: str  # as it was written, but for lone surrogates (`utf8_safe`)
    words: tuple[str, ...] | None = None  # the ten words; None when the text is no list of ten
    score: float | None = None  # DAT score, 0 to 2; None when invalid
    reason: str | None = None  # a `Reason` value; None when valid
    temperature: float | None = None  # of the sampling, if known
    finish_reason: str | None = None  # `stop` or `length`, if known


@dataclass(frozen=True, slots=True)
class Completion:
    """One text that a generator wrote, and how it ended."""

    text: str
    finish_reason: str | None = None  # `stop` or `length`, or an endpoint's own word; None where it means nothing


def never_came(answer: Any) -> bool:
    """Whether an answer, or a completion, is none: its server gave this one prompt no text. That is no zero."""
    return not answer.text and answer.finish_reason == FAILED


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
    """Columns of the response table; `values`, of tasks whose answers have several measures, may follow (`VALUES`)."""
    import pyarrow as pa

    text, number = pa.string(), pa.float32()
    columns = {"id": text, "source": text, "seed": pa.int64(), "text": text, "words": pa.list_(text)}
    columns |= {"score": number, "reason": text, "temperature": number, "finish_reason": text}
    return pa.schema(columns, metadata={_VERSION_KEY: str(SCHEMA_VERSION).encode()})


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write one parquet part from columns (those left out are null), whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema()
    if VALUES in columns:
        schema = schema.append(pa.field(VALUES, pa.map_(pa.string(), pa.float64())))
    if unknown := set(columns) - set(schema.names):
        raise ValueError(f"{path}: no such column in the response table: {', '.join(sorted(unknown))}")
    empty = [None] * len(next(iter(columns.values())))
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table({name: columns.get(name, empty) for name in schema.names}, schema=schema), buffer)
    write_whole(path, buffer.getvalue())


def part_paths(path: Path) -> list[Path]:
    """The parquet parts of a table, in order: `path` itself, or part-*.parquet in it or in its folder `responses`."""
    if path.is_file():
        return [path]
    for folder in (path, path / "responses"):
        if parts := sorted(folder.glob("part-*.parquet")):
            return parts
    raise UserError(f"{path}: no response table here (looked for part-*.parquet and responses/part-*.parquet)")


def count_rows(part: Path) -> int:
    """Rows of one part, from its footer."""
    import pyarrow.parquet as pq

    with _readable(part):
        metadata = pq.read_metadata(part)
    _check_version(part, metadata.metadata)
    return metadata.num_rows


def iter_tables(path: Path, columns: Sequence[str] | None = None) -> Iterator["pa.Table"]:
    """The table part by part, so that its size never has to fit in memory. Refuses another schema version."""
    import pyarrow.parquet as pq

    for part in part_paths(path):
        with _readable(part):
            table = pq.read_table(part, columns=list(columns) if columns else None)
        _check_version(part, table.schema.metadata)
        yield table


@contextmanager
def _readable(part: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise UserError(f"{part}: not a readable parquet file ({error}); delete it and run again") from error


def _check_version(part: Path, metadata: Mapping[bytes, bytes] | None) -> None:
    version = (metadata or {}).get(_VERSION_KEY, b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise UserError(f"{part}: response table of schema version {version}; this sozo reads {SCHEMA_VERSION}")


def read_responses(path: Path) -> Iterable[Response]:
    """Every row of a table, in order; see `part_paths`."""
    for table in iter_tables(path):
        for row in table.to_pylist():
            words = row.pop("words")
            yield Response(words=None if words is None else tuple(words), **row)
