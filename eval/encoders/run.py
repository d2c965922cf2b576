"""What `sozo encoders` does and writes: tables in Markdown for people, JSON for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sozo.data.markdown import number, plain, table
from sozo.data.record import write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.encoders.measured import PAIRS, Measured, measure_encoders
from sozo.eval.terminal import PageRun, print_page
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.embeddings.derived import NUM_LISTS

PAGE = "encoders.md"
_FILES = ("config.json", "metrics.json", PAGE)
_ABOUT = """\
Over the {nouns:,} of the random baseline's {of:,} nouns that all these encoders have a vector for. *Same category* and
*same domain* are AUCs over {pairs:,} random pairs of nouns that people sorted (JumanDIC): how well nearness tells those
that share one; 0.5 is chance. *Mean* and *sd* are of the DAT scores of {lists:,} random lists, *common direction* the
share of these scores' variance that lies along the encoder's mean vector: it is about single words, not about pairs.
"""


def encoders(
    output: Annotated[Path, typer.Option(help="Folder of this comparison.")],
    names: Annotated[list[str], typer.Argument(metavar="ENCODER", help="As in --embedding-model.")],
    embedding_cache: Annotated[Path | None, typer.Option(help="Folder of a disk cache of their vectors.")] = None,
    lists: Annotated[int, typer.Option(min=100, help="Random lists of ten nouns.")] = NUM_LISTS,
    seed: Annotated[int, typer.Option(min=0, help="Of lists and pairs.")] = 0,
) -> None:
    """Which encoder deserves to be a reward: what people see, agreement, what is only a common direction."""
    print_page(compare_encoders(names, output, cache=embedding_cache, lists=lists, seed=seed))


def compare_encoders(names: Sequence[str], output: Path, *, cache: Path | None, lists: int, seed: int) -> PageRun:
    """Measure encoders (names as in `make_encoder`) and write `encoders.md` and `metrics.json`, numbers unrounded."""
    names = list(dict.fromkeys(names))
    folder = RunFolder(output, {"task": "encoders", "encoders": names, "lists": lists, "pairs": PAIRS, "seed": seed})
    if folder.metrics() is not None and (output / PAGE).is_file():
        return PageRun(output, (output / PAGE).read_text("utf-8"), _FILES, True)
    made = [make_encoder(name, cache=cache) for name in names]
    folder.start({"revisions": {encoder.name: encoder.revision for encoder in made}}, {})
    measured, counts = measure_encoders(made, cache, lists, seed)
    page = to_markdown(measured, counts)
    write_whole(output / PAGE, page.encode())
    folder.finish({**counts, "encoders": [asdict(one) for one in measured]})
    return PageRun(output, page, _FILES, False)


def to_markdown(measured: Sequence[Measured], counts: dict[str, int]) -> str:
    """The encoders' numbers, and how far their scores of random lists agree."""
    headings = ("Encoder", "Nouns", "Same category", "Same domain", "Mean", "Sd", "Common direction")
    rows = [
        [
            *(plain(one.name), f"{one.nouns:,}", number(one.same_category), number(one.same_domain)),
            *(number(one.mean, 4), number(one.std, 4), f"{one.common_direction:.1%}"),
        ]
        for one in measured
    ]
    parts = ["# Encoders\n", _ABOUT.format(**counts), table(headings, rows)]
    if len(measured) > 1:
        agreeing = [[plain(one.name), *(number(r, 2) for r in one.r.values())] for one in measured]
        parts += ["## Pearson's r of their scores of the same random lists\n"]
        parts += [table(("", *(plain(one.name) for one in measured)), agreeing)]
    return "\n".join(parts)
