"""What `sozo frontier` does: both frontiers of a list of nouns under an encoder, as a page and as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sozo.data.errors import UserError
from sozo.data.markdown import number, table
from sozo.data.progress import responses_bar
from sozo.data.record import read_json, write_json, write_whole
from sozo.data.run_folder import RunFolder
from sozo.data.settings import deciding, setting
from sozo.eval.terminal import PageRun, print_page
from sozo.models.nouns import read_nouns
from sozo.tasks import Dat

VALUES, PAGE = "frontier.json", "frontier.md"
NAMES = {"free": "lists that are as random as they can be", "independent": "words that do not look at one another"}
Curves = dict[str, list[tuple[float, float]]]  # name -> (unique words, mean) by growing strength
_ABOUT = """\
Lists of ten of {nouns:,} nouns, {lists:,} of them for every row; distance by {embedding_model}. *Free lists* have the
greatest entropy that lists can have at their mean (p(list) ~ exp(strength x score)); *independent words* the greatest
when words do not look at one another. A model's mean stands to be compared with the row of as many unique words, at as
many valid responses. Neither is a bound: unique words can be more where every word is used alike.
"""


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    """Which frontiers, how exactly."""

    nouns: str | None = setting(None, "Nouns from this file, one per line, or those of tiny (default: JumanDIC's).")
    embedding_model: str | None = setting(None, "The encoder (default: the packaged one).")
    lists: int = setting(2048, "Lists in a row: unique words grow with them, so give the number of a model's.")
    seed: int = setting(0, "Seed.")


def frontier(
    output: Annotated[Path, typer.Option(help="Folder; the same command again continues where it stopped.")],
    options: FrontierOptions,
    strengths: Annotated[list[float] | None, typer.Option(help="One row each (default: as suits the encoder).")] = None,
) -> None:
    """How far lists can be with so many words (DAT): curves to compare a model's mean and unique words with."""
    print_page(frontier_curves(output, options, strengths))


def frontier_curves(output: Path, options: FrontierOptions, strengths: Sequence[float] | None = None) -> PageRun:
    """Both frontiers at `strengths` (default: as suits the encoder); free lists end where two starts no longer agree.

    `output` gets `frontier.md`, `frontier.json`, and each row the moment it is there.
    """
    if options.lists < 2 or options.seed < 0 or not all(0 <= s < float("inf") for s in strengths or ()):
        raise UserError("the frontier needs 2 lists or more, a seed of 0 or more, and strengths of 0 or more")
    folder = RunFolder(output, {"task": "frontier", **deciding(options), "strengths": strengths and list(strengths)})
    if folder.metrics() is not None and all((output / name).is_file() for name in (VALUES, PAGE)):
        return PageRun(output, (output / PAGE).read_text("utf-8"), (VALUES, PAGE), True)
    frontier = Dat().frontier(read_nouns(options.nouns), options.embedding_model)
    wanted = sorted({float(strength) for strength in strengths or frontier.strengths()})
    folder.start(frontier.describe(), {})
    rows: list[dict[str, Any]] = []
    with responses_bar("frontier", len(wanted)) as advance:
        for strength in wanted:
            path = output / "rows" / f"{strength:g}.json"
            if not path.is_file():
                path.parent.mkdir(exist_ok=True)
                free = not rows or rows[-1]["free"] is not None
                write_json(path, asdict(frontier.point(strength, options.lists, options.seed, free=free)))
            rows.append(read_json(path))
            advance(1, None)
    facts = {**frontier.describe(), "lists": options.lists, "seed": options.seed}
    page = f"# The frontier\n\n{_ABOUT.format(**facts)}\n{_table(rows)}\n{_end(rows)}"
    write_json(output / VALUES, {**facts, "rows": rows})
    write_whole(output / PAGE, page.encode())
    folder.finish({"rows": len(rows)})
    return PageRun(output, page, (VALUES, PAGE), False)


def read_curves(values: Mapping[str, Any]) -> Curves:
    """Both curves of a `frontier.json`."""
    return {
        name: [(row[kind]["unique_words"], row[kind]["mean"]) for row in values["rows"] if row[kind]]
        for kind, name in NAMES.items()
    }


def curves_beside(runs: Iterable[Path], lists: int, encoder: str | None) -> Curves:
    """The frontiers of so many lists by this encoder in a folder beside one of the runs, or one higher; else none."""
    places = dict.fromkeys(place for run in runs for place in (run.parent, run.parent.parent))
    for path in (path for place in places for path in sorted(place.glob(f"*/{VALUES}"))):
        values = read_json(path)
        if (values.get("lists"), values.get("embedding_model")) == (lists, encoder):
            return read_curves(values)
    return {}


def _table(rows: Sequence[dict[str, Any]]) -> str:
    names = ("mean", "unique words", "perplexity")
    headings = ["Strength", *(f"{kind}: {name}" for kind in ("Free lists", "Independent words") for name in names)]
    return table([*headings, "Starts differ by"], [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    cells = [f"{row['strength']:g}"]
    for kind in ("free", "independent"):
        at = row[kind]
        counts = [f"{at[name]:,.0f}" for name in ("unique_words", "perplexity")] if at else ["–", "–"]
        cells += [number(at and at["mean"], 4), *counts]
    differ = row["starts_differ"]
    return [*cells, "–" if differ is None else f"{differ:+.5f} in {row['sweeps']} sweeps"]


def _end(rows: Sequence[dict[str, Any]]) -> str:
    part = next((f"{row['strength']:g}" for row in rows if row["free"] is None), None)
    if part is None:
        return "Lists begun at random and lists begun too far apart agree within 0.0005 in every row.\n"
    return f"Free lists end before strength {part}, where two starts do not agree within 0.0005.\n"
