"""What `sozo frontier` does: the frontier of a list of nouns under an encoder, as a page and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sozo.data.errors import UserError
from sozo.data.progress import answers_bar
from sozo.data.record import read_json, write_json
from sozo.data.settings import deciding, setting
from sozo.eval.frontier import VALUES
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import PROMPT_HELP
from sozo.scoring.embeddings.derived import random_lists
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import DIFFERENCE, Measure
from sozo.scoring.parse import NUM_WORDS
from sozo.scoring.table import Cell
from sozo.studies.pages import PageFolder, PageRow, PageRun, page_table, print_page
from sozo.tasks import Dat
from sozo.tasks.dat.frontier import free_lists, independent_words

AGREE = 0.0005  # two starts of one point, in mean score
_TABLES, _MOST_SWEEPS = 5, 40  # of a point
_ABOUT = """\
Each row is {lists:,} lists of ten of {nouns:,} nouns; distance by {embedding_model}. *Free lists* have the greatest
entropy that lists can have at their mean (p(list) ~ exp(strength x score)). Compare a model's mean with the row that
has as many different words, in as many usable answers. The curve does not limit different words: lists that use all words
equally often can have more at the same mean.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where tables of so many lists are on average: every number is of one table."""

    mean: float  # DAT score, 0 to 2
    different_words: float
    perplexity: float  # plug-in: exp of the entropy of the words' shares in the table


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """The frontier at one strength."""

    strength: float
    lists: int  # in a table
    free: (
        Place | None
    )  # None if two starts did not agree: then nobody knows where it is
    starts_differ: float  # mean score of lists begun too far apart less that of lists begun at random
    sweeps: int  # redraws of every word until the starts agreed


def _place(unit: np.ndarray, tables: list[np.ndarray]) -> Place:
    counts = [np.unique(table, return_counts=True)[1] for table in tables]
    entropies = [
        -float(share @ np.log(share))
        for share in (count / count.sum() for count in counts)
    ]
    means = [
        float(mean_pairwise_distance(unit, table).mean(dtype=np.float64))
        for table in tables
    ]
    different, perplexity = (
        np.mean([len(count) for count in counts]),
        np.mean(np.exp(entropies)),
    )
    return Place(float(np.mean(means)), float(different), float(perplexity))


def suited_strengths(unit: np.ndarray) -> list[float]:
    """What suits the encoder: multiples of 1 over the standard deviation of random lists' scores, up to 64."""
    lists = random_lists(len(unit), 4096, np.random.default_rng(0))
    deviation = float(mean_pairwise_distance(unit, lists).std(dtype=np.float64))
    return [float(f"{times / deviation:.2g}") for times in (0, 1, 2, 4, 8, 16, 32, 64)]


def frontier_point(
    unit: np.ndarray, strength: float, lists: int, seed: int
) -> FrontierPoint:
    """The frontier at this strength, in tables of so many `lists`.

    Half of the free lists begin at random, half too far apart and with few words: those that four times the
    strength makes likely. In between lies what they draw near to; they are there when their means agree.
    """
    rng = np.random.default_rng(seed)
    half = lists // 2
    likely = np.argsort(-independent_words(unit, 4 * strength))[
        : max(2 * NUM_WORDS, len(unit) // 16)
    ]
    far = likely[free_lists(unit[likely], 4 * strength, half, rng)]
    begun = np.concatenate([far, random_lists(len(unit), lists - half, rng)])
    sweeps, differ = 0, np.inf
    while abs(differ) > AGREE and sweeps < _MOST_SWEEPS:
        tables = []
        for _ in range(
            _TABLES
        ):  # rows keep their places, so that both halves stay apart
            begun = free_lists(unit, strength, lists, rng, start=begun, sweeps=2)
            tables.append(begun)
        scores = mean_pairwise_distance(unit, np.concatenate(tables)).reshape(
            _TABLES, lists
        )
        differ, sweeps = (
            float(scores[:, :half].mean() - scores[:, half:].mean()),
            sweeps + 2 * _TABLES,
        )
    place = _place(unit, tables) if abs(differ) <= AGREE else None
    return FrontierPoint(strength, lists, place, differ, sweeps)


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    """Which frontier, how exactly."""

    nouns: str | None = setting(
        None,
        "Nouns from this file, one per line, or those of tiny (default: the dictionary's).",
    )
    language: str = setting("ja", "ja or en: the language of the nouns.")
    embedding_model: str | None = setting(
        None, "The encoder (default: the packaged one)."
    )
    embedding_prompt: str | None = setting(None, PROMPT_HELP)
    num_lists: int = setting(
        2048,
        "Lists in a row: different words grow with them, so give the number of a model's.",
    )
    seed: int = setting(0, "Seed.")


def frontier(
    output: Annotated[
        Path,
        typer.Option(help="Folder; the same command again continues where it stopped."),
    ],
    options: FrontierOptions,
    strengths: Annotated[
        list[float] | None,
        typer.Option(help="One row each (default: as suits the encoder)."),
    ] = None,
) -> None:
    """How far apart lists of so many words can be (DAT).

    A model's mean and different words are compared with the curve.
    """
    print_page(frontier_curves(output, options, strengths))


def frontier_curves(
    output: Path, options: FrontierOptions, strengths: Sequence[float] | None = None
) -> PageRun:
    """The frontier at `strengths` (default: as suits the encoder); it ends where two starts no longer agree.

    `output` gets `frontier.md`, `frontier.json`, and each row the moment it is there.
    """
    if (
        options.num_lists < 2
        or options.seed < 0
        or not all(0 <= s < float("inf") for s in strengths or ())
    ):
        raise UserError(
            "the frontier needs 2 lists or more, a seed of 0 or more, and strengths of 0 or more"
        )
    settings = {
        "task": "frontier",
        **deciding(options),
        "strengths": strengths and list(strengths),
    }
    folder = PageFolder(output, settings, "frontier", [VALUES])
    if finished := folder.finished():
        return finished
    encoder, prompt = options.embedding_model or "auto", options.embedding_prompt
    task = Dat(
        Dat.Settings(
            language=options.language, embedding_model=encoder, embedding_prompt=prompt
        )
    )
    frontier = task.frontier(read_nouns(options.nouns, options.language))
    wanted = sorted(
        {float(strength) for strength in strengths or suited_strengths(frontier.unit)}
    )
    folder.start(frontier.describe(), {})
    rows: list[dict[str, Any]] = []
    with answers_bar("frontier", len(wanted)) as advance:
        for strength in wanted:
            path = output / "rows" / f"{strength:g}.json"
            if not path.is_file():
                write_json(
                    path,
                    asdict(
                        frontier_point(
                            frontier.unit, strength, options.num_lists, options.seed
                        )
                    ),
                )
            rows.append(read_json(path))
            advance(1, None)
            if rows[-1]["free"] is None:  # nor will there be any at a greater strength
                break
    named = [f"{name}.\n"] if (name := task.describe().get("score_name")) else []
    facts = {**frontier.describe(), "lists": options.num_lists, "seed": options.seed}
    folder.add(VALUES, {**facts, "rows": rows})
    parts = [
        "# The frontier\n",
        _ABOUT.format(**facts),
        page_table([_row(row) for row in rows]),
        *named,
        _end(rows),
    ]
    return folder.publish("\n".join(parts), {"rows": len(rows)})


def _row(row: dict[str, Any]) -> PageRow:
    point = row["free"] or {}
    return {
        "Strength": f"{row['strength']:g}",
        "Mean": Cell(point.get("mean"), Measure("mean", 4)),
        "Different words": Cell(point.get("different_words")),
        "Perplexity": Cell(point.get("perplexity")),
        "Starts differ by": Cell(
            row["starts_differ"],
            Measure("difference", 5),
            DIFFERENCE,
            below=(f"{row['sweeps']} sweeps",),
        ),
    }


def _end(rows: Sequence[dict[str, Any]]) -> str:
    part = next((f"{row['strength']:g}" for row in rows if row["free"] is None), None)
    if part is None:
        return "Lists begun at random and lists begun too far apart agree within 0.0005 in every row.\n"
    return f"Free lists end before strength {part}, where two starts do not agree within 0.0005.\n"
