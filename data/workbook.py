"""An Excel file's sheet as rows of texts. What it unpacks to and how far its cells lie apart is bounded before it is read."""

import re
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from sozo.data.contents import refuse_other
from sozo.data.errors import UserError, require
from sozo.data.foreign import (
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_SHARED,
    MOST_UNPACKED,
    brief,
)

NO_VALUE = "#FORMULA"  # of a cell whose formula gave nothing: Excel takes -犬 for one
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
# Possessive and atomic: tags without an end take no square of their number.
_PLACE = re.compile(
    rb"""<(?:\w+:)?c\s(?>[^<>]*?\br=["']([A-Z]{1,3})([0-9]{1,7})["'])[^<>]*+>(\s*+<(?:\w+:)?f[\s/>])?"""
)


def read_workbook(path: Path, name: str | None = None) -> list[list[str]]:
    """The rows of a workbook's sheet `name`, or of its only one with cells, from row 1 and column A on.

    Dates are in ISO form, and 7 is no 7.0. UserError for what is no such file, or is larger than tables of people are.
    """
    require("python_calamine", "an Excel file")
    from python_calamine import CalamineError, load_workbook

    if not is_zipfile(path):
        refuse_other(path)
    try:
        content, formulas = _checked(path)
        book = load_workbook(content)
        sheets = {own: book.get_sheet_by_name(own) for own in book.sheet_names}
    except (BadZipFile, CalamineError, OSError, RuntimeError, zlib.error) as error:
        raise UserError(f"{path}: not an Excel file to be read ({error})") from None
    sheets = {own: sheet for own, sheet in sheets.items() if sheet.end}
    if name is None and len(sheets) == 1:
        (name,) = sheets
    if name not in sheets:
        raise UserError(
            f"{path}: has the sheets {brief(', '.join(sheets))}; name one by --sheet"
        )
    rows = [list(map(_text, row)) for row in sheets[name].to_python(False)]
    for row, column in formulas:
        if (
            row <= len(rows)
            and column <= len(rows[0])
            and not rows[row - 1][column - 1]
        ):
            rows[row - 1][column - 1] = NO_VALUE
    return rows


def _checked(path: Path) -> tuple[BytesIO, list[tuple[int, int]]]:
    """The file, packed anew from what was read of it here; and rows and columns (from 1) of its cells with a formula."""
    content = BytesIO()
    rows: list[int] = []
    columns: list[int] = []
    formulas: list[tuple[int, int]] = []
    size = places = longest = 0
    with ZipFile(path) as packed, ZipFile(content, "w") as checked:
        for part in packed.infolist():
            size += part.file_size
            if size > MOST_UNPACKED:
                raise UserError(f"{path}: unpacks to more than {MOST_UNPACKED:,} bytes")
            xml = packed.read(part)
            checked.writestr(part.filename, xml)
            if part.filename.startswith("xl/worksheets/"):
                places += len(_CELL.findall(xml))
                for letters, digits, formula in _PLACE.findall(xml):
                    rows.append(int(digits))
                    columns.append(_number(letters))
                    formulas += [(rows[-1], columns[-1])] * bool(formula)
            else:  # texts that cells share: each may be in all of them
                longest = max(longest, *map(len, xml.split(b"si>")))
    wide = max(columns, default=0)
    far = wide > MOST_COLUMNS or wide * max(rows, default=0) > MOST_CELLS
    if far or places != len(rows) or places * longest > MOST_SHARED:
        raise UserError(
            f"{path}: is larger than tables of people are; leave out what is no answer, or save it as CSV"
        )
    content.seek(0)
    return content, formulas


def _number(letters: bytes) -> int:
    """A column's number, from 1: of AA 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _text(value: Any) -> str:
    return (
        value if isinstance(value, str) else re.sub(r"( 00:00:00|\.0)$", "", str(value))
    )
