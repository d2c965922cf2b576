"""Lines of JSON that people write and fix: what is wrong with one is said in one line, with file and line number."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, PlainValidator, TypeAdapter, ValidationError

from sozo.data.contents import contents, refuse_other
from sozo.data.errors import UserError
from sozo.data.foreign import parse_json, quoted
from sozo.data.record import write_whole
from sozo.data.schema import parquet_rows, utf8_safe
from sozo.data.settings import from_validation

T = TypeVar("T")


def _named(value: Any) -> str:
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int)
        or not str(value).strip()
    ):
        raise ValueError("is neither a string nor an integer, or is blank; fix it")
    return str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is no string; give one")
    return value


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank; give a text, or leave the line out")
    return text


# Types of the fields of a record that `record_of` makes of a line. pydantic's own `str` refuses lone surrogates.
Id = Annotated[str, PlainValidator(_named)]
Text = Annotated[str, PlainValidator(_text)]
FilledText = Annotated[Text, AfterValidator(_filled)]
# The same without lone surrogates, which can be neither sent nor written.
SafeId = Annotated[Id, AfterValidator(utf8_safe)]
SafeText = Annotated[Text, AfterValidator(utf8_safe)]
SafeFilledText = Annotated[FilledText, AfterValidator(utf8_safe)]


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def record_of(kind: type[T], where: str, row: Mapping[str, Any], **defaults: Any) -> T:
    """A line's object as a dataclass, each column as its field's type says; other columns are left out.

    A column that is null is missing; `defaults` are those of columns whose fields have none.
    """
    try:
        record: T = _adapter(kind).validate_python(
            defaults | {k: v for k, v in row.items() if v is not None}
        )
        return record
    except ValidationError as error:
        raise from_validation(error, where) from None


def read_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file with where they stand (`FILE, line N`), in order, without blank lines."""
    return ((where, row) for _, where, row in read_numbered(path))


def read_numbered(
    path: Path, columns: Collection[str] = ()
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """As `read_objects`, each with the number of its line, from 0, before it.

    The rows of a CSV or parquet file, of a JSON list and of a log of inspect in JSON are objects, too; of a parquet file with
    any of `columns` these alone are read.
    """
    if not path.is_file():
        raise UserError(
            f"{path}: {'not a file' if path.exists() else 'no such file'}; give a JSONL file"
        )
    if path.suffix == ".eval":
        raise UserError(
            f"{path}: a packed log; write it as JSON: inspect log dump {path.name} > {path.stem}.json"
        )
    refuse_other(path)
    rows = (
        parquet_rows(path, columns)
        if path.suffix == ".parquet"
        else _listed(path)
        if path.suffix == ".json"
        else csv.DictReader(io.StringIO(contents(path).decode("utf-8-sig"), newline=""))
        if path.suffix == ".csv"
        else None
    )
    if rows is not None:
        for number, row in enumerate(rows):
            yield (
                number,
                f"{path}, row {number + 1}",
                _object(f"{path}, row {number + 1}", row),
            )
        return
    # In binary: only a line feed ends a line, where text mode would also cut at a lone carriage return.
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if line.strip():
                where = f"{path}, line {number + 1}"
                yield number, where, _parse_object(where, number, line)


def _listed(path: Path) -> list[Any] | None:
    """What a file that is one JSON value holds; None where it is anything else, such as lines of JSON."""
    try:
        value = parse_json(path.read_text("utf-8-sig"))
    except ValueError:
        return None
    rows = value.get("samples") if isinstance(value, dict) else value
    return rows if isinstance(rows, list) else [value]


def _parse_object(where: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        # Windows tools like to open a file with a byte order mark.
        return _object(
            where, parse_json(line.decode("utf-8-sig" if number == 0 else "utf-8"))
        )
    except UnicodeDecodeError:
        raise UserError(f"{where}: not UTF-8; convert the file to UTF-8") from None
    except ValueError as error:
        raise UserError(
            f"{where}: not JSON ({error}); write one JSON object per line"
        ) from None


def _object(where: str, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise UserError(f"{where}: not a JSON object; write one JSON object per line")
    return row


def read_records(
    path: Path, record: Callable[[str, dict[str, Any]], Any], what: str, example: str
) -> tuple[Any, ...]:
    """The records of a file, each with an `id` of its own; `record` makes one of where an object stands and the object.

    A file without any is refused with `what` they are and an `example` of a line.
    """
    records: dict[str, Any] = {}
    for where, row in read_objects(path):
        new = record(where, row)
        if new.id in records:
            raise UserError(
                f"{where}: the id {quoted(new.id)} comes twice; make ids unique"
            )
        records[new.id] = new
    if not records:
        raise UserError(f"{path}: holds no {what}; write one per line: {example}")
    return tuple(records.values())


def write_objects(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON lines, whole or not at all. Lone surrogates must have been written out (`utf8_safe`)."""
    write_whole(
        path,
        "".join(
            json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows
        ).encode(),
    )


def write_records(path: Path, records: Iterable[Any]) -> None:
    """The same of dataclasses, such as stories or questions: what reads them reads the file."""
    write_objects(path, map(asdict, records))


def text_column(
    row: dict[str, Any], name: str, where: str, default: str | None = None
) -> str:
    """A column that holds text; `default` where it is missing or null."""
    value = row.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        state = "is missing" if name not in row else "is no string"
        raise UserError(f"{where}: the column {name} {state}; give a string")
    return value


def id_column(
    row: dict[str, Any], name: str, where: str, default: str | None = None
) -> str:
    """A column that names something: a string that is not blank, or an integer."""
    value = row.get(name)
    if value is None and default is not None:
        return default
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int)
        or not str(value).strip()
    ):
        state = (
            "is missing"
            if name not in row
            else "is neither a string nor an integer, or is blank"
        )
        raise UserError(f"{where}: the column {name} {state}; fix it")
    return str(value)
