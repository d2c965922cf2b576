"""A table that a person made in a spreadsheet, as CSV: read as it was saved, and written so that no formula runs."""

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.contents import contents, refuse_other
from sozo.data.errors import UserError, require
from sozo.data.foreign import IGNORABLE, MOST_COLUMNS, brief, nfkc
from sozo.data.record import write_whole
from sozo.data.workbook import read_workbook

if TYPE_CHECKING:
    import pandas as pd

_EXCEL = (".xlsx", ".xlsm")
_AS_CSV = "save it in Excel as “CSV UTF-8 (*.csv)” and give that file"
_SEP = re.compile('\\s*"?sep=(.)"?[,;\\s]*?(?:\r\n|\n|\r)', re.IGNORECASE)
# What begins a formula in a spreadsheet, in a Japanese one full-width too; a plain number is none.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠](?<![+\-](?=[0-9]+([.,][0-9]+)?\Z))")
_JAPANESE = re.compile("[ぁ-んァ-ヶ一-龥]")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,3})([^0-9]*)", re.DOTALL)
_SHOWN = 20  # headings in a message
_EXPLAINS = ('{"ImportId":', "Open-Ended Response")
# What no reader sees at a word's ends; within an emoji it has a meaning.
_UNSEEN = re.compile(
    rf"(?<![\w☀-➿🌀-🫿\ufe0f\u200d\U000e0020-\U000e007f]){IGNORABLE.pattern}++|(?<=\w){IGNORABLE.pattern}++(?!\w)"
)
# What runs on a terminal or ends a text: control characters but tab and ends of lines.
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LOST = re.compile("[\x80-\x9f\ufffd]")  # letters of which no encoding is left
_MISREAD = ("latin-1", "cp1252", "cp932")  # as which UTF-8 is read by mistake
_MOST_LOOKED_AT = 100_000  # characters, to see whether they are mojibake


@dataclass(frozen=True, slots=True)
class Sheet:
    """Cells as they were written, under their headings; the index is a spreadsheet's number of the row, from 2."""

    path: Path
    cells: "pd.DataFrame"
    encoding: str
    delimiter: str
    texts: Sequence[str] = ()  # what a row below the headings says of each
    # Why a row is no answer, and why a file of a folder is not read, by what it is called.
    aside: Mapping[Any, str] = field(default_factory=dict)
    trimmed: int = 0  # cells in which invisible characters stood at a word's ends

    def columns(self, *patterns: str) -> list[Any]:
        """The cells below each heading that holds a pattern, the first pattern's first (stripped).

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
        return [self.cells.iloc[:, k].str.strip() for k in found]

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
        """Without the rows that are headings."""
        cells = self.cells.drop(index=list(self.aside), errors="ignore")
        return replace(self, cells=cells)

    def wrong(self, what: str, row: int | None = None) -> UserError:
        """What is wrong, of the sheet or of a row, and which columns there are."""
        headings = [brief(heading) for heading in self.cells.columns if heading]
        there = ", ".join(headings[:_SHOWN]) + ", ..." * (len(headings) > _SHOWN)
        where = self.path if row is None else f"{self.path}, row {row}"
        return UserError(f"{where}: {what}; the columns are: {there}")


def read_sheet(path: Path, name: str | None = None, header_rows: int = 1) -> Sheet:
    """The table of a CSV or Excel file without empty rows and columns; its first `header_rows` hold the headings.

    `name` is the sheet of a workbook, if several have cells. CSV is read strictly as UTF-8, else as Shift_JIS (CP932).
    The delimiter is that of a leading line `sep=;`, else whichever of comma, semicolon and tab the headings have most
    of. UserError for what is no such table.

    Rows below are headings, too, that repeat them, or explain them by the signs of Qualtrics and SurveyMonkey. Of a
    folder all CSV files are one table; a row is then called "2 of its-file.csv".
    """
    require("pandas", "a spreadsheet")
    import pandas as pd

    if path.is_dir():
        return _read_folder(path, header_rows)
    if not path.is_file():
        raise UserError(
            f"{path}: {'not a file' if path.exists() else 'no such file'}; give a CSV or Excel file"
        )
    if path.suffix.lower() in _EXCEL:
        cells = pd.DataFrame(read_workbook(path, name))
        return _table(path, cells, "Excel", ",", header_rows)
    text, encoding = decoded(path, path.read_bytes())
    text = text.replace("\ufeff", "")  # which stands where files were joined by hand
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
    return _table(path, cells, encoding, delimiter, header_rows)


def _table(
    path: Path,
    cells: "pd.DataFrame",
    encoding: str,
    delimiter: str,
    header_rows: int,
) -> Sheet:
    written, cells = cells, cells.map(lambda cell: _UNSEEN.sub("", cell))
    trimmed = int((written != cells).to_numpy().sum())
    filled = cells.map(str.strip) != ""
    cells = cells.loc[filled.any(axis=1), filled.any()]
    if len(cells) < 2:
        raise UserError(
            f"{path}: holds no rows; write headings into the first row, and answers below"
        )
    rows = cells.to_numpy().tolist()
    if _is_mojibake(cells.to_csv()[:_MOST_LOOKED_AT]):
        raise UserError(
            f"{path}: is mojibake, letters read by a wrong encoding; save it anew as UTF-8 from where it came"
        )
    answers = cells.iloc[1:].set_axis(_names(rows[: max(header_rows, 1)]), axis=1)
    answers = answers.set_axis(answers.index + 1)
    for k, row in enumerate(rows[1:3], 2):
        if all(not cell or cell.startswith(_EXPLAINS) for cell in row):
            header_rows = max(header_rows, k)
    heads = rows[:header_rows]
    aside = {
        answers.index[k]: "explains the headings"
        if k + 1 < header_rows
        else "repeats a heading"
        for k, row in enumerate(rows[1:])
        if row in heads
    }
    # SurveyMonkey says Response of any question.
    below = rows[1] if header_rows > 1 else ()
    texts = [cell.removesuffix("Response") for cell in below]
    return Sheet(path, answers, encoding, delimiter, texts, aside, trimmed)


def _names(heads: Sequence[Sequence[str]]) -> Sequence[str]:
    """What columns are called: as in the first row; where a heading spans several columns, as in the second one."""
    first, *below = heads
    if not below:
        return first
    spans = [
        not one or not after
        for one, after in zip(first, [*first[1:], "-"], strict=True)
    ]
    return [
        (spanned and second) or one
        for one, second, spanned in zip(first, below[0], spans, strict=True)
    ]


def _is_mojibake(text: str) -> bool:
    """Whether letters are Japanese once more as the bytes that they were read from, or were lost.

    In mojibake these are 12% and more of what is not ASCII, in lists of nouns 7% at most.
    """
    again = [
        _JAPANESE.findall(text.encode(misread, "ignore").decode(errors="ignore"))
        for misread in _MISREAD
    ]
    odd = len(text) - len(text.encode("ascii", "ignore"))
    return max(map(len, again)) + len(_LOST.findall(text)) > max(9, odd / 10)


def sheet_files(path: Path) -> tuple[list[Path], dict[Any, str]]:
    """The file itself, or the CSV files of a folder by their names; and why others of the folder are not read.

    Of files with equal bytes the one of the shortest name is read.
    """
    if not path.is_dir():
        return [path], {}
    files: dict[bytes, Path] = {}
    aside: dict[Any, str] = {}
    for file in sorted(path.iterdir(), key=lambda file: (len(file.name), file.name)):
        if file.name.startswith((".", "~$")):
            aside[file.name] = "hidden"
        elif not file.is_file() or file.suffix.lower() != ".csv":
            aside[file.name] = "no CSV file"
        elif (first := files.setdefault(contents(file), file)) != file:
            aside[file.name] = f"equal to {first.name}"
    return sorted(files.values()), aside


def _read_folder(path: Path, header_rows: int) -> Sheet:
    import pandas as pd

    files, aside = sheet_files(path)
    sheets = [read_sheet(file, None, header_rows) for file in files]
    if not sheets:
        raise UserError(f"{path}: holds no CSV file")
    rows, texts = [], dict[str, str]()
    for sheet in sheets:
        called = {row: f"{row} of {sheet.path.name}" for row in sheet.cells.index}
        rows.append(sheet.cells.rename(index=called))
        aside |= {called[row]: why for row, why in sheet.aside.items()}
        texts |= dict(zip(sheet.cells, sheet.texts, strict=False))
    try:
        cells = pd.concat(rows).fillna("")
    except pd.errors.InvalidIndexError:
        (twice, *_) = (one for one in sheets if one.cells.columns.has_duplicates)
        raise twice.wrong("has two columns of one name; rename one of them") from None
    encodings = " and ".join(sorted({sheet.encoding for sheet in sheets}))
    explained = [texts.get(name, "") for name in cells] if texts else ()
    trimmed = sum(sheet.trimmed for sheet in sheets)
    delimiter = sheets[0].delimiter
    return Sheet(path, cells, encodings, delimiter, explained, aside, trimmed)


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

    A space stands for each control character, such as NUL, but for tabs and ends of lines.

    >>> as_text("=1+1"), as_text("-3.5"), as_text("-3+5"), as_text(-3.5), as_text("\\x1b[1m")
    ("'=1+1", '-3.5', "'-3+5", -3.5, ' [1m')
    """
    if not isinstance(cell, str):
        return cell
    cell = _CONTROL.sub(" ", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell


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
    refuse_other(path, content)
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
