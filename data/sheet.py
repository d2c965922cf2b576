"""A table that a person made in a spreadsheet, as CSV: read as it was saved, and written so that no formula runs."""

import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.errors import UserError, require
from sozo.data.foreign import MOST_COLUMNS, brief, nfkc
from sozo.data.record import write_whole
from sozo.data.workbook import read_workbook

if TYPE_CHECKING:
    import pandas as pd

_EXCEL = (".xlsx", ".xlsm")
_OTHERS = (".xls", ".ods", ".numbers")
KINDS = (".csv", ".tsv", *_EXCEL, *_OTHERS)
_AS_CSV = "save it in Excel as “CSV UTF-8 (*.csv)” and give that file"
_SEP = re.compile('\\s*"?sep=(.)"?[,;\\s]*?(?:\r\n|\n|\r)', re.IGNORECASE)
# What begins a formula in a spreadsheet, in a Japanese one full-width too; a plain number is none.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠](?<![+\-](?=[0-9]+([.,][0-9]+)?\Z))")
_JAPANESE = re.compile("[ぁ-んァ-ヶ一-龥]")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,3})([^0-9]*)", re.DOTALL)
_SHOWN = 20  # headings in a message
_EXPLAINS = ('{"ImportId":', "Open-Ended Response")


@dataclass(frozen=True, slots=True)
class Sheet:
    """Cells as they were written, under their headings; the index is a spreadsheet's number of the row, from 2."""

    path: Path
    cells: "pd.DataFrame"
    encoding: str
    delimiter: str
    texts: Sequence[str] = ()  # what a tool's row below the headings says of each

    def columns(self, *patterns: str) -> list[Any]:
        """The cells below each heading that holds a pattern, the first pattern's first (stripped, 1 for 1.0).

        A heading is as `plain` makes it; where a tool's row explains headings, its text counts as one, too.
        """
        texts = zip(self.cells.columns, self.texts or self.cells.columns, strict=True)
        headings = ["\n".join(map(plain, both)) for both in texts]
        found = dict.fromkeys(
            k
            for pattern in patterns
            for k, heading in enumerate(headings)
            if re.search(pattern, heading, re.MULTILINE)
        )
        whole = {"regex": r"^([0-9]+)\.0+$", "value": r"\1"}
        return [self.cells.iloc[:, k].str.strip().replace(**whole) for k in found]

    def sets(self) -> list[tuple[str, dict[int, Any]]]:
        """Columns that differ by a number alone, each by it, with what stands around it.

        At -1 is one whose number comes twice. Where a heading is a code, a full stop and a text (LimeSurvey), its code
        is looked at too.
        """
        sets: dict[tuple[str, str], dict[int, Any]] = {}
        for k, heading in enumerate(self.cells.columns):
            code, stop, _ = heading.partition(". ")
            for name, end in {heading: "", code: stop}.items():
                if match := _NUMBERED.fullmatch(nfkc(name)):
                    own = sets.setdefault((plain(match[1] + match[3]), end), {})
                    number = int(match[2])
                    own[-1 if number in own else number] = self.cells.iloc[:, k]
        return [("".join(around), own) for around, own in sets.items()]

    def answers(self) -> "Sheet":
        """Without rows that repeat the headings, or explain them by the signs of Qualtrics and SurveyMonkey."""
        headings = (self.cells.to_numpy() == self.cells.columns.to_numpy()).all(axis=1)
        ids = (
            self.cells.map(lambda cell: not cell or cell.startswith(_EXPLAINS))
            .all(axis=1)
            .to_numpy()[:2]
        )
        headings[: 1 + ids.argmax()] |= ids.any()
        texts = tuple(self.cells.iloc[0]) if ids.any() else ()
        return replace(self, cells=self.cells[~headings], texts=texts)

    def wrong(self, what: str, row: int | None = None) -> UserError:
        """What is wrong, of the sheet or of a row, and which columns there are."""
        headings = [brief(heading) for heading in self.cells.columns if heading]
        there = ", ".join(headings[:_SHOWN]) + ", ..." * (len(headings) > _SHOWN)
        where = self.path if row is None else f"{self.path}, row {row}"
        return UserError(f"{where}: {what}; the columns are: {there}")


def read_sheet(path: Path, name: str | None = None) -> Sheet:
    """The table of a CSV or Excel file without empty rows and columns; its first row holds the headings.

    `name` is the sheet of a workbook, if several have cells. CSV is read strictly as UTF-8, else as Shift_JIS (CP932).
    The delimiter is that of a leading line `sep=;`, else whichever of comma, semicolon and tab the headings have most
    of. UserError for what is no such table.

    Of a folder all CSV files are one table; a row is then called "2 of its-file.csv".
    """
    require("pandas", "a spreadsheet")
    import pandas as pd

    if path.is_dir():
        return _read_folder(path)
    kind = path.suffix.lower()
    if kind in _OTHERS:
        raise UserError(f"{path}: is no workbook of today's Excel; {_AS_CSV}")
    if not path.is_file():
        raise UserError(
            f"{path}: {'not a file' if path.exists() else 'no such file'}; give a CSV or Excel file"
        )
    if kind in _EXCEL:
        return _table(path, pd.DataFrame(read_workbook(path, name)), "Excel", ",")
    text, encoding = decoded(path, path.read_bytes())
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(
            f"{path}, line {line}: holds a NUL character, which no text has; {_AS_CSV}"
        )
    sep = _SEP.match(text)
    text = text[sep.end() :] if sep else text.lstrip("\r\n")
    delimiter = sep[1] if sep else max(",;\t", key=text.partition("\n")[0].count)
    if text.partition("\n")[0].count(delimiter) >= MOST_COLUMNS:
        raise UserError(
            f"{path}: has more than {MOST_COLUMNS} columns; leave those out that say nothing"
        )
    try:
        options = {
            "header": None,
            "dtype": str,
            "keep_default_na": False,
            "skip_blank_lines": False,
        }
        cells = pd.read_csv(io.StringIO(text), sep=delimiter, **options).fillna("")
    except ValueError as error:  # pandas' own errors are such
        raise UserError(f"{path}: not CSV ({error}); {_AS_CSV}") from None
    return _table(path, cells, encoding, delimiter)


def _table(path: Path, cells: "pd.DataFrame", encoding: str, delimiter: str) -> Sheet:
    filled = cells.map(str.strip) != ""
    cells = cells.loc[filled.any(axis=1), filled.any()]
    if len(cells) < 2:
        raise UserError(
            f"{path}: holds no rows; write headings into the first row, and answers below"
        )
    answers = cells.iloc[1:].set_axis(cells.iloc[0], axis=1)
    return Sheet(path, answers.set_axis(answers.index + 1), encoding, delimiter)


def sheet_files(path: Path) -> list[Path]:
    """The file itself, or the CSV files of a folder by their names."""
    return sorted(path.glob("*.csv")) if path.is_dir() else [path]


def _read_folder(path: Path) -> Sheet:
    import pandas as pd

    sheets = [read_sheet(file) for file in sheet_files(path)]
    if not sheets:
        raise UserError(f"{path}: holds no CSV file")
    rows = [
        sheet.cells.set_axis(
            [f"{row} of {sheet.path.name}" for row in sheet.cells.index]
        )
        for sheet in sheets
    ]
    encodings = " and ".join(sorted({sheet.encoding for sheet in sheets}))
    return Sheet(path, pd.concat(rows).fillna(""), encodings, sheets[0].delimiter)


def write_sheet(
    path: Path, cells: "pd.DataFrame", delimiter: str, *, digits: int = 4
) -> None:
    """Write a CSV file that Excel opens (UTF-8 with a byte order mark), whole or not at all; each text by `as_text`."""
    safe = cells.map(as_text).rename(columns=as_text)
    write_whole(
        path,
        safe.to_csv(sep=delimiter, index=False, float_format=f"%.{digits}f").encode(
            "utf-8-sig"
        ),
    )


def as_text(cell: object) -> object:
    """A text as a spreadsheet shows it and does not run it: an apostrophe before what begins as a formula does.

    >>> as_text("=1+1"), as_text("-3.5"), as_text("-3+5"), as_text(-3.5)
    ("'=1+1", '-3.5', "'-3+5", -3.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def plain(heading: str) -> str:
    """A heading without case, width, spaces, underscores and hyphens, and what it says of itself behind: (半角).

    >>> plain("Participant_ID"), plain("学籍番号（半角）")
    ('participantid', '学籍番号')
    """
    return re.sub(
        r"[\s_\-]|(?<=\w)\s*\([^()]*\)$", "", nfkc(heading).strip().casefold()
    )


def decoded(path: Path, content: bytes, remedy: str = _AS_CSV) -> tuple[str, str]:
    """The text of a file, and the name of its encoding; UserError with the `remedy` where it has neither of the two."""
    problems = []
    for name, encoding in (("UTF-8", "utf-8-sig"), ("Shift_JIS", "cp932")):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            problems.append(
                f"line {content[: error.start].count(10) + 1} is not {name}"
            )
            continue
        # Shift_JIS takes almost any bytes: of UTF-8 it makes kanji that nobody wrote.
        if "\x1b$" in text:
            problems.append("it is of an encoding with escapes, such as JIS")
            break
        if name == "UTF-8" or not (line := _line_in_utf8(content)):
            return text, name
        problems.append(f"line {line} is")
    raise UserError(f"{path}: {' and '.join(problems)}; {remedy}")


def _line_in_utf8(content: bytes) -> int | None:
    """The first line that is Japanese in UTF-8, from 1."""
    for number, line in enumerate(content.split(b"\n"), 1):
        with suppress(UnicodeDecodeError):
            if _JAPANESE.search(line.decode()):
                return number
    return None
