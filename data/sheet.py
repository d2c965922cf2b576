"""A table that a person made in a spreadsheet, as CSV: read as it was saved, written so that no cell runs as a formula."""

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.record import write_whole

_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
KINDS = (".csv", ".tsv", *_WORKBOOKS)
_DELIMITERS = ",;\t"
_AS_CSV = "save it in Excel as “CSV UTF-8 (*.csv)” and give that file"
_SEP = re.compile('\\s*"?sep=(.)"?[ \\t,;]*(?:\r\n|\n|\r)', re.IGNORECASE)
# What begins a formula in a spreadsheet, in a Japanese one full-width too; a plain number is none.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
_JAPANESE = re.compile("[ぁ-んァ-ヶ一-龥]")

_Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Headings and rows as they were written, every row as wide as the headings."""

    path: Path
    headings: _Row
    rows: tuple[_Row, ...]  # without those in which every cell is empty
    lines: tuple[int, ...]  # the line of the file in which each row ends, from 1
    encoding: str
    delimiter: str

    def column(self, *names: str) -> int | None:
        """The column of the first of these headings that is there; None without one.

        Case, width, spaces, underscores and hyphens of a heading make no difference. UserError if two are the same.
        """
        headings = [_plain(heading) for heading in self.headings]
        for name in map(_plain, names):
            if headings.count(name) > 1:
                raise UserError(f"{self.path}: two columns are called {names[0]}; rename one of them")
            if name in headings:
                return headings.index(name)
        return None


def read_sheet(path: Path) -> Sheet:
    """The table of a CSV file; its first row that is not empty holds the headings.

    Encodings are tried strictly and in order: UTF-16 where a mark says so (Excel's “Unicode text”), else UTF-8, then
    Shift_JIS (CP932). The delimiter is that of a leading line `sep=;`, else whichever of comma, semicolon and tab the
    headings have most of. UserError, with the line, for what is no such table.
    """
    if path.suffix.lower() in _WORKBOOKS:
        raise UserError(f"{path}: is a workbook, not CSV; {_AS_CSV}")
    if not path.is_file():
        raise UserError(f"{path}: {'not a file' if path.exists() else 'no such file'}; give a CSV file")
    text, encoding = _decoded(path, path.read_bytes())
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(f"{path}, line {line}: holds a NUL character, which no text has; {_AS_CSV}")
    if sep := _SEP.match(text):
        delimiter, text, before = sep[1], text[sep.end() :], text.count("\n", 0, sep.end())
    else:
        first = next(iter(text.lstrip("\r\n").splitlines()), "")
        delimiter, before = max(_DELIMITERS, key=first.count), 0
    rows, lines = _rows(path, text, delimiter, before)
    return Sheet(path, rows[0], rows[1:], lines[1:], encoding, delimiter)


def write_sheet(path: Path, headings: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str = ",") -> None:
    """Write a CSV file that Excel opens (UTF-8 with a byte order mark), whole or not at all, each cell by `as_text`."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([map(as_text, row) for row in (headings, *rows)])
    write_whole(path, file.getvalue().encode("utf-8-sig"))


def as_text(cell: str) -> str:
    """A cell as a spreadsheet shows it and does not run it: an apostrophe before what begins as a formula does.

    >>> as_text("=1+1"), as_text("-3.5"), as_text("犬")
    ("'=1+1", '-3.5', '犬')
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def without_zero(cell: str) -> str:
    """A name or a number as it was typed: a spreadsheet makes 1.0 of 1. Zeros in front stay.

    >>> without_zero(" 1.0 "), without_zero("007")
    ('1', '007')
    """
    whole = re.fullmatch(r"([0-9]+)\.0+", cell.strip())
    return whole[1] if whole else cell.strip()


def _plain(heading: str) -> str:
    return re.sub(r"[\s_\-]", "", unicodedata.normalize("NFKC", heading).casefold())


def _decoded(path: Path, content: bytes) -> tuple[str, str]:
    """The text of a file, and the name of its encoding."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = {"UTF-16": "utf-16"}
    else:
        encodings = {"UTF-8": "utf-8-sig", "Shift_JIS": "cp932"}
    problems = []
    for name, encoding in encodings.items():
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            problems.append(f"line {content[: error.start].count(10) + 1} is not {name}")
            continue
        # Shift_JIS takes almost any bytes: of UTF-8 it makes kanji that nobody wrote.
        if name == "Shift_JIS" and (line := _line_in_utf8(content)):
            problems.append(f"line {line} is")
            continue
        return text, name
    raise UserError(f"{path}: {' and '.join(problems)}; {_AS_CSV}")


def _line_in_utf8(content: bytes) -> int | None:
    """The first line that is Japanese in UTF-8, from 1."""
    for number, line in enumerate(content.split(b"\n"), 1):
        with suppress(UnicodeDecodeError):
            if _JAPANESE.search(line.decode()):
                return number
    return None


def _rows(path: Path, text: str, delimiter: str, before: int) -> tuple[tuple[_Row, ...], tuple[int, ...]]:
    """The rows that hold something, all equally wide, and their lines in a file with so many lines `before`."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines, most = list[list[str]](), list[int](), 0
    try:
        for row in reader:
            filled = max((k for k, cell in enumerate(row, 1) if cell.strip()), default=0)
            if not filled:
                continue
            most, line = most or len(row), before + reader.line_num
            if filled > most:
                raise UserError(f"{path}, line {line}: more cells than headings; quote a cell that has {delimiter!r}")
            rows.append(row[:filled])
            lines.append(line)
    except csv.Error as error:
        raise UserError(f"{path}, line {before + reader.line_num}: not CSV ({error}); {_AS_CSV}") from None
    if len(rows) < 2:
        raise UserError(f"{path}: holds no rows; write headings into the first line, and answers below")
    width = max(map(len, rows))
    return tuple((*row, *[""] * (width - len(row))) for row in rows), tuple(lines)
