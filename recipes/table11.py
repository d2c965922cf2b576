"""Table 11 of any tables of responses, beside the paper's figures: on the terminal, as Markdown, JSON and a page.

    python recipes/table11.py --output_dir runs/table --rows base=runs/base SFT=runs/sft-sample
    python recipes/table11.py --output_dir runs/table --paper_model Swallow-8B --rows base=runs/base 'DPO 1=runs/dpo1'

    python recipes/table11.py --output_dir runs/table --guard e5 --rows base=runs/base GRPO=runs/grpo-sample

A row named as in the paper (random, base, SFT, DPO 1, DPO 2, GRPO) gets the paper's figures of `--paper_model`. With
`--guard`, each row's gain over the row `base` (or the first one) stands beside its gain by a second encoder, both in
standard deviations of the base's scores. Written are table11.md, table11.json, report.html and, last, metrics.json.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from sozo.data.errors import one_line_errors


def write_table(
    rows: dict[str, Path],
    output: Path,
    title: str,
    paper_model: str | None,
    guard: str | None = None,
    guards: Sequence[tuple[str, Path]] = (),
) -> str:
    """Make the table and write all its forms; returns the Markdown."""
    from sozo.data.record import write_json, write_whole
    from sozo.data.schema import part_paths, read_responses
    from sozo.data.study_folder import read_study
    from sozo.scoring.guard import Guard
    from sozo.tasks.dat.table import valid_scores
    from sozo.tasks.dat.table11 import table11, with_gains
    from study.curves import evaluation_charts
    from study.guards import judge_rows, with_verdicts
    from study.page import to_json, to_markdown, write_report

    # Checker and encoder of the rows, as their folders record them: one value where all agree.
    configs = [json.loads(file.read_bytes()) for path in rows.values() if (file := path / "config.json").is_file()]
    scorers, facts = [config.get("loaded", {}).get("scorer", {}) for config in configs], {}
    for fact, key in (("Noun checker", "noun_checker"), ("Embedding model", "embedding_model")):
        if values := dict.fromkeys(str(scorer[key]) for scorer in scorers if key in scorer):
            facts[fact] = ", ".join(values)
    second = Guard(guard) if guard else None  # what is wrong with it shows before the tables are read
    table = table11(rows, paper_model)
    table = with_gains(table, rows, second) if second else table
    verdicts = judge_rows(guards, {name: "base" for name in rows if name != "base"})
    table = with_verdicts(table, verdicts)
    markdown, shown = to_markdown(table, verdicts), to_json(table, verdicts)
    study = read_study(output.parent)
    write_whole(output / "table11.md", f"# {title}\n\n{markdown}".encode())
    write_json(output / "table11.json", shown)
    write_report(
        output / "report.html",
        title=title,
        rows=[row.summary for row in table.rows],
        scores={name: valid_scores(path) for name, path in rows.items()},
        samples={name: list(islice(read_responses(part_paths(path)[0]), 3)) for name, path in rows.items()},
        curves=[],
        facts=facts,
        table=table,
        verdicts=verdicts,
        evaluated=evaluation_charts({name: study.rows[name] for name in rows if name in study.rows}) if study else (),
    )
    write_json(output / "metrics.json", shown)
    return markdown


def main() -> None:
    """Read, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", required=True, metavar="NAME=DIR")
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--paper_model")
    parser.add_argument("--guard", metavar="ENCODER", help="a second encoder that nobody trained on, such as e5")
    of_guards = "finished runs of a task with a control measure (recipes/measure.py), that of base too"
    parser.add_argument("--guards", nargs="+", default=(), metavar="NAME=DIR", help=of_guards)
    parser.add_argument("--title", default="Table 11")
    args = parser.parse_args()
    rows: list[tuple[str, Path]] = []
    guards: list[tuple[str, Path]] = []
    for word, folders in [*((word, rows) for word in args.rows), *((word, guards) for word in args.guards)]:
        name, equals, path = word.partition("=")
        if not (name and equals and path):
            parser.error(f"{word}: give NAME=DIR, such as base=runs/base")
        folders.append((name, Path(path)))
    with one_line_errors("table11"):
        print(write_table(dict(rows), args.output_dir, args.title, args.paper_model, args.guard, guards))
    print(f"The page: {args.output_dir / 'report.html'}")


if __name__ == "__main__":
    main()
