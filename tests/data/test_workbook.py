"""Excel files: what their cells say as text, which sheet is read, and what of a workbook is refused before it is read."""

import io
import zipfile

import pytest

from sentences import refused
from sozo.data.foreign import MOST_SHARED
from sozo.data.sheet import read_sheet
from sozo.data.workbook import read_workbook
from workbooks import cell, workbook

pytest.importorskip("python_calamine")
HEADS = [cell("A1", "ID"), cell("B1", "word")]
ODD = [
    cell("A3", "<v>7</v>", ""),
    cell("B3", "<v>45659</v>", 's="1"'),
    cell("C3", "<f>-犬</f><v>#NAME?</v>", 't="e"'),
    cell("D3", "<f>1+1</f><v>2</v>", ""),
    cell("E3", "<v>0.5</v>", ""),
    cell("F3", "<v>1</v>", 't="b"'),
    cell("G3", "1.0"),
]


def test_cells_are_what_they_say_where_they_stand(tmp_path):
    path = workbook(tmp_path / "a.xlsx", 回答=[HEADS, ODD], 空=[])
    assert read_workbook(path) == [
        ["ID", "word", "", "", "", "", ""],
        [""] * 7,
        ["7", "2025-01-02", "#FORMULA", "2", "0.5", "True", "1.0"],
    ]
    sheet = read_sheet(path)
    assert (sheet.encoding, sheet.cells.index.tolist()) == ("Excel", [3])


def test_one_of_several_sheets_is_named(tmp_path):
    path = workbook(tmp_path / "a.xlsx", 前=[HEADS], 後=[[cell("A1", "x")]])
    for name in (None, "中"):
        with refused("workbook: several sheets"):
            read_workbook(path, name)
    assert read_workbook(path, "後") == [["x"]]


def test_what_is_no_workbook_is_refused_in_one_line(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK")
    with refused("workbook: no Excel file"):
        read_workbook(path)
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a.txt", "x")
    with refused("workbook: an archive of something else"):
        read_workbook(path)


def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", " " * (65 << 20))
    assert path.stat().st_size < 100_000
    with refused("workbook: unpacks to much"):
        read_workbook(path)
    # Two cells a sheet's length apart; columns without end; places that a reader would have to count.
    for row in (
        [cell("A1", "x"), cell("XFD1048576", "x")],
        [cell("ALM1", "x")],
        ["<c><v>1</v></c>"],
        ["<c " + 'r="A1" ' * 300_000],
    ):
        with refused("workbook: cells far apart"):
            read_workbook(workbook(path, 回答=[row]))
    # One long text that all cells share.
    cells = [cell(f"A{k}", "<v>0</v>", 't="s"') for k in range(1, 1001)]
    workbook(path, 回答=[cells])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        text = "x" * (MOST_SHARED // 1000 + 1)
        packed.writestr("xl/sharedStrings.xml", f"<sst><si><t>{text}</t></si></sst>")
    with refused("workbook: cells far apart"):
        read_workbook(path)


def test_what_is_read_is_what_was_checked(tmp_path):
    """A size that the archive understates is found before the reader unpacks what is there."""
    path = workbook(tmp_path / "a.xlsx", 回答=[HEADS])
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        size = packed.getinfo("xl/worksheets/sheet1.xml").file_size
    at = content.rindex(size.to_bytes(4, "little"))
    content[at : at + 4] = (10).to_bytes(4, "little")
    path.write_bytes(content)
    with refused("workbook: a size that is understated"):
        read_workbook(path)
