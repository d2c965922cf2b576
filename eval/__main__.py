"""The command line of the benchmarks: `python -m eval dat --responses FILE --output DIR`.

Whatever a user can get wrong ends with exit code 2 and one line on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help keeps long flags whole in a narrow terminal
    context_settings={"max_content_width": 110},
)


@app.callback()
def main() -> None:
    """Measure the creativity of language models in Japanese. Every command writes into a folder and can be repeated."""


@app.command()
def dat(
    responses: Annotated[
        Path, typer.Option(help="JSONL file: one object per line, column text, optional id. (Sampling a model: later.)")
    ],
    output: Annotated[Path, typer.Option(help="Folder of this run; the same command again goes on where it stopped.")],
    source: Annotated[str | None, typer.Option(help="Name of the row; the file's name if not given.")] = None,
    noun_checker: Annotated[
        str, typer.Option(help="auto, jumanpp or jumandic; auto takes jumanpp where the command is found.")
    ] = "auto",
    embedding_model: Annotated[
        str, typer.Option(help="A sentence-transformers hub id or folder, openai:NAME, or ja-ginza (packaged).")
    ] = "ja-ginza",
    embedding_revision: Annotated[str | None, typer.Option(help="Hub revision of the embedding model.")] = None,
    embedding_cache: Annotated[Path | None, typer.Option(help="Folder of a disk cache of word vectors.")] = None,
    reasoning: Annotated[bool, typer.Option(help="Cut off a leading <think>...</think>.")] = True,
    repeated_by_representative: Annotated[
        bool, typer.Option("--repeated-by-representative", help="Count りんご and 林檎 as one word, by 代表表記.")
    ] = False,
    olson: Annotated[
        bool, typer.Option("--olson", help="Olson et al. (2021), English: first 7 valid words, times 100.")
    ] = False,
    accept_affixes: Annotated[bool, typer.Option("--accept-affixes", help="お茶 and 子供たち count as nouns.")] = False,
    accept_unknown_katakana: Annotated[
        bool, typer.Option("--accept-unknown-katakana", help="Unknown katakana words count as nouns.")
    ] = False,
    reject_proper_nouns: Annotated[
        bool, typer.Option("--reject-proper-nouns", help="Proper nouns do not count.")
    ] = False,
) -> None:
    """Divergent Association Task: score responses, and print the row of the paper's Table 11."""
    with _one_line_errors():
        from eval.commands import score_responses
        from rewards.dat import DatRules, ScorerSettings
        from rewards.nouns import NounRules

        scorer = ScorerSettings(
            noun_checker=noun_checker,
            embedding_model=embedding_model,
            embedding_revision=embedding_revision,
            embedding_cache=str(embedding_cache) if embedding_cache else None,
            rules=DatRules(reasoning, repeated_by_representative, olson),
            noun_rules=NounRules(accept_affixes, accept_unknown_katakana, reject_proper_nouns),
        )
        result = score_responses(responses, output, scorer, source=source or responses.name)
    _show(result)


def _show(result: Any) -> None:
    from rich.console import Console

    from eval.show import summary_table

    console = Console(soft_wrap=True)
    if result.finished_before:
        console.print(f"{result.folder}: finished before; nothing was computed again", markup=False, highlight=False)
    console.print(summary_table(result.summary))
    for name in ("config.json", "metrics.json", "responses"):
        console.print(str(result.folder / name), markup=False, highlight=False)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Exit 2 with one line for what a user can mend, 130 for an interruption; a bug keeps its traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the same command goes on where it stopped\n")
        raise typer.Exit(130) from None
    except Exception as error:
        from rewards.embeddings import EncoderError
        from rewards.nouns import JumanppError

        if not isinstance(error, OSError | ValueError | ImportError | EncoderError | JumanppError):
            raise
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        raise typer.Exit(2) from None


if __name__ == "__main__":
    app(prog_name="python -m eval")
