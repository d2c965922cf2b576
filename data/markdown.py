"""Pages in Markdown that read as well in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*\[\]<>|])")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its columns padded, so that it reads as a table in a terminal too.

    Args:
        headings: Of the columns.
        rows: As many cells each; names that came from outside go through `plain` first.

    >>> print(table(["Model", "r"], [["桃", "0.8"]]), end="")
    | Model | r   |
    |-------|-----|
    | 桃    | 0.8 |
    """
    from rich.cells import cell_len  # kanji are two columns wide

    grid = [list(headings), *map(list, rows)]
    widths = [max(cell_len(cells[i]) for cells in grid) for i in range(len(headings))]
    lines = [
        " | ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
        for cells in grid
    ]
    lines.insert(1, "-|-".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" if i != 1 else f"|-{line}-|" for i, line in enumerate(lines)) + "\n"


def plain(text: str) -> str:
    """A name that came from outside, on one line and without a meaning in Markdown or to a terminal.

    >>> print(plain("a|b\\n<img>"))
    a\\|b \\<img\\>
    """
    line = "".join(character if character.isprintable() else " " for character in text)
    return _SPECIAL.sub(r"\\\1", line)
