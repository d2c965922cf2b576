"""Pages in Markdown that read as well in a terminal."""

import re
from collections.abc import Iterable, Sequence

from sozo.data.foreign import printable

_SPECIAL = re.compile(r"([\\`*\[\]<>|])")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its columns padded; names that came from outside go through `plain` first.

    >>> print(table(["Model", "r"], [["桃", "0.8"]]), end="")
    | Model | r   |
    |-------|-----|
    | 桃    | 0.8 |
    """
    from rich.cells import cell_len  # kanji are two columns wide

    grid = [list(headings), *map(list, rows)]
    widths = [max(cell_len(cells[i]) for cells in grid) for i in range(len(headings))]
    lines = []
    for cells in grid:
        padded = [
            cell + " " * (width - cell_len(cell))
            for cell, width in zip(cells, widths, strict=True)
        ]
        lines.append(f"| {' | '.join(padded)} |")
    lines.insert(1, f"|-{'-|-'.join('-' * width for width in widths)}-|")
    return "\n".join(lines) + "\n"


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines) + "\n"


def plain(text: str) -> str:
    """A name that came from outside, on one line and without a meaning in Markdown or to a terminal.

    >>> print(plain("a|b\\n<img>"))
    a\\|b \\<img\\>
    """
    return _SPECIAL.sub(r"\\\1", printable(text))
