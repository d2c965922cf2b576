"""What `sozo encoders` does and writes: tables in Markdown for people, JSON for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sozo.data.published import load_text
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.embeddings.derived import NUM_LISTS
from sozo.scoring.embeddings.prompts import PAPER
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.table import Cell
from sozo.studies.encoders.measures import PAIRS, Measured, measure_encoders
from sozo.studies.pages import PageFolder, PageRow, PageRun, page_table, print_page

_AUC, _SCORE, _R = Measure("auc", 3), Measure("score", 4), Measure("r", 2)
_ABOUT = """\
Over the {nouns:,} of {of:,} nouns that all these encoders have a vector for. *Distinct vectors*: nouns whose vector no
other noun has; those that share one are at distance 0. *Same category* and *same domain* are AUCs over {pairs:,} random
pairs of nouns that people sorted (JumanDIC): how well nearness tells those that share one; 0.5 is chance. *Mean* and
*sd* are of the DAT scores of {lists:,} random lists, *common direction* the share of these scores' variance that lies
along the encoder's mean vector: it is about single words, not about pairs.
"""
_PAPERS = """\
The paper's random lists, by {encoder}: mean {score}, sd {std} (Table 11). It does not say with which prompt; the row
that has these numbers is set up as the paper's.
"""


def encoders(
    output: Annotated[Path, typer.Option(help="Folder of this comparison.")],
    names: Annotated[
        list[str], typer.Argument(metavar="ENCODER", help="As in --embedding-model.")
    ],
    embedding_cache: Annotated[
        Path | None, typer.Option(help="Folder of a disk cache of their vectors.")
    ] = None,
    nouns: Annotated[
        str | None,
        typer.Option(help="`tiny`, or a file with one noun per line; else JumanDIC's."),
    ] = None,
    num_lists: Annotated[
        int, typer.Option(min=100, help="Random lists of ten nouns.")
    ] = NUM_LISTS,
    seed: Annotated[int, typer.Option(min=0, help="Of lists and pairs.")] = 0,
) -> None:
    """Which encoder deserves to be a reward.

    What each sees of what people see, how far they agree, and what is only a common direction.
    """
    print_page(
        compare_encoders(
            names,
            output,
            nouns=nouns,
            cache=embedding_cache,
            lists=num_lists,
            seed=seed,
        )
    )


def compare_encoders(
    names: Sequence[str],
    output: Path,
    *,
    nouns: str | None = None,
    cache: Path | None,
    lists: int,
    seed: int,
) -> PageRun:
    """Measure encoders (names as in `make_encoder`) and write `encoders.md` and `metrics.json`, numbers unrounded."""
    names = list(dict.fromkeys(names))
    settings = {
        "task": "encoders",
        "encoders": names,
        "nouns": nouns,
        "lists": lists,
        "pairs": PAIRS,
        "seed": seed,
    }
    folder = PageFolder(output, settings, "encoders")
    if done := folder.metrics():  # encoding takes minutes
        page = (folder.path / folder.page).read_text("utf-8")
        return PageRun(folder.path, page, tuple(done["files"]))
    encoders = [make_encoder(name, cache=cache) for name in names]
    folder.start(
        {"revisions": {encoder.name: encoder.revision for encoder in encoders}}, {}
    )
    measured, counts = measure_encoders(encoders, read_nouns(nouns), cache, lists, seed)
    parts = [
        "# Encoders\n",
        _ABOUT.format(**counts),
        page_table([_row(encoder) for encoder in measured]),
    ]
    if any(PAPER in name for name in names):
        parts.append(_PAPERS.format(encoder=PAPER, **load_text("dat_training")[0]))
    if len(measured) > 1:
        parts += ["## Pearson's r of their scores of the same random lists\n"]
        parts.append(page_table([_correlations(encoder) for encoder in measured]))
    return folder.publish(
        "\n".join(parts),
        {**counts, "encoders": [asdict(encoder) for encoder in measured]},
    )


def _row(encoder: Measured) -> PageRow:
    return {
        "Encoder": encoder.name,
        "Nouns": encoder.nouns,
        "Distinct vectors": encoder.distinct,
        "Same category": Cell(encoder.same_category, _AUC),
        "Same domain": Cell(encoder.same_domain, _AUC),
        "Mean": Cell(encoder.mean, _SCORE),
        "Sd": Cell(encoder.std, _SCORE),
        "Common direction": Cell(encoder.common_direction, SHARE),
    }


def _correlations(encoder: Measured) -> PageRow:
    return {
        "Encoder": encoder.name,
        **{name: Cell(r, _R) for name, r in encoder.r.items()},
    }
