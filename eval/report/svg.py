"""Matplotlib figures as inline SVG whose colours and fonts come from the page's CSS: text stays text."""

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

SERIES = 10  # colours
# Stand-ins that matplotlib writes into the SVG, exchanged for CSS colours afterwards: it knows no CSS variables itself.
TEXT, GRID, BASELINE = "#010101", "#020202", "#030303"
_TIP = "tip: "
_CSS = {TEXT: "var(--muted)", GRID: "var(--line)", BASELINE: "var(--baseline)"}
_JAPANESE_FONTS = (
    "Hiragino Sans",
    "Yu Gothic",
    "Meiryo",
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "IPAexGothic",
    "IPAGothic",
    "TakaoGothic",
    "Droid Sans Fallback",
)
_STYLE: Any = {
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), TEXT
    ),
    **dict.fromkeys(
        ("axes.edgecolor", "grid.color", "xtick.color", "ytick.color"), GRID
    ),
    **dict.fromkeys(
        ("axes.spines.top", "axes.spines.right", "axes.spines.left", "text.parse_math"),
        False,
    ),
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "ytick.major.size": 0,
    "svg.fonttype": "none",
    "font.size": 11,
}


def picture(
    draw: Callable[..., None], size: tuple[float, float], kind: str, columns: int = 1
) -> tuple[bytes, bool]:
    """The file (`svg` or `png`, for print) of what `draw` draws on axes, and whether its fonts have all letters.

    The stand-ins of colours are as good as black; shapes tell series apart.
    """
    # Each letter is taken from the first of these that has it.
    fonts = ["sans-serif", *_japanese_fonts()]
    style = {"axes.grid": False, "axes.spines.left": True, "font.family": fonts}
    with warnings.catch_warnings(record=True) as lacking:
        warnings.simplefilter("always")
        file = _saved(draw, size, kind, columns, style, dpi=300)
    return file, not any("Glyph" in str(each.message) for each in lacking)


def _saved(
    draw: Callable[..., None],
    size: tuple[float, float],
    kind: str,
    columns: int,
    style: Any,
    **options: Any,
) -> bytes:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**_STYLE, "svg.hashsalt": "figure", **style}):
        figure = Figure(figsize=size, layout="constrained")
        draw(*figure.subplots(1, columns, squeeze=False)[0])
        file, dated = io.BytesIO(), {"Date": None} if kind == "svg" else {}
        figure.savefig(file, format=kind, metadata=dated, **options)
    return file.getvalue()


def _japanese_fonts() -> list[str]:
    from matplotlib.font_manager import fontManager

    known = set(fontManager.get_font_names())
    return [font for font in _JAPANESE_FONTS if font in known]


def series(index: int) -> str:
    """Stand-in of the page's `--series-N`, which has ten."""
    return f"#0400{index % SERIES:02d}"


def tip(text: str) -> str:
    """The `gid` of what says this to whoever points at it."""
    return _TIP + text


def svg(
    draw: Callable[..., None],
    size: tuple[float, float],
    salt: str,
    label: str,
    columns: int = 1,
) -> str:
    """What `draw` draws on axes, as an SVG element; `salt` tells a page's charts apart, `label` is read aloud.

    It gets as many axes as there are `columns`.
    """
    # The salt keeps element ids of one chart apart from those of the next on the same page, and the page reproducible.
    with warnings.catch_warnings():
        # Text stays text: the browser has the letters.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        style = {"svg.hashsalt": salt}
        file = _saved(draw, size, "svg", columns, style, transparent=True)
    text = re.sub(r"<metadata>.*?</metadata>", "", file.decode(), flags=re.DOTALL)
    text = re.sub(rf'<g id="{_TIP}([^"]*)">', r"<g><title>\1</title>", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"#0400(\d\d)", r"var(--series-\1)", text)
    for stand_in, colour in _CSS.items():
        text = text.replace(stand_in, colour)
    # Without a fixed size the drawing is as wide as its place on the page.
    opening, content = text.split("<svg", 1)[1].split(">", 1)
    opening = re.sub(r' (?:width|height|version)="[^"]*"', "", opening)
    return f'<svg role="img" aria-label="{html.escape(label)}"{opening}>{content}'
