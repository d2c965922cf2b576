"""What was compared, as tables, and as sentences for a paper in English and in Japanese."""

from collections.abc import Callable, Mapping, Sequence

from sozo.scoring.numbers import p_value
from sozo.scoring.table import Cell, Table, tabulate
from sozo.suite.people.designs import Design, Row
from sozo.suite.people.lists import TEXTS

_FORMS = TEXTS["prose"]
_CALLED = {"ICC(2,1)": "icc"}
_TITLES = {"means": "Means", "retests": "Retest", "correlations": "Correlations"}
Both = tuple[str, str]  # in English and in Japanese


def design_tables(design: Design) -> list[Table]:
    """Those that have rows, each above how its numbers were made."""
    return [
        tabulate(_TITLES.get(kind, "Comparisons"), rows, [_made(kind, rows)[0]])
        for kind, rows in _kinds(design).items()
        if rows
    ]


def how_made(design: Design) -> list[Both]:
    """How the numbers of each table were made."""
    return [_made(kind, rows) for kind, rows in _kinds(design).items() if rows]


def prose(design: Design, alpha: Cell, japanese: Callable[[str], str]) -> list[Both]:
    """The numbers of each table; `japanese` says a reason in Japanese."""
    tables, page = _kinds(design), TEXTS["page"]
    if alpha.estimate.value is not None or design.retests:
        tables["alpha"] = [{"Alpha": alpha, "n": alpha.estimate.n}]
    return [
        (
            _told(kind, rows, 0, str),
            _told(kind, rows, 1, lambda text: page.get(text) or japanese(text)),
        )
        for kind, rows in tables.items()
        if rows
    ]


def _kinds(design: Design) -> dict[str, Sequence[Row]]:
    return {
        "means": design.means,
        design.test: design.differences,
        "retests": design.retests,
        "correlations": design.correlations,
    }


def _made(kind: str, rows: Sequence[Row]) -> Both:
    english, japanese = _FORMS[kind]["made"]
    if "p (Holm)" in rows[0]:
        corrected, corrected_japanese = (
            text.format(n=len(rows)) for text in TEXTS["holm"]
        )
        english, japanese = f"{english} {corrected}", japanese + corrected_japanese
    return english, japanese


def _told(
    kind: str, rows: Sequence[Row], tongue: int, said: Callable[[str], str]
) -> str:
    forms = {name: both[tongue] for name, both in _FORMS[kind].items()}
    facts = [_facts(row, said) for row in rows]
    told = [forms["none" if row["why"] else "row"].format(**row) for row in facts]
    return forms["lead"] + ("" if tongue else " ").join(told)


def _facts(row: Row, said: Callable[[str], str]) -> Mapping[str, str]:
    """What stands in a row, by its headings; `name` is the first one, or all before a mean; `why` it has no number."""
    cells = {
        _CALLED.get(heading, heading.lower()): content
        if isinstance(content, Cell)
        else Cell(content)
        for heading, content in row.items()
    }
    facts = {
        heading: f"{cell.text} {cell.interval}".strip()
        for heading, cell in cells.items()
    }
    p = cells.get("p (holm)", cells.get("p", Cell())).estimate.value
    facts["p"] = "" if p is None else p_value(p)
    whys = [why for cell in cells.values() for why in cell.below]
    coefficients = (cells[name].value for name in ("r", "alpha") if name in cells)
    whys += [text for text in coefficients if isinstance(text, str)]
    facts["why"] = said(whys[0]) if whys else ""
    names = list(facts)
    names = names[: names.index("mean")] if "mean" in names else names[:1]
    facts["name"] = " / ".join(facts[heading] for heading in names)
    facts["df"] = facts.get("df", "").removesuffix(".0")
    return facts
